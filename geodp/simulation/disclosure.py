"""What the outcomes of offers disclose about those who were asked and not named.

Of every task the server sees that nobody took it, or the names of those who did. Given everybody else, somebody who
accepts with probability θ makes "nobody" less likely by a factor of 1 - θ, and "j takes it" by 1 - θ·(1 - κ), where κ
says how likely j is still picked if she accepts, too: κ = E[1/(M+2)] / E[1/(M+1)] for M further acceptors. What she did
herself is not seen, so it is not what is charged: those who accepted and were not picked are charged like all others.

Under a recipient cap with a secret random order, those who were asked are charged so. Averaged over the order that is
-π ln(1 - θ) ≥ -ln(1 - πθ) for a chance π of being asked: it covers that "nobody" gets less likely. It does not cover
that she displaces somebody: "nobody" may get more likely by a factor of at most 1 + πθ'/(1 - θ'), θ' the largest θ, and
a named winner less likely by at most 1/K more. With the nearest first there is no finite bound, and none is stated.
Whoever is named took the task by consent, outside this account.

Where tasks are posted, those are charged who looked and could have come, for all the tasks that they found, also for
those behind one that they liked. Whether somebody looked is hidden; with probability q of it the factor is 1 - qθ, and
-q·ln(1 - θ), the mean of what is charged, is at least -ln(1 - qθ).
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array
from geodp.public.acceptance import Acceptance
from geodp.simulation.answers import AskedWorkers

Ids = npt.NDArray[np.int64]
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_ROOT = (_NODES + 1) / 2
_SHARE = 1 - _ROOT**2  # s = 1 - u²: nodes lie densely near s = 1, where products over many acceptors live
_MEASURE = _WEIGHTS * _ROOT  # ds = 2u du on [0, 1]
_CHUNK_ROWS = 1 << 16


@dataclass(frozen=True)
class SeenOutcomes:
    """What the server sees of one batch, with everybody who could have changed it: one row per task and person."""

    task: Ids
    """Ids of the tasks that were decided."""
    won: npt.NDArray[np.bool_]
    """Whether names were seen, per task."""
    row: Ids
    """The task of each row, as a place in `task`, in ascending order."""
    worker: Ids
    """Who was asked and could have come."""
    reward: Array
    """What she would have got, per row."""
    distance_m: Array
    share: Array
    """Chance that her phone took part, which nobody sees; 1 where the curator asks."""
    named: npt.NDArray[np.bool_]
    """Whether she is one of the names, per row."""


def see_outcomes(asked: AskedWorkers, winners: dict[int, list[int]], gone: npt.NDArray[np.bool_]) -> SeenOutcomes:
    """Return what the server sees of a batch.

    Parameters
    ----------
    asked
        Everyone who was asked.
    winners
        Who was picked, by task, for the tasks that were decided; these were decided in the order of their ids.
    gone
        Who was on the way before the first of them was decided. They could not have changed an outcome, nor could
        those whom an earlier task of the same batch took.
    """
    task = np.array([one.task for one in asked.tasks], dtype=np.int64)
    place = np.repeat(np.arange(task.size), np.diff(asked.border))
    picked = np.array(sorted((worker, one) for one, chosen in winners.items() for worker in chosen), dtype=np.int64)
    picked = picked.reshape(-1, 2)
    took = np.full(place.size, np.iinfo(np.int64).max)
    if picked.size:
        at = np.minimum(np.searchsorted(picked[:, 0], asked.worker), len(picked) - 1)
        took = np.where(picked[at, 0] == asked.worker, picked[at, 1], took)
    decided = np.isin(task, list(winners))
    rows = np.flatnonzero(asked.could_come() & ~gone[asked.worker] & (took >= task[place]) & decided[place])
    return SeenOutcomes(
        task=task[decided],
        won=np.array([bool(winners[one]) for one in task[decided].tolist()], dtype=np.bool_),
        row=(np.cumsum(decided) - 1)[place[rows]],
        worker=asked.worker[rows],
        reward=asked.rewards[place[rows]],
        distance_m=asked.distance_m[rows],
        share=asked.share[place[rows]],
        named=took[rows] == task[place[rows]],
    )


@dataclass
class Disclosure:
    """Adds up what each worker's answers disclose, in nats, as outcomes become known.

    A second offer of a task meets the same mind, so it adds only what goes beyond the first.
    """

    acceptance: Acceptance
    eagerness: Array | None
    workers: int
    needed: int = 1
    """Workers that a task needs."""
    nats: Array = field(init=False)
    """What each worker has disclosed so far."""
    _passed: dict[int, list[tuple[Ids, Array]]] = field(default_factory=dict, init=False)
    """Per open task, who was asked when nobody took it, and ln(1 - θ) of each: what she was charged, negative."""

    def __post_init__(self) -> None:
        self.nats = np.zeros(self.workers)

    def charge(self, seen: SeenOutcomes) -> None:
        """Charge -ln of the likelihood of each outcome with a person in it, relative to that without her."""
        eager = 1.0 if self.eagerness is None else self.eagerness[seen.worker]
        now = self.acceptance.log_refusal(seen.reward, seen.distance_m, eager)
        if np.any(seen.share < 1):  # outcomes depend on the product of taking part and accepting
            now = np.where(seen.share < 1, np.log1p(seen.share * np.expm1(now)), now)
        before = self._find_charged(seen)
        worst = np.minimum(now, before)
        with np.errstate(invalid="ignore"):  # -inf - -inf: a certain acceptance, charged without bound before
            chance = -np.expm1(np.minimum(np.nan_to_num(now - before, nan=0.0), 0.0))  # given that she passed before
        log_ratio = worst.copy()
        won = seen.won[seen.row]
        exact = won if self.needed == 1 else won & (before == 0)  # else the bound 1 - θ, which holds for any number
        if exact.any():
            kappa = _still_picked(seen.row, np.where(seen.named, 0.0, chance), exact, len(seen.task), self.needed)
            log_ratio[exact] = np.log(np.exp(worst) + np.maximum(np.exp(before) - np.exp(now), 0.0) * kappa)[exact]
        with np.errstate(invalid="ignore"):
            extra = np.where(seen.named | np.isneginf(before), 0.0, np.maximum(before - log_ratio, 0.0))
        np.add.at(self.nats, seen.worker, extra)
        self._remember(seen, worst)

    def disclose_without_bound(self, workers: Ids) -> None:
        """Charge without bound: whoever is asked because she is near can make what was seen impossible."""
        self.nats[workers] = np.inf

    def has_passed(self, task: int, worker: Ids) -> npt.NDArray[np.bool_]:
        """Tell who has been asked for an open task before, and did not take it."""
        known, _ = self._find_passed(task)
        if known.size == 0:
            return np.zeros(worker.size, dtype=np.bool_)
        return np.asarray(known[np.minimum(np.searchsorted(known, worker), known.size - 1)] == worker)

    def keep_only(self, tasks: Container[int]) -> None:
        """Drop what was kept for further offers of tasks that are closed."""
        for task in [task for task in self._passed if task not in tasks]:
            del self._passed[task]

    def _find_charged(self, seen: SeenOutcomes) -> Array:
        """Return ln(1 - θ) that each row was charged for earlier offers of its task (0: none)."""
        before = np.zeros(seen.worker.size)
        border = np.searchsorted(seen.row, np.arange(len(seen.task) + 1))
        for place, task in enumerate(seen.task.tolist()):
            known, charged = self._find_passed(task)
            if known.size:
                rows = slice(border[place], border[place + 1])
                at = np.minimum(np.searchsorted(known, seen.worker[rows]), known.size - 1)
                before[rows] = np.where(known[at] == seen.worker[rows], charged[at], 0.0)
        return before

    def _remember(self, seen: SeenOutcomes, charged: Array) -> None:
        border = np.searchsorted(seen.row, np.arange(len(seen.task) + 1))
        for place in np.flatnonzero(~seen.won & (np.diff(border) > 0)).tolist():
            rows = slice(border[place], border[place + 1])
            self._passed.setdefault(int(seen.task[place]), []).append((seen.worker[rows], charged[rows]))

    def _find_passed(self, task: int) -> tuple[Ids, Array]:
        """Return who was asked for a task before, in ascending order, and the least ln(1 - θ) of each."""
        parts = self._passed.get(task)
        if parts is None:
            return np.empty(0, dtype=np.int64), np.empty(0)
        if len(parts) > 1:
            worker, charged = (np.concatenate(column) for column in zip(*parts, strict=True))
            known, places = np.unique(worker, return_inverse=True)
            least = np.zeros(known.size)
            np.minimum.at(least, places, charged)
            self._passed[task] = parts = [(known, least)]
        return parts[0]


def _still_picked(row: Ids, chance: Array, wanted: npt.NDArray[np.bool_], tasks: int, needed: int) -> Array:
    """Return κ per row: by what factor her acceptance lowers the chance of those who were picked (1 where not wanted).

    n winners out of M + n acceptors are a given set with probability 1/C(M+n, n) = n·∫ s^M·(1-s)^(n-1) ds on [0, 1].
    With E[s^M] = Π(1 - θ + θs) over all others, κ is the ratio of two such integrals, by Gauss-Legendre.
    """
    log_others = np.zeros((tasks, _SHARE.size))
    for node, share in enumerate(_SHARE):
        log_others[:, node] = np.bincount(row, weights=np.log1p(-chance * (1 - share)), minlength=tasks)
    measure = _MEASURE * (1 - _SHARE) ** (needed - 1)
    kappa = np.ones(row.size)
    places = np.flatnonzero(wanted)
    for begin in range(0, places.size, _CHUNK_ROWS):
        some = places[begin : begin + _CHUNK_ROWS]
        log_rest = log_others[row[some]] - np.log1p(-chance[some, None] * (1 - _SHARE))
        weight = np.exp(log_rest - log_rest.max(axis=1, keepdims=True)) * measure
        kappa[some] = (weight * _SHARE).sum(axis=1) / weight.sum(axis=1)
    return kappa
