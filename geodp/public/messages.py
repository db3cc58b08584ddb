"""What the protocol sends: tasks arrive, offers go out, answers come back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from geodp.errors import OldMethod, answer_old_names
from geodp.public.events import Reason

Rectangle = tuple[float, float, float, float]
"""West, south, east and north edge, in metres; public, because it is cut from released cells."""


@dataclass(frozen=True, slots=True)
class Task:
    """A request at a place; public.

    Parameters
    ----------
    task
        Its number.
    x_m, y_m
        Its place, metres.
    arrived_s, expires_s
        When it arrived and when it is given up, seconds from the start of the run.

    Examples
    --------
    >>> from geodp.public.messages import Task
    >>> Task(0, 10.0, 20.0, arrived_s=5.0, expires_s=905.0).x_m
    10.0
    """

    task: int
    x_m: float
    y_m: float
    arrived_s: float
    expires_s: float


@dataclass(frozen=True, slots=True)
class Circle:
    """Everyone within a distance of the task.

    Examples
    --------
    >>> from geodp.public.messages import Circle
    >>> Circle(400.0)
    Circle(radius_m=400.0)
    """

    radius_m: float
    """At most the maximum travel distance."""


@dataclass(frozen=True, slots=True)
class GeocastRegion:
    """Everyone inside some rectangles."""

    rectangles: tuple[Rectangle, ...]
    """In the order in which the region grew."""
    growth: tuple[float, ...] = ()
    """Success planned after each rectangle that was taken in this round."""


@dataclass(frozen=True, slots=True)
class Named:
    """Some workers by their pseudonyms, wherever they are."""

    pseudonyms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Offer:
    """What the server decides for a task: reward and whom to ask, or a reason why it cannot be offered.

    Parameters
    ----------
    task
        Number of the task.
    reward
        What is paid for it.

    Raises
    ------
    ValueError
        If it has neither a target nor a reason why there is none, or both.

    Examples
    --------
    >>> from geodp.public.messages import Circle, Offer
    >>> Offer(3, 10.0, Circle(400.0)).target.radius_m
    400.0
    """

    task: int
    reward: float = 0.0
    target: Circle | GeocastRegion | Named | None = None
    """Whom to ask; None: nobody, for the reason in `unreachable`."""
    planned_success: float = math.nan
    """Probability of acceptance that the server's own model expects from this offer."""
    expected_workers: float = math.nan
    """Workers the server expects inside the target, or among those whom it names."""
    density_per_m2: float = math.nan
    """Density of workers that it reads at the task."""
    uncapped_radius_m: float = math.nan
    """Radius the model asks for before any cap (RejR uses this); infinite when no radius suffices."""
    unreachable: Reason = Reason.NONE
    """Why no offer is made; '' where one is."""
    notes: tuple[str, ...] = ()
    """Oddities of the plan: words of `Note`."""
    caps: tuple[int, ...] = ()
    """Of those whom the target means, how many idle people have been asked at most after each round, in one secret
    order that the curator draws; (): everyone, at once."""
    shares: tuple[float, ...] = ()
    """Where nobody is trusted: a phone inside the target takes part, from the first round on whose share is above its
    own secret draw; (): every phone, at once."""
    nearest_first: bool = False
    """Whether the order of `caps` is by distance to the task, which tells more than any draw."""

    def __post_init__(self) -> None:
        if (self.target is None) == (self.unreachable == Reason.NONE):
            raise ValueError("an offer needs either a target or a reason why it is unreachable")
        if self.caps and self.shares:
            raise ValueError("an offer is capped by the curator or thinned out by phones, not both")
        if any(late <= early for early, late in pairwise((0, *self.caps))):
            raise ValueError("each round must ask somebody: caps grow from round to round")
        if any(late <= early for early, late in pairwise((0.0, *self.shares, 1.0 + 1e-9))):
            raise ValueError("shares of phones grow from round to round, up to 1")

    @classmethod
    def refuse(cls, task: Task, reason: Reason) -> Offer:
        """Return the answer for a task that nothing is planned for."""
        return cls(task.task, planned_success=0.0, expected_workers=0.0, unreachable=reason)

    refused = OldMethod("refuse")


@dataclass(frozen=True, slots=True)
class Answer:
    """All that the server learns of an offer: who takes the task and when that was reported.

    Winners go by pseudonyms: the truth's worker ids stay on the trusted side.
    """

    task: int
    winners: tuple[str, ...]
    """Empty: nobody."""
    time_s: float


if not TYPE_CHECKING:
    __getattr__ = answer_old_names(__name__, {"Region": "GeocastRegion"})
