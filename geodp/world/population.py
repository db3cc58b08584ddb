"""People as columns of numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from geodp.geometry import Array
from geodp.tables.trajectories.table import Trajectories
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
    from_midnight: bool = False
    """Whether the times of the fixes count from the midnight before the run's start, not from its start."""
    trips: Trajectories | None = None
    """Trips by the time of day (seconds after midnight), when the source has them; one person per worker."""

    def start_at(self, start_s: float) -> Population:
        """Return the population with times of fixes that count from the start of the run, so late after midnight."""
        if self.recorded is None or not self.from_midnight:
            return self
        recorded = replace(self.recorded, time_s=self.recorded.time_s - start_s)
        x_m, y_m = recorded.at(0.0)
        return replace(self, x_m=x_m, y_m=y_m, recorded=recorded, from_midnight=False)

    @property
    def size(self) -> int:
        """Number of workers."""
        return int(self.x_m.size)
