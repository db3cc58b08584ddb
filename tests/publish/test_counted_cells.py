import json

import numpy as np
import pandas as pd
import pytest

from geodp.errors import DataError, UsageError
from geodp.publish.positions_plan import publish_positions
from geodp.tables.regions import parse_region
from tests.publish.conftest import TOWN, Make, files, places


def noise_of(frame: pd.DataFrame) -> float:
    """Return the mean |noise| of counts of an empty place."""
    return float(frame["count"].abs().mean())


def test_cells_with_noisy_counts_tile_the_region(make: Make) -> None:
    request = make(places(5000), epsilon=5.0, settings={"cell_m": 500})
    outcome = publish_positions(request, mechanism="contour")
    told = pd.read_csv(request.out)
    assert list(told.columns) == ["west", "south", "east", "north", "count", "density_per_km2", "releasable"]
    assert len(told) == 11 * 11
    assert (told["west"].min(), told["south"].min(), told["east"].max(), told["north"].max()) == (10, 50, 10.08, 50.05)
    # The sum of 121 Laplace numbers of scale 0.2 is off by less than 25 (eight standard deviations).
    assert told["count"].sum() == pytest.approx(5000, abs=25)
    area_km2 = parse_region(TOWN).area_m2 / 1e6 / 121
    np.testing.assert_allclose(told["density_per_km2"], told["count"] / area_km2, rtol=1e-6, atol=1e-5)
    assert "one worker's position at one instant" in outcome.text
    assert "ε = 5 (add/remove), 10 (replace)" in outcome.text


@pytest.mark.parametrize("mode", ["simulate", "release"])
def test_the_noise_grows_with_the_cap(make: Make, mode: str) -> None:
    """All rows lie in the town's centre; the 12,100 cells of 50 m hold noise of scale cap/ε almost everywhere."""
    if mode == "release":
        pytest.importorskip("opendp")
    frame = places(40).assign(user=np.arange(40) % 4)
    request = make(frame, epsilon=0.5, cap=3, mode=mode, settings={"cell_m": 50})
    outcome = publish_positions(request, mechanism="contour")
    told = pd.read_csv(request.out)
    # Mean |Laplace(6)| over about 12,700 cells: six standard errors are 0.32; twelve rows add 0.001.
    assert noise_of(told) == pytest.approx(6, abs=0.33)
    assert "The noise on a count is ±6 on average, 95 % within ±17.97." in outcome.text.replace("Accuracy: ", "")
    statement = json.loads(request.guarantee_path.read_text())
    assert (statement["guarantee"]["unit"], statement["guarantee"]["epsilon"]) == ("user", 0.5)
    assert statement["charged"] == {"account": "central", "epsilon": 0.5}
    assert statement["accuracy"]["mean_noise"] == pytest.approx(6)
    assert "mean_error" not in statement["accuracy"], "what the cap leaves out is no part of it"
    assert "Rows of a user beyond 3 are not counted: how many those are is not known." in statement["accuracy"]["text"]


def test_the_cap_bounds_what_a_user_adds(make: Make) -> None:
    one_place = pd.DataFrame({"lon": [10.04] * 1000, "lat": [50.02] * 1000, "user": ["ann"] * 1000})
    request = make(one_place, epsilon=50.0, cap=5, settings={"cell_m": 1000})
    publish_positions(request, mechanism="contour")
    # Noise of scale 0.1: beyond 3 with probability e^-30.
    assert pd.read_csv(request.out)["count"].max() == pytest.approx(5, abs=3)


def test_one_row_per_user_is_a_snapshot(make: Make) -> None:
    request = make(places(40).assign(user=np.arange(40)), epsilon=0.5, settings={"cell_m": 500})
    publish_positions(request, mechanism="contour")
    assert json.loads(request.guarantee_path.read_text())["guarantee"]["unit"] == "snapshot"


def test_the_number_of_people_is_public_where_cells_depend_on_it(make: Make, opendp: None) -> None:
    request = make(places(437), epsilon=1.0, mode="release")
    with pytest.raises(UsageError, match=r"expected workers: must be public .* use --expected-workers N, or set"):
        publish_positions(request, mechanism="contour")
    assert files(request.out.parent) == {"in.csv"}
    publish_positions(request, mechanism="contour", expected_workers=1000)
    statement = json.loads(request.guarantee_path.read_text())
    assert statement["public_inputs"]["expected_workers"] == 1000
    simulated = make(places(437), out="simulated.csv", epsilon=1.0)
    outcome = publish_positions(simulated, mechanism="contour")
    assert "expected workers: read off the private data (400)" in outcome.warnings[0]
    fixed = make(places(437), out="fixed.csv", epsilon=1.0, settings={"cell_m": 500})
    assert publish_positions(fixed, mechanism="contour").warnings == ()


@pytest.mark.parametrize(("cell_m", "words"), [(6000, "smaller than a cell"), (0.5, "more than 25,000,000")])
def test_an_impossible_grid_is_refused_before_the_charge(make: Make, cell_m: float, words: str) -> None:
    request = make(epsilon=1.0, settings={"cell_m": cell_m})
    with pytest.raises(DataError, match=words):
        publish_positions(request, mechanism="contour")
    assert files(request.out.parent) == {"in.csv"}


@pytest.mark.parametrize("number", [0.0, -5.0, np.inf, np.nan])
def test_an_impossible_number_of_people_is_refused(make: Make, number: float) -> None:
    with pytest.raises(UsageError, match="--expected-workers must be a finite number greater than 0"):
        publish_positions(make(epsilon=1.0), mechanism="contour", expected_workers=number)


@pytest.mark.parametrize("mechanism", ["uniform_grid", "adaptive_grid", "quadtree"])
def test_the_stated_accuracy_of_a_decomposition_is_what_an_empty_town_shows(make: Make, mechanism: str) -> None:
    """Thousands of cells with nobody in them but one: the mean |noise| is the one stated, within 6 %."""
    settings = {"least_count": 0.0, "height": 6} if mechanism == "quadtree" else {}
    request = make(places(1), epsilon=1.0, settings=settings)
    publish_positions(request, mechanism=mechanism, expected_workers=500_000.0)
    told = pd.read_csv(request.out)
    assert len(told) > 2000
    statement = json.loads(request.guarantee_path.read_text())
    assert noise_of(told) == pytest.approx(statement["accuracy"]["mean_error"], rel=0.06)


def _true_counts(told: pd.DataFrame, lon: np.ndarray, lat: np.ndarray) -> np.ndarray:
    return np.array(
        [
            np.count_nonzero((lon >= cell.west) & (lon < cell.east) & (lat >= cell.south) & (lat < cell.north))
            for cell in told.itertuples()
        ]
    )


@pytest.mark.parametrize("mechanism", ["contour", "uniform_grid", "adaptive_grid", "quadtree", "kd_tree", "dpcube"])
def test_stated_and_measured_error_agree_within_a_quarter(make: Make, mechanism: str) -> None:
    """20,000 people in ten clumps, 200 cells and more: fixed seeds, the mean error over cells of three releases."""
    rng = np.random.default_rng(4)
    clump = rng.integers(0, 10, 20_000)
    lon = np.clip(rng.uniform(10.01, 10.07, 10)[clump] + rng.normal(0, 0.003, 20_000), 10.0001, 10.0799)
    lat = np.clip(rng.uniform(50.01, 50.04, 10)[clump] + rng.normal(0, 0.002, 20_000), 50.0001, 50.0499)
    stated, measured = [], []
    for seed in range(3):
        request = make(
            pd.DataFrame({"lon": lon, "lat": lat, "user": np.arange(20_000)}), epsilon=1.0, seed=seed, force=True
        )
        publish_positions(request, mechanism=mechanism, expected_workers=20_000)
        told = pd.read_csv(request.out)
        stated.append(json.loads(request.guarantee_path.read_text())["accuracy"]["mean_error"])
        measured.append(float(np.abs(told["count"] - _true_counts(told, lon, lat)).mean()))
    assert np.mean(stated) == pytest.approx(np.mean(measured), rel=0.25)


def test_the_stated_accuracy_of_fixed_cells_is_the_same_whatever_the_data(make: Make) -> None:
    """It follows from public settings: other people at other places change no byte of it."""
    told = set()
    for frame in (places(300), places(7).assign(lon=10.001)):
        request = make(frame, epsilon=0.5, settings={"cell_m": 500}, force=True)
        publish_positions(request, mechanism="contour")
        told.add(json.dumps(json.loads(request.guarantee_path.read_text())["accuracy"]))
    assert len(told) == 1
