"""Pings by tower, from a file to a report."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import shapely

import geodp
from geodp.errors import DataError, UsageError
from geodp.flows.calendar import Days
from geodp.flows.contributions import FlowRules, make_empty
from geodp.flows.pings import TOWER_PARTS, TowerSites, count_pings, open_pings
from geodp.flows.stays import TOWERS
from geodp.flows.zone_grids import make_tower_zones
from geodp.flows.zones import make_zones, read_zones
from geodp.geometry import Region
from geodp.public.towers import scatter_towers
from geodp.publish.cluster_flows import count_pieces, divide_tables, read_part
from geodp.publish.flows_by_area import move_footfall, share_by_area
from geodp.tables.towers import read_towers

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


def test_cells_are_shared_out_among_other_zones_by_area(files: tuple[Path, Path], tmp_path: Path) -> None:
    made = publish(*files, out=tmp_path / "report")
    halves = [shapely.box(TOWN.west, TOWN.south, 10.04, TOWN.north), shapely.box(10.04, TOWN.south, 10.06, TOWN.north)]
    zones = make_zones(["west", "east"], np.array(halves, dtype=np.object_))
    table, said = move_footfall(tmp_path / "report", zones)
    assert said["releasable"] is False
    cells = made.footfall[(made.footfall["level"] == "zone") & (made.footfall["period"] == "all")]
    moved = table[table["period"] == "all"].set_index("zone")
    outside = made.footfall.query("zone == 'outside' and period == 'all'")["value"].iloc[0]
    assert moved["value"].sum() == pytest.approx(
        cells["value"].sum() + outside * (outside not in cells["value"].values)
    )
    share = share_by_area(read_zones(tmp_path / "report" / "zones.geoparquet", "zone"), zones)
    np.testing.assert_allclose(share.sum(axis=1), 1.0)
    by_name = cells.set_index("zone")["value"].reindex(
        read_zones(tmp_path / "report" / "zones.geoparquet", "zone").names
    )
    assert moved["value"]["east"] == pytest.approx(float(by_name.to_numpy() @ share[:-1, 1]))
    spread = cells.set_index("zone")["sd"].reindex(by_name.index).to_numpy()
    assert moved["sd"]["east"] == pytest.approx(float(np.sqrt(spread**2 @ share[:-1, 1] ** 2)))
    far = make_zones(["far"], np.array([shapely.box(20, 50, 21, 51)], dtype=np.object_))
    with pytest.raises(DataError, match="no area in common"):
        move_footfall(tmp_path / "report", far)


def test_pings_by_tower_are_counted_alike_where_parts_are_read_apart(files: tuple[Path, Path]) -> None:
    """What workers of a cluster do, one after the other."""
    pings, path = files
    towers = read_towers(path)
    zones, of_tower = make_tower_zones(towers)
    sites = TowerSites(towers, of_tower)
    day = date.fromisoformat(DAY)
    rules = FlowRules(Days(day, day), zones.size, zones.centres_m, stays=TOWERS)
    tables = open_pings(pings, {}, parts=TOWER_PARTS)
    whole, _ = count_pings(tables, zones, rules, sites=sites)
    parts = [read_part(part, (zones, rules, sites), 3) for part in divide_tables(tables)]
    counted = make_empty(rules)
    for bucket in range(1, 4):
        counted = counted.add(count_pieces([part[bucket] for part in parts], (zones, rules, sites)))
    np.testing.assert_array_equal(counted.footfall, whole.footfall)
    np.testing.assert_array_equal(counted.od.cell, whole.od.cell)
    assert whole.od.count.sum() == 90
