"""The tables of a report of flows as files: values, their noise, intervals, and what can be relied on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.flows.contributions import FlowRules
from geodp.flows.design import FlowDesign
from geodp.flows.release import Z95, FlowTable, NoisyFlows, is_reliable, list_nodes
from geodp.flows.tree import clip_tree
from geodp.flows.zones import ZoneMap
from geodp.geometry import Array
from geodp.publish.outputs import PublishedTable, write_table

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
ALL = "all"


@dataclass(frozen=True, eq=False)
class FlowsProduct:
    """A report: noisy tables, and everything public that they are read by."""

    noisy: NoisyFlows
    zones: ZoneMap
    rules: FlowRules
    design: FlowDesign
    releasable: bool


def write_tables(folder: Path, product: FlowsProduct, stamp: dict[str, Any]) -> list[Path]:
    """Write all tables and the zones; return the files.

    Parameters
    ----------
    folder
        Where.
    product
        The report.
    stamp
        What is written into every table.
    """
    found = {
        "footfall.parquet": tabulate_footfall(product),
        "od.parquet": tabulate_flows(product),
        "trips.parquet": tabulate_trips(product),
        "histograms.csv": tabulate_histograms(product),
    }
    for name, columns in found.items():
        write_table(folder / name, PublishedTable(columns), suffix_of=folder / name, stamp=stamp)
    _write_zones(folder / "zones.geoparquet", product)
    return [folder / name for name in (*found, "zones.geoparquet")]


def add_interval(value: Array, sd: Array) -> dict[str, Any]:
    """Return the columns of a value: itself, its noise, the 95 % interval of that, and whether it can be relied on."""
    return {
        "value": value,
        "sd": sd,
        "low": value - Z95 * sd,
        "high": value + Z95 * sd,
        "reliable": is_reliable(value, sd),
    }


def name_moments(moments: list[datetime]) -> npt.NDArray[Any]:
    """Return moments as words with their zone, as a clock shows them."""
    return np.array([moment.isoformat(timespec="minutes") for moment in moments], dtype=np.object_)


def tabulate_footfall(product: FlowsProduct) -> dict[str, Any]:
    """Return footfall by node and period, then by node and day (sums of periods), then over all days."""
    footfall, days = product.noisy.footfall, product.design.days
    parent, levels, names = list_nodes(product.zones)
    level, name = np.array(levels, dtype=np.object_), np.array(names, dtype=np.object_)
    parts: list[dict[str, Any]] = []

    def add(period: str, start: str, *at: int | slice, sums: bool) -> None:
        where = (slice(None), *at)
        value, nonneg, sd = footfall.value[where], footfall.nonneg[where], footfall.sd[where]
        if sums:
            axes = tuple(range(1, value.ndim))
            value = np.nansum(value, axis=axes)
            nonneg = clip_tree(parent, value)  # clipped counts added up would be too large
            sd = np.sqrt(np.nansum(sd**2, axis=axes))
        known = add_interval(value, sd)
        parts.append({"period": np.full(len(names), period, dtype=np.object_), "level": level, "zone": name,
                      "start": np.full(len(names), start, dtype=np.object_), "value": known.pop("value"),
                      "value_nonneg": nonneg, **known})  # fmt: skip

    for day in range(days.count):
        for slot, start in enumerate(name_moments(days.slot_starts(day))):
            add("period", start, day, slot, sums=False)
    for day, date in enumerate(days.dates):
        add("day", date.isoformat(), day, sums=True)
    add(ALL, days.first.isoformat(), slice(None), sums=True)
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}


def tabulate_flows(product: FlowsProduct) -> dict[str, Any]:
    """Return the flows that stand out, period by period and over all."""
    rules, zones = product.rules, product.zones
    names = {"zone": np.array(zones.all_names, dtype=np.object_),
             "district": np.array(zones.all_districts, dtype=np.object_)}  # fmt: skip
    parts = []
    for table in product.noisy.flows:
        size, of = table.value.size, names[table.level]
        known = add_interval(table.value, np.full(size, table.sd))
        parts.append({
            "period": np.full(size, ALL if table.period < 0 else "period", dtype=np.object_),
            "start": np.full(size, name_period(table, rules), dtype=np.object_),
            "level": np.full(size, table.level, dtype=np.object_),
            "origin": of[table.origin],
            "destination": of[table.destination],
            **known,
            "least": np.full(size, table.least),
        })  # fmt: skip
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}


def name_period(table: FlowTable, rules: FlowRules) -> str:
    """Name the beginning of a table's period."""
    days = rules.days
    if table.period < 0:
        return days.first.isoformat()
    day, slot = divmod(table.period, days.most_od_slots)
    return days.moment(int(days.edges_s[day]) + slot * days.od_every_s).isoformat(timespec="minutes")


def tabulate_trips(product: FlowsProduct) -> dict[str, Any]:
    """Return trips by hour of departure, and what follows: by day, weekday, hour of the day, and in all."""
    trips, days, sd = product.noisy.trips, product.design.days, product.noisy.trips_sd
    known = np.isfinite(trips)
    clock = np.array([[days.moment(float(begin + 3600 * hour)).hour for hour in range(trips.shape[1])]
                      for begin in days.edges_s[:-1]])  # fmt: skip
    weekday = np.array([date.weekday() for date in days.dates])
    rows: list[tuple[str, str, float, int]] = []
    for day, hour in np.argwhere(known):
        start = days.moment(float(days.edges_s[day] + 3600 * hour)).isoformat(timespec="minutes")
        rows.append(("hour", start, float(trips[day, hour]), 1))
    rows += [("day", date.isoformat(), float(np.nansum(trips[day])), int(known[day].sum()))
             for day, date in enumerate(days.dates)]  # fmt: skip
    for number in np.unique(weekday):
        of = weekday == number
        rows.append(("weekday", WEEKDAYS[number], float(np.nansum(trips[of])), int(known[of].sum())))
    for hour in range(24):
        of = known & (clock == hour)
        rows.append(("hour of the day", f"{hour:02d}:00", float(trips[of].sum()), int(of.sum())))
    rows.append((ALL, days.first.isoformat(), float(np.nansum(trips)), int(known.sum())))
    words = {name: np.array([row[place] for row in rows], dtype=np.object_)
             for place, name in enumerate(("period", "start"))}  # fmt: skip
    many = np.array([row[3] for row in rows])
    return words | add_interval(np.array([row[2] for row in rows]), sd * np.sqrt(many))


def tabulate_histograms(product: FlowsProduct) -> dict[str, Any]:
    """Return the histograms over all days, then day by day."""
    parts = []
    for one in product.rules.histograms:
        noisy, sd = product.noisy.histograms[one.key], product.noisy.histogram_sd[one.key]
        days = [(ALL, noisy.sum(axis=0), sd * np.sqrt(len(noisy)))]
        days += [(date.isoformat(), noisy[day], sd) for day, date in enumerate(product.design.days.dates)]
        for start, value, spread in days:
            parts.append({
                "statistic": np.full(one.bins, one.key, dtype=np.object_),
                "start": np.full(one.bins, start, dtype=np.object_),
                "bin": np.array(one.name_bins(), dtype=np.object_),
                "from": np.array(one.edges, dtype=np.float64),
                "measure": np.full(one.bins, one.measure, dtype=np.object_),
                **add_interval(value, np.full(one.bins, spread)),
            })  # fmt: skip
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}


def _write_zones(path: Path, product: FlowsProduct) -> None:
    import geopandas

    zones, footfall = product.zones, product.noisy.footfall
    first = 1 + len(zones.all_districts)
    total = clip_tree(list_nodes(zones)[0], np.nansum(footfall.value, axis=(1, 2)))[first:-1]
    columns = {
        "zone": list(zones.names),
        "district": [zones.districts[number] for number in zones.district],
        "value_nonneg": total,
    }
    geopandas.GeoDataFrame(columns, geometry=list(zones.shapes), crs="EPSG:4326").to_parquet(path)
