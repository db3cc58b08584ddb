from collections.abc import Iterator
from pathlib import Path

import pytest

import geodp
from geodp.errors import GeodpError, UsageError
from tests.sweeps.loopback_cluster import Cluster
from tests.sweeps.small_sweep import sweep_file

pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")
pytestmark = pytest.mark.slow


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    started = Cluster(tmp_path)
    yield started
    started.stop()


def test_a_cluster_gives_the_same_bytes_as_one_process_while_a_worker_is_killed(
    cluster: Cluster, tmp_path: Path
) -> None:
    path = sweep_file(tmp_path / "sweep")
    seen = []

    def kill_one(progress: object) -> None:
        seen.append(progress)
        if len(seen) == 3:
            cluster.workers[0].kill()

    there = geodp.sweep(path, tmp_path / "there", cluster=cluster.address, on_progress=kill_one)
    here = geodp.sweep(path, tmp_path / "here", workers=1)
    assert len(seen) == 12
    assert (there.path / "runs.parquet").read_bytes() == (here.path / "runs.parquet").read_bytes()


def test_a_scheduler_that_goes_away_is_an_error_and_the_sweep_resumes(cluster: Cluster, tmp_path: Path) -> None:
    path = sweep_file(tmp_path / "sweep", {"seeds": {"count": 10}})

    def kill_scheduler(_: object) -> None:
        cluster.scheduler.kill()

    with pytest.raises(GeodpError, match="went away"):
        geodp.sweep(path, tmp_path / "out", cluster=cluster.address, on_progress=kill_scheduler)
    resumed = geodp.sweep(path, tmp_path / "out", workers=2)
    assert len(resumed.runs) == 40


def test_no_scheduler_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no Dask scheduler answers"):
        geodp.sweep(sweep_file(tmp_path), tmp_path / "out", cluster="tcp://127.0.0.1:9")
