"""Phones that answer in which cell they are: goldens, exact laws, the law of every draw, and what is refused."""

import importlib.util
import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from geodp import plugin
from geodp.device.cell_response import MOST_BITS, CellResponse, draw_answers
from geodp.errors import DataError, ScenarioError, UsageError
from geodp.geometry import Grid, Region
from geodp.privacy.noise import Noise, SimulatedNoise, noise_source
from geodp.public.cell_laws import (
    PROTOCOLS,
    CellLaw,
    count_variance,
    has_odd_parity,
    is_direct_best,
    support_chances,
    transform_hadamard,
)
from geodp.public.guarantee import Neighbours, Trust, Unit
from geodp.public.norm_sub import onto_simplex
from geodp.server.cells_from_reports import cells_from_reports

REGION = Region(10.0, 50.0, 10.08, 50.05)
FALSE_ALARM = 1e-7
"""Of each of the tests below that draw; none is repeated more than four times (seeds are fixed)."""


def phone(protocol: str, **fields: Any) -> CellResponse:
    made = plugin("cell_response", protocol=protocol, **fields)
    assert isinstance(made, CellResponse)
    return made


def law_of(protocol: str, epsilon: float, columns: int, rows: int = 1, **more: Any) -> CellLaw:
    return CellLaw(protocol, epsilon, Grid(0.0, 0.0, 100.0, 100.0, columns=columns, rows=rows), **more)


def simulated(seed: int) -> Noise:
    return SimulatedNoise(np.random.default_rng(seed))


def test_the_golden_standard_deviations() -> None:
    found = [count_variance(name, 1.0, 100, reports=10_000).item() ** 0.5 for name in ("grr", "oue", "olh", "hr")]
    assert found == pytest.approx([584.1, 191.9, 192.1, 216.4], abs=0.05)


def test_the_chances_of_each_protocol() -> None:
    e = math.e
    assert support_chances("grr", 1.0, 100) == pytest.approx((e / (e + 99), 1 / (e + 99)))
    assert support_chances("oue", 1.0, 100) == pytest.approx((0.5, 1 / (e + 1)))
    assert support_chances("olh", 1.0, 100) == pytest.approx((e / (e + 3), 1 / 4))  # round(e + 1) = 4
    assert support_chances("hr", 1.0, 100) == pytest.approx((e / (e + 1), 0.5))
    assert [law_of("hr", 1.0, cells).columns for cells in (3, 4, 100, 127, 128)] == [4, 8, 128, 128, 256]


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0, 3.0])
def test_direct_answers_have_least_noise_with_fewer_than_3e_cells_and_2(epsilon: float) -> None:
    """Against the variances themselves, of a cell where nobody is, with the best of unary encodings."""
    for cells in range(2, 100):
        direct, unary = (count_variance(name, epsilon, cells, reports=1.0).item() for name in ("grr", "oue"))
        assert is_direct_best(epsilon, cells) == (direct < unary), cells
    assert [is_direct_best(1.0, cells) for cells in (10, 11)] == [True, False]


def test_hadamard_response_costs_a_factor_of_cosh() -> None:
    for epsilon in (0.5, 1.0, 3.0):
        hadamard, unary = (count_variance(name, epsilon, 50, reports=1.0).item() for name in ("hr", "oue"))
        assert hadamard == pytest.approx(unary * math.cosh(epsilon / 2) ** 2)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_exact_law_of_a_report_keeps_epsilon_and_attains_it(protocol: str) -> None:
    """All outputs enumerated (2^8 patterns of bits), for all pairs of cells."""
    for epsilon, cells in ((0.5, 8), (1.5, 7)):
        law = law_of(protocol, epsilon, cells, functions=60, pool=5)
        rows = np.array([law.probabilities_from(cell) for cell in range(cells)])
        assert rows.sum(axis=1) == pytest.approx(1.0)
        logs = np.log(rows)
        worst = max(np.abs(logs[a] - logs[b]).max() for a in range(cells) for b in range(a))
        assert worst == pytest.approx(epsilon)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_likelihoods_are_the_exact_law_up_to_a_factor_of_each_report(protocol: str) -> None:
    law = law_of(protocol, 1.2, 6, functions=20)
    if protocol == "oue":
        patterns = np.arange(64)[:, None] >> np.arange(6) & 1
        every: Any = np.packbits(patterns.astype(np.uint8), axis=1)
    elif protocol == "olh":
        every = np.column_stack(np.divmod(np.arange(20 * law.values), law.values))
    else:
        every = np.arange(6 if protocol == "grr" else law.columns)[:, None]
    exact = np.array([law.probabilities_from(cell) for cell in range(6)]).T
    found = law.likelihood(every)
    assert found / found.sum(axis=1, keepdims=True) == pytest.approx(exact / exact.sum(axis=1, keepdims=True))


def bounds(degrees: int) -> tuple[float, float]:
    """Return between which values a chi-square lies, but for twice FALSE_ALARM."""
    return float(chi2.ppf(FALSE_ALARM, degrees)), float(chi2.isf(FALSE_ALARM, degrees))


def check_frequencies(counts: np.ndarray, expected: np.ndarray) -> None:
    """Chi-square with a false-alarm probability of FALSE_ALARM."""
    statistic = float(((counts - expected) ** 2 / expected).sum())
    assert statistic < chi2.isf(FALSE_ALARM, expected.size - 1)


@pytest.mark.parametrize("protocol", ["grr", "olh", "hr"])
@pytest.mark.parametrize("epsilon", [0.4, 1.6])
def test_every_answer_is_drawn_with_its_exact_probability(protocol: str, epsilon: float) -> None:
    law = law_of(protocol, epsilon, 7, functions=12)
    for cell in (0, 3, 6):
        answers = draw_answers(law, np.full(40_000, cell), simulated(cell))
        output = answers[:, 0] if protocol != "olh" else answers[:, 0] * law.values + answers[:, 1]
        exact = law.probabilities_from(cell)
        check_frequencies(np.bincount(output, minlength=exact.size), 40_000 * exact)


def test_bits_are_independent_with_their_own_chances() -> None:
    law = law_of("oue", 0.8, 6)
    answers = draw_answers(law, np.full(60_000, 2), simulated(0))
    pattern = law.supports(answers) @ (1 << np.arange(6))
    check_frequencies(np.bincount(pattern, minlength=64), 60_000 * law.probabilities_from(2))


@pytest.mark.skipif(importlib.util.find_spec("opendp") is None, reason="OpenDP is not installed")
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_released_answers_have_the_same_law(protocol: str) -> None:
    """Noise in release mode has no seed: at this level a sound release fails once in ten million runs."""
    law = law_of(protocol, 1.0, 5, functions=4)
    answers = draw_answers(law, np.full(8_000, 4), noise_source("release"))
    if protocol == "oue":
        output = law.supports(answers) @ (1 << np.arange(5))
    else:
        output = answers[:, 0] * law.values + answers[:, 1] if protocol == "olh" else answers[:, 0]
    exact = law.probabilities_from(4)
    check_frequencies(np.bincount(output, minlength=exact.size), 8_000 * exact)


PEOPLE = np.repeat(np.arange(30), [600, 300, 0, 90, 10] + [0] * 25)
"""1,000 people in 30 cells: crowded, few and none."""


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("epsilon", [0.7, 2.5])
def test_counts_are_unbiased_and_vary_as_stated(protocol: str, epsilon: float) -> None:
    """400 rounds: means within 5.5 standard errors for 8 cells (false alarm < 1e-6 in all), variances by chi-square."""
    law, rounds, cells = law_of(protocol, epsilon, 6, 5), 400, np.array([0, 1, 2, 3, 4, 5, 17, 29])
    true = np.bincount(PEOPLE, minlength=30)
    found = np.empty((rounds, 30))
    noise = simulated(11)
    for number in range(rounds):
        own = CellLaw(protocol, epsilon, law.cells, pool=number)
        p, q = own.chances
        found[number] = (own.add_up(draw_answers(own, PEOPLE, noise)) - PEOPLE.size * q) / (p - q)
    stated = count_variance(protocol, epsilon, 30, reports=PEOPLE.size, count=true)
    if protocol == "olh":  # hash functions from a pool of 1,000: people elsewhere are mixed up with, a little
        stated = stated + (np.sum(true**2) - true**2) / ((own.values - 1) * 1000)
    score = (found.mean(axis=0) - true) / np.sqrt(stated / rounds)
    assert np.abs(score[cells]).max() < 5.5
    ratio = rounds * found.var(axis=0)[cells] / stated[cells]
    low, high = bounds(rounds - 1)
    assert ratio.min() > 0.97 * low
    assert ratio.max() < 1.03 * high


def crowd(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    return REGION.sample(count, np.random.default_rng(seed))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_server_states_how_far_off_its_counts_are(protocol: str) -> None:
    """Squared errors of all cells against the variance stated for each, by chi-square (they are nearly independent)."""
    x, y = crowd(20_000)
    told = phone(protocol, epsilon=1.5).respond(x, y, rng=np.random.default_rng(4), region=REGION)
    cells = cells_from_reports(told)
    error = cells.count - cells.grid.count(x, y)
    low, high = bounds(cells.grid.size)
    assert 0.95 * low < np.sum(error**2 / (2 * cells.noise_scale**2)) < 1.05 * high
    assert cells.noise_terms is not None
    assert set(cells.noise_terms.tolist()) == {1000.0}
    assert cells.floor_per_m2 == pytest.approx(20_000 / (10 * REGION.width_m * REGION.height_m))
    assert (cells.guarantee.trust, cells.guarantee.unit) == (Trust.LOCAL, Unit.SNAPSHOT)
    assert cells.guarantee.neighbours is Neighbours.REPLACE
    assert cells.guarantee.account == "local"


def test_people_in_one_cell_are_known_to_be_mixed_up_by_a_small_pool_of_hash_functions() -> None:
    """All in one cell, ten functions: the stated error covers what the pool adds (80 pools, chi-square)."""
    stated, seen, region = list[float](), list[float](), REGION
    grid = phone("olh").law(region).cells
    east, north = grid.all_centres()
    for pool in range(80):
        told = phone("olh", functions=10, epsilon=2.0).respond(
            np.full(5_000, east[0]),
            np.full(5_000, north[0]),
            rng=np.random.default_rng(pool),
            region=region,
        )
        cells = cells_from_reports(told)
        seen.append(cells.count[1] ** 2)
        stated.append(2 * cells.noise_scale[1] ** 2)
    plain = count_variance("olh", 2.0, grid.size, reports=5_000).item()
    assert np.mean(stated) > 20 * plain
    low, high = bounds(80)
    assert low < np.sum(seen) / np.mean(stated) < high


def test_sums_of_bits_that_a_simulation_draws_at_once_have_the_law_of_bits() -> None:
    """Beyond 2^24 bits only sums are drawn: binomials of the same law (5.5 standard errors, 8 cells)."""
    cells = phone("oue", cell_m=60.0).law(REGION).cells
    people = MOST_BITS // cells.size + 4_000
    x, y = np.full(people, 0.0), np.full(people, 0.0)
    told = phone("oue", cell_m=60.0).respond(x, y, rng=np.random.default_rng(0), region=REGION)
    assert told.further == 4_000
    assert told.size == people
    assert told.tally is not None
    p, q = told.law.chances
    own = int(cells.locate(0.0, 0.0))
    expected = np.full(cells.size, 4_000 * q)
    spread = np.full(cells.size, math.sqrt(4_000 * q * (1 - q)))
    expected[own], spread[own] = 4_000 * p, math.sqrt(4_000 * p * (1 - p))
    assert np.abs((told.tally - expected) / spread)[[own, 0, 1, 2, 50, 500, 1000, cells.size - 1]].max() < 5.5
    assert np.mean(told.tally) == pytest.approx(expected.mean(), abs=6 * spread[0] / math.sqrt(cells.size))


def test_the_transform_is_a_product_with_the_hadamard_matrix() -> None:
    index = np.arange(16)
    matrix = np.where(has_odd_parity(index[:, None] & index), -1, 1)
    values = np.random.default_rng(0).integers(0, 100, 16)
    assert (transform_hadamard(values) == matrix @ values).all()
    assert (matrix @ matrix == 16 * np.eye(16)).all()


def test_counts_for_the_eye() -> None:
    shown = onto_simplex(np.array([60.0, 50.0, 10.0, -20.0]), 100.0)
    assert shown == pytest.approx([53.333, 43.333, 3.333, 0.0], abs=1e-3)


def test_a_direct_answer_is_a_place_and_others_are_none() -> None:
    x, y = crowd(50)
    east, north = phone("grr", epsilon=20.0, cell_m=500.0).report(x, y, rng=np.random.default_rng(0), region=REGION)
    grid = phone("grr", cell_m=500.0).law(REGION).cells
    assert (grid.locate(east, north) == grid.locate(x, y)).all()
    with pytest.raises(UsageError, match="reports no place: use respond"):
        phone("oue").report(x, y, rng=np.random.default_rng(0), region=REGION)


def test_a_shuffler_takes_names_and_order_off() -> None:
    x, y = crowd(300)
    who = np.array([f"{number:03d}" for number in range(300)])
    plain, shuffled = (
        phone("grr", epsilon=30.0, shuffler_delta=delta).respond(
            x, y, rng=np.random.default_rng(1), region=REGION, who=who
        )
        for delta in (None, 1e-6)
    )
    assert plain.who.tolist() == who.tolist()
    assert shuffled.who.size == 0
    assert plain.answers.tolist() != shuffled.answers.tolist()
    assert np.sort(plain.answers[:, 0]).tolist() == np.sort(shuffled.answers[:, 0]).tolist()  # ε = 30: all are true


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"cell_m": 50_000.0}, "a grid of 1 cell leaves nothing to answer"),
        ({"protocol": "olh", "epsilon": 6.0}, r"hashes to g = round\(e\^ε \+ 1\) = 404 values, more than"),
    ],
)
def test_what_does_not_fit_the_region_is_refused_before_anything_is_drawn(fields: dict[str, Any], match: str) -> None:
    x, y = crowd(5)
    with pytest.raises(UsageError, match=match):
        plugin("cell_response", **fields).respond(x, y, rng=np.random.default_rng(0), region=REGION)


def test_unknown_protocols_and_places_are_refused() -> None:
    with pytest.raises(UsageError, match="no protocol called 'rappor': there are grr, oue, olh, hr"):
        support_chances("rappor", 1.0, 10)
    with pytest.raises((ScenarioError, ValueError), match="protocol"):
        plugin("cell_response", protocol="rappor")
    with pytest.raises((ScenarioError, ValueError), match="epsilon"):
        plugin("cell_response", epsilon=1000.0)
    with pytest.raises(DataError, match="NaN or infinite"):
        phone("grr").respond([math.nan], [0.0], rng=np.random.default_rng(0), region=REGION)
    with pytest.raises(DataError, match="outside the region"):
        phone("grr").respond([1e6], [0.0], rng=np.random.default_rng(0), region=REGION)
    with pytest.raises(UsageError, match="needs a region"):
        phone("grr").respond([0.0], [0.0], rng=np.random.default_rng(0), region=None)
