import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import geodp
from geodp.errors import GeodpError, UsageError
from tests.sweeps.small_sweep import sweep_file

pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")
pytestmark = pytest.mark.slow


class Cluster:
    """A Dask scheduler and two separate workers, as processes on loopback."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        ready = folder / "scheduler.json"
        self.scheduler = self._start(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(ready)
        )
        deadline = time.monotonic() + 60
        while not ready.exists() or not ready.read_text().strip():
            assert time.monotonic() < deadline
            time.sleep(0.1)
        import json

        self.address = json.loads(ready.read_text())["address"]
        self.workers = [self._worker() for _ in range(2)]

    def _worker(self) -> subprocess.Popen[bytes]:
        return self._start(
            "worker",
            self.address,
            "--nthreads",
            "1",
            "--no-dashboard",
            "--no-nanny",
            "--local-directory",
            str(self.folder),
            "--death-timeout",
            "60",
        )

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        code = "import sys; from distributed.cli import dask_scheduler, dask_worker; "
        main = "dask_scheduler" if words[0] == "scheduler" else "dask_worker"
        with (self.folder / f"{words[0]}-{time.monotonic_ns()}.log").open("wb") as log:
            return subprocess.Popen([sys.executable, "-c", f"{code}{main}.main()", *words[1:]], stdout=log, stderr=log)

    def stop(self) -> None:
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.wait()


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
