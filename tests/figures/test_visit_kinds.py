"""Figures of published visits and of EpicRec: that they show what they say, on small data."""

import os
from pathlib import Path

import pandas as pd
import pytest
from pydantic import ValidationError

from geodp.figures.figure_file import load_figure
from geodp.figures.kinds.epicrec import ERROR, LOAD, MEAN, RULES, SCALE, STOP
from geodp.figures.kinds.publications import (
    COARSEST,
    DISTANCE,
    FINEST,
    MOVED,
    NUMBERS,
    REIDENTIFIED,
    PublishedVisits,
)
from geodp.figures.make import make_figure
from tests.figures.small_figure import plain_file

SHOWN = [{"says": "see", "check": "shown"}]


def points_of(folder: Path, make: dict[str, object]) -> pd.DataFrame:
    made = make_figure(load_figure(plain_file(folder, make=make, claims=SHOWN)), folder / "out")
    assert made.images[0].stat().st_size > 10_000
    return pd.read_parquet(folder / "out" / "P1" / "town" / "points.parquet")


def test_lines_of_published_visits_share_their_visits_and_baselines_are_level(tmp_path: Path) -> None:
    lines = {
        "few": {"kind": "prilocation", "clusters": 4},
        "many": {"kind": "prilocation", "clusters": 30},
        "k": {"kind": "k_anonymous_visits", "k": 5},
    }
    make = {"kind": "published_visits", "values": [0.5, 2.0], "lines": lines, "people": 40, "venues": 200, "repeats": 2}
    points = points_of(tmp_path, make | {"y": [DISTANCE, REIDENTIFIED, NUMBERS]})
    assert set(points["y_name"]) == {DISTANCE, REIDENTIFIED, NUMBERS}
    error = points[points["y_name"] == DISTANCE].groupby(["line", "x"])["y"].mean()
    assert error["many"].max() < error["few"].min()
    assert error["k"].nunique() == 1
    noise = points[points["y_name"] == NUMBERS].groupby(["line", "x"])["y"].mean()
    assert noise["few", 0.5] > noise["few", 2.0]
    assert noise["k"].max() == 0


def test_a_level_that_is_hidden_is_left_and_compact_clusters_stay_in_it(tmp_path: Path) -> None:
    """Figure 12.6: by areas a coarser level moves further; with compact clusters the level moves nothing."""
    lines = {
        "street": {"kind": "prilocation", "level": "street"},
        "city": {"kind": "prilocation", "level": "city"},
        "compact": {"kind": "prilocation", "level": "city", "clusters": 20},
    }
    make = {"kind": "published_visits", "values": [1.0], "lines": lines, "people": 60, "venues": 300, "repeats": 2}
    points = points_of(tmp_path, make | {"levels": ["city", "district", "street"], "y": [MOVED, FINEST, COARSEST]})
    found = points.groupby(["y_name", "line"])["y"].mean()
    assert found[COARSEST, "street"] == 1.0
    assert found[COARSEST, "city"] < 0.5
    assert found[COARSEST, "compact"] > 0.9
    assert found[FINEST, "city"] < found[FINEST, "street"] < 1
    assert found[MOVED, "street"] < 3 < found[MOVED, "city"]


def test_files_are_joined_by_the_name_of_the_venue(tmp_path: Path) -> None:
    pd.DataFrame({"user": [1, 1, 2, 3], "poi": [1, 2, 2, 3]}).to_parquet(tmp_path / "visits.parquet")
    places = pd.DataFrame({"poi": [1, 2, 3], "lon": [10.0, 10.1, 10.2], "lat": [50.0, 50.0, 50.0]})
    places.to_csv(tmp_path / "places.csv", index=False)
    levels = pd.DataFrame({"poi": [1, 2, 3], "town": ["a", "a", None], "lane": ["x", "y", "z"]})
    levels.to_csv(tmp_path / "levels.csv", index=False)
    paths = {f"{name}_path": str(tmp_path / file) for name, file in
             (("visits", "visits.parquet"), ("places", "places.csv"), ("levels", "levels.csv"))}  # fmt: skip
    kind = PublishedVisits(**paths, venue_column="poi", levels=("town", "lane"), people=10)
    histories, venues = kind._load_records()
    assert venues.name.tolist() == ["1", "2"], "a venue without a town is left out"
    assert histories.people.tolist() == ["1", "2"]
    assert histories.venue.tolist() == [0, 1, 1]


def test_what_cannot_be_measured_is_refused() -> None:
    with pytest.raises(ValidationError, match="no score is called"):
        PublishedVisits(y=("distance",))


def test_the_noise_of_figure_4_is_drawn_with_its_golden_numbers(tmp_path: Path) -> None:
    points = points_of(tmp_path, {"kind": "epicrec_noise"})
    calibrated = points[points["line"] == "calibrated"]
    scales = calibrated.loc[calibrated["y_name"] == SCALE, "y"].tolist()
    assert scales == pytest.approx([3.613126, 2.360388, 3.338093, 2.360388, 1.382683], abs=1e-6)
    assert calibrated.loc[calibrated["y_name"] == MEAN, "y"].iloc[0] == pytest.approx(2.610936, abs=1e-6)
    assert calibrated.loc[calibrated["y_name"] == LOAD, "y"].iloc[0] <= 1.0


def test_the_printed_rule_always_stops_at_twice_the_step(tmp_path: Path) -> None:
    make = {"kind": "epicrec_budget", "items": 60, "categories": 6, "typical_items": 5, "searches": 2, "step": 0.1}
    points = points_of(tmp_path, make)
    stops = points[points["y_name"] == STOP].groupby("line")["y"]
    assert set(stops.groups) == set(RULES)
    assert stops.get_group("as printed").tolist() == [0.2, 0.2]
    error = points[points["y_name"] == ERROR].groupby("x")["y"].mean()
    assert error.iloc[0] > 2 * error.iloc[-1]


@pytest.mark.skipif("GEODP_DATA" not in os.environ, reason="GEODP_DATA names no folder of real data")
def test_real_visits_of_new_york_have_boroughs_and_tracts() -> None:
    folder = Path(os.environ["GEODP_DATA"]) / "foursquare_nyc"
    if not folder.is_dir():
        pytest.skip("no Foursquare visits in GEODP_DATA")
    kind = PublishedVisits(
        visits_path=str(folder / "checkins.parquet"),
        places_path=str(folder / "venues.csv.gz"),
        levels_path=str(folder / "venue_hierarchy.csv.gz"),
        venue_column="poi",
        levels=("borough", "tract"),
        people=100,
    )
    histories, venues = kind._load_records()
    assert len(histories.people) == 100
    assert set(venues.levels["borough"]) == {"Manhattan", "Brooklyn", "Queens", "Bronx", "Staten Island"}
    assert 4000 < venues.size < 4300  # 81 % of 5,135 lie in the five boroughs
