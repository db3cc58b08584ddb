"""Workers who follow the fixes that their source recorded."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from pydantic import Field

from geodp.errors import DataError
from geodp.geometry import Region
from geodp.tables.notices import notice
from geodp.world.mobility import Mobility
from geodp.world.motion import Floats, Motion
from geodp.world.population import Population


class Recorded(Mobility):
    """Workers follow the fixes of their source, in straight lines between them.

    Needs a source that knows times, such as `table` with columns worker and time_s. Before the first and
    after the last fix a worker stands still.
    """

    kind: ClassVar[str] = "recorded"

    max_speed_mps: float | None = Field(default=100.0, gt=0)
    """A fix that needs a greater speed (m/s) from the one before is a jump and is dropped; null keeps all."""

    def move(
        self,
        population: Population,
        region: Region,  # noqa: ARG002 - the fixes lie in it
        *,
        start_s: float,  # noqa: ARG002 - the fixes' times count from the start of the run
        duration_s: float,
        rng: np.random.Generator,  # noqa: ARG002 - nothing to draw
    ) -> Motion:
        """Return the recorded movement, cut to the run's time."""
        if population.recorded is None:
            raise DataError(
                "workers.mobility: 'recorded' needs fixes over time, but the source has one place each.\n"
                "Use a source with times (kind: table with columns worker and time_s), or mobility "
                "static, random_waypoint or commuter."
            )
        motion = population.recorded
        earliest_s, latest_s = float(motion.time_s.min()), float(motion.time_s.max())
        if earliest_s > duration_s or latest_s < 0:
            raise DataError(
                f"workers.mobility: no recorded fix falls in the run's 0 to {duration_s:g} s; "
                f"the fixes' times run from {earliest_s:g} to {latest_s:g}.\n"
                "Times count in seconds from the start of the run: subtract the start."
            )
        motion = motion.within(duration_s)
        return motion if self.max_speed_mps is None else _without_jumps(motion, self.max_speed_mps)


def _without_jumps(motion: Motion, limit_mps: float) -> Motion:
    """Drop every fix that cannot be reached in time from the last one kept."""
    reach_m = np.diff(motion.time_s) * limit_mps
    too_far = np.hypot(np.diff(motion.x_m), np.diff(motion.y_m)) > reach_m
    jumps = np.flatnonzero(too_far & ~motion.starts_worker[1:]) + 1
    kept = np.ones(motion.time_s.size, dtype=np.bool_)
    # After a dropped fix the next one is judged from an earlier place: those who jump go step by step.
    for worker in np.unique(np.searchsorted(motion.first, jumps, side="right") - 1):
        knots = slice(motion.first[worker], motion.first[worker + 1])
        kept[knots] = _reachable(motion.time_s[knots], motion.x_m[knots], motion.y_m[knots], limit_mps)
    if jumps.size:
        dropped = int(np.count_nonzero(~kept))
        notice(f"recorded: {dropped:,} of {kept.size:,} fixes need more than {limit_mps:g} m/s and are dropped.")
    return motion.keep(kept)


def _reachable(time_s: Floats, x_m: Floats, y_m: Floats, limit_mps: float) -> list[bool]:
    """Tell which fixes of one worker can be reached from the last reachable one; the first always counts."""
    fixes = zip(time_s.tolist(), x_m.tolist(), y_m.tolist(), strict=True)
    last_s, last_x, last_y = next(fixes)
    reachable = [True]
    for now_s, x, y in fixes:
        reachable.append(math.hypot(x - last_x, y - last_y) <= (now_s - last_s) * limit_mps)
        if reachable[-1]:
            last_s, last_x, last_y = now_s, x, y
    return reachable
