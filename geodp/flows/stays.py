"""Runs, stays, trips and the main zone of every hour, of one person's day at a time: no row of another plays a part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class StayRule:
    """What a run, a stay and a trip are, in seconds.

    Parameters
    ----------
    gap_s
        Pings of a run, and the stays of a trip, lie at most so far apart.
    blink_s
        A shorter run between two of one zone is part of them.
    stay_s
        A run at least so long is a stay.
    """

    gap_s: int = 7200
    blink_s: int = 120
    stay_s: int = 600


PLACES = StayRule()
"""For places from satellites."""
TOWERS = StayRule(gap_s=21_600, stay_s=1800)
"""For towers, which are seen less often."""


@dataclass(frozen=True, eq=False)
class Runs:
    """Runs in order of unit and time: the unit (a person's day), the zone, first and last ping (s from its start)."""

    unit: Integers
    zone: Integers
    first: Integers
    last: Integers

    def select(self, kept: Mask | Integers) -> Runs:
        """Return some of them."""
        return Runs(self.unit[kept], self.zone[kept], self.first[kept], self.last[kept])


@dataclass(frozen=True, eq=False)
class DayTrips:
    """Trips in order of unit and time: where from, where to, departure and arrival (s from the day's start)."""

    unit: Integers
    origin: Integers
    destination: Integers
    departs: Integers
    arrives: Integers


@dataclass(frozen=True, eq=False)
class Hours:
    """The main zone of a unit in a period, in order of unit and period."""

    unit: Integers
    slot: Integers
    zone: Integers


def find_runs(unit: Integers, second: Integers, zone: Integers, rule: StayRule = PLACES) -> Runs:
    """Find the runs of pings that are in order of unit, second and zone; short ones between two of a zone go.

    Parameters
    ----------
    unit, second, zone
        Pings.
    rule
        What a run is.
    """
    if not unit.size:
        nothing = np.empty(0, dtype=np.int64)
        return Runs(nothing, nothing, nothing, nothing)
    apart = (unit[1:] != unit[:-1]) | (zone[1:] != zone[:-1]) | (second[1:] - second[:-1] > rule.gap_s)
    first = np.concatenate([[0], np.flatnonzero(apart) + 1])
    last = np.append(first[1:], unit.size) - 1
    return _absorb(Runs(unit[first], zone[first], second[first], second[last]), rule)


def _absorb(runs: Runs, rule: StayRule) -> Runs:
    """Let a run be part of its neighbours where it is short, and they are of one zone and near: from left to right."""
    near = (runs.unit[1:] == runs.unit[:-1]) & (runs.first[1:] - runs.last[:-1] <= rule.gap_s)
    short = np.zeros(runs.unit.size, dtype=np.bool_)
    if runs.unit.size > 2:
        blink = runs.last[1:-1] - runs.first[1:-1] < rule.blink_s
        other = runs.zone[1:-1] != runs.zone[2:]
        short[1:-1] = blink & other & near[:-1] & near[1:] & (runs.zone[:-2] == runs.zone[2:])
    if not short.any():
        return runs
    # Of adjacent candidates every second one goes: what lies between has become part of a longer run by then.
    number = np.arange(short.size)
    before = np.maximum.accumulate(np.where(short, -1, number))
    gone = short & ((number - before) % 2 == 1)
    kept = np.flatnonzero(~gone)
    joined = gone[np.maximum(kept - 1, 0)] & (kept > 0)
    begin = np.flatnonzero(~joined)
    end = np.append(begin[1:], kept.size) - 1
    left = runs.select(kept[begin])
    return Runs(left.unit, left.zone, left.first, runs.last[kept[end]])


def find_trips(runs: Runs, rule: StayRule = PLACES) -> DayTrips:
    """Find the trips between successive stays of a unit in different zones; they depart at the first's last ping."""
    stays = runs.select(runs.last - runs.first >= rule.stay_s)
    trip = (
        (stays.unit[1:] == stays.unit[:-1])
        & (stays.zone[1:] != stays.zone[:-1])
        & (stays.first[1:] - stays.last[:-1] <= rule.gap_s)
    )
    at = np.flatnonzero(trip)
    return DayTrips(stays.unit[at], stays.zone[at], stays.zone[at + 1], stays.last[at], stays.first[at + 1])


def find_main_zones(runs: Runs, every_s: int) -> Hours:
    """Find the zone of the longest stretch in every period; of equally long ones that of the smallest number."""
    stretch = _split(runs, every_s)
    if not stretch.unit.size:
        return stretch
    unit, slot, zone = stretch.unit, stretch.slot, stretch.zone
    begins = np.concatenate([[0], np.flatnonzero((unit[1:] != unit[:-1]) | (slot[1:] != slot[:-1])) + 1])
    many = int(zone.max()) + 1
    score = stretch.length * many + (many - 1 - zone)  # runs follow one another: rows of a period stand together
    best = np.maximum.reduceat(score, begins)
    return Hours(unit[begins], slot[begins], many - 1 - best % many)


def find_presence(runs: Runs, every_s: int) -> Hours:
    """Find all zones of every period of a unit, each once."""
    stretch = _split(runs, every_s)
    rows = np.unique(np.column_stack([stretch.unit, stretch.slot, stretch.zone]), axis=0)
    return Hours(rows[:, 0], rows[:, 1], rows[:, 2])


@dataclass(frozen=True, eq=False)
class _Stretches(Hours):
    """Parts of runs in one period each, with their lengths, s."""

    length: Integers


def _split(runs: Runs, every_s: int) -> _Stretches:
    begin, end = runs.first // every_s, runs.last // every_s
    many = end - begin + 1
    which = np.repeat(np.arange(runs.unit.size), many)
    slot = np.arange(which.size) - np.repeat(np.cumsum(many) - many, many) + begin[which]
    from_s = np.maximum(runs.first[which], slot * every_s)
    until_s = np.minimum(runs.last[which], (slot + 1) * every_s)
    return _Stretches(runs.unit[which], slot, runs.zone[which], until_s - from_s)
