import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from geodp.errors import NotReleasable, ScenarioError, UsageError
from geodp.geometry import Array
from geodp.publish.positions_plan import build, publish_positions
from geodp.publish.request import Request
from geodp.tables.regions import parse_region
from tests.publish.conftest import TOWN, Make, files, places

FINE: dict[str, Any] = {"settings": {"cell_m": 5}}


def metres(frame: pd.DataFrame) -> tuple[Array, Array]:
    return parse_region(TOWN).projection.to_m(lon=frame["lon"].to_numpy(), lat=frame["lat"].to_numpy())


def errors_m(request: Request) -> Array:
    true, told = (metres(pd.read_csv(path)) for path in (request.source, request.out))
    return np.hypot(true[0] - told[0], true[1] - told[1])


@pytest.mark.parametrize("mechanism", ["planar_geometric", "planar_laplace"])
def test_simulated_reports_are_as_far_from_the_truth_as_the_law_says(make: Make, mechanism: str) -> None:
    request = make(places(20_000), seed=1, **FINE)
    publish_positions(request, mechanism=mechanism)
    error_m = errors_m(request)
    # Mean 2/ε with standard deviation √2/ε: five standard errors of 20,000 reports are 2.5 %; widened by 0.1 % so that
    # ε holds on the ground.
    assert error_m.mean() == pytest.approx(2 / 0.05, rel=0.025)
    assert np.quantile(error_m, 0.95) == pytest.approx(4.7439 / 0.05, rel=0.04)


def test_released_reports_follow_the_same_law_on_whole_steps(make: Make, opendp: None) -> None:
    frame = pd.DataFrame({"lon": [10.04] * 4000, "lat": [50.025] * 4000})  # one place: rows need not be matched
    request = make(frame, mode="release", **FINE)
    outcome = publish_positions(request)
    told = pd.read_csv(request.out)
    x_m, y_m = metres(told)
    steps = np.concatenate([x_m, y_m]) / 5
    np.testing.assert_allclose(steps, np.rint(steps), atol=0.01)  # degrees are rounded to a centimetre
    # Noise of OpenDP has no seed: |mean - 2/ε| < 5 standard errors of √2/ε, missed with probability 6e-7.
    assert np.hypot(x_m, y_m).mean() == pytest.approx(40, abs=5 * 28.3 / np.sqrt(4000))
    assert json.loads(request.guarantee_path.read_text())["releasable"] is True
    assert outcome.text.startswith("RELEASABLE")


def test_a_report_per_row_in_the_order_of_the_file_when_simulating(make: Make) -> None:
    request = make(places(500).assign(user=np.arange(500)[::-1]), **FINE)
    publish_positions(request)
    told = pd.read_csv(request.out)
    assert list(told.columns) == ["user", "lon", "lat", "releasable"]
    assert told["user"].tolist() == list(range(500))[::-1]
    assert errors_m(request).max() < 500


def test_a_release_does_not_keep_an_order_that_tells_places(make: Make, opendp: None) -> None:
    """The input is sorted by longitude over 2.9 km; shuffled, row number and longitude are uncorrelated."""
    request = make(places(2000), mode="release", **FINE)
    publish_positions(request)
    told = pd.read_csv(request.out)
    correlation = np.corrcoef(np.arange(2000), told["lon"])[0, 1]
    assert abs(correlation) < 5 / np.sqrt(2000)  # five standard deviations
    again = make(places(2000).assign(user=np.arange(2000) % 10), out="users.csv", mode="release", cap=300, **FINE)
    publish_positions(again)
    users = pd.read_csv(again.out)
    assert users["user"].is_monotonic_increasing
    one = users[users["user"] == 3]["lon"].to_numpy()
    assert abs(np.corrcoef(np.arange(one.size), one)[0, 1]) < 5 / np.sqrt(one.size)


def test_rows_outside_and_beyond_the_cap_are_left_out_and_counted_when_simulating(make: Make) -> None:
    frame = places(30).assign(user=["ann"] * 10 + ["bob"] * 20)
    frame.loc[0, "lon"] = 11.0
    request = make(frame, cap=4)
    text = publish_positions(request).text
    assert "1 of 30 rows lie outside the region and are dropped." in text
    assert "21 of 29 rows are beyond the cap of 4 per user and are not used (random ones)." in text
    assert pd.read_csv(request.out)["user"].tolist() == ["ann"] * 4 + ["bob"] * 4


@pytest.mark.parametrize("mechanism", ["planar_laplace", "uniform_grid"])
def test_a_cap_keeps_late_rows_as_often_as_early_ones(make: Make, mechanism: str) -> None:
    """2,500 people go from east to west, and keep 2 of 4 rows: 2,500 in the east, σ = 29 (5.5 σ: 4e-8)."""
    frame = pd.DataFrame({"user": np.repeat(np.arange(2500), 4), "lon": np.tile([10.06, 10.06, 10.02, 10.02], 2500)})
    counting = mechanism == "uniform_grid"
    more = {"epsilon": 1000.0, "settings": {"cell_m": 2500.0}} if counting else {"epsilon": 1.0}
    request = make(frame.assign(lat=50.02), cap=2, **more)
    publish_positions(request, mechanism=mechanism)
    told = pd.read_csv(request.out)
    if counting:
        east = float(told.loc[(told["west"] + told["east"]) / 2 > 10.04, "count"].sum())
        assert told["count"].sum() == pytest.approx(5000, abs=1)
    else:
        east = float(np.count_nonzero(told["lon"] > 10.04))
        assert len(told) == 5000
        assert (told.groupby("user").size() == 2).all()
    assert abs(east - 2500) < 5.5 * 29


def test_reports_of_one_user_are_charged_one_by_one(make: Make) -> None:
    request = make(places(30).assign(user=np.arange(30) % 3), cap=4, epsilon=0.05)
    text = publish_positions(request).text
    told = json.loads(request.guarantee_path.read_text())
    assert told["guarantee"]["epsilon"] == 0.05
    assert told["per_person"]["epsilon"] == 0.2
    assert told["charged"] == {"account": "metric", "epsilon": 0.2}
    assert "together cost ε = 0.2 per metre" in text


def test_planar_laplace_is_not_released(make: Make, opendp: None) -> None:
    request = make(mode="release")
    with pytest.raises(NotReleasable, match="Use planar_geometric"):
        publish_positions(request, mechanism="planar_laplace")
    assert files(request.out.parent) == {"in.csv"}


@pytest.mark.parametrize("source", ["in.csv", "in.parquet"])
@pytest.mark.parametrize("out", ["out.csv", "out.parquet", "out.geoparquet", "out.geojson"])
def test_every_format_goes_in_and_out(make: Make, source: str, out: str) -> None:
    request = make(source=source, out=out)
    publish_positions(request)
    assert request.out.stat().st_size > 1000
    assert json.loads(request.guarantee_path.read_text())["columns"] == ["lon", "lat"]


def test_what_is_told_about_a_release_of_counts_does_not_depend_on_the_data(
    make: Make, tmp_path: Path, opendp: None
) -> None:
    """No total, no number dropped, nothing: two very different files lead to the same words."""
    frames = {"sparse": places(1), "crowded": pd.concat([places(500), pd.DataFrame({"lon": [11.0], "lat": [50.0]})])}
    told = {}
    for name, frame in frames.items():
        own = {"out": f"{name}.csv", "ledger": tmp_path / f"{name}.json"}
        request = make(frame, mode="release", epsilon=1.0, settings={"cell_m": 1000}, **own)
        text = publish_positions(request, mechanism="contour").text.replace(name, "NAME")
        statement = json.loads(request.guarantee_path.read_text().replace(name, "NAME"))
        for varying in ("sha256", "time"):
            del statement[varying]
        told[name] = (text, statement)
    assert told["sparse"] == told["crowded"]


def test_the_epsilon_is_stated_once() -> None:
    device: Any = build("planar_geometric", None, {"level": 1.0, "radius_m": 200.0})
    assert device.epsilon_per_m == 0.005
    with pytest.raises(UsageError, match="give --epsilon: the epsilon per metre of planar_geometric"):
        build("planar_geometric", None, {})
    with pytest.raises(UsageError, match="give only one"):
        build("planar_geometric", 0.1, {"epsilon_per_m": 0.1})
    with pytest.raises(UsageError, match="no_privacy promises nothing and takes no --epsilon"):
        build("no_privacy", 0.1, {})


def test_unknown_kinds_and_fields_are_named(make: Make) -> None:
    with pytest.raises(UsageError, match="Did you mean 'contour'"):
        publish_positions(make(), mechanism="contuor")
    with pytest.raises(UsageError, match="no mechanism called 'commuter'"):
        publish_positions(make(), mechanism="commuter")
    with pytest.raises(ScenarioError, match="Did you mean 'cell_m'"):
        publish_positions(make(settings={"cel_m": 5}))


def test_an_expected_number_of_people_means_nothing_to_reports(make: Make) -> None:
    with pytest.raises(UsageError, match="--expected-workers is for counts"):
        publish_positions(make(), expected_workers=10)


@pytest.mark.parametrize("kind", ["pdp_exponential", "pdp_sample"])
def test_a_file_does_not_say_who_is_in_which_group(make: Make, kind: str) -> None:
    """Without an ε of its own to divide by the cap, such a promise made the command run for ever."""
    with pytest.raises(UsageError, match=f"{kind} promises each group"):
        publish_positions(make(settings={}, epsilon=None), mechanism=kind)
