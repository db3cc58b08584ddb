"""What pings add to the tables: against brute force, bounded per unit, and nobody else's business."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodp.flows.contributions import FlowRules, FlowTables, count_flows, make_empty
from geodp.flows.stays import PLACES, StayRule, find_presence, find_runs
from tests.flows.worlds import Ping, columns, grid_zones, slow_counts, small_rules, wander

ZONES = grid_zones()


def count(pings: list[Ping], rules: FlowRules) -> FlowTables:
    person, day, second, zone = columns(pings)
    return count_flows(person, day, second, zone, rules=rules)  # type: ignore[arg-type]


def od_cells(tables: FlowTables, rules: FlowRules) -> dict[tuple[int, ...], int]:
    shape = (rules.days.count, rules.days.most_od_slots, rules.zones, rules.zones)
    cells = np.array(np.unravel_index(tables.od.cell, shape)).T[:, [0, 2, 3]]
    return dict(zip(map(tuple, cells.tolist()), tables.od.count.tolist(), strict=True))


def as_vector(tables: FlowTables, rules: FlowRules) -> dict[str, np.ndarray]:
    dense = np.zeros(rules.days.count * rules.days.most_od_slots * rules.zones**2, dtype=np.int64)
    dense[tables.od.cell] = tables.od.count
    every = {"footfall": tables.footfall, "od": dense, "trips": tables.trips, **tables.histograms}
    return {name: value.ravel() for name, value in every.items()}


@pytest.mark.parametrize("seed", range(20))
def test_tables_are_those_of_brute_force(seed: int) -> None:
    pings = wander(np.random.default_rng(seed))
    rules = small_rules(ZONES, trips=60)  # more than anyone makes: nothing is capped
    tables = count(pings, rules)
    footfall, pairs, hourly = slow_counts(pings, PLACES)
    assert {tuple(i): int(tables.footfall[tuple(i)]) for i in np.argwhere(tables.footfall)} == dict(footfall)
    assert od_cells(tables, rules) == dict(pairs)
    assert {tuple(i): int(tables.trips[tuple(i)]) for i in np.argwhere(tables.trips)} == dict(hourly)
    assert sum(tables.histograms["trips_per_person"].ravel()) == len({ping[:2] for ping in pings})
    assert sum(tables.histograms["travel_time"].ravel()) == sum(hourly.values())


def test_the_worlds_of_these_tests_hold_trips_and_short_runs() -> None:
    pings = wander(np.random.default_rng(0))
    assert sum(slow_counts(pings, PLACES)[2].values()) > 10
    patient = StayRule(blink_s=0)
    assert slow_counts(pings, PLACES) != slow_counts(pings, patient)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4))
def test_one_unit_moves_each_table_by_its_sensitivity_at_most(seed: int, most: int) -> None:
    rng = np.random.default_rng(seed)
    pings = wander(rng, people=3, days=1, pings=120)
    rules = small_rules(ZONES, days=1, trips=most, key=seed)
    others = [ping for ping in pings if ping[0] != 0]
    with_one, without = (as_vector(count(some, rules), rules) for some in (pings, others))
    change = {name: with_one[name] - without[name] for name in with_one}
    assert all((one >= 0).all() for one in change.values())
    assert change["footfall"].max() <= 1
    assert change["footfall"].sum() <= rules.days.slots[0]
    assert change["od"].max(initial=0) <= 1
    assert change["od"].sum() <= most
    assert change["trips"].sum() <= most
    for one in rules.histograms:
        assert change[one.key].sum() <= one.reach(most), one.key


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_a_day_adds_what_its_own_pings_of_that_person_say_alone(seed: int) -> None:
    pings = wander(np.random.default_rng(seed), people=3, days=2)
    rules = small_rules(ZONES, trips=2, key=5)
    parts: dict[tuple[int, int], list[Ping]] = {}
    for ping in pings:
        parts.setdefault(ping[:2], []).append(ping)
    total = make_empty(rules)
    for part in parts.values():
        total = total.add(count(part, rules))
    together, apart = as_vector(count(pings, rules), rules), as_vector(total, rules)
    assert all((together[name] == apart[name]).all() for name in together)


def test_order_and_repeated_pings_change_nothing() -> None:
    pings = wander(np.random.default_rng(3))
    rules = small_rules(ZONES, trips=2)
    one, other = (as_vector(count(some, rules), rules) for some in (pings, pings[::-1] + pings[:50]))
    assert all((one[name] == other[name]).all() for name in one)


def test_a_key_chooses_which_trips_beyond_the_cap_are_used() -> None:
    pings = wander(np.random.default_rng(8), people=20, pings=200)
    chosen = {tuple(count(pings, small_rules(ZONES, trips=1, key=key)).od.cell.tolist()) for key in range(8)}
    assert len(chosen) > 1


def test_what_does_not_fit_one_word_is_counted_one_day_at_a_time() -> None:
    pings = wander(np.random.default_rng(4))
    rules = small_rules(ZONES, trips=2)
    person, day, second, zone = columns(pings)
    at_once, apart = (
        as_vector(count_flows(person, day, second, zone, rules=rules, word_bits=bits), rules)  # type: ignore[arg-type]
        for bits in (64, 25)
    )
    assert all((at_once[name] == apart[name]).all() for name in at_once)


def test_presence_counts_every_zone_of_an_hour_once() -> None:
    runs = find_runs(np.array([0, 0, 0, 1]), np.array([0, 700, 900, 0]), np.array([1, 1, 2, 2]))
    found = find_presence(runs, 3600)
    assert list(zip(found.unit.tolist(), found.zone.tolist(), strict=True)) == [(0, 1), (0, 2), (1, 2)]


def test_a_short_run_between_two_of_one_zone_is_part_of_them() -> None:
    second = np.array([0, 300, 400, 500, 900, 901, 902, 1000])
    zone = np.array([1, 1, 2, 1, 1, 3, 1, 1])
    runs = find_runs(np.zeros(8, dtype=np.int64), second, zone)
    assert (runs.zone.tolist(), runs.first.tolist(), runs.last.tolist()) == ([1], [0], [1000])
