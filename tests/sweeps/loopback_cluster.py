"""A Dask cluster on this machine, for tests that kill parts of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path


class Cluster:
    """A Dask scheduler and two separate workers, as processes on loopback."""

    def __init__(self, folder: Path, environment: dict[str, str] | None = None) -> None:
        self.folder, self._environment = folder, {**os.environ, **(environment or {})}
        ready = folder / "scheduler.json"
        self.scheduler = self._start(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(ready)
        )
        deadline = time.monotonic() + 60
        while not ready.exists() or not ready.read_text().strip():
            assert time.monotonic() < deadline
            time.sleep(0.1)
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
            command = [sys.executable, "-c", f"{code}{main}.main()", *words[1:]]
            return subprocess.Popen(command, stdout=log, stderr=log, env=self._environment)

    def stop(self) -> None:
        """End all processes."""
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.wait()
