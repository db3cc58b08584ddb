"""Visits on a Dask cluster of separate processes: the same bytes as in one process, however users are spread."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from geodp.cli.main import main
from geodp.tables.visits.visit_sets import VisitSets
from tests.tables.visits.tables import long_tailed

pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")
from tests.sweeps.loopback_cluster import Cluster as DaskCluster

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    started = DaskCluster(tmp_path_factory.mktemp("cluster"))
    yield started
    started.stop()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write visits as one csv, and shuffled over four Parquet files: the rows of most users are in all of them."""
    folder = tmp_path_factory.mktemp("data")
    sets = long_tailed(300, 120, np.random.default_rng(0).integers(1, 40, 300))
    user = np.repeat(np.arange(sets.users), sets.size)
    frame = pd.DataFrame({"user": [f"user {n}" for n in user], "venue": sets.venue})
    frame = pd.concat([frame, frame.iloc[::5]])  # some visits twice, in unlike files
    frame.to_csv(folder / "visits.csv", index=False)
    (folder / "parts").mkdir()
    shuffled = frame.sample(frac=1, random_state=0)
    for part in range(4):
        shuffled.iloc[part::4].to_parquet(folder / "parts" / f"part-{part}.parquet")
    pd.DataFrame({"venue": range(120)}).to_csv(folder / "venues.csv", index=False)
    return folder


def publish(source: Path, out: Path, *words: str) -> int:
    venues = str(source.parent / "venues.csv")
    with pytest.raises(SystemExit) as done:
        main(["publish", "counts", str(source), "--venues", venues, "--out", str(out), "--epsilon", "0.69", *words])
    return int(done.value.code or 0)


METHODS = {
    "gs": ["--cap", "5"],
    "gs_rows": ["--cap", "2", "--set", "sampling=row"],
    "geodp": ["--cap", "30", "--set", "variant=geodp"],
    "lpa": ["--method", "laplace_counts", "--cap", "7"],
    "fpa": ["--method", "fourier_counts"],
    "dpsense": ["--method", "dpsense"],
    "dpsense_s": ["--method", "dpsense", "--set", "scaling=true", "--max-theta", "20"],
}


@pytest.mark.parametrize("method", METHODS)
def test_the_cluster_gives_the_same_bytes_as_one_process(
    cluster: DaskCluster, data: Path, tmp_path: Path, method: str
) -> None:
    words = METHODS[method]
    assert publish(data / "visits.csv", tmp_path / "here.csv", *words) == 0
    assert publish(data / "parts", tmp_path / "there.csv", "--cluster", cluster.address, *words) == 0
    assert (tmp_path / "here.csv").read_bytes() == (tmp_path / "there.csv").read_bytes()


def test_users_spread_over_files_are_whole_in_one_piece(cluster: DaskCluster, data: Path) -> None:
    from geodp.publish.cluster_visits import Cluster
    from geodp.tables.visits.venue_file import read_venue_list

    venues = read_venue_list(data / "venues.csv")
    whole = pd.read_csv(data / "visits.csv").drop_duplicates().groupby("user").size()
    with Cluster(cluster.address) as connected:
        visits = connected.visits(data / "parts", venues)
        sizes = visits.sum_pieces(partial(VisitSets.sizes_up_to, most=120))
    assert sizes.tolist() == np.bincount(whole, minlength=121).tolist()


def test_a_broken_file_and_an_absent_venue_release_nothing(
    cluster: DaskCluster, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    pd.DataFrame({"venue": range(120)}).to_csv(tmp_path / "venues.csv", index=False)
    pd.DataFrame({"user": ["a", None], "venue": ["1", "2"]}).to_parquet(folder / "0.parquet")
    assert publish(folder, tmp_path / "out.csv", "--cluster", cluster.address) == 2
    assert "no user, first in row 2" in capsys.readouterr().err
    pd.DataFrame({"user": ["a"], "venue": ["elsewhere"]}).to_parquet(folder / "0.parquet")
    assert publish(folder, tmp_path / "out.csv", "--cluster", cluster.address) == 2
    assert "no visit names a venue" in capsys.readouterr().err
    assert not list(tmp_path.glob("out*"))


def test_a_scheduler_that_is_not_there_is_bad_input(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert publish(data / "parts", tmp_path / "out.csv", "--cluster", "tcp://127.0.0.1:9") == 2
    assert "no Dask scheduler" in capsys.readouterr().err
    assert not list(tmp_path.glob("out*"))
