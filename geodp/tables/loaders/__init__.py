"""Published formats of location data, read into one standard table each, batch by batch. Trusted; verb: `load`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from geodp.registry import Plugin

if TYPE_CHECKING:
    import pyarrow as pa

VISITS = ("user", "venue", "time_s", "lon", "lat", "category")
"""Columns of visits: words, words, seconds since 1970 (UTC), degrees, degrees, words (may be missing)."""
TRAJECTORIES = ("user", "trajectory", "time_s", "lon", "lat")
"""Columns of trajectories, a row per point: words, words, seconds since 1970 (UTC), degrees, degrees."""


@dataclass(frozen=True)
class Dataset:
    """A published set of data: what it is, and how to come by it."""

    name: str
    what: str
    get: str
    """Where it is published and what to download. Nothing is ever downloaded by itself."""
    size: str = ""
    """Published figures, to compare with."""


@dataclass
class Dropped:
    """How many rows a file has, and how many were left out and why. Private: it is computed from the data.

    Examples
    --------
    >>> from geodp.tables.loaders import Dropped
    >>> Dropped(rows=10, reasons={"no place": 3}).kept
    7
    """

    rows: int = 0
    """Rows (lines, points) read so far."""
    reasons: dict[str, int] = field(default_factory=dict)
    """Rows left out, by reason."""
    notes: dict[str, int] = field(default_factory=dict)
    """Rows that were kept although something about them had to be assumed, by what."""
    lenient: bool = False
    """Whether nothing that rows hold is refused: whatever cannot be used is left out (reading for a release)."""

    @property
    def total(self) -> int:
        """Rows left out."""
        return sum(self.reasons.values())

    @property
    def kept(self) -> int:
        """Rows that were not left out."""
        return self.rows - self.total

    def drop(self, reason: str, count: int) -> None:
        """Count rows left out."""
        if count:
            self.reasons[reason] = self.reasons.get(reason, 0) + int(count)

    def note(self, what: str, count: int) -> None:
        """Count rows about which something is assumed."""
        if count:
            self.notes[what] = self.notes.get(what, 0) + int(count)

    def lines(self) -> list[str]:
        """Say it in words, the most frequent reason first."""
        by_number = sorted(self.reasons.items(), key=lambda item: -item[1])
        left_out = [f"left out: {count:,} rows ({reason})" for reason, count in by_number]
        return [*left_out, *(f"note: {count:,} rows ({what})" for what, count in self.notes.items())]


@dataclass
class Loaded:
    """A file being read: go through its batches once; what was left out is complete after the last of them.

    Parameters
    ----------
    dropped
        What was left out so far.

    Examples
    --------
    >>> from geodp.tables.loaders import Dropped, Loaded
    >>> list(Loaded(iter([]), Dropped()))
    []
    """

    batches: Iterator[pa.RecordBatch]
    """Tables with the columns of `VISITS` or `TRAJECTORIES`, in this order."""
    dropped: Dropped

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self.batches

    def table(self) -> pa.Table:
        """Return everything at once (for files that fit into memory)."""
        import pyarrow as pa

        return pa.Table.from_batches(list(self.batches))


class Loader(Plugin):
    """Family of formats in which location data are published.

    A subclass reads a published file, batch by batch (`load`).

    Examples
    --------
    >>> import geodp
    >>> geodp.plugin("geolife").loads
    'trajectories'
    """

    family: ClassVar[str] = "loader"
    loads: ClassVar[Literal["visits", "trajectories"]]
    """Which standard table comes out."""
    files: ClassVar[str]
    """What the published files are called, patterns separated by commas: a file of such a name is in this format."""
    told_by: ClassVar[frozenset[str]] = frozenset()
    """Columns by which a csv file is known to be in this format, whatever it is called (none: by its name alone)."""
    datasets: ClassVar[tuple[Dataset, ...]] = ()
    """Published sets in this format."""

    @abstractmethod
    def load(self, path: Path, *, total: bool = False) -> Loaded:
        """Open a file (or a folder of files): batches of the standard table, in bounded memory, and what was dropped.

        Rows that cannot be used are left out and counted. A file that is not in the format is refused: by the call, or
        by the first or the last batch. With `total` (reading for a release) what a row or one of many files holds is
        never refused, and changes no other row.
        """
