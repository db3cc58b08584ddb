"""Small worlds of pings, and the tables counted from them the slow way."""

from __future__ import annotations

import itertools
from collections import Counter
from datetime import date

import numpy as np
import numpy.typing as npt
import shapely

from geodp.flows.calendar import Days
from geodp.flows.contributions import FlowRules
from geodp.flows.stays import StayRule
from geodp.flows.zones import ZoneMap, make_zones

Ping = tuple[int, int, int, int]
"""Person, day, second, zone."""
Run = list[int]
"""Zone, first, last."""


def grid_zones(side: int = 3, step: float = 0.01) -> ZoneMap:
    """Return a square of square zones, two districts."""
    shapes = [
        shapely.box(10 + column * step, 50 + row * step, 10 + (column + 1) * step, 50 + (row + 1) * step)
        for row in range(side)
        for column in range(side)
    ]
    names = [f"z{number}" for number in range(len(shapes))]
    return make_zones(names, np.array(shapes), [f"d{number % 2}" for number in range(len(names))])


def small_rules(zones: ZoneMap, *, days: int = 2, trips: int = 8, key: int = 0, od_every_s: int = 86_400) -> FlowRules:
    """Return rules over some days of Lisbon's clock."""
    last = date(2024, 3, 29 + days)
    when = Days(date(2024, 3, 30), last, "Europe/Lisbon", od_every_s=od_every_s)
    return FlowRules(when, zones.size, zones.centres_m, trips=trips, key=key)


def wander(rng: np.random.Generator, *, people: int = 6, days: int = 2, pings: int = 60, zones: int = 4) -> list[Ping]:
    """Return pings of people who stay for a while, leave, blink and pause."""
    found: set[Ping] = set()
    for person, day in itertools.product(range(people), range(days)):
        at, zone = int(rng.integers(0, 20_000)), int(rng.integers(zones))
        before = zone
        for _ in range(pings):
            found.add((person, day, at, zone))
            at += int(rng.choice([0, 5, 30, 60, 119, 120, 300, 600, 1800, 7200, 7201], p=[0.1] * 9 + [0.06, 0.04]))
            before, zone = zone, int(rng.choice([zone, before, int(rng.integers(zones))], p=[0.5, 0.3, 0.2]))
            if at >= 82_800:
                break
    listed = sorted(found)
    rng.shuffle(listed)
    return [(int(a), int(b), int(c), int(d)) for a, b, c, d in listed]


def columns(pings: list[Ping]) -> tuple[npt.NDArray[np.uint64], ...]:
    """Return person (as a word), day, second and zone."""
    table = np.array(pings, dtype=np.int64).reshape(-1, 4)
    return (table[:, 0].astype(np.uint64) * np.uint64(7919), table[:, 1], table[:, 2], table[:, 3])  # type: ignore[return-value]


def slow_runs(pings: list[tuple[int, int]], rule: StayRule) -> list[Run]:
    """Return the runs of one unit's (second, zone), short ones absorbed from left to right."""
    runs: list[Run] = []
    for second, zone in sorted(pings):
        if runs and runs[-1][0] == zone and second - runs[-1][2] <= rule.gap_s:
            runs[-1][2] = second
        else:
            runs.append([zone, second, second])
    done: list[Run] = []
    at = 0
    while at < len(runs):
        run = runs[at]
        if done and at + 1 < len(runs):
            before, after = done[-1], runs[at + 1]
            short = run[2] - run[1] < rule.blink_s and before[0] == after[0] != run[0]
            if short and run[1] - before[2] <= rule.gap_s and after[1] - run[2] <= rule.gap_s:
                before[2] = after[2]
                at += 2
                continue
        done.append(list(run))
        at += 1
    return done


def slow_trips(runs: list[Run], rule: StayRule) -> list[tuple[int, int, int, int]]:
    """Return origin, destination, departure and arrival."""
    stays = [run for run in runs if run[2] - run[1] >= rule.stay_s]
    return [
        (a[0], b[0], a[2], b[1]) for a, b in itertools.pairwise(stays) if a[0] != b[0] and b[1] - a[2] <= rule.gap_s
    ]


def slow_hours(runs: list[Run], every_s: int) -> dict[int, int]:
    """Return the main zone of every period."""
    best: dict[int, tuple[int, int]] = {}
    for zone, first, last in runs:
        for slot in range(first // every_s, last // every_s + 1):
            length = min(last, (slot + 1) * every_s) - max(first, slot * every_s)
            best[slot] = min(best.get(slot, (1, 0)), (-length, zone))
    return {slot: zone for slot, (_, zone) in best.items()}


Tally = Counter[tuple[int, ...]]


def slow_counts(pings: list[Ping], rule: StayRule) -> tuple[Tally, Tally, Tally]:
    """Return people by (day, hour, zone) and (day, origin, destination), trips by (day, hour): no caps."""
    footfall, pairs, hourly = Tally(), Tally(), Tally()
    for person, day in {(ping[0], ping[1]) for ping in pings}:
        runs = slow_runs([(ping[2], ping[3]) for ping in pings if ping[:2] == (person, day)], rule)
        footfall.update((day, slot, zone) for slot, zone in slow_hours(runs, 3600).items())
        trips = slow_trips(runs, rule)
        pairs.update({(day, origin, destination) for origin, destination, _, _ in trips})
        hourly.update((day, departs // 3600) for _, _, departs, _ in trips)
    return footfall, pairs, hourly
