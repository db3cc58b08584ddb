"""Sweeps under faults: every result once, kept parts whole, and in the end the same bytes as undisturbed."""

from __future__ import annotations

import json
import os
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tests.faults.process import Ended, Fault, Running, run, start
from tests.faults.subject import SIGNALS, Subject, Trial, left_in_scratch, left_over
from tests.sweeps.loopback_cluster import Cluster
from tests.sweeps.small_sweep import sweep_file

RUNS = 6


@dataclass
class SweepDriver(Subject):
    """`geodp sweep`, its driver killed."""

    _table: bytes = b""
    _ids: set[str] = field(default_factory=set)
    name = "sweep driver"

    @property
    def words(self) -> list[str]:
        """The command."""
        return ["--quiet", "sweep", "sweep.yaml", "--out", "out/sweep", "--workers", "2"]

    def make_start(self, place: Path) -> None:
        """A sweep of six runs that keeps their events."""
        grids = [{"server.batch_s": [30, 60]}]
        sweep_file(place, {"seeds": [1, 2, 3], "grids": grids, "keep": ["metrics", "events"], "plot": []})
        (place / "out").mkdir()

    def learn(self, calm: Path) -> None:
        """Take note of the table and the identities of runs."""
        self._table = (calm / "out" / "sweep" / "runs.parquet").read_bytes()
        self._ids = {line["run_id"] for line in results(calm)}

    def fault(self, rng: np.random.Generator) -> Fault:
        """Draw a step of the driver, or a moment."""
        kill = SIGNALS[self.trials % len(SIGNALS)]
        if self.trials % 2:
            return Fault(kill, after_s=float(rng.uniform(0, 1.05 * self._seconds)))
        return Fault(kill, step=int(rng.integers(1, len(self._steps) + 1)))

    def problems(self, place: Path, ended: Ended) -> list[tuple[str, str]]:
        """Every result that is there is one of the sweep, and there once."""
        found = []
        ids = [line["run_id"] for line in results(place)]
        if len(ids) != len(set(ids)):
            found.append(("duplicated", f"results twice: {ids}"))
        if not set(ids) <= self._ids:
            found.append(("other", "results of runs that are not part of the sweep"))
        if ended.code == 0 and len(ids) != RUNS:
            found.append(("lost", f"exit code 0, but {len(ids)} results"))
        if ended.code == 0 and (place / "out" / "sweep" / "runs.parquet").read_bytes() != self._table:
            found.append(("half", "exit code 0, but the table is not that of an undisturbed sweep"))
        return found

    def problems_again(self, place: Path, before: Ended) -> list[tuple[str, str]]:
        """The same command keeps every result and makes the rest; nothing is left over."""
        from geodp.storage.manifest import read_manifest, require_all_intact
        from geodp.sweeps.result import open_sweep

        kept = {json.dumps(line, sort_keys=True) for line in results(place)}
        ended = run(self.words, place)
        found = [] if ended.code == 0 else [("other", f"again: {ended.code}: {ended.text[-600:]}")]
        found += self.problems(place, ended)
        if not kept <= {json.dumps(line, sort_keys=True) for line in results(place)}:
            found.append(("lost", "again: results that had finished were made anew"))
        folder = place / "out" / "sweep"
        open_sweep(folder)
        require_all_intact(folder, read_manifest(folder))
        for part in self._ids:
            require_all_intact(folder / "runs" / part, read_manifest(folder / "runs" / part))
        found += left_over(place / "out", {"sweep"}) + left_over(folder / "runs", self._ids)
        own = {"results.jsonl", "manifest.json", ".lock", "runs", "figures", "report.html", "failures.txt"}
        return found + left_over(folder, own | {"runs.parquet", "summary.csv", "timings.parquet"}) + _scratch(place)


@dataclass
class SweepWorker(SweepDriver):
    """`geodp sweep`, one of its processes killed: the driver goes on."""

    name = "sweep worker"

    def trial(self, rng: np.random.Generator) -> Trial:
        """Kill one process at a random moment."""
        place = self.new_place()
        kill = (signal.SIGKILL, signal.SIGTERM)[self.trials % 2]
        wanted = int(rng.integers(0, RUNS - 1))
        running = start(self.words, place)
        _await_results(running, place, wanted)
        time.sleep(float(rng.uniform(0, 0.2)))
        there = running.children()
        if there:
            os.kill(there[int(rng.integers(len(there)))], kill)
        said = f"{kill.name} to a process after {wanted} results" if there else "none: no process was there"
        return self.judged(place, said, running.wait())


@dataclass
class DaskWorker(SweepDriver):
    """`geodp sweep --cluster`, one of two workers killed: the driver goes on with the other."""

    name = "dask worker"
    victim = "worker"

    def trial(self, rng: np.random.Generator) -> Trial:
        """Start a cluster on loopback, and kill a part of it at a random moment of the sweep."""
        place = self.new_place()
        home = place.with_suffix(".cluster")
        home.mkdir()
        scratch = place.with_suffix(".tmp")
        scratch.mkdir()
        cluster = Cluster(home, {"TMPDIR": str(scratch)})
        kill = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)[self.trials % 3]
        try:
            running = start([*self.words, "--cluster", cluster.address], place)
            wanted = int(rng.integers(0, RUNS))
            _await_results(running, place, wanted)
            time.sleep(float(rng.uniform(0, 0.5)))
            (cluster.workers[0] if self.victim == "worker" else cluster.scheduler).send_signal(kill)
            ended = running.wait()
        finally:
            cluster.stop()
        said = f"{kill.name} to the {self.victim} after {wanted} results"
        return self.judged(place, said, ended, frozenset({1, 2} if self.victim == "scheduler" else ()))


@dataclass
class DaskScheduler(DaskWorker):
    """`geodp sweep --cluster`, the scheduler killed: what had finished is kept."""

    name = "dask scheduler"
    victim = "scheduler"


def _await_results(running: Running, place: Path, wanted: int) -> None:
    """Wait until a sweep has started to work and has so many results, or has ended."""
    file = place / "out" / "sweep" / "results.jsonl"
    while running.alive() and (not file.is_file() or file.read_bytes().count(b"\n") < wanted):
        time.sleep(0.01)


def results(place: Path) -> list[dict[str, Any]]:
    """Return the intact results of runs that ended well, line by line."""
    from geodp.sweeps.sweep_folder import SweepFolder

    return [line for line in SweepFolder(place / "out" / "sweep")._lines()[0] if line["status"] == "ok"]


def _scratch(place: Path) -> list[tuple[str, str]]:
    """Name temporary folders that stay, when those who were left behind by a killed driver have ended."""
    deadline = time.monotonic() + 20
    while (found := left_in_scratch(place)) and time.monotonic() < deadline:
        time.sleep(0.2)
    return found
