"""Pings by tower, from a file to a report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import geodp
from geodp.errors import DataError, UsageError
from geodp.geometry import Region
from geodp.public.towers import scatter_towers

TOWN = Region(10.0, 50.0, 10.08, 50.05)
DAY = "2024-03-04"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    rng = np.random.default_rng(1)
    towers = scatter_towers(TOWN, 12, rng)
    sites = tmp_path / "public" / "towers.csv"
    sites.parent.mkdir()
    pd.DataFrame({"tower": towers.names, "lon": towers.lon, "lat": towers.lat}).to_csv(sites, index=False)
    # Ninety people: at the first tower until ten, at the second one from eleven on; seen twice an hour.
    hour = np.tile(np.arange(5.0, 20.0, 0.5), 90)
    hour = hour[(hour < 10) | (hour >= 11)]
    user = np.repeat(np.arange(90), hour.size // 90)
    time = pd.Timestamp(DAY, tz="UTC") + pd.to_timedelta(hour, unit="h")
    pings = pd.DataFrame({"user": user, "time_s": time, "tower": np.where(hour < 10, towers.names[0], towers.names[1])})
    gone = pd.DataFrame({"user": [1], "time_s": time[:1], "tower": ["a tower that was taken down"]})
    pings = pd.concat([pings, gone], ignore_index=True)
    path = tmp_path / "private" / "pings.csv"
    path.parent.mkdir()
    pings.to_csv(path, index=False)
    return path, sites


def publish(pings: Path, sites: Path, **options: object) -> geodp.publish.PublishedFlows:
    asked = {"zones": "towers", "zone": "", "first": DAY, "last": DAY, "epsilon": 1e6, "delta": 1e-6} | options
    return geodp.publish.flows(pings, towers=sites, **asked)  # type: ignore[arg-type]


def test_people_are_counted_in_the_cells_of_towers(files: tuple[Path, Path]) -> None:
    made = publish(*files)
    hours = made.footfall
    rows = hours[(hours["period"] == "period") & (hours["level"] == "zone") & (hours["value"] > 45)]
    assert sorted(set(rows["zone"])) == ["tower 01", "tower 02"]
    assert rows["value"].max() == pytest.approx(90, abs=1)
    day = made.od[made.od["period"] == "period"]
    assert [*day[["origin", "destination"]].iloc[0]] == ["tower 01", "tower 02"]
    assert day["value"].iloc[0] == pytest.approx(90, abs=1)
    assert "a tower that is not listed: 1" in made.text


def test_towers_must_be_public_and_have_places(files: tuple[Path, Path], tmp_path: Path) -> None:
    pings, _ = files
    with pytest.raises(UsageError, match="towers must be public"):
        publish(pings, pings)
    without = tmp_path / "without.csv"
    without.write_text("tower,lon,lat\na,10,50\nb,,50\n")
    with pytest.raises(DataError):
        publish(pings, without)
    with pytest.raises(DataError, match="no such file"):
        publish(pings, tmp_path / "none.csv")
