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
from geodp.tables.loaders._checks import MALFORMED

if TYPE_CHECKING:
    import pyarrow as pa

_BLOCK_BYTES = 1 << 23
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
    import pyarrow as pa
    from pyarrow import csv

    if dropped.lenient:
        with total_rows.opened(path) as stream:
            begun = _without_lines(stream.read(_HEADING_BYTES), skip_lines)
            yield from total_rows.line_rows(
                stream, columns, columns, delimiter=delimiter.encode(), quotes=False, begun=begun
            )
        return
    require_file(path)

    def malformed(row: Any) -> str:  # noqa: ARG001 - what it holds is not quoted
        dropped.rows += 1
        dropped.drop(MALFORMED, 1)
        return "skip"

    try:
        with pa.input_stream(str(path), compression="detect") as stream:
            yield from csv.open_csv(
                pa.PythonFile(SoundLines(stream), mode="r"),
                read_options=csv.ReadOptions(
                    block_size=_BLOCK_BYTES,
                    use_threads=False,
                    column_names=list(columns),
                    encoding="utf8",
                    skip_rows=skip_lines,
                ),
                parse_options=csv.ParseOptions(
                    delimiter=delimiter, quote_char=False, invalid_row_handler=malformed, ignore_empty_lines=True
                ),
                convert_options=csv.ConvertOptions(
                    column_types=dict.fromkeys(columns, pa.binary()), check_utf8=False, strings_can_be_null=False
                ),
            )
    except (pa.ArrowException, OSError, EOFError) as error:
        raise DataError(f"{path.name}: cannot be read to its end ({error}). Is the download complete?") from error


class SoundLines:
    """A stream in which every line is UTF-8: one that is not is taken for Latin-1.

    The csv reader cannot hand over a malformed line that is neither; it would give up the whole file.
    """

    def __init__(self, stream: Any) -> None:
        self._stream, self._unread, self._ready = stream, b"", b""
        self.closed = False

    def read(self, size: int) -> bytes:
        """Return bytes up to a maximum number of them; none at the end."""
        while not self._ready:
            block = self._stream.read(_BLOCK_BYTES)
            whole, newline, rest = (self._unread + block).rpartition(b"\n")
            self._ready = _as_utf8(whole + newline if block else self._unread)
            self._unread = rest if block else b""
            if not block:
                break
        given, self._ready = self._ready[:size], self._ready[size:]
        return given

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def close(self) -> None:
        """Close it; the stream beneath belongs to its owner."""
        self.closed = True


def _as_utf8(block: bytes) -> bytes:
    if block.isascii():
        return block
    try:
        block.decode("utf-8")
    except UnicodeDecodeError:
        return b"\n".join((_decoded(line) or "").encode() for line in block.split(b"\n"))
    return block


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
        values = pa.array([_decoded(value) for value in coded.dictionary.to_pylist()], pa.string())
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


def _without_lines(start: bytes, number: int) -> bytes:
    """Return the beginning of a file without its lines of heading."""
    return b"".join(start.splitlines(keepends=True)[number:]) if number else start


def _decoded(value: bytes | None) -> str | None:
    if value is None:
        return None
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")
