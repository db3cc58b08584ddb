"""Runs of a sweep on a Dask cluster (extra `cluster`)."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from geodp.errors import GeodpError, UsageError
from geodp.sweeps.executors import LIVES, Work, failed
from geodp.sweeps.job import Job, Outcome

if TYPE_CHECKING:
    from distributed import Client


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
                    raise self._gone()
                else:
                    yield failed(job, f"the cluster gave up on it: {_first_line(future.exception())}")
                future.release()
                following = submit()
                if following is not None:
                    finished.add(following)
        except (CommClosedError, FutureCancelledError, OSError) as error:
            raise self._gone() from error
        finally:
            with stack:
                client.close(timeout=2)

    def _gone(self) -> GeodpError:
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
