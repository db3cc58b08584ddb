"""Pings on a Dask cluster of separate processes: the same numbers as in one process, even when a worker is killed."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from geodp.cli.main import main
from geodp.datasets.table_folders import make_pings
from geodp.flows.calendar import Days
from geodp.flows.contributions import FlowRules, FlowTables
from geodp.flows.generated_pings import PingSizes
from geodp.flows.pings import count_pings, open_pings
from geodp.flows.zones import read_zones
from geodp.publish.cluster_flows import count_pings_on, divide_tables
from geodp.publish.cluster_visits import Cluster
from geodp.tables.regions import parse_region

pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")
from tests.sweeps.loopback_cluster import Cluster as DaskCluster

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    started = DaskCluster(tmp_path_factory.mktemp("cluster"))
    yield started
    started.stop()


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make up pings, in one Parquet file of several row groups, and shuffled over csv and Parquet files of a folder."""
    folder = tmp_path_factory.mktemp("pings") / "town"
    make_pings(folder, PingSizes(people=150, pings=30_000, days=3, zones=4), parse_region("10,50,10.08,50.05"))
    pings = pd.read_parquet(folder / "pings.parquet")
    pings.to_parquet(folder / "pings.parquet", row_group_size=7000)
    mixed = pings.sample(frac=1, random_state=0)
    (folder / "parts").mkdir()
    for part in range(3):
        mixed.iloc[part::4].to_csv(folder / "parts" / f"{part}.csv", index=False)
    mixed.iloc[3::4].to_parquet(folder / "parts" / "3.parquet")
    return folder


def count_here(town: Path) -> tuple[FlowTables, Any, FlowRules]:
    zones = read_zones(town / "zones.geoparquet", "zone", "district")
    days = Days(date(2024, 3, 4), date(2024, 3, 6))
    rules = FlowRules(days, zones.size, zones.centres_m, trips=2, key=7)
    return count_pings(open_pings(town / "pings.parquet"), zones, rules)[0], zones, rules


def require_equal(one: FlowTables, other: FlowTables) -> None:
    np.testing.assert_array_equal(one.footfall, other.footfall)
    np.testing.assert_array_equal(one.trips, other.trips)
    for found, expected in ((one.od, other.od), (one.wide, other.wide)):
        np.testing.assert_array_equal(found.cell, expected.cell)
        np.testing.assert_array_equal(found.count, expected.count)
    for key, histogram in one.histograms.items():
        np.testing.assert_array_equal(histogram, other.histograms[key])


def publish(town: Path, source: str, out: Path, *words: str) -> int:
    zones = f"{town / 'zones.geoparquet'}:zone"
    days = ("--from", "2024-03-04", "--to", "2024-03-06")
    with pytest.raises(SystemExit) as done:
        main(["publish", "flows", str(town / source), "--zones", zones, "--out", str(out), *days,
              "--epsilon", "1", "--delta", "1e-6", *words])  # fmt: skip
    return int(done.value.code or 0)


def test_one_process_two_processes_and_a_cluster_give_the_same_numbers(
    cluster: DaskCluster, town: Path, tmp_path: Path
) -> None:
    assert publish(town, "pings.parquet", tmp_path / "here") == 0
    assert publish(town, "pings.parquet", tmp_path / "local", "--cluster", "local") == 0
    assert publish(town, "parts", tmp_path / "there", "--cluster", cluster.address) == 0
    for name in ("footfall.parquet", "od.parquet", "trips.parquet", "histograms.csv"):
        content = (tmp_path / "here" / name).read_bytes()
        assert content == (tmp_path / "local" / name).read_bytes(), name
        assert content == (tmp_path / "there" / name).read_bytes(), name


class _Killing(Cluster):
    """A cluster, one worker of which is killed when all files are read: what it held must be read again."""

    victim: subprocess.Popen[bytes]

    def gather(self, futures: list[Any]) -> list[Any]:
        found = super().gather(futures)
        self.victim.kill()
        self.victim.wait()
        return found


def test_a_worker_that_is_killed_changes_nothing(town: Path, tmp_path: Path) -> None:
    expected, zones, rules = count_here(town)
    started = DaskCluster(tmp_path)
    try:
        connected = _Killing(started.address)
        connected.victim = started.workers[0]
        with connected:
            while connected.threads < 2:  # both hold something then
                time.sleep(0.1)
            tables = open_pings(town / "parts") + open_pings(town / "pings.parquet")
            found, notes = count_pings_on(connected, tables, zones, rules)
        assert started.workers[0].poll() is not None
    finally:
        started.stop()
    require_equal(found, expected)  # the same pings twice are the same people in the same places
    assert notes.rows == 60_000


def test_row_groups_are_read_apart_and_other_files_whole(town: Path) -> None:
    parts = divide_tables(open_pings(town / "parts") + open_pings(town / "pings.parquet"))
    assert [part.groups for part in parts] == [None] * 4 + [(number,) for number in range(5)]
    rows = sum(len(batch["user"]) for part in parts[4:] for batch in part.batches())
    assert rows == 30_000


def test_bad_pings_on_a_cluster_are_said_clearly(
    cluster: DaskCluster, town: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "0.csv").write_text("user,time_s,lon,lat\na,1709525000,ten,50\n", encoding="utf-8")
    assert publish(tmp_path, str(tmp_path / "bad"), tmp_path / "out", "--cluster", cluster.address) == 2
    assert "no such file (zones)" in capsys.readouterr().err
    zones = ("--zones", f"{town / 'zones.geoparquet'}:zone")
    assert publish(tmp_path, str(tmp_path / "bad"), tmp_path / "out", *zones, "--cluster", cluster.address) == 2
    assert "0.csv" in capsys.readouterr().err
    assert publish(town, "parts", tmp_path / "out", "--cluster", "tcp://127.0.0.1:9") == 2
    assert "no Dask scheduler" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
