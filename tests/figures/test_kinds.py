from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from geodp.figures.figure_file import load_figure
from geodp.figures.kinds.contour_toy import EQUAL, EXACT, NOISE, NOISY, ContourToy
from geodp.figures.kinds.radius_boxplot import BEYOND, DISTANCE, SPREAD
from geodp.figures.make import make_figure
from tests.figures.small_figure import plain_file
from tests.small import small_file
from tests.sweeps.small_sweep import QUICK

SHOWN = [{"says": "see", "check": "shown"}]


def test_the_toy_shows_counts_whose_noise_is_that_of_the_mechanism(tmp_path: Path) -> None:
    make = {"kind": "contour_toy", "epsilon": 0.5, "people": 300, "repeats": 200}
    file = load_figure(plain_file(tmp_path, make=make, claims=SHOWN))
    made = make_figure(file, tmp_path / "out")
    assert made.images[0].stat().st_size > 10_000
    points = _points(tmp_path / "out" / "P1" / "town")
    values = {name: own["y"].to_numpy() for name, own in points.groupby("y_name")}
    assert values[EXACT].sum() == 300
    assert values[EXACT].size == values[NOISY].size == 36
    # 7,200 draws of |Lap(2)|, mean 2 and standard deviation 2: five standard errors, false-alarm rate 6e-7
    assert values[NOISE].mean() == pytest.approx(2.0, abs=5 * 2 / np.sqrt(7200))
    assert values[EQUAL].max() == 0
    release, exact = ContourToy(people=300).release(3)
    assert release.count.size == exact.size == 36


def test_box_plots_hold_every_planned_task_of_every_method(tmp_path: Path) -> None:
    small_file(tmp_path, QUICK | {"server.assignment": {"kind": "reward_radius", "planning": "plain"}})
    make = {"kind": "radius_boxplot", "base": "small.yaml", "seeds": 2}
    file = load_figure(plain_file(tmp_path, make=make, claims=SHOWN))
    made = make_figure(file, tmp_path / "out")
    assert made.images[0].is_file()
    points = _points(tmp_path / "out" / "P1" / "town")
    lines = {"printed uniform", "printed optimised", "corrected uniform", "corrected optimised"}
    assert set(points["line"]) == lines
    distances = points[points["y_name"] == DISTANCE]
    assert distances.groupby("line").size().nunique() == 1
    assert (distances["y"] > 0).all()
    assert (points.loc[points["y_name"] == SPREAD, "y"] >= 0).all()
    uniform = points[(points["y_name"] == BEYOND) & points["line"].str.endswith("uniform")]
    assert uniform["y"].max() < 0.2  # beyond one's own 90 % quantile: about a tenth of a handful of tasks


def _points(folder: Path) -> pd.DataFrame:

    return pd.read_parquet(folder / "points.parquet")
