"""Where the runs of a sweep happen: on the cores of this machine, or on a Dask cluster.

An executor takes jobs one at a time and yields outcomes as they finish. It hands out no more jobs than can be worked
on, so memory does not grow with their number, and it never loses one: a worker that dies takes its job back to the
queue, and a job that has killed two workers counts as failed.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any, Protocol

from geodp.sweeps.job import Job, Outcome

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
                    yield failed(job, f"the process that ran it died ({worker.death()}), {LIVES} times in a row")
            elif self.time_limit_s is not None and worker.elapsed() > self.time_limit_s and job is not None:
                crew.remove(worker)
                worker.stop()
                yield failed(job, f"stopped after the time limit of {self.time_limit_s:g} s")

    def _patience(self, busy: list[_Worker]) -> float | None:
        if self.time_limit_s is None:
            return None
        return max(0.05, min(self.time_limit_s - worker.elapsed() for worker in busy) + 0.05)


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

    def elapsed(self) -> float:
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


def failed(job: Job, error: str) -> Outcome:
    """Return the outcome of a job that could not be run."""
    return {
        "run_id": job["run_id"],
        "cell": job["cell"],
        "seed": job["seed"],
        "status": "failed",
        "error": error,
        "metrics": {},
        "seconds": 0.0,
    }
