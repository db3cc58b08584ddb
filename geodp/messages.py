"""What the protocol sends: tasks arrive, offers go out, answers come back."""

from __future__ import annotations

from dataclasses import dataclass


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
    """What the server decides for a task: reward and circle, or a reason why it cannot be offered."""

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
    unreachable: str = ""
    """Reason why no offer is made ('' = offered): a word of `simulation.event_log.Reason`."""
    notes: tuple[str, ...] = ()
    """Oddities to count, never to hide: `negative_radius`, `under_one_worker`, `recipients_capped`."""
    recipients: tuple[str, ...] | None = None
    """Pseudonyms of those who are asked, wherever they are; None: everyone inside the circle is."""


@dataclass(frozen=True, slots=True)
class Answer:
    """All that the server learns of an offer: who takes the task (None: nobody) and when it was told.

    The winner goes by a pseudonym: the truth's worker ids stay on the trusted side.
    """

    task: int
    winner: str | None
    time_s: float
