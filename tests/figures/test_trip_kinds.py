"""Figures of synthetic trips: that they show what they say, on small data."""

from pathlib import Path

import pandas as pd
import pytest
from pydantic import ValidationError

from geodp.figures.figure_file import load_figure
from geodp.figures.kinds.publications import PublishedTrips
from geodp.figures.make import make_figure
from tests.curator.synthesis.small_town import TOWN, trips
from tests.figures.small_figure import plain_file

SMALL = {"kind": "published_trips", "people": 100, "trips": 300, "fixes": 3000, "repeats": 2, "values": [1.0, 1000.0]}


def points_of(folder: Path, make: dict[str, object]) -> pd.DataFrame:
    claims = [{"says": "see", "check": "shown"}]
    made = make_figure(load_figure(plain_file(folder, make=make, claims=claims)), folder / "out")
    assert made.images[0].stat().st_size > 10_000
    return pd.read_parquet(folder / "out" / "P1" / "town" / "points.parquet")


def test_trips_come_nearer_to_the_truth_as_epsilon_grows(tmp_path: Path) -> None:
    points = points_of(
        tmp_path, SMALL | {"y": ["density_jsd", "length_jsd"], "lines": {"geodp": {"unit": "trajectory"}}}
    )
    error = points.groupby(["y_name", "x"])["y"].mean()
    for name in ("density_jsd", "length_jsd"):
        assert error[name, 1000.0] < error[name, 1.0]


def test_trips_of_a_file_are_cut_to_the_region_and_thinned(tmp_path: Path) -> None:
    world = trips(people=10)
    frame = world.frame(TOWN)
    frame["lon"], frame["lat"] = frame["lon"] * 1e6, frame["lat"] * 1e6
    frame.to_parquet(tmp_path / "trips.parquet")
    box = (TOWN.west, TOWN.south, TOWN.east, TOWN.north)
    kind = PublishedTrips(path=str(tmp_path / "trips.parquet"), degrees=1e-6, every=3, region=box, most_trips=20)
    held, _ = kind.read_records()
    assert 0 < held.size <= 20
    assert held.counts.max() <= -(-world.counts.max() // 3)
    assert (held.counts >= 2).all()


def test_an_unknown_score_is_refused() -> None:
    with pytest.raises(ValidationError, match="density_jsd"):
        PublishedTrips(y=("densityjsd",))
