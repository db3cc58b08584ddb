"""Sweeps: two processes against one, what a run costs beyond itself, memory, and resuming a finished sweep."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from geodp.scenario.file import dump
from geodp.scenario.schema import load_scenario
from geodp.sweeps.executors import Executor, Job, LocalExecutor, run_job
from geodp.sweeps.sweep_folder import SweepFolder
from tests.benchmarks._figure import Figure
from tests.benchmarks._measuring import SCENARIOS, cpu_s, scratch_folder, usage_of
from tests.benchmarks._sweep_work import no_work

LONG = {"workers.source.count": 25_000, "tasks.demand.per_hour": 500, "tasks.reward.total": 10_000}
"""Changes of the quickstart that make a run take a second or more."""
LONG_RUNS = 8
QUICK_RUNS = 1000
DRIVER = "import sys; from tests.benchmarks._sweep_work import main; main(*sys.argv[1:])"


def measure() -> Iterator[Figure]:
    """Measure everything; wall-clock times are of this machine as busy as it is."""
    yield from _two_against_one()
    yield Figure("sweep_overhead_local_ms", 1e3 * _overhead_s(LocalExecutor(1, stay=True)), at_most=10.0)
    yield _dask()
    yield from _many()


def _two_against_one() -> Iterator[Figure]:
    jobs = _jobs(LONG_RUNS)
    one_run_s, _ = cpu_s(lambda: run_job(jobs[0]))
    yield Figure("sweep_long_run_cpu_s", one_run_s, at_least=1.0)
    alone, pair = LocalExecutor(1, stay=True), LocalExecutor(2, stay=True)
    try:
        for executor in (alone, pair):  # processes have started and imported before the clock does
            _seconds(executor, jobs[: executor.workers])
        times = [(_seconds(alone, jobs), _seconds(pair, jobs)) for _ in range(2)]
    finally:
        alone.close()
        pair.close()
    one, two = (min(column) for column in zip(*times, strict=True))
    yield Figure("sweep_two_processes_s", two, against="one_process", yardstick=one, at_least=1.8)


def _jobs(count: int) -> list[Job]:
    plain = dump(load_scenario(SCENARIOS / "quickstart.yaml", LONG).resolve())
    fixed: dict[str, Any] = {"cell": "c0000", "scenario": plain, "keep": ["metrics"], "folder": None}
    return [{"run_id": str(seed), "seed": seed, **fixed} for seed in range(count)]


def _seconds(executor: LocalExecutor, jobs: list[Job]) -> float:
    started = time.perf_counter()
    outcomes = list(executor.outcomes(jobs, run_job))
    bad = [outcome["error"] for outcome in outcomes if outcome["status"] != "ok"]
    if bad:
        raise RuntimeError(bad[0])
    return time.perf_counter() - started


def _overhead_s(executor: Executor) -> float:
    """Return the time per run of runs that take none: handing over, coming back, and being on disk."""
    jobs = _jobs(1)[0]
    folder = scratch_folder() / f"overhead-{type(executor).__name__}"
    folder.mkdir(exist_ok=True)

    def some(count: int, first: int) -> Iterable[Job]:
        return ({**jobs, "run_id": f"{first}-{number}"} for number in range(count))

    # an executor may end with the jobs it is given: those that start it up are the first of the same batch
    started, done = 0.0, 0
    with SweepFolder(folder).open_results() as results:
        for outcome in executor.outcomes(some(QUICK_RUNS + 50, 0), no_work):
            results.add(outcome)
            done += 1
            if done == 50:
                started = time.perf_counter()
    seconds = (time.perf_counter() - started) / QUICK_RUNS
    if isinstance(executor, LocalExecutor):
        executor.close()
    return seconds


def _dask() -> Figure:
    key = "sweep_overhead_dask_ms"
    try:
        from tests.sweeps.loopback_cluster import Cluster
    except BaseException:  # noqa: BLE001 - pytest skips the module by an exception of its own
        return Figure(key, None, at_most=30.0, note="the extra 'cluster' is not installed")
    from geodp.sweeps.executors import DaskExecutor

    folder = scratch_folder() / "dask"
    folder.mkdir(exist_ok=True)
    cluster = Cluster(folder)
    try:
        return Figure(key, 1e3 * _overhead_s(DaskExecutor(cluster.address)), at_most=30.0)
    finally:
        cluster.stop()


def _many() -> Iterator[Figure]:
    few, many = (_driven(cells) for cells in (10, 100))
    yield Figure("sweep_2000_runs_peak_mb", many["peak_mb"])
    yield Figure("sweep_peak_growth_200_to_2000", many["peak_mb"] / few["peak_mb"], at_most=1.1)
    yield Figure("sweep_2000_runs_resume_cpu_s", many["resume_cpu_s"], at_most=2.0)


def _driven(cells: int) -> dict[str, float]:
    folder: Path = scratch_folder() / f"many-{cells}"
    shutil.rmtree(folder, ignore_errors=True)
    used = usage_of(["-c", DRIVER, str(folder), str(cells), "20", "2"])
    found: dict[str, float] = json.loads(used.output.strip().splitlines()[-1])
    if found["runs"] != 20 * cells:
        raise RuntimeError(f"{found['runs']:.0f} runs instead of {20 * cells}")
    return found
