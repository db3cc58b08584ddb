"""Visits larger than memory, on a Dask cluster: files are read where the workers are, and every user ends up whole.

The cluster is on the trusted side: it sees the raw visits. Each file is split by user into as many pieces as needed;
pieces of one number from all files together hold whole users, so caps and samples are exact. What leaves a worker are
sums over users; noise is drawn here, once.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from geodp.errors import GeodpError, UsageError
from geodp.privacy.keyed_choice import user_words
from geodp.publish.private_visits import (
    PARTS,
    VisitCollector,
    require_visits,
    visit_batches,
    visit_files,
)
from geodp.publish.request import explain_nothing_done
from geodp.tables.reader import open_table
from geodp.tables.visits.histories import Integers, Venues
from geodp.tables.visits.visit_sets import VisitSets, visit_sets

T = TypeVar("T")
Piece = tuple[list[str], Integers, npt.NDArray[np.int32]]
"""Names of some users, and the visits of a file to venues by them: user by number, venue by number."""
_PIECE_BYTES = 64 << 20
_WORKERS_WITHIN_S = 30


class Cluster:
    """A connection to a Dask scheduler, or a cluster of processes on this machine (`local`)."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._client: Any = None
        self._own: Any = None

    @explain_nothing_done()
    def __enter__(self) -> Cluster:
        try:
            from distributed import Client
        except ImportError:
            raise UsageError("--cluster needs Dask: pip install 'geodp[cluster]'.") from None
        if self.address == "local":
            from distributed.deploy.subprocess import SubprocessCluster

            self._own = SubprocessCluster(host="127.0.0.1", threads_per_worker=1, dashboard_address="127.0.0.1:0")
        try:
            self._client = Client(self._own or self.address, timeout="10s", set_as_default=False)
            self._client.wait_for_workers(1, timeout=_WORKERS_WITHIN_S)
        except (OSError, TimeoutError, ValueError) as error:
            self.__exit__()
            raise UsageError(
                f"--cluster {self.address}: no Dask scheduler with workers answers there "
                f"({str(error).strip().partition(chr(10))[0]})."
            ) from None
        return self

    def __exit__(self, *error: object) -> None:
        for each in (self._client, self._own):
            if each is not None:
                each.close(timeout=5)

    def visits(
        self, path: Path, venues: Venues, called: Mapping[str, str] | None = None, *, releasing: bool = False
    ) -> ClusterVisits:
        """Read the files of a path on the cluster, and bring every user's visits together."""
        client = self._client
        files = [file.resolve() for file in visit_files(path)]
        # No message says more than those of the workers.
        named = [open_table(file, PARTS, called=called, releasing=releasing).called for file in files]
        number = self._pieces(files)
        listed = client.scatter(venues, broadcast=True)
        split = [
            client.submit(split_file, file, listed, number, columns, releasing=releasing, pure=False)
            for file, columns in zip(files, named, strict=True)
        ]
        tallies = self._results([client.submit(operator.getitem, part, 0, pure=False) for part in split])
        if not releasing:
            require_visits(path, sum(rows for rows, _ in tallies), sum(known for _, known in tallies))
        pieces = []
        for index in range(number):  # a piece of each file, taken where the file was read: only these travel
            parts = [client.submit(operator.getitem, part, 1 + index, pure=False) for part in split]
            pieces.append(client.submit(join_pieces, parts, venues.size, pure=False))
        self._results([client.submit(operator.attrgetter("users"), piece, pure=False) for piece in pieces])
        return ClusterVisits(self, pieces, venues.size)

    def sum_pieces(self, measure: Callable[[VisitSets], T], pieces: list[Any]) -> T:
        """Measure every piece where it is, and add up two by two on the cluster."""
        result: T = self.add_up([self.submit(measure, piece) for piece in pieces], operator.add)
        return result

    @property
    def threads(self) -> int:
        """How many tasks are done at a time."""
        return sum(self._client.nthreads().values())

    def share(self, value: Any) -> Any:
        """Send a value to every worker."""
        return self._client.scatter(value, broadcast=True)

    def submit(self, function: Callable[..., Any], *values: Any, **named: Any) -> Any:
        """Have a function called on a worker."""
        return self._client.submit(function, *values, pure=False, **named)

    def gather(self, futures: list[Any]) -> list[Any]:
        """Wait for results, and fetch them."""
        return self._results(futures)

    def add_up(self, sums: list[Any], add: Callable[[Any, Any], Any]) -> Any:
        """Add up results two by two on the cluster, and fetch the sum."""
        while len(sums) > 1:
            pairs = [sums[at : at + 2] for at in range(0, len(sums), 2)]
            sums = [self.submit(add, *pair) if len(pair) == 2 else pair[0] for pair in pairs]
        return self._results(sums)[0]

    def _pieces(self, files: list[Path]) -> int:
        size = sum(file.stat().st_size for file in files)
        return int(max(self.threads, -(-size // _PIECE_BYTES)))

    def _results(self, futures: list[Any]) -> list[Any]:
        from distributed.client import FutureCancelledError
        from distributed.comm import CommClosedError
        from distributed.scheduler import KilledWorker

        try:
            return list(self._client.gather(futures))
        except GeodpError:
            raise
        except (CommClosedError, FutureCancelledError, OSError) as error:
            raise GeodpError(f"the Dask scheduler at {self.address} went away ({type(error).__name__}).") from error
        except KilledWorker:
            raise GeodpError(
                f"the Dask workers at {self.address} ended again and again on one task: they may lack memory. "
                "Use workers with more of it, or more files."
            ) from None


@dataclass(frozen=True, eq=False)
class ClusterVisits:
    """Visits in pieces on a cluster; every user is whole in one of them."""

    cluster: Cluster
    pieces: list[Any]
    venues: int
    """Number of public venues."""

    def sum_pieces(self, measure: Callable[[VisitSets], T]) -> T:
        """Return the sum over all pieces of what is measured on each."""
        return self.cluster.sum_pieces(measure, self.pieces)


def split_file(
    path: Path, venues: Venues, number: int, called: Mapping[str, str] | None = None, *, releasing: bool = False
) -> list[Any]:
    """Return the numbers of rows and of rows at listed venues of one file, then its visits, split by user."""
    collector = VisitCollector(venues)
    collector.add_all(visit_batches(path, releasing=releasing, called=called))
    names, visits = collector.visits()
    who, venue_number = np.divmod(visits, max(venues.size, 1))
    piece_of_user = (user_words(names) % np.uint64(number)).astype(np.int64)
    piece = piece_of_user[who]
    pieces = []
    for index in range(number):
        users, visits = np.flatnonzero(piece_of_user == index), piece == index
        place = np.searchsorted(users, who[visits])
        pieces.append(([names[user] for user in users], place, venue_number[visits].astype(np.int32)))
    return [(collector.rows, collector.rows - collector.unlisted), *pieces]


def join_pieces(parts: list[Piece], venues: int) -> VisitSets:
    """Bring the pieces of one number from all files together."""
    names: dict[str, int] = {}
    number, venue = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int32)]
    for users, who, where in parts:
        of_user = np.array([names.setdefault(user, len(names)) for user in users], dtype=np.int64)
        number.append(of_user[who])
        venue.append(where)
    return visit_sets(user_words(list(names)), np.concatenate(number), np.concatenate(venue), venues)
