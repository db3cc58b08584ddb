"""Running a sweep: what is left to do, on an executor, with every result on disk as it comes."""

from __future__ import annotations

import logging
import os
import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from geodp.errors import GeodpError
from geodp.storage.manifest import write_manifest
from geodp.sweeps.executors import DaskExecutor, Executor, Job, LocalExecutor, Outcome, make_jobs, run_job
from geodp.sweeps.result import SweepResult
from geodp.sweeps.sweep_file import LoadedSweep, load_sweep
from geodp.sweeps.sweep_folder import SweepFolder

log = logging.getLogger("geodp")


@dataclass
class Progress:
    """How far a sweep is."""

    total: int
    done: int = 0
    failed: int = 0
    skipped: int = 0
    """Runs that had finished before."""
    workers: int = 1
    started: float = field(default_factory=time.monotonic)

    def seconds_left(self) -> float | None:
        """Estimate the time left from the runs of this session."""
        fresh = self.done - self.skipped
        if fresh == 0:
            return None
        return (time.monotonic() - self.started) / fresh * (self.total - self.done)


@dataclass(frozen=True)
class SweepForecast:
    """What a sweep would do."""

    cells: int
    runs: int
    finished: int
    seconds_per_run: float
    """Mean of the finished runs; of one that was tried, when there are none."""
    tried: bool = False
    problem: str = ""
    """Why the run that was tried failed ('' when it did not)."""


def sweep_jobs(sweep: LoadedSweep, folder: Path) -> list[Job]:
    """Return all runs of a sweep: seed by seed, so that early results cover every cell."""
    keep, seeds = sweep.sweep.keep, sweep.sweep.seed_list()
    kept = str(folder.resolve() / "runs") if set(keep) - {"metrics"} else None
    priced = sweep.sweep.at_success
    jobs = [
        job
        for cell in sweep.cells
        for job in make_jobs(
            scenario=cell.scenario, cell=cell.name, seeds=seeds, keep=keep, folder=kept, at_success=priced
        )
    ]
    return sorted(jobs, key=lambda job: (job["seed"], job["cell"]))


_TRIED_S = 10.0  # a run that is expected to take longer is estimated, not tried


def plan_sweep(file: str | Path, out: str | Path) -> SweepForecast:
    """Say what a sweep would do, without doing it; where no run has finished yet, a short one is tried."""
    sweep = load_sweep(file)
    jobs = sweep_jobs(sweep, Path(out))
    outcomes = SweepFolder(Path(out)).outcomes()
    known = [outcomes[job["run_id"]] for job in jobs if job["run_id"] in outcomes]
    seconds = [outcome["seconds"] for outcome in known if outcome["status"] == "ok"]
    if seconds:
        return SweepForecast(len(sweep.cells), len(jobs), len(seconds), sum(seconds) / len(seconds))
    from geodp.scenario.estimate import estimate_run

    first = next(cell.scenario for cell in sweep.cells if cell.name == jobs[0]["cell"])
    guessed_s = estimate_run(first.resolve(), []).seconds
    if guessed_s > _TRIED_S:
        return SweepForecast(len(sweep.cells), len(jobs), 0, guessed_s)
    tried = run_job(jobs[0] | {"folder": None})
    return SweepForecast(len(sweep.cells), len(jobs), 0, tried["seconds"], tried=True, problem=tried["error"])


def sweep(
    file: str | Path,
    out: str | Path | None = None,
    *,
    workers: int | None = None,
    cluster: str | None = None,
    fresh: bool = False,
    fail_fast: bool = False,
    overrides: Mapping[str, Any] | None = None,
    draw: bool = True,
    on_progress: Callable[[Progress], None] | None = None,
    on_failure: Callable[[str], None] | None = None,
) -> SweepResult:
    """Run a sweep, or go on with one that was stopped.

    Parameters
    ----------
    file
        The sweep file.
    out
        The sweep folder (default `runs/<name>`); run again with the same folder to resume.
    workers
        Processes on this machine (default: all cores).
    cluster
        Address of a Dask scheduler to use instead.
    fresh
        Forget the results in the folder.
    fail_fast
        Stop at the first failure.
    overrides
        Dotted path → value, applied to the base scenario.
    draw
        Draw the sweep's figures (the tables and the report are always written).
    on_progress, on_failure
        Called with the progress after every run, and with a message for every failed one.

    Returns
    -------
    SweepResult
        Tables of runs and cells, plots, LaTeX, the best cell, and what failed.

    Raises
    ------
    ScenarioError
        If the sweep file, its base or a cell is wrong.
    OutputError
        If the folder cannot be written, or holds another sweep.
    GeodpError
        If a run failed and `fail_fast` is set.

    Examples
    --------
    >>> import geodp
    >>> from pathlib import Path
    >>> _ = Path("two.yaml").write_text(
    ...     "{geodp: 1, name: two, base: scenarios/quickstart.yaml, grids: [{curator.mechanism.epsilon: [0.2, 2.0]}]}"
    ... )
    >>> small = {"duration_s": 600, "workers.source.count": 200}
    >>> geodp.sweep("two.yaml", "two", workers=1, overrides=small, draw=False).runs["epsilon_spent"].tolist()
    [0.2, 2.0]
    """
    loaded = load_sweep(file, overrides)
    target = Path(out) if out is not None else Path("runs") / loaded.sweep.name
    store = SweepFolder(target)
    jobs = sweep_jobs(loaded, target)
    with store.hold():
        before = {} if fresh else store.manifest()
        # Old results are forgotten only when there is somebody to make new ones.
        executor = _executor(loaded, workers, cluster, len(jobs)) if fresh else None
        store.begin(loaded, all_checksums(loaded), fresh=fresh)
        todo = _find_jobs_to_do(jobs, store)
        progress = Progress(total=len(jobs), done=len(jobs) - len(todo), skipped=len(jobs) - len(todo))
        if todo:
            executor = executor or _executor(loaded, workers, cluster, len(todo))
            progress.workers = executor.workers
            cells = {cell.name: cell.values for cell in loaded.cells}
            with store.open_results() as results:
                for outcome in executor.outcomes(todo, run_job):
                    results.add(outcome)  # on disk before the next one is looked at
                    if outcome["status"] == "ok":
                        progress.done += 1
                    else:
                        progress.failed += 1
                        message = failure_message(outcome, loaded, cells[outcome["cell"]])
                        if on_failure is not None:
                            on_failure(message)
                        if fail_fast:
                            raise GeodpError(f"stopped at the first failure (--fail-fast):\n{message}")
                    if on_progress is not None:
                        on_progress(progress)
        identity = store.output_identity(loaded, jobs, draw=draw)
        if not todo and before.get("output") == identity:
            write_manifest(target, before)
            if store.has_output():  # nothing is new, so nothing is written anew
                return SweepResult(target)
        from geodp.sweeps.output import write_output

        write_output(loaded, jobs, store, complete=progress.done + progress.failed == progress.total, draw=draw)
    return SweepResult(target)


def _find_jobs_to_do(jobs: list[Job], store: SweepFolder) -> list[Job]:
    """Return the runs that have no result, or whose kept parts are damaged."""
    finished = {key for key, outcome in store.outcomes().items() if outcome["status"] == "ok"}
    damaged = store.find_damaged_parts([job for job in jobs if job["run_id"] in finished])
    if damaged:
        log.warning("%s: what was kept of %d runs is damaged; they are made again", store.path, len(damaged))
        store.drop(damaged)
    strays = finished - {job["run_id"] for job in jobs}
    if strays:
        log.warning(
            "%s: %d earlier results match none of this sweep's %d runs and are not used. A run is known by its "
            "resolved scenario, seed, data and geodp's version: one of them has changed, or other values are asked for",
            *(store.path, len(strays), len(jobs)),
        )
    return [job for job in jobs if job["run_id"] not in finished - damaged]


def _executor(loaded: LoadedSweep, workers: int | None, cluster: str | None, jobs: int) -> Executor:
    if cluster is not None:
        return DaskExecutor(cluster, loaded.sweep.time_limit_s)
    return LocalExecutor(min(workers or os.cpu_count() or 1, jobs), loaded.sweep.time_limit_s)


def failure_message(outcome: Outcome, loaded: LoadedSweep, values: dict[str, Any]) -> str:
    """Say which run failed, why, and the command that repeats it alone."""
    from geodp.storage.markdown import printable
    from geodp.sweeps.sweep_file import as_text

    beside = loaded.path.parent / loaded.sweep.base
    base = beside.as_posix() if beside.is_file() else loaded.sweep.base  # a shipped one goes by its name
    words = ["geodp", "run", base, "--seed", str(outcome["seed"])]
    for path, value in values.items():
        words += ["--set", f"{path}={as_text(value)}"]
    error = printable(outcome["error"])
    return f"{outcome['cell']} seed {outcome['seed']}: {error}\n  repeat it:  {shlex.join(words)} --debug"


def all_checksums(loaded: LoadedSweep) -> dict[str, str]:
    """Return the checksum of every file that any cell of a sweep reads."""
    from geodp.runs.run import checksums

    found: dict[str, str] = {}
    for cell in loaded.cells:
        found |= checksums(cell.scenario)
    return found
