"""Money: the reward budget of a run, and how a batch's purse is shared out, never more than there is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array
from geodp.public.acceptance import ROUNDING_SLACK


@dataclass
class RewardBudget:
    """The reward budget W, shared out as tasks come (book section 13.3.3, made online).

    |T| is not known before the run ends, so a batch of n tasks may promise W·n/E|T| plus what earlier batches left
    over; rewards of tasks that nobody took return. `total` caps what can ever be paid.
    """

    total: float
    expected_tasks: float
    paid: float = 0.0
    promised: float = 0.0
    """Rewards of tasks that are offered and not yet taken or given up."""
    carried: float = 0.0
    """What earlier batches could have spent and did not."""

    @property
    def mean(self) -> float:
        """W / E|T|: what each task would get if all were treated alike."""
        return self.total / max(self.expected_tasks, 1.0)

    def draw(self, tasks: int) -> float:
        """Return what a batch of new tasks may promise together, and count it as drawn."""
        share = self.total * tasks / max(self.expected_tasks, 1.0) + self.carried
        amount = max(0.0, min(share, self.total - self.paid - self.promised))
        self.carried = 0.0
        self.promised += amount
        return amount

    def give_back(self, amount: float) -> None:
        """Return money that was promised and will not be paid."""
        self.promised = max(0.0, self.promised - amount)
        self.carried += amount

    def take_back(self, amount: float) -> None:
        """Return money that was paid, for a task that was called off."""
        self.paid = max(0.0, self.paid - amount)
        self.carried += amount

    def pay(self, amount: float) -> None:
        """Turn a promise into a payment."""
        self.promised = max(0.0, self.promised - amount)
        self.paid += amount


def find_funded(arrived_s: Sequence[float], purse: float, minimum: float) -> npt.NDArray[np.bool_]:
    """Tell which tasks get a reward: all if the purse holds a minimum for each, else the first to arrive."""
    tasks = len(arrived_s)
    chosen = np.zeros(tasks, dtype=np.bool_)
    if purse <= 0:
        return chosen
    affordable = tasks
    if purse < minimum * tasks * (1 - ROUNDING_SLACK / 2):
        affordable = math.floor(purse / minimum * (1 + ROUNDING_SLACK / 2))
    chosen[np.argsort(np.asarray(arrived_s), kind="stable")[:affordable]] = True
    return chosen


def by_radius(radius_m: Array, purse: float, minimum: float) -> Array:
    """Return w0 + r/Σr · (W - w0 n): step 3 of the book's section 13.3.3.2.

    Radii that are negative (Taylor's) or infinite (no reward helps) weigh nothing; if none weighs anything,
    all tasks are treated alike.
    """
    weight = np.where(np.isfinite(radius_m), np.maximum(radius_m, 0.0), 0.0)
    largest = weight.max(initial=0.0)
    weight = weight / largest if largest > 0 else np.ones_like(weight)
    spare = max(purse - minimum * weight.size, 0.0)
    return np.asarray(minimum + weight / weight.sum() * spare, dtype=np.float64)


def within(rewards: Array, purse: float) -> Array:
    """Return rewards that add up to at most the purse, added exactly or one after the other.

    Shares of a purse can exceed it by a rounding error; they are then shortened by as little.
    """
    while (total := max(math.fsum(rewards), float(np.cumsum(rewards)[-1]))) > purse:
        rewards = rewards * (purse / total * (1 - 2 * rewards.size * np.finfo(np.float64).eps))
    return rewards
