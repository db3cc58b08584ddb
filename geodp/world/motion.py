"""Movement as a function of time: knots per worker, straight lines at constant speed between them; and its trips.

Generated movements come in blocks of workers, with places in single precision. A block keeps the temporary arrays in
the processor's cache and the peak of memory near the result's size. Single precision keeps 4 mm at 50 km and halves the
memory of a place; lengths, and from them times, are computed after rounding, so a leg has exactly the speed drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array, Region
from geodp.tables.trajectories.table import Integers, Names, Trajectories, nobody

if TYPE_CHECKING:
    from geodp.tables.visits.histories import Venues

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.floating]
Column = TypeVar("Column", Array, Floats)
SAMPLE_S = 30.0
"""Time between two fixes of a trip that is read off a movement (s)."""
STAY_S = 120.0
"""Who stands still for so long (s) has ended a trip."""
WORKERS_PER_BLOCK = 1 << 16
Places = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Motion:
    """Knots of all workers in one set of columns: worker i owns knots `first[i]` to `first[i + 1] - 1`.

    Times ascend within a worker, and everyone has at least one knot. The first knot may lie before time 0
    (the worker is on the way when the run starts). Before the first knot and after the last one a worker
    stands still.
    """

    first: Ids
    time_s: Array
    x_m: Floats
    y_m: Floats

    @property
    def workers(self) -> int:
        """Number of workers."""
        return int(self.first.size - 1)

    @cached_property
    def is_static(self) -> bool:
        """Whether nobody ever moves."""
        return self.time_s.size == self.workers

    @cached_property
    def max_speed_mps(self) -> float:
        """The greatest speed on any leg: nobody gets further than this times a time."""
        if self.is_static:
            return 0.0
        fastest = 0.0
        block = 1 << 20  # double precision in blocks: a bound must not be rounded down, nor fill the memory
        for begin in range(0, self.time_s.size - 1, block):
            knots = slice(begin, min(begin + block + 1, self.time_s.size))
            length = np.hypot(np.diff(self.x_m[knots].astype(np.float64)), np.diff(self.y_m[knots].astype(np.float64)))
            moving = (length > 0) & ~self.starts_worker[knots][1:]  # the step to the next worker is no leg
            time = np.maximum(np.diff(self.time_s[knots]), 1e-9)
            fastest = max(fastest, float(np.max(length[moving] / time[moving], initial=0.0)))
        return fastest

    def at(self, time_s: float, workers: Ids | None = None) -> tuple[Array, Array]:
        """Return the position of every worker, or of the given ones, at one time."""
        return self.at_times(np.float64(time_s), workers)

    def at_times(self, time_s: npt.ArrayLike, workers: Ids | None = None) -> tuple[Array, Array]:
        """Return positions at one time per worker (or one time for all)."""
        low = self.first[:-1] if workers is None else self.first[workers]
        if self.is_static:
            return self.x_m[low].astype(np.float64), self.y_m[low].astype(np.float64)
        last = (self.first[1:] if workers is None else self.first[workers + 1]) - 1
        time = np.asarray(time_s, dtype=np.float64)
        knot = _last_knot_before(self.time_s, low, last, time)
        following = np.minimum(knot + 1, last)
        begin, end = self.time_s[knot], self.time_s[following]
        span = end - begin
        share = np.clip(np.divide(time - begin, span, out=np.zeros(span.shape), where=span > 0), 0.0, 1.0)
        return _between(self.x_m, knot, following, share), _between(self.y_m, knot, following, share)

    def of(self, worker: int, time_s: float) -> tuple[float, float]:
        """Return the position of one worker at one time: what `at` returns, without the cost of arrays."""
        first, stop = int(self.first[worker]), int(self.first[worker + 1])
        knot = first + max(int(self.time_s[first:stop].searchsorted(time_s, side="right")) - 1, 0)
        following = min(knot + 1, stop - 1)
        begin_s = float(self.time_s[knot])
        span = float(self.time_s[following]) - begin_s
        share = min(max((time_s - begin_s) / span, 0.0), 1.0) if span > 0 else 0.0
        x, y = float(self.x_m[knot]), float(self.y_m[knot])
        return x + share * (float(self.x_m[following]) - x), y + share * (float(self.y_m[following]) - y)

    def within(self, duration_s: float) -> Motion:
        """Return the same movement on [0, duration_s], without the knots that do not matter there."""
        starts, time = self.starts_worker[1:], self.time_s
        superseded = np.append((time[1:] <= 0) & ~starts, False)  # the next knot is reached before the start
        beyond = np.append(False, (time[:-1] >= duration_s) & ~starts)
        same_place = (self.x_m[1:] == self.x_m[:-1]) & (self.y_m[1:] == self.y_m[:-1])
        standing_on = np.append(False, (time[1:] >= duration_s) & same_place & ~starts)
        return self.keep(~(superseded | beyond | standing_on))

    def keep(self, kept: npt.NDArray[np.bool_]) -> Motion:
        """Return the movement through some of the knots; every worker must keep at least one."""
        if kept.all():
            return self
        before = np.append(0, np.cumsum(kept))
        return Motion(before[self.first], self.time_s[kept], self.x_m[kept], self.y_m[kept])

    @cached_property
    def starts_worker(self) -> npt.NDArray[np.bool_]:
        """Whether a knot is the first of its worker."""
        starts = np.zeros(self.time_s.size, dtype=np.bool_)
        starts[self.first[:-1]] = True
        return starts

    def forward(self) -> Forward:
        """Return a reader of everyone's positions at ascending times, many times as fast as `at`."""
        return Forward(self)


class Forward:
    """Everyone's position at times that never go back.

    Each worker's present leg is kept; only those whose leg has ended since the last call are looked up again.
    The arithmetic is that of `Motion.at_times`, to the last bit.

    Parameters
    ----------
    motion
        The movement to follow.
    """

    def __init__(self, motion: Motion) -> None:
        count = 0 if motion.is_static else motion.workers
        self._motion = motion
        self._time_s = -np.inf
        self._knot = motion.first[:count].copy()
        self._begin_s, self._span_s, self._end_s = np.empty((3, count))
        self._x, self._y = np.empty((2, count))
        self._step_x, self._step_y = np.empty((2, count))
        self._enter_legs(np.arange(count))

    def at(self, time_s: float) -> tuple[Array, Array]:
        """Return the position of every worker at a time not before that of the last call."""
        if time_s < self._time_s:
            raise ValueError(f"time goes back from {self._time_s:g} to {time_s:g} s: use Motion.at")
        self._time_s = time_s
        if self._motion.is_static:
            return self._motion.at(time_s)
        while (ended := np.flatnonzero(self._end_s <= time_s)).size:
            self._knot[ended] += 1
            self._enter_legs(ended)
        share = time_s - self._begin_s
        share /= self._span_s
        np.maximum(share, 0.0, out=share)  # before the first knot a worker stands there
        x = self._step_x * share
        x += self._x
        share *= self._step_y
        share += self._y
        return x, share

    def _enter_legs(self, workers: Ids) -> None:
        """Read the leg that begins at each worker's present knot; the last knot's leg never ends."""
        motion, knot = self._motion, self._knot[workers]
        following = np.minimum(knot + 1, motion.first[workers + 1] - 1)
        x, y = motion.x_m[knot].astype(np.float64), motion.y_m[knot].astype(np.float64)
        begin, end = motion.time_s[knot], motion.time_s[following]
        self._x[workers], self._y[workers], self._begin_s[workers] = x, y, begin
        self._step_x[workers], self._step_y[workers] = motion.x_m[following] - x, motion.y_m[following] - y
        # A leg without length in time has no share to speak of: its step is 0, or it ends as it begins.
        self._span_s[workers] = np.where(end > begin, end - begin, 1.0)
        self._end_s[workers] = np.where(following > knot, end, np.inf)


class Knots:
    """Knots of one block in the order in which they were drawn; each worker's own are in order of time."""

    def __init__(self, workers: int) -> None:
        self.count = np.zeros(workers, np.int64)
        self._rounds: list[tuple[Ids, Ids, Array, Places, Places]] = []

    def add(self, workers: Ids, time_s: Array, x_m: Places, y_m: Places) -> None:
        """Add one knot to each of the given workers; the arrays are kept as they are."""
        self._rounds.append((workers, self.count[workers], time_s, x_m, y_m))
        self.count[workers] += 1

    def columns(self) -> tuple[Ids, Array, Places, Places]:
        """Return the number of knots per worker, and all knots worker by worker."""
        first = np.cumsum(self.count) - self.count
        total = int(self.count.sum())
        time_s, x_m, y_m = np.empty(total), np.empty(total, np.float32), np.empty(total, np.float32)
        for workers, place, knot_time_s, knot_x_m, knot_y_m in self._rounds:
            index = first[workers] + place
            time_s[index], x_m[index], y_m[index] = knot_time_s, knot_x_m, knot_y_m
        return self.count, time_s, x_m, y_m


def join_blocks(blocks: Iterable[tuple[Ids, Array, Floats, Floats]]) -> Motion:
    """Put blocks of workers (knots per worker, then time, x and y of all their knots) into one movement."""
    counts: list[Ids] = []
    times: list[Array] = []
    x: list[Floats] = []
    y: list[Floats] = []
    for count, time_s, x_m, y_m in blocks:
        counts.append(count)
        times.append(time_s)
        x.append(x_m)
        y.append(y_m)
    if not counts:
        return stand_still(np.empty(0), np.empty(0))
    first = np.append(0, np.cumsum(np.concatenate(counts)))
    # One column after the other, each freed at once: the peak is one column above the result.
    return Motion(first, _concatenate(times), _concatenate(x), _concatenate(y))


def stand_still(x_m: Array, y_m: Array) -> Motion:
    """Return the movement of workers who stay where they are."""
    return Motion(np.arange(x_m.size + 1), np.zeros(x_m.size), x_m, y_m)


def _concatenate(column: list[Column]) -> Column:
    whole = np.concatenate(column)
    column.clear()
    return whole


def _between(values: Floats, knot: Ids, following: Ids, share: Array) -> Array:
    begin = values[knot].astype(np.float64)
    step: Array = values[following] - begin
    return begin + share * step


def _last_knot_before(times: Array, low: Ids, high: Ids, time_s: Array) -> Ids:
    """Bisect, for all workers at once, for the last knot in [low, high] at or before the time."""
    low, high = low.copy(), high.copy()
    for _ in range(int(np.max(high - low, initial=0)).bit_length()):
        middle = (low + high + 1) // 2
        earlier = times[middle] <= time_s
        low = np.where(earlier, middle, low)
        high = np.where(earlier, high, middle - 1)
    return low


@dataclass(frozen=True)
class ReplayedMotion(Motion):
    """A movement along known trips, which it keeps: they say more than where everyone was."""

    trips: Trajectories | None = None
    """The trips of everyone; times count from the start of the run, people are numbered as the workers are."""


def trips_of(motion: Motion, duration_s: float) -> Trajectories:
    """Return everyone's own trips on [0, duration_s]: replayed ones (two fixes or more), others sampled every 30 s.

    A trip lasts from one stay of at least two minutes to the next. Ways to tasks are no part of it.
    """
    if isinstance(motion, ReplayedMotion) and motion.trips is not None:
        inside = motion.trips.keep((motion.trips.time_s >= 0) & (motion.trips.time_s <= duration_s))
        return inside.select(inside.counts >= 2)
    if motion.is_static:
        return nobody(worker_names(motion.workers))
    worker, begin_s, end_s = _spells(motion, duration_s)
    count = np.ceil((end_s - begin_s) / SAMPLE_S - 1e-9).astype(np.int64) + 1
    first = np.append(0, np.cumsum(count)).astype(np.int64)
    rank = np.arange(first[-1]) - np.repeat(first[:-1], count)
    time_s = np.minimum(np.repeat(begin_s, count) + rank * SAMPLE_S, np.repeat(end_s, count))
    x_m, y_m = motion.at_times(time_s, np.repeat(worker, count))
    return Trajectories(
        people=worker_names(motion.workers), first=first, person=worker, time_s=time_s, x_m=x_m, y_m=y_m
    )


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


def blocks(workers: int) -> Iterator[slice]:
    """Yield the workers in blocks."""
    for begin in range(0, workers, WORKERS_PER_BLOCK):
        yield slice(begin, min(begin + WORKERS_PER_BLOCK, workers))


def round_places(region: Region, x_m: Array, y_m: Array) -> tuple[Places, Places]:
    """Round places to single precision without leaving the region's box."""
    west, south, east, north = region.box_m
    return _round_between(x_m, west, east), _round_between(y_m, south, north)


def distance_m(x_m: Places, y_m: Places, to_x_m: Places, to_y_m: Places) -> Array:
    """Return distances between rounded places in double precision."""
    return np.hypot(to_x_m.astype(np.float64) - x_m, to_y_m.astype(np.float64) - y_m)


def _round_between(values: Array, low: float, high: float) -> Places:
    lowest, highest = np.float32(low), np.float32(high)
    if lowest < low:
        lowest = np.nextafter(lowest, np.float32(np.inf))
    if highest > high:
        highest = np.nextafter(highest, np.float32(-np.inf))
    places: Places = np.clip(values.astype(np.float32), lowest, highest)
    return places


@dataclass(frozen=True, eq=False)
class Told:
    """Everyone's stays, also before the run: whose, at which public place, why, and from when on."""

    person: Ids
    venue: Ids
    """Number of the place in the public list; of home and work the nearest one."""
    kind: npt.NDArray[np.int8]
    """What the stay is: home, work, or out."""
    time_s: Array

    @classmethod
    def join(cls, parts: Sequence[Told]) -> Told:
        """Put the stays of several blocks of people into one."""
        return cls(
            np.concatenate([part.person for part in parts]),
            np.concatenate([part.venue for part in parts]),
            np.concatenate([part.kind for part in parts]),
            np.concatenate([part.time_s for part in parts]),
        )

    def follow(self, whom: Ids, behind_s: Array) -> Told:
        """Return the stays of people who follow others (or themselves), so long behind (stays: in order of people)."""
        begin = np.searchsorted(self.person, np.arange(whom.size + 1))
        counts = np.diff(begin)[whom]
        offset = np.append(0, np.cumsum(counts))
        row = np.arange(offset[-1]) + np.repeat(begin[whom] - offset[:-1], counts)
        time_s = self.time_s[row] + np.repeat(behind_s, counts)
        return Told(np.repeat(np.arange(whom.size), counts), self.venue[row], self.kind[row], time_s)


@dataclass(frozen=True)
class LivedMotion(Motion):
    """A movement that is a part of whole lives, which it keeps: where people stayed, and the public list of places."""

    told: Told | None = None
    venues: Venues | None = None
