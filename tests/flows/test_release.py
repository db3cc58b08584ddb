"""Noise of a report: its law, what is consistent, what is suppressed."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from geodp.flows.calendar import Days
from geodp.flows.contributions import FlowRules, FlowTables, Pairs, make_empty, number_pairs
from geodp.flows.design import FlowDesign, threshold_of
from geodp.flows.release import Z95, NoisyFlows, list_nodes, release_flows, stand_out
from geodp.privacy.noise import SimulatedNoise
from tests.flows.worlds import grid_zones

ZONES = grid_zones(8)
DAYS = Days(date(2024, 4, 1), date(2024, 4, 10))
RULES = FlowRules(DAYS, ZONES.size, ZONES.centres_m)


def make_design(**changed: object) -> FlowDesign:
    asked = {"epsilon": 1.0, "delta": 1e-6} | changed
    return FlowDesign(DAYS, ZONES.size, len(ZONES.all_districts), **asked)  # type: ignore[arg-type]


def draw(tables: FlowTables, design: FlowDesign, seed: int = 0) -> NoisyFlows:
    return release_flows(tables, ZONES, RULES, design, noise=SimulatedNoise(np.random.default_rng(seed)))


def make_tables() -> FlowTables:
    empty, rng = make_empty(RULES), np.random.default_rng(5)
    footfall = rng.poisson(80, empty.footfall.shape)
    pairs = number_pairs(np.zeros(2, dtype=np.int64), np.array([3, 4]), np.array([4, 3]), many=ZONES.size)
    return FlowTables(footfall, Pairs(pairs, np.array([500, 900])), empty.trips, empty.histograms)


def test_intervals_cover_the_truth_and_levels_add_up() -> None:
    tables, design = make_tables(), make_design()
    found = draw(tables, design).footfall
    parent, levels, _ = list_nodes(ZONES)
    first = levels.index("zone")
    truth = np.moveaxis(tables.footfall, 2, 0)
    covered = np.abs(found.value[first:] - truth) <= Z95 * found.sd[first:]
    # 15,600 intervals, a little dependent through the fit: 1 % is more than five standard deviations (1e-6).
    assert abs(covered.mean() - 0.95) < 0.01
    for table in (found.value, found.nonneg):
        sums = np.zeros_like(table)
        np.add.at(sums, parent[1:], table[1:])
        np.testing.assert_allclose(sums[:first], table[:first], atol=1e-6)
    assert found.nonneg.min() >= 0
    assert found.sd[first:].max() < design.footfall_scale("zone", 0)


def test_pure_promises_have_laplace_noise_of_the_stated_size() -> None:
    design = make_design(delta=None)
    noisy = np.concatenate([one.ravel() for one in draw(make_empty(RULES), design).histograms.values()][:1])
    scale = design.histogram_scale("travel_time")
    assert scale == pytest.approx(8 / 0.03)
    # The mean of 80 absolute values of scale b has standard deviation b/√80: six of them (1e-6 with room to spare).
    assert abs(np.abs(noisy).mean() / scale - 1) < 6 / np.sqrt(80)


def test_what_does_not_stand_out_is_not_shown() -> None:
    flows = draw(make_tables(), make_design()).flows
    days = [table for table in flows if table.period >= 0]
    assert {(3, 4), (4, 3)} <= set(zip(days[0].origin.tolist(), days[0].destination.tolist(), strict=True))
    false = sum(table.value.size for table in days) - 2
    assert false <= 30  # a Poisson number of mean 10: more than 30 in fewer than 1 of a million
    assert all((table.value >= stand_out(table.cells) * table.sd).all() for table in days)
    assert days[0].cells == ZONES.size * (ZONES.size - 1)


def test_with_a_threshold_pairs_that_nobody_makes_never_show() -> None:
    large = grid_zones(32)
    rules = FlowRules(DAYS, large.size, large.centres_m, districts=large.district_of)
    design = FlowDesign(DAYS, large.size, len(large.all_districts), epsilon=1.0, delta=1e-6)
    assert design.has_thresholds
    pairs = number_pairs(np.zeros(3, dtype=np.int64), np.array([1, 2, 3]), np.array([7, 8, 9]), many=large.size)
    empty = make_empty(rules)
    tables = FlowTables(empty.footfall, Pairs(pairs, np.array([1, 1, 4000])), empty.trips, empty.histograms)
    noise = SimulatedNoise(np.random.default_rng(0))
    flows = release_flows(tables, large, rules, design, noise=noise).flows
    between = [table for table in flows if table.level == "zone"]
    shown = [pair for table in between for pair in zip(table.origin.tolist(), table.destination.tolist(), strict=True)]
    assert shown == [(3, 9)]
    assert {table.level for table in flows} == {"zone", "district"}


def test_with_a_threshold_nothing_below_it_shows() -> None:
    large = grid_zones(32)
    rules = FlowRules(DAYS, large.size, large.centres_m, districts=large.district_of)
    design = FlowDesign(DAYS, large.size, len(large.all_districts), epsilon=1.0, delta=1e-6)
    least = threshold_of(design)[0]
    ends = np.arange(400)
    pairs = number_pairs(np.zeros(400, dtype=np.int64), ends, ends + 1, many=large.size)
    empty = make_empty(rules)
    tables = FlowTables(empty.footfall, Pairs(pairs, np.full(400, least)), empty.trips, empty.histograms)
    noise = SimulatedNoise(np.random.default_rng(0))
    flows = release_flows(tables, large, rules, design, noise=noise).flows
    values = np.concatenate([table.value for table in flows if table.level == "zone"])
    # Half of the noise is negative: that all of 400 stay, or fewer than 100, has a probability below 1e-20.
    assert 100 < values.size < 400
    assert values.min() >= least
