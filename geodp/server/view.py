"""Everything an assignment may look at when it plans a batch of offers."""

from __future__ import annotations

from dataclasses import dataclass

from geodp.acceptance import Acceptance
from geodp.geometry import Region
from geodp.release import Cells, Points


@dataclass(frozen=True)
class ServerView:
    """The server's knowledge at one moment: public settings and the newest release."""

    time_s: float
    region: Region
    release: Cells | Points | None
    """The newest release, or the newest reports where phones report by themselves; None while there is none."""
    acceptance: Acceptance
    """The willingness the server assumes."""
    purse: float
    """Reward it may promise to the tasks of this batch, all together."""
    uniform_reward: float
    """W / E|T|: what each task would get if all were treated alike."""
    minimum_reward: float
    """w0: below it nobody works."""
    round: int = 0
    """0 for first offers, 1 for the first re-offer, …"""
