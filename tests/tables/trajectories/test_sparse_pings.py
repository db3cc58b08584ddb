"""Synthetic trips made of a few pings far apart are warned about, with the numbers."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from geodp.publish.request import Request
from geodp.publish.trajectories_plan import publish_trajectories
from geodp.tables.trajectories.remarks import remark_changed, sparse_remark
from geodp.tables.trajectories.table import Trajectories


def trips(points: int, gap_s: float, number: int = 40) -> Trajectories:
    rng = np.random.default_rng(0)
    first = np.arange(number + 1) * points
    time_s = np.tile(np.arange(points) * gap_s, number)
    places = np.cumsum(rng.normal(0, 50, (2, number * points)), axis=1)
    return Trajectories(np.array(["a"], dtype=np.object_), first, np.zeros(number, np.int64), time_s, *places)


def test_pings_are_told_from_tracks() -> None:
    assert "3 points in the median, 7,200 s apart" in sparse_remark(trips(3, 7200.0))
    assert sparse_remark(trips(30, 15.0)) == ""


def test_what_comes_out_is_told_with_its_numbers() -> None:
    told = remark_changed(trips(3, 9540.0), trips(66, 5650.0))
    assert "have 66.0 points and last 102.0 h on average, where the true ones have 3.0 points and last 5.3 h" in told
    assert remark_changed(trips(20, 60.0), trips(25, 60.0)) == ""


@pytest.mark.parametrize("mode", ["simulate", "release"])
def test_a_simulation_warns_and_a_release_says_nothing(tmp_path: Path, mode: str) -> None:
    if mode == "release":
        pytest.importorskip("opendp")
    rng = np.random.default_rng(1)
    number = 120
    rows = {
        "user": np.repeat(np.arange(number), 3),
        "trajectory": 0,
        "time_s": np.tile([0.0, 9000.0, 19000.0], number),
        "lon": rng.uniform(10.0, 10.08, 3 * number),
        "lat": rng.uniform(50.0, 50.05, 3 * number),
    }
    pd.DataFrame(rows).to_csv(tmp_path / "in.csv", index=False)
    request = Request(
        tmp_path / "in.csv", tmp_path / "out.csv", 50.0, mode, region="10,50,10.08,50.05", cap=1,
        settings={"most_points": 200}, ledger=tmp_path / "ledger.json",
    )  # fmt: skip
    outcome = publish_trajectories(request)
    assert any("such pings do not show the way" in text for text in outcome.warnings) == (mode == "simulate")
    assert "pings" not in outcome.text
