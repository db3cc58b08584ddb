"""The noisy tables of a report: drawn from true counts by a design, then made consistent, which costs nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from geodp.flows.contributions import FlowRules, FlowTables, Pairs, make_pairs
from geodp.flows.design import FlowDesign, threshold_of
from geodp.flows.histograms import Histogram
from geodp.flows.tree import clip_tree, fit_tree
from geodp.flows.zones import ZoneMap
from geodp.geometry import Array
from geodp.privacy.noise import Noise

Integers = npt.NDArray[np.int64]
Z95 = 1.959964
"""Half the width of a 95 % interval, in standard deviations."""
_RELIABLE = 0.5


@dataclass(frozen=True, eq=False)
class Footfall:
    """People by node of the tree (city, districts, zones), day and period; periods that a day lacks are NaN.

    Parameters
    ----------
    value, sd
        Fitted counts and their standard deviations.
    nonneg
        The same made non-negative: children add up to their parent.
    """

    value: Array
    nonneg: Array
    sd: Array


@dataclass(frozen=True, eq=False)
class FlowTable:
    """Flows of one period, or of all: cells that stand out of the noise.

    Parameters
    ----------
    period
        Number of the period over all days (-1: all of them).
    level
        `zone` or `district`.
    origin, destination, value
        The cells.
    sd
        Standard deviation of the noise of each.
    cells
        How many cells there are, seen or not.
    least
        The smallest value that is shown.
    """

    period: int
    level: str
    origin: Integers
    destination: Integers
    value: Array
    sd: float
    cells: int
    least: float


@dataclass(frozen=True, eq=False)
class NoisyFlows:
    """A whole report, noise included: nothing else of the data leaves."""

    footfall: Footfall
    flows: tuple[FlowTable, ...]
    trips: Array
    """Trips by day and hour (NaN: the day lacks it)."""
    trips_sd: float
    histograms: dict[str, Array]
    """By key: day and bin."""
    histogram_sd: dict[str, float]


def release_exactly(tables: FlowTables, zones: ZoneMap, rules: FlowRules, k: int) -> NoisyFlows:
    """Return true counts above k, as operators publish them: nothing is promised about anybody.

    Parameters
    ----------
    tables
        True counts.
    zones, rules
        Public settings.
    k
        Counts up to this are left out (NaN; flows are not there).
    """
    _, levels, _ = list_nodes(zones)
    count = np.full((len(levels), *tables.footfall.shape[:2]), np.nan)
    first_zone = levels.index("zone")
    count[first_zone:] = np.moveaxis(tables.footfall, 2, 0)
    for node in range(first_zone - 1):
        count[node + 1] = count[first_zone:][zones.district_of == node].sum(axis=0)
    count[0] = count[first_zone:].sum(axis=0)
    shown = np.where(count > k, count, np.nan)
    flows, total = [], make_pairs()
    for period, pairs in _list_periods(tables.od, zones.size, rules):
        above = pairs.count > k
        kept = Pairs(pairs.cell[above], pairs.count[above])
        flows.append(_name_pairs(period, kept, zones.size, least=k + 1))
        total = total.add(kept)
    flows.append(_name_pairs(-1, total, zones.size, least=k + 1))
    hourly = np.where(tables.trips > k, tables.trips, np.nan)
    return NoisyFlows(
        Footfall(shown, shown, np.where(np.isnan(shown), np.nan, 0.0)),
        tuple(flows),
        hourly,
        trips_sd=0.0,
        histograms={key: np.where(count > k, count, np.nan) for key, count in tables.histograms.items()},
        histogram_sd=dict.fromkeys(tables.histograms, 0.0),
    )


def _list_periods(pairs: Pairs, many: int, rules: FlowRules) -> Iterator[tuple[int, Pairs]]:
    """Yield the pairs of every period, numbered within it."""
    for day in range(rules.days.count):
        for slot in range(int(rules.days.od_slots[day])):
            period = day * rules.days.most_od_slots + slot
            begin, end = np.searchsorted(pairs.cell, [period * many * many, (period + 1) * many * many])
            yield period, Pairs(pairs.cell[begin:end] - period * many * many, pairs.count[begin:end])


def _name_pairs(period: int, pairs: Pairs, many: int, *, least: float) -> FlowTable:
    origin, destination = np.divmod(pairs.cell, many)
    value = pairs.count.astype(np.float64)
    return FlowTable(period, "zone", origin, destination, value, sd=0.0, cells=many * (many - 1), least=least)


def list_nodes(zones: ZoneMap) -> tuple[Integers, list[str], list[str]]:
    """Return parent, level and name of every node: the city, its districts, their zones."""
    districts = len(zones.all_districts)
    parent = np.concatenate([[-1], np.zeros(districts, dtype=np.int64), 1 + zones.district_of])
    levels = ["city", *["district"] * districts, *["zone"] * zones.size]
    return parent, levels, ["all", *zones.all_districts, *zones.all_names]


def release_flows(
    tables: FlowTables, zones: ZoneMap, rules: FlowRules, design: FlowDesign, *, noise: Noise
) -> NoisyFlows:
    """Draw all noise of a report and fit what adds up.

    Parameters
    ----------
    tables
        True counts.
    zones, rules, design
        Public settings.
    noise
        Where noise comes from.
    """
    return NoisyFlows(
        release_footfall(tables.footfall, zones, design, noise),
        release_pairs(tables, zones, rules, design, noise=noise),
        _release_trips(tables.trips, design, noise),
        trips_sd=design.spread(design.trips_scale),
        histograms={one.key: _release_bins(tables.histograms[one.key], one, design, noise) for one in rules.histograms},
        histogram_sd={one.key: design.spread(design.histogram_scale(one.key)) for one in rules.histograms},
    )


def release_footfall(count: Integers, zones: ZoneMap, design: FlowDesign, noise: Noise) -> Footfall:
    """Measure every level by itself, and fit the tree.

    Parameters
    ----------
    count
        People by day, period and zone.
    zones, design
        Public settings.
    noise
        Where noise comes from.
    """
    parent, levels, _ = list_nodes(zones)
    days, slots, _ = count.shape
    shape = (len(levels), days, slots)
    value, nonneg, sd = (np.full(shape, np.nan) for _ in range(3))
    of_zone, first_zone = zones.district_of, 1 + len(zones.all_districts)
    for day in range(days):
        many = int(design.days.slots[day])
        true = np.zeros((len(levels), many), dtype=np.int64)
        true[first_zone:] = count[day, :many].T
        np.add.at(true, 1 + of_zone, true[first_zone:])
        true[0] = true[first_zone:].sum(axis=0)
        scales = {level: design.footfall_scale(level, day) for level in ("city", "district", "zone")}
        of_level = {level: levels.index(level) for level in scales}  # nodes of a level stand together
        noisy = np.concatenate([
            design.add_noise(true[first : first + levels.count(level)], scales[level], noise)
            for level, first in of_level.items()
        ])  # fmt: skip
        variance = np.array([design.spread(scales[level]) ** 2 for level in levels])
        fitted, spread = fit_tree(parent, noisy.astype(np.float64), variance)
        value[:, day, :many], sd[:, day, :many] = fitted, np.sqrt(spread)[:, None]
        nonneg[:, day, :many] = clip_tree(parent, fitted)
    return Footfall(value, nonneg, sd)


def release_pairs(
    tables: FlowTables, zones: ZoneMap, rules: FlowRules, design: FlowDesign, *, noise: Noise
) -> tuple[FlowTable, ...]:
    """Draw the flows of every period; where pairs are many, those between districts and what lies above a threshold.

    Parameters
    ----------
    tables
        True counts.
    zones, rules, design
        Public settings.
    noise
        Where noise comes from.
    """
    periods = [
        day * rules.days.most_od_slots + slot
        for day in range(rules.days.count)
        for slot in range(int(rules.days.od_slots[day]))
    ]
    if not design.has_thresholds:
        return _release_dense(tables.od, zones.size, "zone", periods, design=design, scale=design.od_scale, noise=noise)
    wide = len(zones.all_districts)
    scale = design.district_od_scale
    return (
        *_release_dense(tables.wide, wide, "district", periods, design=design, scale=scale, noise=noise),
        *_release_above(tables.od, zones.size, periods, design, noise=noise),
    )


def _release_dense(
    pairs: Pairs, many: int, level: str, periods: list[int], *, design: FlowDesign, scale: float, noise: Noise
) -> tuple[FlowTable, ...]:
    """Publish every pair with noise, of which what stands out is shown."""
    possible = ~np.eye(many, dtype=np.bool_) if level == "zone" else np.ones((many, many), dtype=np.bool_)
    sd, found = design.spread(scale), []
    total = np.zeros((many, many), dtype=np.int64)
    cells = int(possible.sum())
    for period in periods:
        noisy = np.zeros(many * many, dtype=np.int64)
        begin, end = np.searchsorted(pairs.cell, [period * many * many, (period + 1) * many * many])
        noisy[pairs.cell[begin:end] - period * many * many] = pairs.count[begin:end]
        table = noisy.reshape(many, many)
        table[possible] = design.add_noise(table[possible], scale, noise)
        total += table
        found.append(_show(period, level, table, sd, cells))
    return (*found, _show(-1, level, total, sd * math.sqrt(len(periods)), cells))


def _show(period: int, level: str, noisy: Integers, sd: float, cells: int) -> FlowTable:
    """Keep what would be about one false pair of a table without any."""
    least = stand_out(cells) * sd
    origin, destination = np.nonzero(noisy >= least)
    value = noisy[origin, destination].astype(np.float64)
    return FlowTable(period, level, origin, destination, value, sd=sd, cells=cells, least=least)


def stand_out(cells: int) -> float:
    """Return κ = Φ⁻¹(1 - 1/n): of n cells of noise about one lies above κ standard deviations.

    Parameters
    ----------
    cells
        How many cells there are.

    Examples
    --------
    >>> from geodp.flows.release import stand_out
    >>> round(stand_out(10_000), 6)
    3.719016
    """
    return NormalDist().inv_cdf(1 - 1 / max(cells, 2))


def _release_above(
    pairs: Pairs, many: int, periods: list[int], design: FlowDesign, *, noise: Noise
) -> tuple[FlowTable, ...]:
    """Publish pairs that somebody makes, from a threshold on that hides who is alone."""
    scale = design.od_scale
    least, sd = threshold_of(design)[0], design.spread(scale)
    found = []
    for period in periods:
        begin, end = np.searchsorted(pairs.cell, [period * many * many, (period + 1) * many * many])
        noisy = design.add_noise(pairs.count[begin:end], scale, noise)
        shown = noisy >= least
        origin, destination = np.divmod(pairs.cell[begin:end][shown] - period * many * many, many)
        value = noisy[shown].astype(np.float64)
        cells = many * (many - 1)
        found.append(FlowTable(period, "zone", origin, destination, value, sd=sd, cells=cells, least=float(least)))
    return tuple(found)


def _release_trips(count: Integers, design: FlowDesign, noise: Noise) -> Array:
    noisy = np.full(count.shape, np.nan)
    for day, length in enumerate(design.days.lengths_s):
        hours = int(-(-length // 3600))
        noisy[day, :hours] = design.add_noise(count[day, :hours], design.trips_scale, noise)
    return noisy


def _release_bins(count: Integers, one: Histogram, design: FlowDesign, noise: Noise) -> Array:
    return design.add_noise(count, design.histogram_scale(one.key), noise).astype(np.float64)


def is_reliable(value: Array, sd: Array | float) -> npt.NDArray[np.bool_]:
    """Tell where half the 95 % interval is at most half the value: by noisy value and sd alone.

    Parameters
    ----------
    value, sd
        Noisy values and their standard deviations.
    """
    with np.errstate(invalid="ignore"):
        return np.asarray(Z95 * np.asarray(sd) <= _RELIABLE * value)
