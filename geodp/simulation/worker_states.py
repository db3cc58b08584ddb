"""Where workers are and whether they are busy: their own movement, plus the tasks they took."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array
from geodp.world.motion import Motion

Ids = npt.NDArray[np.int64]


class WorkerStates:
    """All workers as columns.

    A worker on a task leaves her own schedule and walks straight to the task; afterwards she closes the gap to where
    her schedule has her by then, at the same speed. So a task never changes where she would have been without it.
    """

    def __init__(self, motion: Motion, speed_mps: float) -> None:
        self.motion = motion
        self.speed_mps = speed_mps
        self.busy = np.zeros(motion.workers, dtype=np.bool_)
        self._trip: dict[int, _Trip] = {}
        self._forward = motion.forward()

    @property
    def size(self) -> int:
        """Number of workers."""
        return self.motion.workers

    def positions(self, time_s: float, workers: Ids | None = None) -> tuple[Array, Array]:
        """Return the positions of all workers, at a time that never goes back, or of the given ones."""
        if workers is None:
            x, y = self._forward.at(time_s)
            self._trip = {worker: trip for worker, trip in self._trip.items() if trip.home_s > time_s}
            away = list(self._trip.items())
        else:
            x, y = self.motion.at(time_s, workers)
            away = [(place, self._trip[one]) for place, one in enumerate(workers.tolist()) if one in self._trip]
        for place, trip in away:
            x[place], y[place] = trip.at(time_s, float(x[place]), float(y[place]))
        return x, y

    def depart(self, worker: int, time_s: float, to_x_m: float, to_y_m: float) -> tuple[float, float, float]:
        """Send a worker to a task; returns where she is now and when she arrives."""
        x, y = self.motion.of(worker, time_s)
        before = self._trip.get(worker)
        if before is not None:
            x, y = before.at(time_s, x, y)
        arrives_s = time_s + float(np.hypot(to_x_m - x, to_y_m - y)) / self.speed_mps
        own_x, own_y = self.motion.of(worker, arrives_s)
        gap_x, gap_y = to_x_m - own_x, to_y_m - own_y
        home_s = arrives_s + float(np.hypot(gap_x, gap_y)) / self.speed_mps
        self._trip[worker] = _Trip(
            left_s=time_s, start=(x, y), arrives_s=arrives_s, goal=(to_x_m, to_y_m), home_s=home_s, gap=(gap_x, gap_y)
        )
        self.busy[worker] = True
        return x, y, arrives_s

    def finish(self, worker: int) -> None:
        """Make a worker available again."""
        self.busy[worker] = False


@dataclass(frozen=True, slots=True)
class _Trip:
    """One way to a task and back to one's own schedule."""

    left_s: float
    start: tuple[float, float]
    arrives_s: float
    goal: tuple[float, float]
    home_s: float
    gap: tuple[float, float]
    """From where her own schedule has her to the goal, on arrival."""

    def at(self, time_s: float, own_x: float, own_y: float) -> tuple[float, float]:
        if time_s <= self.arrives_s:
            way, (x, y) = self.arrives_s - self.left_s, self.start
            share = 1.0 if way <= 0 else (time_s - self.left_s) / way
            return x + share * (self.goal[0] - x), y + share * (self.goal[1] - y)
        back = self.home_s - self.arrives_s
        rest = 0.0 if back <= 0 else max(0.0, 1.0 - (time_s - self.arrives_s) / back)
        return own_x + rest * self.gap[0], own_y + rest * self.gap[1]
