"""What the protocol sends: tasks arrive, offers go out, answers come back."""

from __future__ import annotations

from dataclasses import dataclass

from geodp.public.events import Reason

Rectangle = tuple[float, float, float, float]
"""West, south, east and north edge, in metres; public, because it is cut from released cells."""


@dataclass(frozen=True, slots=True)
class Task:
    """A request at a place; public."""

    task: int
    x_m: float
    y_m: float
    arrived_s: float
    expires_s: float


@dataclass(frozen=True, slots=True)
class Offer:
    """What the server decides for a task: reward and whom to ask, or a reason why it cannot be offered."""

    task: int
    reward: float
    radius_m: float
    """Radius of the circle to notify, at most the maximum travel distance."""
    uncapped_radius_m: float
    """Radius the model asks for before any cap (RejR uses this); infinite when no radius suffices."""
    planned_success: float
    """Probability of acceptance that the server's own model expects from this offer."""
    density_per_m2: float
    expected_workers: float
    """Workers the server expects in the circle."""
    unreachable: str = Reason.NONE
    """Reason why no offer is made: a word of `Reason`, '' where one is."""
    notes: tuple[str, ...] = ()
    """Oddities of the plan: words of `Note`."""
    recipients: tuple[str, ...] | None = None
    """Pseudonyms of those who are asked, wherever they are; None: everyone inside the circle or region is."""
    rectangles: tuple[Rectangle, ...] | None = None
    """The region whose workers are asked, in the order in which it grew; None: a circle, or names."""
    growth: tuple[float, ...] = ()
    """Success planned after each rectangle that was taken in this round."""


@dataclass(frozen=True, slots=True)
class Answer:
    """All that the server learns of an offer: who takes the task (None: nobody) and when it was told.

    The winner goes by a pseudonym: the truth's worker ids stay on the trusted side. Several winners are joined by ';'.
    """

    task: int
    winner: str | None
    time_s: float
