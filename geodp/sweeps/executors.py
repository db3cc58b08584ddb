"""The runs of a sweep, and where they happen: on the cores of this machine, or on a Dask cluster (extra `cluster`).

A run is plain values in and plain values out, so that it may happen on another machine. An executor takes jobs one at a
time and yields outcomes as they finish. It hands out no more jobs than can be worked on, so memory does not grow with
their number, and it never loses one: a worker that dies takes its job back to the queue, and a job that has killed two
workers counts as failed.
"""

from __future__ import annotations

import hashlib
import json
import logging
import multiprocessing
import multiprocessing.connection
import os
import shutil
import signal
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from geodp._version import __version__
from geodp.errors import GeodpError, UsageError
from geodp.storage.folders import scratch_folder, whole_folder
from geodp.storage.manifest import read_manifest, write_manifest

if TYPE_CHECKING:
    from distributed import Client

    from geodp.scenario.schema import Scenario

Job = dict[str, Any]
"""`run_id, cell, seed, scenario` (plain values), `keep`, `folder` (where kept parts go, or None), `at_success`."""
Outcome = dict[str, Any]
"""`run_id, cell, seed, status` (`ok` or `failed`), `error, metrics, notices, seconds`."""

_PARTS = {
    "events": ["events.parquet", "server_view.parquet"],
    "releases": ["releases"],
    "summary": ["summary.md"],
    "map": ["map.html"],
}


def make_jobs(
    scenario: Scenario,
    cell: str,
    seeds: Iterable[int],
    keep: Iterable[str] = ("metrics",),
    folder: str | None = None,
    at_success: float | None = None,
) -> list[Job]:
    """Return a job per seed.

    The identity of a run is its resolved scenario, its seed, geodp's version and its data, and the success at which it
    is priced; how it is called and drawn does not count.
    """
    from geodp.runs.run import checksums
    from geodp.scenario.file import dump

    resolved = scenario.resolve()
    plain, digests = dump(resolved), sorted(checksums(resolved).values())
    facts = {key: value for key, value in plain.items() if key not in ("name", "about", "map", "seed")}
    jobs = []
    for seed in seeds:
        priced = [] if at_success is None else [{"at_success": at_success}]
        text = json.dumps([__version__, seed, facts, digests, *priced], sort_keys=True)
        identity = hashlib.blake2b(text.encode(), digest_size=10).hexdigest()
        job = {"run_id": identity, "cell": cell, "seed": seed, "scenario": plain, "keep": list(keep)}
        jobs.append(job | {"folder": folder, "at_success": at_success})
    return jobs


def run_job(job: Job) -> Outcome:
    """Run one scenario with one seed; an error becomes a failed outcome, never an exception."""
    return attempt(job, _run_and_measure)


def attempt(job: Job, make: Callable[[Job], dict[str, Any]]) -> Outcome:
    """Return the outcome of a job whose `metrics` and `notices` are made by a function, whatever that raises."""
    started = time.perf_counter()
    try:
        made = make(job)
    except GeodpError as error:
        outcome = make_failed_outcome(job, str(error))
    except Exception as error:  # noqa: BLE001 - whatever a run raises must not stop the others
        from geodp.registry import locate_fault

        place = traceback.format_exc(limit=-1).strip().splitlines()
        text = locate_fault(error) or f"{type(error).__name__}: {error} ({' '.join(place[1:2]).strip()})"
        outcome = make_failed_outcome(job, text)
    else:
        outcome = make_failed_outcome(job, "") | {"status": "ok"} | made
    return outcome | {"seconds": time.perf_counter() - started}


def job_scenario(job: Job) -> Scenario:
    """Return the scenario of a job, checked."""
    from geodp.scenario.file import build_scenario

    return build_scenario(job["scenario"], source=job["cell"], folder=Path.cwd(), trust_plugins=True)


def _run_and_measure(job: Job) -> dict[str, Any]:
    """Run it, and return its metrics and what was dropped, guessed or clipped on the way."""
    from geodp.run_folder.folder import RunFolder
    from geodp.runs.run import run_into

    scenario = job_scenario(job)
    keep = set(job["keep"])
    with scratch_folder() as scratch:
        run_into(
            scratch,
            scenario.model_copy(update={"seed": job["seed"]}),
            draw_map=bool(keep & {"map", "run"}),
            summarise=bool(keep & {"summary", "run"}),
        )
        made = RunFolder(scratch, trust_plugins=True)
        metrics, notices = made.metrics, made.notices
        if job["folder"] is not None:
            _keep_parts(scratch, Path(job["folder"]) / job["run_id"], keep)
    if job.get("at_success") is not None:
        from geodp.runs.equal_success import calibrate_scenario

        priced = calibrate_scenario(scenario, job["seed"], job["at_success"])
        metrics = metrics | priced.columns()
        if priced.found is None:
            notices = [
                *notices,
                f"{job['cell']}: on some seeds no target reaches an expected success of {job['at_success']:g}; "
                "cost_at_success is infinite there, and its mean is not drawn",
            ]
    return {"metrics": metrics, "notices": notices}


def _keep_parts(run: Path, target: Path, keep: set[str]) -> None:
    """Copy what is to be kept, whole or not at all, after another who does the same (left by a killed driver)."""
    with whole_folder(target, force=True, check_replaceable=lambda _: None, wait=True) as folder:
        if "run" in keep:
            shutil.copytree(run, folder, dirs_exist_ok=True)
            return
        names = ["scenario.yaml", "metrics.json"]
        names += [name for part in sorted(keep & set(_PARTS)) for name in _PARTS[part]]
        for name in names:
            if (run / name).is_dir():
                shutil.copytree(run / name, folder / name)
            elif (run / name).exists():
                shutil.copy2(run / name, folder / name)
        facts = read_manifest(run)
        there = {name: digest for name, digest in facts["files"].items() if (folder / name).is_file()}
        write_manifest(folder, {**facts, "files": there})


Work = Callable[[Job], Outcome]
LIVES = 2
"""How many workers one job may take down before it counts as failed."""


class Executor(Protocol):
    """Runs jobs somewhere."""

    workers: int

    def outcomes(self, jobs: Iterable[Job], work: Work) -> Iterator[Outcome]:
        """Yield the outcome of every job, in the order in which they finish."""
        ...


@dataclass
class LocalExecutor:
    """Processes of this machine, one job each at a time; `time_limit_s` stops a run that hangs.

    With `stay` the processes wait for the next call of `outcomes` instead of ending with it, until `close`.
    """

    workers: int
    time_limit_s: float | None = None
    stay: bool = False
    _crew: list[_Worker] = field(default_factory=list, repr=False)

    def outcomes(self, jobs: Iterable[Job], work: Work) -> Iterator[Outcome]:
        """Run jobs on fresh (spawned) processes; a process that dies or hangs is replaced."""
        waiting: deque[Job] = deque()
        source = iter(jobs)
        deaths: dict[str, int] = {}
        crew = self._crew
        try:
            while True:
                job = waiting.popleft() if waiting else next(source, None)
                while job is not None:
                    worker = next((worker for worker in crew if worker.job is None), None)
                    if worker is None:
                        if len(crew) >= self.workers:
                            break
                        worker = _Worker(work)
                        crew.append(worker)
                    if worker.give(job):
                        job = waiting.popleft() if waiting else next(source, None)
                    else:
                        crew.remove(worker)
                if job is not None:
                    waiting.appendleft(job)
                if not any(worker.job for worker in crew):
                    return
                yield from self._collect(crew, waiting, deaths)
        finally:
            for worker in [worker for worker in crew if not self.stay or worker.job is not None]:
                crew.remove(worker)
                worker.stop()

    def close(self) -> None:
        """End the processes that stayed."""
        while self._crew:
            self._crew.pop().stop()

    def _collect(self, crew: list[_Worker], waiting: deque[Job], deaths: dict[str, int]) -> Iterator[Outcome]:
        """Wait until something happens, and yield what has finished."""
        busy = [worker for worker in crew if worker.job is not None]
        multiprocessing.connection.wait([part for worker in busy for part in worker.signals()], self._patience(busy))
        for worker in busy:
            job, outcome = worker.job, worker.take()
            if outcome is not None:
                yield outcome
            elif not worker.alive():
                crew.remove(worker)
                if job is None:
                    continue
                deaths[job["run_id"]] = deaths.get(job["run_id"], 0) + 1
                if deaths[job["run_id"]] < LIVES:
                    waiting.append(job)
                else:
                    yield make_failed_outcome(
                        job, f"the process that ran it died ({worker.death()}), {LIVES} times in a row"
                    )
            elif self.time_limit_s is not None and worker.measure_elapsed() > self.time_limit_s and job is not None:
                crew.remove(worker)
                worker.stop()
                yield make_failed_outcome(job, f"stopped after the time limit of {self.time_limit_s:g} s")

    def _patience(self, busy: list[_Worker]) -> float | None:
        if self.time_limit_s is None:
            return None
        return max(0.05, min(self.time_limit_s - worker.measure_elapsed() for worker in busy) + 0.05)


class _Worker:
    """One spawned process and the pipe to it."""

    def __init__(self, work: Work) -> None:
        context = multiprocessing.get_context("spawn")
        self._ours, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, work, os.getpid()), daemon=True)
        with _own_script_hidden():
            self._process.start()
        theirs.close()
        self.job: Job | None = None
        self._since = 0.0

    def give(self, job: Job) -> bool:
        """Hand over a job; False when the process is gone."""
        try:
            self._ours.send(job)
        except (BrokenPipeError, OSError):
            self.stop()
            return False
        self.job, self._since = job, time.monotonic()
        return True

    def signals(self) -> list[Any]:
        return [self._ours, self._process.sentinel]

    def take(self) -> Outcome | None:
        """Return the outcome when there is one; the last word of a dying process counts."""
        try:
            if not self._ours.poll():
                return None
            outcome: Outcome = self._ours.recv()
        except (EOFError, OSError):
            return None
        self.job = None
        return outcome

    def alive(self) -> bool:
        return self._process.is_alive()

    def measure_elapsed(self) -> float:
        return time.monotonic() - self._since

    def death(self) -> str:
        code = self._process.exitcode
        if code is not None and code < 0:
            return f"signal {signal.Signals(-code).name}"
        return f"exit code {code}"

    def stop(self) -> None:
        self._ours.close()
        self._process.kill()
        self._process.join()


@contextmanager
def _own_script_hidden() -> Iterator[None]:
    """Keep a spawned process from running the caller's script again.

    A job needs nothing of it, and a script that sweeps without asking `if __name__ == "__main__"` would start its sweep
    anew in every process.
    """
    main: dict[str, Any] = vars(sys.modules["__main__"])
    kept: dict[str, Any] = {name: main[name] for name in ("__file__", "__spec__") if name in main}
    main.pop("__file__", None)
    main["__spec__"] = None
    try:
        yield
    finally:
        main.update(kept)


def _serve(pipe: Connection, work: Work, parent: int) -> None:
    """Work on jobs until the driver goes away."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the driver's to handle
    while True:
        while not pipe.poll(1.0):
            if os.getppid() != parent:  # the driver was killed: nobody reads our answers any more
                return
        try:
            pipe.send(work(pipe.recv()))
        except (EOFError, BrokenPipeError, OSError):
            return


def make_failed_outcome(job: Job, error: str) -> Outcome:
    """Return the outcome of a job that could not be run."""
    same = {key: job[key] for key in ("run_id", "cell", "seed")}
    return same | {"status": "failed", "error": error, "metrics": {}, "seconds": 0.0}


WORKERS_WITHIN_S = 30
"""How long to wait for the first worker of a cluster that has just been started."""


class DaskExecutor:
    """Workers of a Dask scheduler; a worker that dies is retried by the scheduler."""

    def __init__(self, address: str, time_limit_s: float | None = None) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise UsageError("--cluster needs Dask: pip install 'geodp[cluster]'") from None
        self.address, self.time_limit_s = address, time_limit_s
        try:
            self._client: Client = Client(address, timeout="10s", set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise UsageError(f"--cluster {address}: no Dask scheduler answers there ({_first_line(error)})") from None
        try:
            self._client.wait_for_workers(1, timeout=WORKERS_WITHIN_S)
        except TimeoutError:
            self._client.close()
            raise UsageError(
                f"--cluster {address}: the scheduler has no workers; start some with 'dask worker {address}'"
            ) from None
        self.workers = sum(self._client.nthreads().values())

    def outcomes(self, jobs: Iterable[Job], work: Work) -> Iterator[Outcome]:
        """Keep twice as many jobs on the cluster as it has threads, and yield outcomes as they finish."""
        from distributed import as_completed
        from distributed.client import FutureCancelledError
        from distributed.comm import CommClosedError

        source = iter(jobs)
        known: dict[str, Job] = {}
        client = self._client

        def submit() -> Any:
            job = next(source, None)
            if job is None:
                return None
            key = f"geodp-{job['run_id']}"
            known[key] = job
            return client.submit(work, job, key=key, pure=False, retries=LIVES)

        stack = ExitStack()
        stack.enter_context(_own_words_only())
        try:
            first = [future for _ in range(2 * self.workers) if (future := submit()) is not None]
            finished = as_completed(first, loop=client.loop, raise_errors=False)
            for future in finished:
                job = known.pop(future.key)
                if future.status == "finished":
                    yield future.result()
                elif future.status == "cancelled" or client.status != "running":
                    raise self._make_lost_error()
                else:
                    yield make_failed_outcome(job, f"the cluster gave up on it: {_first_line(future.exception())}")
                future.release()
                following = submit()
                if following is not None:
                    finished.add(following)
        except (CommClosedError, FutureCancelledError, OSError) as error:
            raise self._make_lost_error() from error
        finally:
            with stack:
                client.close(timeout=2)

    def _make_lost_error(self) -> GeodpError:
        return GeodpError(
            f"the Dask scheduler at {self.address} went away. What had finished is kept: run the same command again to "
            "go on from there, with a running scheduler or without --cluster."
        )


@contextmanager
def _own_words_only() -> Iterator[None]:
    """Keep Dask from printing tracebacks of a connection that was lost: what happened and what to do is said here."""
    theirs = logging.getLogger("distributed.client")
    before = theirs.level
    theirs.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        theirs.setLevel(before)


def _first_line(error: object) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
