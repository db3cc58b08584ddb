"""What a data file will be like, from its metadata and its first rows: soon said, however long the file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from geodp.errors import DataError
from geodp.tables import reader

MOST_LOOKED_AT = 100_000
_SAMPLE_BYTES = 1 << 18
_PACKED = 4.0  # tables shrink to about a quarter


@dataclass(frozen=True)
class FirstRows:
    """How many rows a file has, and what was seen of them."""

    path: Path
    rows: float
    """Rows of the file: stated by Parquet, estimated from the length of the first lines of a csv."""
    looked_at: int = 0
    inside: int = 0
    """Rows, of those looked at, inside the region."""

    @property
    def whole(self) -> bool:
        """Whether every row was looked at."""
        return 0 < self.rows <= self.looked_at

    def sentence(self) -> str:
        """Say it in words."""
        name = self.path.name
        if not self.looked_at:
            return f"{name}: about {self.rows:,.0f} rows"
        share = 100 * self.inside / self.looked_at
        if self.whole:
            return f"{name}: {share:.3g} % of its {self.looked_at:,} rows lie inside the region"
        return (
            f"{name}: {share:.3g} % of the first {self.looked_at:,} rows lie inside the region; it has about "
            f"{self.rows:,.0f}"
        )


def row_count(path: Path) -> float:
    """Return the number of rows of a table without reading it: exact for Parquet, else an estimate."""
    if path.name.lower().endswith(reader.PARQUET):
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            return float(pq.read_metadata(path).num_rows)
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{path.name}: cannot be read as Parquet ({error})") from error
    return _csv_rows(path)


def _csv_rows(path: Path) -> float:
    import pyarrow as pa

    try:
        with pa.input_stream(str(path)) as stream:  # unpacks by the name's ending
            sample = stream.read(_SAMPLE_BYTES)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path.name}: cannot be read ({error})") from error
    lines = sample.count(b"\n") + (not sample.endswith(b"\n"))
    if len(sample) < _SAMPLE_BYTES:
        return float(max(lines - 1, 0))
    size = path.stat().st_size * (1.0 if path.name.lower().endswith(".csv") else _PACKED)
    return float(size / len(sample) * lines)
