"""Figures of chapters 9 and 10: their arithmetic, on small data."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from geodp.figures.figure_file import load_figure
from geodp.figures.kinds.graph_update import AT_ONCE, ERROR, LAPLACE, SPENT, UPDATED, GraphUpdate
from geodp.figures.kinds.knn_sybils import BOUND, EXACT, PRIVATE
from geodp.figures.kinds.meeting_counts import ERROR as RELATIVE
from geodp.figures.kinds.meeting_counts import FLOW, KEPT, LEFT_OUT, PAIR
from geodp.figures.kinds.pncf import CLAIMED, COMMON, PRINTED, local_sensitivity
from geodp.figures.make import make_figure
from tests.figures.small_figure import plain_file

SHOWN = [{"says": "see", "check": "shown"}]


def means(folder: Path, make: dict[str, object]) -> pd.Series:
    made = make_figure(load_figure(plain_file(folder, make=make, claims=SHOWN)), folder / "out")
    assert made.images[0].stat().st_size > 10_000
    points = pd.read_parquet(folder / "out" / "P1" / "town" / "points.parquet")
    return points.groupby(["y_name", "line", "x"])["y"].mean()


def test_a_local_sensitivity_in_the_exponent_shows_one_person(tmp_path: Path) -> None:
    found = means(tmp_path, {"kind": "neighbour_ratio", "raters": [101]})["log-ratio of one person"]
    assert found[PRINTED, 101] == pytest.approx(22.3, abs=0.05)
    assert found[CLAIMED, 101] == 0.5
    assert 0.4 < found[COMMON, 101] <= 0.5


def test_the_sensitivity_of_lemma_10_1_at_equal_ratings() -> None:
    assert local_sensitivity(np.ones(101), np.ones(101)) == pytest.approx(1 / 100)
    rated = np.append(np.ones(101), 5.0)
    assert local_sensitivity(rated, rated) == pytest.approx(25 / 101)
    assert local_sensitivity(np.ones(1), np.ones(1)) == 1.0


def test_graph_update_is_no_better_than_noise_for_each_and_all_at_once_is(tmp_path: Path) -> None:
    found = means(tmp_path, {"kind": "graph_update", "queries": [200], "repeats": 20})
    assert found[ERROR, LAPLACE, 200] == pytest.approx(200, rel=0.15)
    assert found[ERROR, UPDATED, 200] == pytest.approx(200, rel=0.15)
    assert found[ERROR, AT_ONCE, 200] == pytest.approx(2, rel=0.15)
    assert found[SPENT, UPDATED, 200] == pytest.approx(1.0, rel=1e-6)


def test_an_update_moves_the_synthetic_degree_and_near_answers_are_its_own() -> None:
    method = GraphUpdate(people=101, threshold=30.0, step=0.5)
    # 100 everywhere at first: 10 is far (shown; 50 then), 40 is near 50 (50 is shown), 200 is far (shown; 75 then)
    asked = np.array([0, 0, 0, 0])
    assert method.answer_by_update(asked, np.array([10.0, 40.0, 200.0, 70.0])).tolist() == [10.0, 50.0, 200.0, 75.0]


def test_made_up_accounts_see_everything_in_exact_neighbours_and_little_in_private_lists(tmp_path: Path) -> None:
    town = {"people": 200, "venues": 60, "victims": 150}
    make = {"kind": "knn_sybils", **town, "epsilons": [0.5, 1.0, 8.0], "repeats": 3}
    found = means(tmp_path, make)["advantage"]
    assert found[EXACT, 0.5] > 0.9
    assert found[BOUND, 0.5] == pytest.approx(math.tanh(0.25))
    assert found[BOUND, 1.0] == pytest.approx(0.4621, abs=5e-5)
    assert found[PRIVATE, 1.0] < 0.4621
    # with n rivals, even without the visit, the chance rises from 1/(1 + n) to 1/(1 + n·e^-ε); six standard errors
    for epsilon, rivals in ((0.5, 1), (8.0, 55)):
        expected = 1 / (1 + rivals * math.exp(-epsilon)) - 1 / (1 + rivals)
        assert abs(found[PRIVATE, epsilon] - expected) < 6 * math.sqrt(0.5 / 150)


def test_hiding_a_person_in_a_count_of_meetings_costs_what_is_left_out_or_noise_of_theta(tmp_path: Path) -> None:
    make = {"kind": "meeting_counts", "people": 300, "hubs": 3, "hub_degree": 100, "max_degrees": [5, 160]}
    found = means(tmp_path, make | {"repeats": 4, "draws": 2000})[RELATIVE]
    assert found[FLOW, 5] < found[KEPT, 5], "a flow through a hub counts edges that the order leaves out"
    assert found[KEPT, 5] == pytest.approx(found[LEFT_OUT, 5], rel=0.1)
    # nobody met 160: noise of scale θ alone, by 8,000 draws to a twelfth (six standard errors are 7 %)
    assert found[LEFT_OUT, 160] == 0.0
    assert found[KEPT, 160] == pytest.approx(160 * found[PAIR, 160], rel=1 / 6)
    assert found[FLOW, 160] == pytest.approx(found[KEPT, 160], rel=1 / 6)
