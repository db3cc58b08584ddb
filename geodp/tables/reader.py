"""Some columns of a csv or Parquet file, read in batches: memory holds one batch, however long the file."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.errors import DataError
from geodp.model import did_you_mean
from geodp.storage.csv_cells import unguarded, unguarded_column
from geodp.storage.files import is_regular, why_not_regular
from geodp.tables import total_rows
from geodp.tables.notices import notice
from geodp.tables.time_columns import read_time_column
from geodp.tables.usual_columns import likely

PARQUET = (".parquet", ".pq", ".geoparquet")
CSV = (".csv", ".csv.gz", ".csv.bz2", ".csv.zst")
_BLOCK_BYTES = 1 << 23
_LONGEST_NAME = 250
_BLOCK_ROWS = 1 << 18


def column_names(path: Path) -> list[str]:
    """Return the names of a file's columns."""
    _look_at(path)
    return _parquet_names(path) if _is_parquet(path) else _csv_names(path)


def require_columns(path: Path, wanted: dict[str, str], found: list[str]) -> None:
    """Refuse a file that lacks a column; `wanted` maps a plug-in's field (`lon_column`) to a column."""
    for field, name in wanted.items():
        if name in found:
            continue
        if len(found) == 1 and any(mark in found[0] for mark in ";\t|"):
            raise DataError(
                f"{path.name}: no column '{name}': the columns are not separated by commas "
                f"(the first line is {found[0]!r}). Save the file with commas."
            )
        raise DataError(
            f"{path.name}: no column '{name}'.{_nearest(name, found)} Found: {', '.join(found)}.\n"
            f"Rename the column, or name it in {field}."
        )


def batches(
    path: Path,
    numbers: Sequence[str],
    names: Sequence[str],
    *,
    times: Sequence[str] = (),
    binary: Sequence[str] = (),
    called: Mapping[str, str] | None = None,
    total: bool = False,
) -> Iterator[dict[str, Any]]:
    """Yield the file's rows batch by batch: numeric columns as float arrays, names as pyarrow arrays.

    A missing number is NaN. Times are seconds or dates, which become seconds since 1970 (UTC). Names are words in sound
    UTF-8, or anything that can be written as a word (numbers, times); columns of bytes (`binary`) come as they are.
    `called` says what columns are called in the file where that differs.

    A row that cannot be read is an error. With `total` (the switch of a release) none is: lines of another length are
    no rows, a number or a name that cannot be read is missing, and what one row holds changes no other. The first batch
    is then empty.
    """
    of = {name: (called or {}).get(name, name) for name in (*numbers, *times, *names, *binary)}
    if total:
        for batch in _total_batches(path, list(dict.fromkeys(of.values()))):
            columns = {name: _total_floats(path, of[name], batch.column(of[name])) for name in numbers}
            columns |= {name: _as_seconds(path, of[name], batch.column(of[name])) for name in times}
            columns |= {name: _total_names(path, of[name], batch.column(of[name])) for name in names}
            yield columns | {name: batch.column(of[name]) for name in binary}
        return
    read = _parquet_batches if _is_parquet(path) else _csv_batches
    words = dict.fromkeys(of[name] for name in (*times, *names, *binary))
    for batch in read(path, list(dict.fromkeys(of[name] for name in numbers if of[name] not in words)), list(words)):
        columns = {name: _as_floats(path, of[name], batch.column(of[name])) for name in numbers}
        columns |= {name: _as_seconds(path, of[name], batch.column(of[name])) for name in times}
        columns |= {name: _as_names(path, of[name], batch.column(of[name])) for name in names}
        yield columns | {name: batch.column(of[name]) for name in binary}


def raw_batches(path: Path, columns: list[str], *, total: bool = False) -> Iterator[Any]:
    """Yield the file's rows batch by batch as they are: words where the file is csv, any type where it is Parquet."""
    if total:
        for batch in _total_batches(path, columns):
            yield batch if _is_parquet(path) else _in_words(batch)
        return
    yield from (_parquet_batches if _is_parquet(path) else _csv_batches)(path, [], columns)


def plain(column: Any) -> Any:
    """Return a column without dictionary encoding."""
    return _as_plain(column)


def is_table(path: Path) -> bool:
    """Tell by its name whether a file is csv or Parquet."""
    return path.name.lower().endswith(PARQUET + CSV)


def is_missing(names: Any) -> npt.NDArray[np.bool_]:
    """Tell which names are missing: null, empty, or not a number where names are numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    missing = np.asarray(names.is_null(nan_is_null=True))
    if pa.types.is_string(names.type) or pa.types.is_large_string(names.type):
        missing |= np.asarray(pc.fill_null(pc.equal(names, ""), True))
    return missing


def looks_like_data(found: Sequence[str]) -> bool:
    """Tell whether a line of column names holds numbers: then it is data, and not to be repeated."""
    return any(_is_number(name) for name in found)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _look_at(path: Path) -> None:
    if not is_regular(path):
        if (why := why_not_regular(path)) != "no such file":
            raise DataError(f"{path}: {why}; name a csv or Parquet file")
        short = len(str(path)) < _LONGEST_NAME and path.parent.is_dir()
        near = did_you_mean(path.name, (p.name for p in path.parent.iterdir())) if short else ""
        raise DataError(f"{str(path)[:_LONGEST_NAME]}: no such file.{near}")
    if not is_table(path):
        raise DataError(
            f"{path.name}: is neither a csv nor a Parquet file by its name. "
            f"Give it one of the endings {', '.join(CSV + PARQUET)}."
        )
    if path.stat().st_size == 0:
        raise DataError(f"{path.name}: the file is empty.")


def _is_parquet(path: Path) -> bool:
    return path.name.lower().endswith(PARQUET)


def _nearest(name: str, found: list[str]) -> str:
    like = likely(name, found)
    return did_you_mean(name, found) if like is None else f" Did you mean '{like}'?"


def _parquet_names(path: Path) -> list[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return list(pq.read_schema(path).names)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path.name}: cannot be read as Parquet ({error})") from error


def _parquet_batches(path: Path, numbers: list[str], names: list[str]) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            yield from file.iter_batches(batch_size=_BLOCK_ROWS, columns=numbers + names)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path.name}: cannot be read as Parquet ({error})") from error


def _csv_names(path: Path) -> list[str]:
    import pyarrow as pa

    try:
        with pa.input_stream(str(path)) as stream:  # unpacks by the name's ending
            start = stream.read(total_rows.LONGEST_HEADER).decode("utf-8-sig", errors="replace")
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path.name}: cannot be read ({error})") from error
    text = io.StringIO(start, newline=None).readline()  # the line of names alone decides, never a row
    try:
        names = next(csv.reader([text.partition("\0")[0]]), [])
    except csv.Error:  # ends of lines or quotes that no csv has
        names = []
    if "\0" in text or not names or any("\ufffd" in name for name in names):
        raise DataError(f"{path.name}: is not a csv file in UTF-8 with a line of column names.")
    return names


def _csv_batches(path: Path, numbers: list[str], names: list[str]) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    types = dict.fromkeys(numbers, pa.float64()) | dict.fromkeys(names, pa.string())
    try:
        reader = arrow_csv.open_csv(
            path,
            read_options=arrow_csv.ReadOptions(block_size=_BLOCK_BYTES, use_threads=False),
            convert_options=arrow_csv.ConvertOptions(column_types=types, include_columns=numbers + names),
        )
        yield from map(unguarded, reader)
    except (pa.ArrowException, OSError) as error:
        rule = ""
        if numbers and "conversion" in str(error):
            rule = f"\nMust hold numbers: {', '.join(numbers)} (places in degrees)."
        raise DataError(f"{path.name}: {error}.{rule}") from error


def _total_batches(path: Path, columns: list[str]) -> Iterator[Any]:
    if _is_parquet(path):
        return total_rows.parquet_rows(path, columns)
    return total_rows.csv_rows(path, _csv_names(path), columns)


def _total_floats(path: Path, name: str, column: Any) -> Any:
    """Return numbers, NaN where there is none; the type of a column in Parquet is public, and may be refused."""
    import pyarrow as pa

    if not pa.types.is_binary(column.type):
        return _as_floats(path, name, column)
    return total_rows.as_numbers(column).to_numpy(zero_copy_only=False)


def _total_names(path: Path, name: str, column: Any) -> Any:
    """Return whole numbers as they are and everything else as words, null where there is none."""
    import pyarrow as pa

    if pa.types.is_binary(column.type) and not _is_parquet(path):
        return unguarded_column(total_rows.as_words(column))
    _as_names(path, name, column.slice(0, 0))  # the type alone
    plain = _as_plain(column)
    if pa.types.is_floating(plain.type):  # a user called nan would be several people
        plain = pa.array(plain.to_numpy(zero_copy_only=False), from_pandas=True)
    return plain if pa.types.is_integer(plain.type) else total_rows.as_words(plain)


def _in_words(batch: Any) -> Any:
    import pyarrow as pa

    words = [unguarded_column(total_rows.as_words(column)) for column in batch.columns]
    return pa.record_batch(words, batch.schema.names)


def _as_floats(path: Path, name: str, column: Any) -> Any:
    import pyarrow as pa

    kind, known = column.type, pa.types
    tests = (known.is_integer, known.is_floating, known.is_decimal, known.is_null)
    if not any(test(kind) for test in tests):
        raise DataError(f"{path.name}: column '{name}' must hold numbers; it holds {kind}.")
    return column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)


def _as_seconds(path: Path, name: str, column: Any) -> Any:
    """Return times in seconds, NaN where a cell holds none; what had to be assumed about them is said."""
    import pyarrow as pa

    plain, known = _as_plain(column), pa.types
    if known.is_binary(plain.type):
        plain = total_rows.as_words(plain)
    tests = (known.is_integer, known.is_floating, known.is_decimal, known.is_null, known.is_temporal)
    if not any(test(plain.type) for test in (*tests, known.is_string, known.is_large_string)):
        raise DataError(f"{path.name}: column '{name}' must hold times; it holds {plain.type}.")
    times = read_time_column(plain)
    if times.local:
        notice(f"{path.name}: dates in column '{name}' that state no time zone are taken as they stand.")
    for unit in times.finer:
        notice(f"{path.name}: numbers in column '{name}' too large for seconds are taken as {unit} since 1970.")
    return times.seconds


def _as_names(path: Path, name: str, column: Any) -> Any:
    import pyarrow as pa

    plain, known = _as_plain(column), pa.types
    if known.is_string(plain.type) or known.is_large_string(plain.type):
        try:
            plain.validate(full=True)  # Parquet holds any bytes, and calls them words
        except pa.ArrowInvalid as error:
            raise DataError(f"{path.name}: column '{name}' holds words that are not UTF-8.") from error
        return plain
    tests = (known.is_integer, known.is_floating, known.is_decimal, known.is_boolean, known.is_temporal, known.is_null)
    if not any(test(plain.type) for test in tests):
        raise DataError(f"{path.name}: column '{name}' must hold names: words or numbers; it holds {plain.type}.")
    return plain


def _as_plain(column: Any) -> Any:
    import pyarrow as pa

    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
