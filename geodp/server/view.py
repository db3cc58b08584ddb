"""Everything an assignment may look at when it plans a batch of offers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from geodp.geometry import Region
from geodp.public.acceptance import Acceptance
from geodp.public.messages import Rectangle
from geodp.public.release import Cells, Points


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
    workers_per_task: int = 1
    """Workers who must accept; they share the reward evenly."""
    asked: Mapping[int, tuple[Rectangle, ...]] = field(default_factory=dict)
    """Regions of earlier offers, by task: a re-offer reaches all who were asked before."""
