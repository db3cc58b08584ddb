"""Sets of places: distances against brute force, who sends the same rectangle, and what a run folder keeps."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodp.geometry import Region
from geodp.public.guarantee import Guarantee
from geodp.public.place_sets import MEAN_FROM_CENTRE, Candidates, Cloaks, mean_norm
from geodp.run_folder.release_store import read_release, write_release
from geodp.server.density_from_points import density_from_points
from tests.places import candidates_of, cloaks_of

COORDINATE = st.floats(-2000, 2000)


def test_a_guess_of_the_middle_errs_3826_sides() -> None:
    assert pytest.approx(0.38259785823) == MEAN_FROM_CENTRE
    half = np.array([50.0])
    assert mean_norm(-half, -half, half, half) == pytest.approx(38.259785823)


@settings(deadline=None)
@given(COORDINATE, COORDINATE, st.floats(0, 900), st.floats(0, 900))
def test_the_mean_distance_is_that_of_many_midpoints(x: float, y: float, wide: float, high: float) -> None:
    share = (np.arange(400) + 0.5) / 400
    brute = np.hypot(x + share[:, None] * wide, y + share * high).mean()
    found = mean_norm(*(np.array([edge]) for edge in (x, y, x + wide, y + high)))[0]
    assert found == pytest.approx(brute, abs=0.01 + 1e-4 * brute)
    assert found >= np.hypot(x + wide / 2, y + high / 2) * (1 - 1e-9), "never nearer than the middle (Jensen)"


def test_expected_distances_of_candidates_and_the_places_that_stand_for_a_set() -> None:
    told = candidates_of([[0.0, 60.0], [10.0, 10.0]], [[0.0, 0.0], [0.0, 0.0]])
    assert told.expected_distance_m(0.0, 80.0, slice(None)).tolist() == pytest.approx([90.0, np.hypot(10, 80)])
    cloaks = cloaks_of([(0, 0, 600, 300)], k=2)
    x_m, y_m = cloaks.list_places()
    assert x_m.shape == (1, 36)
    assert (x_m.mean(), y_m.mean(), x_m.min(), y_m.max()) == pytest.approx((300, 150, 50, 275))


def test_senders_of_one_rectangle_are_counted() -> None:
    cloaks = cloaks_of([(0, 0, 1, 1), (0, 0, 2, 2), (0, 0, 1, 1)], k=2)
    assert cloaks.count_senders().tolist() == [2, 1, 2]


@pytest.mark.parametrize("kind", ["cloaks", "candidates"])
def test_the_run_folder_keeps_all_of_it(tmp_path: Path, kind: str) -> None:
    made = {
        "cloaks": cloaks_of([(0, 1, 2, 3), (4, 5, 6, 7)], k=3),
        "candidates": candidates_of([[0.5, 1.5], [2.5, 3.5]], [[4.5, 5.5], [6.5, 7.5]]),
    }[kind]
    write_release(tmp_path, 0, made)
    again = read_release(tmp_path / "0000.json")
    assert type(again) is type(made)
    assert again.guarantee == Guarantee.none("a test")
    assert isinstance(again, Cloaks | Candidates)
    assert again.who.tolist() == ["a", "b"]
    assert np.array_equal(np.stack(again.list_places()), np.stack(made.list_places()))
    assert not isinstance(again, Cloaks) or again.k == 3


def test_a_density_from_sets_shares_every_report_evenly_over_its_set() -> None:
    region = Region(-0.02, -0.02, 0.02, 0.02)
    rectangles = [(-1000.0, -500.0, 1000.0, 500.0), (200.0, 200.0, 300.0, 900.0)]
    found = density_from_points(cloaks_of(rectangles, k=1), region)
    assert found.count.sum() == pytest.approx(2.0)
    x, y = found.grid.all_centres()
    inside = (np.abs(x) < 990) & (np.abs(y) < 490) & ~((x > 150) & (x < 350) & (y > 150))
    assert found.count[inside] == pytest.approx(np.full(inside.sum(), found.grid.cell_area_m2 / 2e6), rel=1e-6)
    told = candidates_of([[0.0, 900.0]], [[10.0, 10.0]])
    spread = density_from_points(told, region)
    assert np.sort(spread.count)[-2:] == pytest.approx([0.5, 0.5])
    assert spread.variance.max() == pytest.approx(0.25)
