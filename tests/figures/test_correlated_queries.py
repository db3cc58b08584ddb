"""Figures 14.1 and 14.2: page C's arithmetic, the printed algorithm step by step, scales of noise, errors by theory."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from geodp.errors import UsageError
from geodp.figures.figure_file import load_figure
from geodp.figures.kinds import POINT_COLUMNS
from geodp.figures.kinds.correlated_queries import (
    BOOK_UPDATE,
    CORRELATED,
    COST,
    ERROR,
    GLOBAL,
    HISTOGRAM,
    PRINTED,
    REPAIRED,
    SILENCE,
    UPDATE,
    UPDATES,
    CorrelatedIteration,
    CorrelatedNoise,
)
from geodp.figures.make import make_figure
from geodp.geometry import Array
from geodp.privacy.noise import SimulatedNoise
from tests.figures.small_figure import plain_file

CELLS = 380
SMALL: dict[str, Any] = {"people": 3000, "queries": 400, "repeats": 2, "epsilons": (0.4, 1.0)}


class NotedNoise(SimulatedNoise):
    """Noise that notes its scales."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(np.random.default_rng(seed))
        object.__setattr__(self, "scales", [])

    def laplace(self, scale: Any, size: int) -> Array:
        self.scales.append(float(np.max(scale)))  # type: ignore[attr-defined]
        return super().laplace(scale, size)


def mean(frame: pd.DataFrame, y_name: str, line: str, epsilon: float) -> float:
    own = frame[(frame["y_name"] == y_name) & (frame["line"] == line) & (frame["x"] == epsilon)]
    return float(own["y"].mean())


def test_the_first_update_overspends_as_the_page_says() -> None:
    cim = CorrelatedIteration()
    assert (cim.eta, cim.threshold) == (7, 0.6)
    assert cim.most_updates(1 << 16) == pytest.approx(math.log(65536) / (49 * 0.36))
    assert cim.most_updates(1 << 16) == pytest.approx(0.629, abs=5e-4)
    assert cim.round_share(1 << 16) == pytest.approx(1.5906, abs=5e-5)
    assert cim.most_updates(CELLS) == pytest.approx(0.34, abs=5e-3), "as the claim of figure 14.1 says"


def test_what_the_page_says_an_honest_proof_needs() -> None:
    """4 ln N / α² updates: 264 for 380 cells, α = .3; the figure's claim quotes it."""
    assert 4 * math.log(CELLS) / CorrelatedIteration().gap ** 2 == pytest.approx(264, abs=0.5)
    claims = Path("scenarios/figures/14.1.yaml").read_text(encoding="utf-8")
    assert "4 ln N / α² rounds, 264 here" in claims
    assert "0.34 here, 0.63 for N = 65536" in claims


def test_the_repaired_mechanism_has_noise_of_40_80_and_20() -> None:
    """U = 10, ε = 1, Δ = 1: threshold, queries and answers; a new threshold after every update."""
    noise = NotedNoise()
    cim = CorrelatedIteration(household=1, updates=10)
    weights = np.eye(4)[np.arange(200) % 4]
    cim.iterate(weights, np.full(200, 1000.0), 1.0, 1.0, noise)
    scales: list[float] = noise.scales  # type: ignore[attr-defined]
    assert scales == pytest.approx([40.0, 80.0, 20.0] * 10), "all queries are far away, so each round ends at once"
    wide = NotedNoise()
    CorrelatedIteration(household=6).iterate(weights, np.full(200, 1000.0), 0.5, 100.0, wide)
    assert wide.scales[:3] == pytest.approx(  # type: ignore[attr-defined]
        [each * 6 / 100 / 0.5 for each in (40.0, 80.0, 20.0)]
    )


@pytest.mark.parametrize("share", [0.1, 1.5906])
@pytest.mark.parametrize("true_gap", [0.5, 2.0, 30.0])
def test_a_silent_round_tells_all_it_may_where_the_gap_is_wide(share: float, true_gap: float) -> None:
    """The true gap exceeds T: silence is e^ε₀ times less likely when everyone's answer is one further away."""
    cim = CorrelatedIteration()
    assert true_gap > cim.gap
    assert cim.cost_of_silence(1 / share, 1.0, true_gap) == pytest.approx(share, rel=1e-6)
    assert cim.cost_of_silence(1 / share, 1.0, 0.0) < share, "none of it where the answer is right and shifts away"


def test_silent_rounds_are_as_rare_as_that_in_draws_of_the_printed_mechanism() -> None:
    """Queries of no weight change nothing, so rounds are alike: 40,000 of them at two neighbouring answers."""
    cim, rounds, epsilon0 = CorrelatedIteration(household=1, degree=0.0), 40_000, 1.0
    nothing, epsilon = np.zeros((rounds, 2)), epsilon0 / cim.round_share(2)
    silent = []
    for answer in (1.0, 2.0):
        noise = SimulatedNoise(np.random.default_rng([4, int(answer)]))
        silent.append(rounds - cim.iterate_as_printed(nothing, np.full(rounds, answer), epsilon, 1.0, noise)[1])
    sigma = math.sqrt(sum(1 / each for each in silent))
    assert math.log(silent[0] / silent[1]) == pytest.approx(epsilon0, abs=5 * sigma)  # false alarm 6e-7
    assert 5 * sigma < 0.25


def iterate_one_by_one(cim: CorrelatedIteration, weights: Array, noisy: Array) -> tuple[Array, int]:
    """Algorithm 1 as printed, query by query."""
    synthetic, updates, answers = np.full(weights.shape[1], 1 / weights.shape[1]), 0, []
    for query, told in zip(weights, noisy, strict=True):
        known = float(query @ synthetic)
        if abs(known - told) <= cim.gap:
            answers.append(known)
            continue
        answers.append(float(told))
        updates += 1
        factor = math.exp(-cim.eta * cim.degree * (known if known > told else 1 - known))
        synthetic = np.where(query > 0, synthetic * factor, synthetic)
        synthetic /= synthetic.sum()
    return np.array(answers), updates


@pytest.mark.parametrize("asked", ["weights", "areas"])
def test_the_printed_mechanism_is_the_printed_algorithm(asked: str) -> None:
    cim = CorrelatedIteration(asked=asked, queries=1200, people=2000)
    truth = cim.count_people()
    weights = cim.draw_queries(np.random.default_rng(2))
    true, size = weights @ (truth / truth.sum()), float(truth.sum())
    found, updates = cim.iterate_as_printed(weights, true, 1.0, size, SimulatedNoise(np.random.default_rng(3)))
    each = cim.round_share(CELLS)
    noise = np.random.default_rng(3).laplace(0.0, cim.correlated_sensitivity / size / each, true.size)
    expected, rounds = iterate_one_by_one(cim, weights, true + noise)
    assert found == pytest.approx(expected)
    assert updates == rounds
    assert updates > 0 or asked == "weights", "rectangles are far from the uniform histogram"


def test_the_repaired_mechanism_is_right_within_t_where_there_is_no_noise_and_updates_suffice() -> None:
    cim = CorrelatedIteration(asked="areas", queries=600, people=2000, updates=300)
    truth = cim.count_people() / 2000
    weights = cim.draw_queries(np.random.default_rng(2))
    noise = SimulatedNoise(np.random.default_rng(3))
    answers, updates = cim.iterate(weights, weights @ truth, 1e12, 2000.0, noise)
    assert 0 < updates <= 4 * math.log(CELLS) / cim.gap**2
    assert np.abs(answers - weights @ truth).max() <= cim.gap + 1e-6
    few = cim.model_copy(update={"updates": 1})
    assert few.iterate(weights, weights @ truth, 1e12, 2000.0, noise)[1] == 1


def test_the_lines_and_costs_of_figure_14_1() -> None:
    cim = CorrelatedIteration(**SMALL)
    frame = cim.points(None)  # type: ignore[arg-type]
    assert list(frame.columns) == list(POINT_COLUMNS)
    assert set(frame["line"]) == set(cim.lines)
    share = 49 * 0.36 / math.log(CELLS)
    for epsilon in SMALL["epsilons"]:
        assert mean(frame, COST, UPDATE, epsilon) == pytest.approx(share)
        assert mean(frame, COST, BOOK_UPDATE, epsilon) == pytest.approx(1.5906, abs=5e-5)
        assert mean(frame, COST, SILENCE, epsilon) == pytest.approx(400 * share)
        assert mean(frame, UPDATES, REPAIRED, epsilon) <= 10
        assert mean(frame, ERROR, HISTOGRAM, epsilon) < mean(frame, ERROR, CORRELATED, epsilon)
    assert (frame.loc[(frame["line"] == PRINTED) & (frame["y_name"] == UPDATES), "y"] >= 0).all()


def test_one_histogram_has_the_error_of_theory() -> None:
    """Σw²·2(k/ε)² over n²; weights are uniform: E w² = 1/3. 380 cells, 20 repetitions: 5 standard errors are 9 %."""
    cim = CorrelatedIteration(people=3000, queries=200, repeats=20, epsilons=(1.0,))
    theory = CELLS / 3 * 2 * (10 / 3000) ** 2
    spread = []
    size = float(cim.count_people().sum())
    for _, epsilon, weights, true, noise in cim.repeat(cim.count_people() / size):
        each = noise.laplace(10 / epsilon / size, CELLS)
        spread.append(float(np.mean((weights @ each) ** 2)))
        assert true.shape == (200,)
    frame = cim.points(None)  # type: ignore[arg-type]
    found = mean(frame, ERROR, HISTOGRAM, 1.0)
    assert size == 3000
    sigma = float(np.std(spread, ddof=1)) / math.sqrt(20)
    assert found == pytest.approx(theory, abs=5 * sigma)


@pytest.mark.parametrize("household", [10, 15])
def test_figure_14_2_is_arithmetic(household: int) -> None:
    """Error 2(width·|F|/(ε n))², costs k/width; 5 standard errors of 800 squares of Laplace noise (sd √5 each)."""
    figure = CorrelatedNoise(household=household, **SMALL)
    frame = figure.points(None)  # type: ignore[arg-type]
    correlated = 1 + (household - 1) * 0.7
    assert figure.correlated_sensitivity == pytest.approx(correlated)
    for epsilon in SMALL["epsilons"]:
        for line, width in ((GLOBAL, household), (CORRELATED, correlated)):
            expected = 2 * (width * 400 / epsilon / 3000) ** 2
            assert mean(frame, ERROR, line, epsilon) == pytest.approx(expected, rel=5 * math.sqrt(5 / 800))
            assert mean(frame, COST, line, epsilon) == pytest.approx(household / width)
    assert CorrelatedNoise(degree=0.5).correlated_sensitivity == 1.0, "below the threshold of 0.6"


def test_rectangles_and_weights() -> None:
    areas = CorrelatedNoise(asked="areas", queries=2000).draw_queries(np.random.default_rng(0))
    assert set(np.unique(areas)) == {0.0, 1.0}
    table = areas.reshape(2000, 19, 20)
    across, along = table.max(axis=1), table.max(axis=2)
    assert (table == along[:, :, None] * across[:, None, :]).all()
    for side in (across, along):
        assert (np.abs(np.diff(side, axis=1)).sum(axis=1) <= 2).all(), "no gaps"
        assert (side.sum(axis=1) > 0).all()
    weights = CorrelatedNoise(queries=500).draw_queries(np.random.default_rng(0))
    assert weights.shape == (500, CELLS)
    assert weights.min() >= 0
    assert weights.max() <= 1


def test_people_of_a_file_are_counted_where_their_first_row_is(tmp_path: Path) -> None:
    rows = {"user": [1, 1, 2, 3, 4], "lat": [40.7, 40.8, 40.7, 40.75, 10.0], "lon": [-74.0, -73.91, -74.0, -73.95, 5.0]}
    pd.DataFrame(rows).to_parquet(tmp_path / "in.parquet")
    counts = CorrelatedNoise(path=str(tmp_path / "in.parquet")).count_people()
    assert counts.size == CELLS
    assert sorted(counts[counts > 0].tolist()) == [1.0, 2.0]  # the fourth is elsewhere


@pytest.mark.parametrize("kind", ["correlated_iteration", "correlated_noise"])
def test_both_figures_are_drawn_from_a_file(tmp_path: Path, kind: str) -> None:
    make = {"kind": kind, "people": 1000, "queries": 60, "repeats": 1, "epsilons": [0.4, 1.0]}
    axes = {"x": "ε", "y": {"mse": "error", COST: "cost"}, "log_y": True}
    claims = [
        {"says": "less", "check": "below", "y": "mse", "lines": [[CORRELATED, GLOBAL]]},
        {
            "says": "kept",
            "check": "at_most",
            "y": COST,
            "lines": [CORRELATED if kind == "correlated_noise" else UPDATE],
            "value": 1.0,
            "because": "it is not",
        },
    ]
    made = make_figure(load_figure(plain_file(tmp_path, make=make, axes=axes, claims=claims)), tmp_path / "out")
    assert made.images[0].stat().st_size > 10_000


def test_a_wrong_setting_is_refused() -> None:
    with pytest.raises((ValueError, UsageError), match="greater than 0"):
        CorrelatedIteration(threshold=0.0)
