"""What each unit (a person's day) adds to the tables, bounded by caps that only its own rows decide."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from geodp.flows.calendar import Days
from geodp.flows.histograms import Histogram, list_histograms
from geodp.flows.stays import PLACES, DayTrips, Hours, Runs, StayRule, find_main_zones, find_runs, find_trips
from geodp.geometry import Array

Integers = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
HOUR_S = 3600


@dataclass(frozen=True, eq=False)
class FlowRules:
    """Everything public that decides what is counted.

    Parameters
    ----------
    days
        The days and periods.
    zones
        How many zones there are, `outside` among them.
    centres_m
        Their centres, metres.
    trips
        Trips of a unit that are used.
    stays
        What a stay is.
    key
        Key of the release, which decides whose trips beyond the cap are used.
    """

    days: Days
    zones: int
    centres_m: tuple[Array, Array]
    trips: int = 8
    stays: StayRule = PLACES
    key: int = 0
    districts: Integers | None = None
    """District of every zone where flows between districts are counted beside those between zones."""
    uncapped: bool = False
    """Whether flows and trips are counted without a cap as well: for simulations, which know the truth."""

    @property
    def histograms(self) -> tuple[Histogram, ...]:
        """The histograms."""
        return list_histograms(self.trips)

    @property
    def hours(self) -> int:
        """Hours of the longest day."""
        return int(-(-self.days.lengths_s // HOUR_S).max())


@dataclass(frozen=True, eq=False)
class Pairs:
    """Cells of flows that are not empty, in order of their numbers (`number_pairs`), and the people in each."""

    cell: Integers
    count: Integers

    def add(self, other: Pairs) -> Pairs:
        """Return the sum of both."""
        cell, place = np.unique(np.concatenate([self.cell, other.cell]), return_inverse=True)
        count = np.zeros(cell.size, dtype=np.int64)
        np.add.at(count, place, np.concatenate([self.count, other.count]))
        return Pairs(cell, count)


def make_pairs() -> Pairs:
    """Return flows of nobody."""
    return Pairs(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class FlowTables:
    """True counts, which add up over buckets of people.

    Parameters
    ----------
    footfall
        People by day, period and main zone.
    od
        Flows between zones.
    trips
        Trips by day and hour of departure.
    histograms
        By key: units or trips by day and bin.
    """

    footfall: Integers
    od: Pairs
    trips: Integers
    histograms: dict[str, Integers] = field(default_factory=dict)
    wide: Pairs = field(default_factory=make_pairs)
    """Flows between districts, where they are counted."""
    every_od: Pairs = field(default_factory=make_pairs)
    """Flows between zones without a cap, where they are counted."""
    every_trip: Integers = field(default_factory=lambda: np.zeros((1, 1), dtype=np.int64))
    """Trips by day and hour without a cap, where they are counted."""

    def add(self, other: FlowTables) -> FlowTables:
        """Return the sum of both."""
        return FlowTables(
            self.footfall + other.footfall,
            self.od.add(other.od),
            self.trips + other.trips,
            {key: value + other.histograms[key] for key, value in self.histograms.items()},
            wide=self.wide.add(other.wide),
            every_od=self.every_od.add(other.every_od),
            every_trip=self.every_trip + other.every_trip,
        )


def make_empty(rules: FlowRules) -> FlowTables:
    """Return tables that count nobody."""
    days = rules.days.count
    return FlowTables(
        np.zeros((days, rules.days.most_slots, rules.zones), dtype=np.int64),
        make_pairs(),
        np.zeros((days, rules.hours), dtype=np.int64),
        {one.key: np.zeros((days, one.bins), dtype=np.int64) for one in rules.histograms},
    )


def count_flows(
    person: Words, day: Integers, second: Integers, zone: Integers, *, rules: FlowRules, word_bits: int = 64
) -> FlowTables:
    """Count what pings add to the tables.

    Parameters
    ----------
    person
        A word for each person, the same in all calls; all pings of a person must be in one call.
    day, second, zone
        Number of the day, seconds since it began, number of the zone. The order of pings plays no part.
    rules
        What is counted.
    word_bits
        Where person, day, second and zone do not fit into so many bits, one day is counted after the other.
    """
    if not person.size:
        return make_empty(rules)
    import pandas as pd

    index, people = pd.factorize(person)
    bits = [max(int(top).bit_length(), 1) for top in (people.size, rules.days.count, 90_000, rules.zones)]
    if sum(bits) > word_bits and np.ptp(day):
        total = make_empty(rules)
        for number in np.unique(day):
            part = np.flatnonzero(day == number)
            one = (person[part], day[part], second[part], zone[part])
            total = total.add(count_flows(*one, rules=rules, word_bits=word_bits))
        return total
    key = index.astype(np.uint64)
    for values, width in zip((day, second, zone), bits[1:], strict=True):
        key <<= np.uint64(width)
        key |= values.astype(np.uint64)
    key.sort()
    zone = (key & np.uint64((1 << bits[3]) - 1)).astype(np.int64)
    key >>= np.uint64(bits[3])
    second = (key & np.uint64((1 << bits[2]) - 1)).astype(np.int64)
    key >>= np.uint64(bits[2])
    unit = key.astype(np.int64)
    units = _Units(people, bits[1])
    runs = find_runs(unit, second, zone, rules.stays)
    return _tabulate(units, runs, rules)


@dataclass(frozen=True, eq=False)
class _Units:
    """Units by number: a person's number, then the day in so many bits."""

    people: Words
    day_bits: int

    def day(self, unit: Integers) -> Integers:
        return unit & ((1 << self.day_bits) - 1)

    def words(self, unit: Integers) -> Words:
        """Return a word for each unit that follows from the person and the day alone."""
        return mix(self.people[unit >> self.day_bits], self.day(unit))


def _tabulate(units: _Units, runs: Runs, rules: FlowRules) -> FlowTables:
    hours = find_main_zones(runs, rules.days.every_s)
    shape = (rules.days.count, rules.days.most_slots, rules.zones)
    cell = (units.day(hours.unit) * shape[1] + hours.slot) * shape[2] + hours.zone
    footfall = np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape)
    every = find_trips(runs, rules.stays)
    kept = choose_few(every.unit, mix(units.words(every.unit), every.departs), rules.trips, key=rules.key)
    trips = DayTrips(*(getattr(every, name)[kept] for name in ("unit", "origin", "destination", "departs", "arrives")))
    day = units.day(trips.unit)
    per_hour = np.bincount(day * rules.hours + trips.departs // HOUR_S, minlength=shape[0] * rules.hours)
    od = _count_pairs(units, every, rules)
    wide = make_pairs() if rules.districts is None else _count_pairs(units, every, rules, rules.districts)
    tables = FlowTables(footfall, od, per_hour.reshape(shape[0], rules.hours), wide=wide)
    everyone = runs.unit[np.flatnonzero(np.diff(runs.unit, prepend=-1))]
    clock = hours if rules.days.every_s == HOUR_S else find_main_zones(runs, HOUR_S)  # whatever footfall's periods are
    values = _value_trips(trips, rules) | _value_units(everyone, every, clock, rules)
    histograms = {}
    for one in rules.histograms:
        of, value = values[one.key]
        where = units.day(of) * one.bins + one.place(value)
        histograms[one.key] = np.bincount(where, minlength=shape[0] * one.bins).reshape(shape[0], one.bins)
    if rules.uncapped:
        hour = units.day(every.unit) * rules.hours + every.departs // HOUR_S
        whole = np.bincount(hour, minlength=shape[0] * rules.hours).reshape(shape[0], rules.hours)
        pairs = _count_pairs(units, every, replace(rules, trips=every.unit.size + 1))
        tables = replace(tables, every_od=pairs, every_trip=whole)
    return replace(tables, histograms=histograms)


def _count_pairs(units: _Units, trips: DayTrips, rules: FlowRules, areas: Integers | None = None) -> Pairs:
    """Count the units in every cell of the flows: each at most once per cell, and in at most so many cells."""
    days = rules.days
    period = trips.departs // days.od_every_s if days.most_od_slots > 1 else np.zeros_like(trips.departs)
    ends = (trips.origin, trips.destination) if areas is None else (areas[trips.origin], areas[trips.destination])
    many = rules.zones if areas is None else int(areas.max()) + 1
    cell = number_pairs(units.day(trips.unit) * days.most_od_slots + period, *ends, many=many)
    order = np.lexsort((cell, trips.unit))
    unit, cell = trips.unit[order], cell[order]
    new = np.ones(unit.size, dtype=np.bool_)
    new[1:] = (unit[1:] != unit[:-1]) | (cell[1:] != cell[:-1])
    unit, cell = unit[new], cell[new]
    kept = choose_few(unit, mix(units.words(unit), cell), rules.trips, key=rules.key)
    found, count = np.unique(cell[kept], return_counts=True)
    return Pairs(found, count.astype(np.int64))


def number_pairs(period: Integers, origin: Integers, destination: Integers, *, many: int) -> Integers:
    """Return the number of a cell of flows between so many areas: by period (of all days), origin and destination."""
    return (period * many + origin) * many + destination


def _value_trips(trips: DayTrips, rules: FlowRules) -> dict[str, tuple[Integers, Array]]:
    """Return what is measured of trips; what leads beyond the zones has no length."""
    x, y = rules.centres_m
    length = np.hypot(x[trips.destination] - x[trips.origin], y[trips.destination] - y[trips.origin]) / 1000
    known = np.isfinite(length)
    follows = np.flatnonzero(trips.unit[1:] == trips.unit[:-1])
    pause = (trips.departs[follows + 1] - trips.arrives[follows]) / HOUR_S
    return {
        "travel_time": (trips.unit, (trips.arrives - trips.departs) / 60.0),
        "trip_length": (trips.unit[known], length[known]),
        "time_between_trips": (trips.unit[follows], pause),
    }


def _value_units(
    everyone: Integers, trips: DayTrips, hours: Hours, rules: FlowRules
) -> dict[str, tuple[Integers, Array]]:
    """Return what is measured of whole units: one value each."""
    many = np.bincount(np.searchsorted(everyone, trips.unit), minlength=everyone.size).astype(np.float64)
    unit, zone = np.searchsorted(everyone, hours.unit), hours.zone
    pair, count = np.unique(unit * rules.zones + zone, return_counts=True)
    of, at = np.divmod(pair, rules.zones)
    total = np.bincount(of, weights=count, minlength=everyone.size)
    share = count / total[of]
    entropy = np.bincount(of, weights=-share * np.log2(share), minlength=everyone.size)
    zones = np.bincount(of, minlength=everyone.size).astype(np.float64)
    inside = at < rules.zones - 1
    of, at, weight = of[inside], at[inside], count[inside].astype(np.float64)
    seen = np.bincount(of, weights=weight, minlength=everyone.size)
    placed = np.flatnonzero(seen)
    square = np.zeros(everyone.size)
    for centre in rules.centres_m:
        mean = np.bincount(of, weights=weight * centre[at], minlength=everyone.size) / np.maximum(seen, 1)
        square += np.bincount(of, weights=weight * (centre[at] - mean[of]) ** 2, minlength=everyone.size)
    radius = np.sqrt(square / np.maximum(seen, 1)) / 1000
    return {
        "trips_per_person": (everyone, many),
        "zones_per_person": (everyone, zones),
        "entropy": (everyone, np.asarray(entropy, dtype=np.float64)),
        "radius_of_gyration": (everyone[placed], radius[placed]),
    }


def choose_few(unit: Integers, words: Words, most: int, *, key: int) -> npt.NDArray[np.bool_]:
    """Tell which rows are used: of each unit those of the smallest keyed words. Rows are in order of unit."""
    kept = np.ones(unit.size, dtype=np.bool_)
    if not unit.size:
        return kept
    begins = np.concatenate([[0], np.flatnonzero(unit[1:] != unit[:-1]) + 1])
    many = np.diff(np.append(begins, unit.size))
    rows = np.flatnonzero(np.repeat(many > most, many))
    if rows.size:
        order = rows[np.lexsort((mix(words[rows], np.uint64(key)), unit[rows]))]
        of = unit[order]
        first = np.concatenate([[0], np.flatnonzero(of[1:] != of[:-1]) + 1])
        rank = np.arange(of.size) - np.repeat(first, np.diff(np.append(first, of.size)))
        kept[order[rank >= most]] = False
    return kept


def mix(word: Words, more: npt.ArrayLike) -> Words:
    """Return words that follow from two numbers each, and tell neither (the finalizer of SplitMix64)."""
    with np.errstate(over="ignore"):
        mixed = word ^ (
            np.asarray(more).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x2545F4914F6CDD1D)
        )
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(mixed ^ (mixed >> np.uint64(31)))
