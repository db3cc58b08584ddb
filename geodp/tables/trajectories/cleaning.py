"""Raw tracks made usable: fixes in order, without impossible jumps, cut into trips at gaps and stays, resampled.

Pure functions of columns: track i owns rows `first[i]` to `first[i + 1] - 1`. What they return says which rows to
keep, and which rows begin a new trip. Every track is looked at by itself, to the last digit: no row of one track
changes anything about another, however absurd its times or places are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from geodp.geometry import EARTH_RADIUS_M, Array
from geodp.tables.trajectories.table import Integers, Mask

MOST_FIXES = 1_000_000
"""A trip is resampled to so many fixes at most: 11 days at one a second."""
_SETTLED = 3  # fixes that agree with each other after a jump are a new place, not errors


@dataclass(frozen=True, eq=False)
class KeptFixes:
    """Which rows stay, and which of them begin a trip of their own."""

    kept: Mask
    begins: Mask


def track_starts(first: Integers, rows: int) -> Mask:
    """Tell which rows are the first of their track."""
    starts = np.zeros(rows, dtype=np.bool_)
    starts[first[:-1]] = True
    return starts


def local_m(first: Integers, lon: Array, lat: Array) -> tuple[Array, Array]:
    """Return metres east and north of each track's first fix (equirectangular at its latitude)."""
    owner = np.repeat(np.arange(first.size - 1), np.diff(first))
    lon_0, lat_0 = lon[first[:-1]][owner], lat[first[:-1]][owner]
    east = np.mod(lon - lon_0 + 180.0, 360.0) - 180.0
    return np.radians(east) * EARTH_RADIUS_M * np.cos(np.radians(lat_0)), np.radians(lat - lat_0) * EARTH_RADIUS_M


def find_backwards_tracks(first: Integers, time_s: Array) -> Integers:
    """Return the tracks in which time goes back more often than on: they were written last fix first."""
    inner = ~track_starts(first, time_s.size)[1:]
    step = np.sign(np.diff(time_s)) * inner
    balance = np.add.reduceat(np.append(0.0, step), first[:-1])
    return np.flatnonzero(balance < 0)


def in_order(first: Integers, time_s: Array) -> tuple[Mask, Mask]:
    """Tell which rows lie behind an earlier row's time, and which repeat the time of the one before them."""
    if not time_s.size:
        return np.empty(0, dtype=np.bool_), np.empty(0, dtype=np.bool_)
    # Ranks are whole numbers, so another track's far-off time takes no digits away from this one's.
    times, rank = np.unique(time_s, return_inverse=True)
    now = rank + np.repeat(np.arange(first.size - 1) * times.size, np.diff(first))  # later tracks: a higher level
    before = np.append(-1, np.maximum.accumulate(now)[:-1])
    inner = ~track_starts(first, time_s.size)
    return inner & (now < before), inner & (now == before)


def without_jumps(first: Integers, time_s: Array, x_m: Array, y_m: Array, limit_mps: float) -> KeptFixes:
    """Leave out fixes that cannot be reached in time from the last one kept.

    When some fixes in a row agree with each other but not with the last one kept, the place has really changed: a new
    trip begins there, so one wrong fix never costs the rest of the track.
    """
    kept, begins = np.ones(time_s.size, dtype=np.bool_), track_starts(first, time_s.size)
    far = np.hypot(np.diff(x_m), np.diff(y_m)) > np.diff(time_s) * limit_mps
    jumps = np.flatnonzero(far & ~begins[1:]) + 1
    for track in np.unique(np.searchsorted(first, jumps, side="right") - 1):  # the others need no second look
        rows = slice(first[track], first[track + 1])
        kept[rows], moved = _reachable(time_s[rows], x_m[rows], y_m[rows], limit_mps)
        begins[rows] |= moved
    return KeptFixes(kept, begins)


def cut_at_gaps(begins: Mask, time_s: Array, gap_s: float) -> Mask:
    """Begin a new trip after every silence longer than `gap_s`."""
    return np.asarray(begins | np.append(True, np.diff(time_s) > gap_s)[: time_s.size])


def cut_at_stays(first: Integers, time_s: Array, x_m: Array, y_m: Array, *, stay_m: float, stay_s: float) -> KeptFixes:
    """Leave out the fixes of stays: a trip ends where the stay begins, the next begins where it ends.

    A stay begins at a fix from which one is still within `stay_m` after a quarter, half, three quarters and all of
    `stay_s`.
    """
    rows = time_s.size
    kept, begins = np.ones(rows, dtype=np.bool_), track_starts(first, rows)
    if not rows:
        return KeptFixes(kept, begins)
    end_of_track = np.repeat(first[1:], np.diff(first))
    begin = end = np.arange(rows)  # fixes that may begin a stay, and where each is a while later
    for share in (0.25, 0.5, 0.75, 1.0):
        end = _first_at(time_s, time_s[begin] + share * stay_s, end, end_of_track[begin])
        there = end < end_of_track[begin]
        begin, end = begin[there], end[there]
        near = np.hypot(x_m[end] - x_m[begin], y_m[end] - y_m[begin]) <= stay_m
        begin, end = begin[near], end[near]
    inside = np.cumsum(np.bincount(begin, minlength=rows + 1) - np.bincount(end, minlength=rows + 1))[:-1] > 0
    left = inside & np.append(False, inside[:-1]) & ~begins  # the arrival stays, and so does the departure
    ends = np.append(False, inside[:-1] & ~inside[1:])
    return KeptFixes(~left, begins | ends)


def apply_cuts(kept: Mask, begins: Mask) -> tuple[Integers, Integers]:
    """Return the rows kept and the offsets of the trips among them; a trip whose first row is gone begins later."""
    trip = np.cumsum(begins)[kept]
    changes = np.append(True, np.diff(trip) != 0)[: trip.size]
    return np.flatnonzero(kept), np.append(np.flatnonzero(changes), trip.size).astype(np.int64)


def resample_tracks(
    first: Integers, time_s: Array, lon: Array, lat: Array, every_s: float
) -> tuple[Integers, Array, Array, Array]:
    """Return trips with a fix every `every_s` seconds from their first one on, in straight lines, and their last.

    A trip that would get more than `MOST_FIXES` lasts too long to be one, and keeps its own fixes.
    """
    if not time_s.size:
        return first, time_s, lon, lat
    begin_s, end_s = time_s[first[:-1]], time_s[first[1:] - 1]
    lasts_s, endless = end_s - begin_s, too_long(first, time_s, every_s)
    number = np.floor(np.where(endless, 0.0, lasts_s) / every_s + 1e-9).astype(np.int64) + 1
    extra = lasts_s > (number - 1) * every_s + 1e-6  # the last fix is no whole number of steps away
    count = np.where(endless, np.diff(first), number + extra)
    offset = np.append(0, np.cumsum(count))
    rank = np.arange(offset[-1]) - np.repeat(offset[:-1], count)
    since_s = np.minimum(rank * every_s, np.repeat(lasts_s, count))
    clock = time_s - np.repeat(begin_s, np.diff(first))
    kept = np.repeat(endless, count)
    since_s[kept] = clock[np.repeat(endless, np.diff(first))]
    # The fix at or before each sample, and the one after it, both of the same trip.
    begin, end = np.repeat(first[:-1], count), np.repeat(first[1:], count)
    after = np.clip(_first_at(clock, since_s, begin, end), begin, end - 1)
    before = np.maximum(after - 1, begin)
    step_s = clock[after] - clock[before]
    share = np.divide(since_s - clock[before], step_s, out=np.ones_like(since_s), where=step_s > 0)
    places = (column[before] + share * (column[after] - column[before]) for column in (lon, lat))
    return (
        offset,
        since_s + np.repeat(begin_s, count),
        *(np.where(share == 1, column[after], place) for column, place in zip((lon, lat), places, strict=True)),
    )


def too_long(first: Integers, time_s: Array, every_s: float) -> Mask:
    """Tell which trips would get more than `MOST_FIXES` fixes."""
    lasts_s = time_s[first[1:] - 1] - time_s[first[:-1]]
    return np.asarray(~(lasts_s < (MOST_FIXES - 1) * every_s))


def _first_at(time_s: Array, wanted_s: Array, low: Integers, high: Integers) -> Integers:
    """Return the first row from `low` on whose time is at least the wanted one, `high` where there is none.

    All are searched at once, each within its own rows: a common clock would let one track's far-off time take digits
    away from the others.
    """
    low, high = low.copy(), high.copy()
    while (open_ := low < high).any():
        middle = np.minimum((low + high) // 2, time_s.size - 1)
        early = open_ & (time_s[middle] < wanted_s)
        low = np.where(early, middle + 1, low)
        high = np.where(open_ & ~early, middle, high)
    return low


def _reachable(time_s: Array, x_m: Array, y_m: Array, limit_mps: float) -> tuple[Mask, Mask]:
    """Tell which fixes of one track can be reached from the last one kept, and where the place has changed."""
    fixes = list(zip(time_s.tolist(), x_m.tolist(), y_m.tolist(), strict=True))
    kept, begins = np.zeros(len(fixes), dtype=np.bool_), np.zeros(len(fixes), dtype=np.bool_)
    kept[0], last, elsewhere = True, fixes[0], [0]
    elsewhere.clear()
    for number, fix in enumerate(fixes[1:], start=1):
        if _near(last, fix, limit_mps):
            kept[number], last = True, fix
            elsewhere.clear()
            continue
        if elsewhere and not _near(fixes[elsewhere[-1]], fix, limit_mps):
            elsewhere.clear()
        elsewhere.append(number)
        if len(elsewhere) == _SETTLED:
            kept[elsewhere], begins[elsewhere[0]], last = True, True, fix
            elsewhere.clear()
    return kept, begins


def _near(one: tuple[float, float, float], other: tuple[float, float, float], limit_mps: float) -> bool:
    return math.hypot(other[1] - one[1], other[2] - one[2]) <= (other[0] - one[0]) * limit_mps
