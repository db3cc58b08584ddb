"""The trips that workers make during a run: those they replay, or what their movement amounts to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodp.tables.trajectories.table import Integers, Names, Trajectories, nobody
from geodp.world.motion import Motion

SAMPLE_S = 30.0
"""Time between two fixes of a trip that is read off a movement (s)."""
STAY_S = 120.0
"""Who stands still for so long (s) has ended a trip."""


@dataclass(frozen=True)
class ReplayedMotion(Motion):
    """A movement along known trips, which it keeps: they say more than where everyone was."""

    trips: Trajectories | None = None
    """The trips of everyone; times count from the start of the run, people are numbered as the workers are."""


def trips_of(motion: Motion, duration_s: float) -> Trajectories:
    """Return everyone's own trips on [0, duration_s]: replayed ones as they are, others sampled every 30 seconds.

    A trip lasts from one stay of at least two minutes to the next. Ways to tasks are no part of it.
    """
    if isinstance(motion, ReplayedMotion) and motion.trips is not None:
        return during(motion.trips, duration_s)
    if motion.is_static:
        return nobody(worker_names(motion.workers))
    worker, begin_s, end_s = _spells(motion, duration_s)
    count = np.ceil((end_s - begin_s) / SAMPLE_S - 1e-9).astype(np.int64) + 1
    first = np.append(0, np.cumsum(count)).astype(np.int64)
    rank = np.arange(first[-1]) - np.repeat(first[:-1], count)
    time_s = np.minimum(np.repeat(begin_s, count) + rank * SAMPLE_S, np.repeat(end_s, count))
    x_m, y_m = motion.at_times(time_s, np.repeat(worker, count))
    return Trajectories(worker_names(motion.workers), first, worker, time_s, x_m, y_m)


def during(trips: Trajectories, duration_s: float) -> Trajectories:
    """Return the parts of trips that fall into [0, duration_s] and have at least two fixes there."""
    inside = trips.keeping((trips.time_s >= 0) & (trips.time_s <= duration_s))
    return inside.chosen(inside.counts >= 2)


def worker_names(workers: int) -> Names:
    """Return the names under which workers appear in a table of trips."""
    return np.array([f"worker-{number:05d}" for number in range(workers)], dtype=np.object_)


def _spells(motion: Motion, duration_s: float) -> tuple[Integers, np.ndarray, np.ndarray]:
    """Return worker, begin and end of every spell of moving, short stops included."""
    worker = np.repeat(np.arange(motion.workers), np.diff(motion.first))
    leg = np.flatnonzero(~motion.starts_worker[1:])  # from knot `leg` to the next
    begin_s, end_s = np.maximum(motion.time_s[leg], 0.0), np.minimum(motion.time_s[leg + 1], duration_s)
    in_run = end_s > begin_s
    leg, begin_s, end_s = leg[in_run], begin_s[in_run], end_s[in_run]
    moves = (motion.x_m[leg] != motion.x_m[leg + 1]) | (motion.y_m[leg] != motion.y_m[leg + 1])
    leg, begin_s, end_s = leg[moves], begin_s[moves], end_s[moves]
    if not leg.size:
        return np.empty(0, dtype=np.int64), np.empty(0), np.empty(0)
    rests = (begin_s[1:] - end_s[:-1] >= STAY_S) | (worker[leg[1:]] != worker[leg[:-1]])
    starts = np.append(0, np.flatnonzero(rests) + 1)
    ends = np.append(starts[1:], leg.size) - 1
    return worker[leg[starts]], begin_s[starts], end_s[ends]
