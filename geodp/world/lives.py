"""Lives row by row: where everyone was, from when on, and the way there; read as movement and as visits."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from geodp.geometry import Array
from geodp.world.motion import Floats, Ids, Motion, Places, Told, distance_m
from geodp.world.street_ways import StreetWays
from geodp.world.weekly_diaries import Diaries, keep_diaries

_MARGIN_S = 6 * 3600.0
"""Ways along streets take longer than straight ones; rows that end so long before the run do not matter to it."""


@dataclass(frozen=True, eq=False)
class LifeRows:
    """A block of lives: rows of diaries with their places and times."""

    diary: Diaries
    venue: Ids
    x_m: Places
    y_m: Places
    speed_mps: Array
    """Pace of each person."""
    depart_s: Array
    """When one sets out for the row's place."""
    arrive_s: Array

    @classmethod
    def time(cls, diary: Diaries, venue: Ids, x_m: Places, y_m: Places, speed_mps: Array) -> LifeRows:
        """Return the rows with times: everyone goes straight, at her own pace."""
        depart_s, arrive_s = keep_diaries(diary, _go_straight(diary, x_m, y_m) / speed_mps[diary.person])
        return cls(
            diary=diary,
            venue=venue,
            x_m=x_m,
            y_m=y_m,
            speed_mps=speed_mps,
            depart_s=depart_s,
            arrive_s=arrive_s,
        )

    def go_along(self, ways: StreetWays) -> LifeRows:
        """Return the rows with the times that ways along streets take, in the run and shortly before."""
        length_m = _go_straight(self.diary, self.x_m, self.y_m)
        row = self._find_moves(-_MARGIN_S)
        length_m[row] = ways.measure(self.x_m[row - 1], self.y_m[row - 1], self.x_m[row], self.y_m[row])
        depart_s, arrive_s = keep_diaries(self.diary, length_m / self.speed_mps[self.diary.person])
        return replace(self, depart_s=depart_s, arrive_s=arrive_s)

    def tell(self, begin: int, duration_s: float) -> Told:
        """Return all stays that began before the end of the run; the first person has the number `begin`."""
        starts = np.zeros(self.venue.size, dtype=np.bool_)
        starts[self.diary.first[:-1]] = True
        kept = np.flatnonzero(~starts & (self.arrive_s <= duration_s))
        return Told(begin + self.diary.person[kept], self.venue[kept], self.diary.kind[kept], self.arrive_s[kept])

    def trace(self, duration_s: float, ways: StreetWays | None) -> tuple[Ids, Array, Floats, Floats]:
        """Return the movement on [0, duration_s] as a block of knots."""
        matters, first = self._matter(0.0)
        row = np.flatnonzero(matters)
        opens = first[row]
        moves = row[~opens]
        if ways is None:
            begin = np.arange(moves.size + 1) * 2
            x_m = np.column_stack([self.x_m[moves - 1], self.x_m[moves]]).ravel()
            y_m = np.column_stack([self.y_m[moves - 1], self.y_m[moves]]).ravel()
            time_s = np.column_stack([self.depart_s[moves], self.arrive_s[moves]]).ravel()
        else:
            way = ways.find(self.x_m[moves - 1], self.y_m[moves - 1], self.x_m[moves], self.y_m[moves])
            begin, x_m, y_m = way.first, way.x_m.astype(np.float32), way.y_m.astype(np.float32)
            lasts_s = np.repeat(self.arrive_s[moves] - self.depart_s[moves], np.diff(begin))
            time_s = np.repeat(self.depart_s[moves], np.diff(begin)) + way.share * lasts_s
        # Everyone's first knot is where she is when the run begins; then come the ways.
        number = np.zeros(row.size, dtype=np.int64)
        number[opens], number[~opens] = 1, np.diff(begin)
        offset = np.cumsum(number) - number
        total = int(number.sum())
        times, east, north = np.empty(total), np.empty(total, np.float32), np.empty(total, np.float32)
        at = offset[opens]
        times[at], east[at], north[at] = self.arrive_s[row[opens]], self.x_m[row[opens]], self.y_m[row[opens]]
        rest = np.ones(total, dtype=np.bool_)
        rest[at] = False
        times[rest], east[rest], north[rest] = time_s, x_m, y_m
        people = self.diary.first.size - 1
        count = np.bincount(self.diary.person[row], number, people).astype(np.int64)
        motion = Motion(np.append(0, np.cumsum(count)), times, east, north).within(duration_s)
        return np.diff(motion.first), motion.time_s, motion.x_m, motion.y_m

    def _matter(self, from_s: float) -> tuple[np.ndarray, np.ndarray]:
        """Tell which rows matter from a moment on, and which of them are the first of their person."""
        last = np.zeros(self.arrive_s.size, dtype=np.bool_)
        last[self.diary.first[1:] - 1] = True
        matters = last | (np.append(self.arrive_s[1:], 0.0) > from_s)
        first = matters & ~np.append(False, matters[:-1] & ~last[:-1])
        return matters, first

    def _find_moves(self, from_s: float) -> Ids:
        """Return the rows whose ways matter from a moment on."""
        matters, first = self._matter(from_s)
        return np.flatnonzero(matters & ~first)


def _go_straight(diary: Diaries, x_m: Places, y_m: Places) -> Array:
    """Return the distance from each row's place before to its own; 0 for everyone's first row."""
    length_m = np.zeros(x_m.size)
    length_m[1:] = distance_m(x_m[:-1], y_m[:-1], x_m[1:], y_m[1:])
    length_m[diary.first[:-1]] = 0.0
    return length_m
