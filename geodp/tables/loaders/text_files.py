"""Text files of columns without names, also packed: read in blocks; what a cell holds, or nothing where it is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodp.errors import DataError
from geodp.model import did_you_mean
from geodp.storage.files import is_regular
from geodp.tables import total_rows
from geodp.tables.loaders import VISITS, Dropped
from geodp.tables.loaders.checks import MALFORMED

if TYPE_CHECKING:
    import pyarrow as pa

_HEADING_BYTES = 1 << 12


def require_file(path: Path) -> None:
    """Refuse a path that is not a file with something in it."""
    if path.is_dir():
        raise DataError(f"{path}: is a folder; name a file")
    if not is_regular(path):
        near = did_you_mean(path.name, (p.name for p in path.parent.iterdir())) if path.parent.is_dir() else ""
        raise DataError(f"{path}: no such file.{near}")
    if path.stat().st_size == 0:
        raise DataError(f"{path.name}: the file is empty")


def text_batches(
    path: Path, columns: Sequence[str], dropped: Dropped, *, delimiter: str = "\t", skip_lines: int = 0
) -> Iterator[Any]:
    """Yield the rows of a file without column names as columns of bytes; lines of other lengths are counted and left.

    Memory holds a few blocks of 8 MB. Endings like `.gz` are unpacked on the way; a packed file that breaks off is
    an error.
    """

    def drop_malformed(lines: int) -> None:
        dropped.rows += lines
        dropped.drop(MALFORMED, lines)

    if not dropped.lenient:
        require_file(path)
    with total_rows.open_unpacked(path) as stream:
        heading = b"".join(stream.read(_HEADING_BYTES).splitlines(keepends=True)[skip_lines:]) if skip_lines else b""
        yield from total_rows.line_rows(
            stream,
            columns,
            columns,
            delimiter=delimiter.encode(),
            quotes=False,
            begun=heading,
            malformed=drop_malformed,
        )


def numbers(column: pa.Array) -> pa.Array:
    """Return numbers; null where a cell holds none."""
    return total_rows.as_numbers(column)


def words(column: pa.Array) -> pa.Array:
    """Return text: UTF-8 where it is, otherwise Latin-1 (each distinct value is looked at once)."""
    import pyarrow as pa

    try:
        return column.cast(pa.string())  # checks that it is UTF-8
    except pa.ArrowInvalid:
        coded = column.dictionary_encode()
        values = pa.array([_decode_text(value) for value in coded.dictionary.to_pylist()], pa.string())
        return pa.DictionaryArray.from_arrays(coded.indices, values).dictionary_decode()


def seconds(column: pa.Array, pattern: str) -> pa.Array:
    """Return seconds since 1970 for times written in a pattern; null where a cell does not fit it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    time = pc.strptime(words(column), format=pattern, unit="s", error_is_null=True)
    return time.cast(pa.int64()).cast(pa.float64())


def as_visits(batch: Any, fill: Callable[[Any], dict[str, pa.Array]]) -> pa.RecordBatch:
    """Return a batch of the standard table of visits; a column that is not filled holds nothing."""
    import pyarrow as pa

    found = fill(batch)
    kinds = dict.fromkeys(("user", "venue", "category"), pa.string())
    kinds |= dict.fromkeys(("time_s", "lon", "lat"), pa.float64())
    columns = [found.get(name, pa.nulls(batch.num_rows, kinds[name])) for name in VISITS]
    return pa.record_batch(
        [column.cast(kinds[name]) for name, column in zip(VISITS, columns, strict=True)], list(VISITS)
    )


def _decode_text(value: bytes | None) -> str | None:
    if value is None:
        return None
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")
