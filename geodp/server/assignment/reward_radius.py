"""Rewards and circles from a noisy density: the reward-based assignment of the book's section 13.3.3."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from geodp.errors import UsageError
from geodp.geometry import Array
from geodp.public.acceptance import Acceptance
from geodp.public.acceptance.tanh_reward import TanhReward
from geodp.public.events import Note, Reason
from geodp.public.messages import Circle, Offer, Task
from geodp.public.release import Cells, Points
from geodp.server.assignment import Assignment, ServerView
from geodp.server.density_from_points import density_from_points
from geodp.server.noise_aware import Belief, noise_aware_belief
from geodp.server.radius import eq1314_radius_m, first_radius_m, printed_success, printed_tanh_radius_m, taylor_radius_m
from geodp.server.rewards import by_radius, within


class RewardRadius(Assignment):
    """Offer each task to the smallest circle in which somebody accepts with the target probability.

    A task out of reach: model `poisson` makes no offer when even the circle of the maximum travel distance
    falls short of the target. Model `printed` knows no such case (the book cuts circles at that distance): it
    offers the largest circle and plans the lower success that its own formula gives there.

    Reference
    ---------
    Zhu et al. 2017, Differential Privacy and Applications, section 13.3.3. `model: printed` is eqs. (13.9) to
    (13.13); `solver: taylor` is eq. (13.16), `solver: eq1314` is eq. (13.14) as printed, which lacks a factor
    r²; `reward: optimised` is steps 2 and 3 of section 13.3.3.2.
    """

    kind: ClassVar[str] = "reward_radius"

    target_success: float = Field(0.9, gt=0, lt=1)
    """Probability that somebody accepts a task, to be reached by every circle (the book's E_ASP)."""
    model: Literal["poisson", "printed"] = "poisson"
    """How success is computed: workers as a Poisson field, or the book's formula, which trusts in fractions
    of a worker and fails where reward and density are high."""
    solver: Literal["exact", "taylor", "eq1314"] = "exact"
    """How the radius is found; `taylor` and `eq1314` are the book's, need `model: printed`, and may fail."""
    reward: Literal["optimised", "uniform"] = "optimised"
    """`optimised`: tasks with larger circles get more of the purse; `uniform`: all get the same."""
    iterations: int = Field(1, ge=1, le=100)
    """Passes of the optimised reward (the book makes one)."""
    planning: Literal["plain", "noise_aware"] = "plain"
    """`plain` believes the noisy density; `noise_aware` averages success over what it may really be."""
    widen: float = Field(1.5, ge=1)
    """Factor on the radius with every re-offer, which goes to the whole wider circle."""

    @model_validator(mode="after")
    def _combination(self) -> Self:
        if self.model == "poisson" and self.solver != "exact":
            raise ValueError(f"solver '{self.solver}' solves the printed model only: set model: printed")
        if self.model == "printed" and self.planning == "noise_aware":
            raise ValueError("planning 'noise_aware' is defined for the Poisson model only: set model: poisson")
        return self

    def idle_fields(self) -> dict[str, str]:
        """Return the rounds where rewards are not optimised."""
        return {} if self.reward == "optimised" else {"iterations": "with reward: uniform"}

    def offers(self, tasks: Sequence[Task], view: ServerView) -> list[Offer]:
        """Decide reward and circle for every task of a batch; in a later round, the wider circle."""
        if self.solver != "exact" and not isinstance(view.acceptance, TanhReward):
            raise UsageError(
                f"server.assignment: solver '{self.solver}' is algebra for acceptance 'tanh_reward', but the "
                f"server assumes '{view.acceptance.kind}'. Use solver: exact."
            )
        return view.plan_funded(tasks, lambda rich, release: self._planned(rich, view, release))

    def _planned(self, tasks: list[Task], view: ServerView, release: Cells | Points) -> list[Offer]:
        """Plan the tasks that get a reward."""
        if isinstance(release, Points):
            release = density_from_points(release, view.region)
        belief = self._belief(tasks, release)
        need_m2 = belief.reach_for(self.target_success)
        reward = self._rewards(need_m2, view)
        asked_m = self._radius_m(view.acceptance, reward, need_m2)
        reason = self._reasons(asked_m, view.acceptance.max_travel_m)
        offered = reason == ""
        wider_m = np.where(offered, asked_m, 0.0) * self.widen**view.round
        radius_m = np.minimum(wider_m, view.acceptance.max_travel_m)
        reward = np.where(offered, reward, 0.0)  # what an unreachable task would have got stays in the purse
        success = np.where(offered, self._success(view.acceptance, reward, radius_m, belief), 0.0)
        density = belief.mean_per_m2
        workers = density * np.pi * radius_m**2
        return [
            Offer(
                task=task.task,
                reward=float(reward[i]),
                target=Circle(float(radius_m[i])) if offered[i] else None,
                planned_success=float(success[i]),
                expected_workers=float(workers[i]),
                density_per_m2=float(density[i]),
                uncapped_radius_m=float(asked_m[i]),
                unreachable=Reason(str(reason[i])),
                notes=_notes(asked_m[i], workers[i], bool(offered[i])),
            )
            for i, task in enumerate(tasks)
        ]

    def _belief(self, tasks: list[Task], release: Cells) -> Belief:
        x_m, y_m = np.array([task.x_m for task in tasks]), np.array([task.y_m for task in tasks])
        if self.planning == "noise_aware":
            return noise_aware_belief(release, x_m, y_m)
        return Belief.certain(release.density(x_m, y_m))

    def _rewards(self, need_m2: Array, view: ServerView) -> Array:
        """Return the reward of each task, all together at most the purse.

        Radii beyond the maximum travel distance count in full: more reward may bring their tasks into reach.
        """
        alike = view.purse / need_m2.size
        if self.reward == "uniform":
            return within(np.full(need_m2.size, min(view.uniform_reward, alike)), view.purse)
        reward = np.full(need_m2.size, alike)
        for _ in range(self.iterations):
            radius_m = self._radius_m(view.acceptance, reward, need_m2)
            reward = by_radius(radius_m, view.purse, view.least_reward)
        return within(reward, view.purse)

    def _radius_m(self, acceptance: Acceptance, reward: Array, need_m2: Array) -> Array:
        """Return the radius each task needs, before any cap; `need_m2` is -ln(1 - target)/density."""
        if self.model == "poisson":
            return acceptance.radius_for(reward, need_m2)
        load_m2 = need_m2 / np.pi
        if not isinstance(acceptance, TanhReward):
            return first_radius_m(acceptance, reward, load_m2)
        return _SOLVERS[self.solver](3 * acceptance.pull_m(reward), load_m2, acceptance.ceiling)

    def _reasons(self, asked_m: Array, max_travel_m: float) -> npt.NDArray[np.str_]:
        """Return why each task is out of reach ('' where it is not)."""
        too_far = (asked_m > max_travel_m) & (self.model == "poisson")
        return np.select(
            [np.isinf(asked_m), asked_m <= 0, too_far],
            [Reason.NO_RADIUS, Reason.BAD_RADIUS, Reason.BEYOND_REACH],
            default="",
        )

    def _success(self, acceptance: Acceptance, reward: Array, radius_m: Array, belief: Belief) -> Array:
        """Return the success the model itself expects of a circle."""
        if self.model == "poisson":
            return belief.success(acceptance.reach_m2(reward, radius_m))
        return printed_success(acceptance, reward, radius_m, belief.mean_per_m2)


_SOLVERS = {"exact": printed_tanh_radius_m, "taylor": taylor_radius_m, "eq1314": eq1314_radius_m}


def _notes(asked_m: float, workers: float, offered: bool) -> tuple[str, ...]:
    notes = [Note.NEGATIVE_RADIUS] if asked_m < 0 else []
    if offered and workers < 1:
        notes.append(Note.UNDER_ONE_WORKER)
    return tuple(notes)
