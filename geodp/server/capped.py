"""What assignments share that ask some of the people inside a circle or region: cap, rounds, feedback, and age."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, ValidationInfo, field_validator

from geodp.geometry import Array
from geodp.public.messages import Task
from geodp.public.release import Cells
from geodp.server.assignment import Assignment, ServerView
from geodp.server.count_beliefs import CountBelief, believe_counts
from geodp.server.recipients import PeopleInside, possible_rounds, region_target, round_caps, round_shares


@dataclass(frozen=True, slots=True)
class Recipients:
    """Whom to ask of the people inside a target, and the success that this plans."""

    planned: float
    caps: tuple[int, ...] = ()
    shares: tuple[float, ...] = ()


class CappedAssignment(Assignment):
    """Assignments that plan from what they believe about the people inside, and ask as many of them as are needed."""

    target_success: float = Field(0.9, gt=0, lt=1)
    """Probability that enough workers accept a task, to be reached by every offer (the book's E_ASP, the EU of To et
    al.)."""
    max_recipients: int | Literal["auto"] | None = Field("auto", union_mode="left_to_right")
    """Maximum number of idle people asked about a task: `auto` is the least number that plans the target, where
    planning is noise-aware (elsewhere none); null is everyone inside. Without a curator phones thin out instead."""
    recipients: Literal["random", "nearest"] = "random"
    """Who is asked of the people inside: by a secret draw, or the nearest first. `nearest` shortens ways and costs
    privacy without a finite bound: a winner proves that fewer than the maximum number of others are nearer, about
    ln(N/K) nats more about her place, and one more person can make what was seen impossible."""
    rounds: int | Literal["auto"] = Field("auto", union_mode="left_to_right")
    """In how many rounds they are asked, along one order and nobody twice: `auto` is up to three, as patience allows.
    Everyone inside is asked at once where there is no maximum number."""
    feedback: bool = False
    """Whether the target is corrected by how many tasks were taken, which the server sees anyway."""
    density_change_per_hour: float = Field(0.1, ge=0)
    """By what share of its square a density is taken to change per hour (its variance over its squared mean), as long
    as fewer than two releases show it."""

    @field_validator("max_recipients", "rounds", mode="before")
    @classmethod
    def _a_number_or_auto(cls, value: Any, info: ValidationInfo) -> Any:
        """Say in one sentence what is wrong: a union of types would say it once for each of them."""
        if value == "auto" or (value is None and info.field_name == "max_recipients"):
            return value
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ValueError(f"must be a whole number, at least 1, or auto; got {value!r}")
        return value

    def idle_fields(self) -> dict[str, str]:
        """Return what a maximum number of recipients would need."""
        idle = {}
        if not self._caps:
            idle = dict.fromkeys(("recipients", "rounds"), "without a maximum number of recipients")
        if not self._plans_from_beliefs:
            idle["density_change_per_hour"] = "without noise-aware planning"
        return idle

    @property
    @abstractmethod
    def _plans_from_beliefs(self) -> bool:
        """Whether counts are believed with their noise, and not taken at their word."""

    @property
    def _caps(self) -> bool:
        return self._plans_from_beliefs if self.max_recipients == "auto" else self.max_recipients is not None

    def _aim(self, view: ServerView, widened: float = 1.0) -> float:
        """Return the success that is planned for; ln(1 - it) is multiplied where an offer is to be wider."""
        aim = self.target_success if view.aim is None else view.aim
        return float(-np.expm1(np.log1p(-aim) * widened))

    def _aim_of_offer(self, view: ServerView, widen: float) -> float:
        """Return the success that an offer itself has to plan, given that nobody took the task before.

        All who have been asked by then are to succeed with the chance that `widen` asks for: those of this offer with
        the rest, 1 - (1 - E)^(w^j - w^(j-1)) at the j-th re-offer.
        """
        if view.round == 0 or not self._caps:
            return self._aim(view, widen**view.round)
        return self._aim(view, widen**view.round - widen ** (view.round - 1))

    def _is_short(self, planned: float, aim: float) -> bool:
        """Tell whether a plan falls short of the target, or of what outcomes have lowered it to."""
        return planned < min(self.target_success, aim) * (1 - 1e-9)

    def _target_of_region(self, aim: float) -> float:
        return region_target(aim, capped=self._caps)

    def _belief(self, release: Cells, view: ServerView) -> CountBelief:
        """Return what the release tells, less sure the older it is."""
        rate = self.density_change_per_hour / 3600 if view.change_per_s is None else view.change_per_s
        return believe_counts(release).age(rate * max(view.time_s - release.time_s, 0.0))

    def _recipients(
        self, tasks: Sequence[Task], view: ServerView, inside: PeopleInside, grown: Array, widen: float
    ) -> list[Recipients]:
        """Return whom to ask of those inside, task by task; `grown` is the success planned if all of them are.

        A re-offer asks others than those who declined: of them the server knows how many they were.
        """
        everyone = [Recipients(planned=float(success)) for success in grown]
        if not self._caps:
            return everyone
        rounds, aim = [self._rounds(task, view) for task in tasks], self._aim_of_offer(view, widen)
        if not view.trusted:
            whole = self._aim(view, widen**view.round)
            share = inside.shares(whole, view.workers_per_task)
            missed = (1 - inside.thin_success(share, view.workers_per_task)) * (1 - aim) / (1 - whole)
            return [
                Recipients(max(1 - float(missed[i]), 0.0), shares=_thin_rounds(float(share[i]), rounds[i], whole))
                for i in range(len(tasks))
            ]
        declined = np.array([view.declined.get(task.task, 0.0) for task in tasks])
        cap, planned = self._cap(inside, view, aim, declined)
        if view.round:  # to ask everyone would be to ask some twice
            cap = np.where(cap > 0, cap, inside.most_left(declined))
        return [
            Recipients(float(planned[i]), round_caps(int(cap[i]), rounds[i], aim)) if cap[i] > 0 else everyone[i]
            for i in range(len(tasks))
        ]

    def _cap(
        self, inside: PeopleInside, view: ServerView, aim: float, declined: Array
    ) -> tuple[npt.NDArray[np.int64], Array]:
        if self.max_recipients == "auto":
            return inside.least_cap(aim, view.workers_per_task, declined)
        cap = np.full(inside.mean.size, self.max_recipients, dtype=np.int64)
        return cap, inside.success(cap, view.workers_per_task, declined)

    def _rounds(self, task: Task, view: ServerView) -> int:
        """Return the rounds of a task: one where several workers must accept at the same time."""
        if view.workers_per_task > 1:
            return 1
        return possible_rounds(self.rounds, task.expires_s - view.time_s, view.answer_window_s)


def _thin_rounds(share: float, rounds: int, aim: float) -> tuple[float, ...]:
    """Return the share of phones that have taken part after each round."""
    return tuple(min(share * part, 1.0) for part in round_shares(rounds, aim))
