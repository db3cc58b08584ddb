"""What the operator counts of people whom it sees: everyone's pings of a run, turned into the tables of flows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from geodp.flows.calendar import DAY_BEGINS_H, Days
from geodp.flows.contributions import FlowRules, FlowTables, count_flows, make_empty
from geodp.flows.stays import PLACES, TOWERS, find_main_zones, find_runs
from geodp.flows.zone_grids import OF_TOWERS, find_tower_zones, lay_out_zones, make_tower_zones, zones_seen
from geodp.flows.zones import ZoneMap, parse_zones, read_zones
from geodp.geometry import Array
from geodp.streams import Words
from geodp.world.pings import FindZone, Seen, watch_people

if TYPE_CHECKING:
    from geodp.curator.publications import Records
    from geodp.tables.towers import TowerNetwork

Integers = npt.NDArray[np.int64]
FIRST_MONDAY = date(2024, 3, 4)
"""The day on which every run begins: scenarios have times of day, and no date."""
_DAY_S = 86_400
_SAMPLED = 500


@dataclass(frozen=True)
class Watch:
    """How the operator sees people, and by which zones and periods it counts them: public settings.

    Parameters
    ----------
    cell_m, zones, districts
        Zones: squares, those of a file (`FILE:COLUMN`), or `towers`; and the column of districts.
    every_s, od_every_s
        Periods.
    towers
        The network (None: phones tell their places).
    pings_per_hour
        How often a phone is seen.
    trips
        Trips of a person's day that are used.
    """

    cell_m: float
    zones: str
    districts: str | None
    every_s: int
    od_every_s: int
    towers: TowerNetwork | None
    pings_per_hour: float
    trips: int


@dataclass(frozen=True, eq=False)
class SeenPeople:
    """Everyone's tables, with and without the cap on trips, and where a few people were: private."""

    zones: ZoneMap
    rules: FlowRules
    tables: FlowTables
    sample: Mapping[str, Integers]
    """Person, day, slot and main zone of a few people."""


def days_of_run(start_s: float, duration_s: float, *, every_s: int = 3600, od_every_s: int = _DAY_S) -> Days:
    """Return the days that a run touches: they begin at 4 in the morning, the first on a Monday.

    Parameters
    ----------
    start_s, duration_s
        Time of day at which the run begins, and how long it lasts.
    every_s, od_every_s
        Periods.

    Examples
    --------
    >>> from geodp.curator.seen_people import days_of_run
    >>> days_of_run(4 * 3600, 30 * 86_400).count
    30
    """
    begin = start_s - DAY_BEGINS_H * 3600
    first, last = int(begin // _DAY_S), int(np.ceil((begin + duration_s) / _DAY_S)) - 1
    dates = (FIRST_MONDAY + timedelta(days=first), FIRST_MONDAY + timedelta(days=max(first, last)))
    return Days(*dates, every_s=every_s, od_every_s=od_every_s)


def day_of_moment(start_s: float, time_s: float) -> date:
    """Return the day in which a moment of a run lies.

    Parameters
    ----------
    start_s
        Time of day at which the run begins.
    time_s
        When, seconds from the start of the run.
    """
    return FIRST_MONDAY + timedelta(days=int((start_s + time_s - DAY_BEGINS_H * 3600) // _DAY_S))


def find_zones(records: Records, watch: Watch) -> tuple[ZoneMap, FindZone, bool]:
    """Return the public zones, where a phone at a place is seen, and whether that is always the same.

    Parameters
    ----------
    records
        The run.
    watch
        How people are seen.
    """
    region, network = records.region, watch.towers
    towers = None if network is None else network.lay_out(region, records.generator("world.towers"))
    of_tower = None
    if watch.zones == OF_TOWERS and towers is not None:
        zones, of_tower = make_tower_zones(towers)
    elif watch.zones:
        zones = read_zones(*parse_zones(watch.zones), watch.districts)
    else:
        zones = lay_out_zones(region, watch.cell_m)

    if towers is None or network is None:

        def locate(x_m: Array, y_m: Array, words: Words) -> Integers:  # noqa: ARG001 - a place is a place
            lon, lat = region.projection.to_lonlat(x_m=x_m, y_m=y_m)
            return zones.locate(lon, lat)

        return zones, locate, True

    seen_in = find_tower_zones(towers, zones) if of_tower is None else of_tower

    def serve(x_m: Array, y_m: Array, words: Words) -> Integers:
        return zones_seen(network.find_serving(towers, x_m, y_m, words), seen_in)

    return zones, serve, network.is_fixed


def count_people(records: Records, watch: Watch) -> SeenPeople:
    """Count everyone's pings, once for all publications that see people alike.

    Parameters
    ----------
    records
        The run.
    watch
        How people are seen and counted.
    """
    if watch not in records.worked_out:
        records.worked_out[watch] = _count(records, watch)
    found: SeenPeople = records.worked_out[watch]
    return found


def _count(records: Records, watch: Watch) -> SeenPeople:
    zones, find_zone, is_fixed = find_zones(records, watch)
    days = days_of_run(records.start_s, records.duration_s, every_s=watch.every_s, od_every_s=watch.od_every_s)
    stays = PLACES if watch.towers is None else TOWERS
    rules = FlowRules(days, zones.size, zones.centres_m, trips=watch.trips, stays=stays, uncapped=True)
    tables, sampled = make_empty(rules), []
    wanted = np.unique(np.linspace(0, max(records.motion.workers - 1, 0), _SAMPLED).astype(np.int64))
    for seen in watch_people(
        records.motion,
        records.duration_s,
        per_hour=watch.pings_per_hour,
        find_zone=find_zone,
        key=int(records.generator("world.pings").integers(2**63)),
        is_fixed=is_fixed,
    ):
        person, day, second, zone = _place_in_days(seen, records.start_s, days)
        tables = tables.add(count_flows(person.astype(np.uint64), day, second, zone, rules=rules))
        few = np.isin(person, wanted)
        sampled.append(np.stack([person[few], day[few], second[few], zone[few]]))
    return SeenPeople(
        zones, rules, tables, _find_hours(np.concatenate([np.empty((4, 0), np.int64), *sampled], axis=1), rules)
    )


def _place_in_days(seen: Seen, start_s: float, days: Days) -> tuple[Integers, Integers, Integers, Integers]:
    """Return person, day, second of the day and zone of every ping."""
    since_s = (seen.time_s + (start_s - DAY_BEGINS_H * 3600)).astype(np.int64)
    first = (days.first - FIRST_MONDAY).days
    day, second = np.divmod(since_s - first * _DAY_S, _DAY_S)
    return seen.person, day, second, seen.zone


def _find_hours(pings: Integers, rules: FlowRules) -> dict[str, Integers]:
    """Return the main zone of every period of a few people."""
    person, day, second, zone = pings[:, np.lexsort(pings[::-1])]
    unit = person * rules.days.count + day
    hours = find_main_zones(find_runs(unit, second, zone, rules.stays), rules.days.every_s)
    person, day = np.divmod(hours.unit, rules.days.count)
    return {"person": person, "day": day, "slot": hours.slot, "zone": hours.zone}
