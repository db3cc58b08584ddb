"""People as columns of numbers."""

from __future__ import annotations

from dataclasses import dataclass

from geodp.geometry import Array
from geodp.trajectories.table import Trajectories
from geodp.world.motion import Motion


@dataclass(frozen=True)
class Population:
    """Where each worker starts (and, where the source knows it, works), in metres; worker id = index."""

    x_m: Array
    y_m: Array
    work_x_m: Array | None = None
    work_y_m: Array | None = None
    recorded: Motion | None = None
    """Fixes over time, when the source has them."""
    trips: Trajectories | None = None
    """Trips by the time of day (seconds after midnight), when the source has them; one person per worker."""

    @property
    def size(self) -> int:
        """Number of workers."""
        return int(self.x_m.size)
