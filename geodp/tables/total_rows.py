"""Rows of private files read as a total function: no row is an error, and no row changes how another one is read.

A release must not tell one person's data from another's, not even by refusing. So what a row holds never raises: a
cell that is no number, no word in UTF-8 or no point is missing, and a line with another number of cells is no row.
Every line of a csv file is read by itself: a quote that is opened and not closed ends with its line. The line of column
names, and the columns' types in Parquet, are public: they may be refused.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from geodp.errors import DataError

_BLOCK_BYTES = 1 << 23
_BLOCK_ROWS = 1 << 18
LONGEST_HEADER = 1 << 16
"""Bytes in which the line of column names must end."""
_LONGEST_LINE = 1 << 24
"""A longer line is no row: one person's must not fill the memory."""
_NUMBER = r"^\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*$"


def csv_rows(path: Path, header: Sequence[str], columns: Sequence[str]) -> Iterator[Any]:
    """Yield columns of bytes of a csv file with a line of column names, batch by batch; the first batch is empty."""
    import pyarrow as pa

    yield pa.record_batch([pa.array([], pa.binary()) for _ in columns], list(columns))
    with open_unpacked(path) as stream:
        begun, ending = _after_header(stream)
        yield from line_rows(stream, header, columns, begun=begun, ending=ending)


def line_numbers(path: Path, width: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the line numbers of a csv file's rows (in the order of `csv_rows`), and of lines that are no rows."""
    rows: list[int] = []
    others: list[int] = []
    with open_unpacked(path) as stream:
        begun, ending = _after_header(stream)
        number = 1
        for block in _line_blocks(stream, begun, ending):
            for line in block.splitlines():
                number += 1
                if len(_cells(line, b",")) == width:
                    rows.append(number)
                elif line.strip():
                    others.append(number)
    return np.array(rows, dtype=np.int64), np.array(others, dtype=np.int64)


@contextmanager
def open_unpacked(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, unpacked by its ending; a damaged one is an error that quotes nothing."""
    import pyarrow as pa

    try:
        with pa.input_stream(str(path), compression="detect") as stream:
            yield stream
    except (pa.ArrowException, OSError, EOFError):
        raise unreadable(path) from None  # not even a traceback may quote it


def line_rows(
    stream: IO[bytes],
    header: Sequence[str],
    columns: Sequence[str],
    *,
    delimiter: bytes = b",",
    quotes: bool = True,
    begun: bytes = b"",
    ending: bytes = b"\n",
    malformed: Callable[[int], None] | None = None,
) -> Iterator[Any]:
    """Yield some columns of lines of cells as bytes; lines with another number of cells than `header` are no rows.

    `begun` is what was read of the stream already; `malformed` hears how many lines are no rows, empty ones aside.
    """
    import pyarrow as pa

    place = [list(header).index(name) for name in columns]
    for block in _line_blocks(stream, begun, ending):
        if quotes and b'"' in block:
            cells = [found for line in block.splitlines() if len(found := _cells(line, delimiter)) == len(header)]
            arrays = [pa.array([row[at] for row in cells], pa.binary()) for at in place]
            yield pa.record_batch(arrays, list(columns))
        elif kept := _lines_of(block, len(header), delimiter, malformed):
            yield from _plain_rows(kept, header, place, delimiter).rename_columns(list(columns)).to_batches()


def parquet_rows(path: Path, columns: Sequence[str], groups: Sequence[int] | None = None) -> Iterator[Any]:
    """Yield columns of a Parquet file as they are, batch by batch; the first batch is empty."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            kinds = [file.schema_arrow.field(name).type for name in columns]
            yield pa.record_batch([pa.nulls(0, kind) for kind in kinds], list(columns))
            yield from file.iter_batches(batch_size=_BLOCK_ROWS, columns=list(columns), row_groups=groups)
    except (pa.ArrowException, OSError):
        raise unreadable(path) from None


def unreadable(path: Path) -> DataError:
    """Return the error about a file whose structure is damaged."""
    return DataError(
        f"{path.name}: cannot be read to its end: the file is damaged or no file of its kind. Is the download complete?"
    )


def as_numbers(column: Any) -> Any:
    """Return a column of words or bytes as numbers; null where a cell holds none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = as_words(column)
    text = pc.if_else(pc.match_substring_regex(text, _NUMBER), text, pa.scalar(None, text.type))
    text = pc.utf8_ltrim(pc.utf8_trim_whitespace(text), characters="+")  # Arrow reads no plus
    return each_or_null(text, lambda part: part.cast(pa.float64()), pa.float64())


def as_words(column: Any) -> Any:
    """Return a column of words, bytes, numbers or times as words; null where a cell holds none in UTF-8."""
    import pyarrow as pa

    def sound(part: Any) -> Any:
        words = part if pa.types.is_large_string(part.type) else part.cast(pa.string())
        words.validate(full=True)  # Parquet holds any bytes, and calls them words
        return words

    return each_or_null(column, sound, pa.large_string() if pa.types.is_large_string(column.type) else pa.string())


def each_or_null(column: Any, convert: Callable[[Any], Any], kind: Any) -> Any:
    """Convert a column; where that fails its cells are looked at by themselves, and those at fault become null."""
    import pyarrow as pa

    try:
        return convert(column)
    except (pa.ArrowException, ValueError, OverflowError):
        if len(column) <= 1:
            return pa.nulls(len(column), kind)
    half = len(column) // 2
    return pa.concat_arrays(
        [each_or_null(column.slice(0, half), convert, kind), each_or_null(column.slice(half), convert, kind)]
    )


def _after_header(stream: IO[bytes]) -> tuple[bytes, bytes]:
    """Read the line of column names away; return what was read beyond it, and what ends a line: it decides for all."""
    start = stream.read(LONGEST_HEADER)
    name_line = start.splitlines(keepends=True)[0] if start else b""
    ending = b"\r" if name_line.endswith(b"\r") else b"\n"
    return start[len(name_line) :], ending


def _line_blocks(stream: IO[bytes], rest: bytes, ending: bytes) -> Iterator[bytes]:
    """Yield blocks of whole lines, without those that are longer than any row may be."""
    skipping = False
    while chunk := stream.read(_BLOCK_BYTES):
        rest += chunk
        end = rest.rfind(ending) + 1
        if not end:
            if len(rest) > _LONGEST_LINE:
                rest, skipping = b"", True
            continue
        block, rest = rest[:end], rest[end:]
        if skipping:
            block, skipping = block[block.find(ending) :], False  # an empty line in its place: lines keep their numbers
        yield _without_long_lines(block)
    if not skipping:
        yield _without_long_lines(rest)


def _without_long_lines(block: bytes) -> bytes:
    if len(block) <= _LONGEST_LINE:
        return block
    return b"".join(line if len(line) <= _LONGEST_LINE else b"\n" for line in block.splitlines(keepends=True))


def _cells(line: bytes, delimiter: bytes) -> list[bytes]:
    """Return the cells of one line ([] where its quotes are wrong)."""
    if b'"' not in line:
        return line.split(delimiter)
    try:
        text = next(csv.reader([line.decode("latin-1")], delimiter=delimiter.decode(), strict=True), [])
    except csv.Error:
        return []
    return [cell.encode("latin-1") for cell in text]


def _lines_of(block: bytes, width: int, delimiter: bytes, malformed: Callable[[int], None] | None) -> bytes:
    """Return the lines of so many cells (Arrow would look at the others, and stumble over bytes that are no UTF-8)."""
    block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in block else block
    block = block if block.endswith(b"\n") else block + b"\n"
    byte = np.frombuffer(block, dtype=np.uint8)
    ends, marks = np.flatnonzero(byte == ord("\n")), np.flatnonzero(byte == ord(delimiter))
    good = np.diff(np.searchsorted(marks, ends), prepend=0) == width - 1
    if good.all():
        return block
    lines = list(zip(block.split(b"\n"), good.tolist(), strict=False))
    if malformed is not None:
        malformed(sum(not sound and bool(line.strip()) for line, sound in lines))
    return b"".join(line + b"\n" for line, sound in lines if sound)


def _plain_rows(block: bytes, header: Sequence[str], place: list[int], delimiter: bytes) -> Any:
    """Return the columns of a block without quotes."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    names = [str(number) for number in range(len(header))]  # a header may name two columns alike
    return arrow_csv.read_csv(
        pa.BufferReader(block),
        read_options=arrow_csv.ReadOptions(column_names=names, block_size=len(block) + 1, use_threads=False),
        parse_options=arrow_csv.ParseOptions(
            delimiter=delimiter.decode(), quote_char=False, double_quote=False, ignore_empty_lines=False
        ),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.binary()),
            include_columns=[names[at] for at in place],
            check_utf8=False,
            strings_can_be_null=False,
            null_values=[],
        ),
    )
