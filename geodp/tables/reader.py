"""The one reader of tables: columns by name, numbers, times and words as they are meant, batch by batch.

It serves positions, visits, venues, trajectories, tasks and what loaders make of plain tables, in all the formats of
`formats`. Longitudes and latitudes may stand in a column of points; times may be seconds or dates.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel

from geodp.errors import DataError
from geodp.model import did_you_mean
from geodp.storage.csv_cells import unguard_column
from geodp.storage.gpx import is_gpx
from geodp.tables import total_rows
from geodp.tables.formats import PointColumn, column_names, is_csv, point_column, raw_batches
from geodp.tables.notices import notice
from geodp.tables.time_columns import read_time_column
from geodp.tables.usual_columns import find_column, likely

MOST_LOOKED_AT = 100_000
"""Rows that are looked at where a file is not read to its end."""
PLACE, TIMES = ("lon", "lat"), ("time_s",)
"""Parts of a table that are numbers, and those that are times; all others are names."""
NameIt = Callable[[str], str]
"""How the holder of a file states which column is a part, e.g. "say --column lon=NAME"."""


def say_column(part: str) -> str:
    """Return how a command is told what a column is called."""
    return f"say --column {part}=NAME"


def call_it(part: str) -> str:
    """Return how a file is mended where nothing states what a column is called."""
    return f"call it '{part}' in the file"


@dataclass(frozen=True)
class TableReader:
    """A table whose columns are found."""

    path: Path
    found: Sequence[str]
    """All columns of the file."""
    called: Mapping[str, str]
    """The column of each part that is read: `lon` and `lat` (degrees), `time_s` (times), names of whatever."""
    points: PointColumn | None = None
    """Column of points that stands for both `lon` and `lat`."""
    gaps: Collection[str] = ()
    """Parts that a row may lack."""
    groups: tuple[int, ...] | None = None
    """Row groups of a Parquet file that are read (None: all)."""

    @property
    def placed(self) -> bool:
        """Whether rows have places."""
        return self.points is not None or self.called.keys() >= {*PLACE}

    def has(self, part: str) -> bool:
        """Tell whether a part is read."""
        return part in self.called or (self.points is not None and part in PLACE)

    def batches(self, *, total: bool = False) -> Iterator[dict[str, Any]]:
        """Yield rows batch by batch, by part: places and times as float arrays (NaN: missing), names as pyarrow arrays.

        A row that cannot be read is an error. With `total` (the switch of a release) none is: lines of another length
        are no rows, a cell that cannot be read is missing, and what one row holds changes no other. The first batch is
        then empty.
        """
        kinds: dict[str, list[str]] = {"numbers": [], "times": [], "names": []}
        for part in self.called:
            kinds["numbers" if part in PLACE else "times" if part in TIMES else "names"].append(part)
        points = self.points
        binary = [] if points is None else [points.name]
        for batch in read_batches(
            self.path, **kinds, binary=binary, called=self.called, total=total, groups=self.groups
        ):
            yield batch if points is None else batch | points.places(batch.pop(points.name), total=total)

    def tables(
        self, columns: Sequence[str], note: Callable[[str, int], None], *, zone: str = "UTC", total: bool = False
    ) -> Iterator[Any]:
        """Yield Arrow batches of the given columns, for loaders: words, floats, and nothing where a cell is unreadable.

        Dates that state no time zone are taken as of `zone`; `note` hears what was assumed about how many rows.
        """
        import pyarrow as pa

        wanted = [*self.called.values(), *([] if self.points is None else [self.points.name])]
        floats, words = (*PLACE, *TIMES), is_csv(self.path)
        for raw in raw_batches(self.path, [], list(dict.fromkeys(wanted)), total=total):
            batch = _in_words(raw) if total and words else raw
            found = {
                part: _lenient(part, _as_plain(batch.column(name)), zone, note) for part, name in self.called.items()
            }
            if self.points is not None:
                places = self.points.places(batch.column(self.points.name), total=total)
                found |= {part: pa.array(values) for part, values in places.items()}
            kinds = {name: pa.float64() if name in floats else pa.string() for name in columns}
            arrays = [found.get(name, pa.nulls(batch.num_rows)).cast(kind) for name, kind in kinds.items()]
            yield pa.record_batch(arrays, list(columns))

    def where(self, index: int) -> str:
        """Say where a row stands: a csv file by its line (the names are line 1), others by its number from 1."""
        return f"line {index + 2}" if is_csv(self.path) else f"row {index + 1}"


def open_table(
    path: Path,
    parts: Sequence[str],
    *,
    called: Mapping[str, str] | None = None,
    optional: Collection[str] = (),
    gaps: Collection[str] = (),
    name_it: NameIt = say_column,
    releasing: bool = False,
    purpose: str = "",
) -> TableReader:
    """Open a table by its columns: those that are stated, else those of usual names.

    Parameters
    ----------
    path
        The file.
    parts
        What is wanted: `lon`, `lat`, `time_s`, and names such as `user`.
    called
        What columns are called where that is stated: these must be there.
    optional
        Parts that are left out where nothing states them and the file has none.
    gaps
        Parts that a row may lack.
    name_it
        How to state what a column is called, for messages.
    releasing
        Whether to quote nothing of the file, and refuse what cannot be read row by row.
    purpose
        What lacks where a column does, e.g. ", so it cannot be published as visits".
    """
    if releasing and path.name.lower().endswith(".geojson"):
        raise DataError(
            f"{path.name}: GeoJSON states no columns: what one row holds would change how others are read. Save it as "
            "GeoPackage, Parquet or csv for a release."
        )
    if releasing and is_gpx(path):
        raise DataError(
            f"{path.name}: what a GPX file holds tells its columns. For a release name a folder of such files with "
            "--format gpx (trajectories), or save it as GeoPackage, Parquet or csv."
        )
    found, stated = column_names(path), dict(called or {})
    names = {part: stated.get(part) or find_column(path, part, found, name_it=name_it(part)) or part for part in parts}
    points = None
    if {*PLACE} & {*parts}:
        points = point_column(path, found, named=[names[part] for part in PLACE if part in names])
    left = {part for part in optional if part in names and part not in stated and names[part] not in found}
    left |= {*PLACE} if points is not None else set()
    kept = {part: name for part, name in names.items() if part not in left}
    require_columns(path, kept | stated, found, name_it=name_it, releasing=releasing, purpose=purpose)
    return TableReader(path, found, kept, points, gaps)


def open_fields(
    path: Path, settings: BaseModel, parts: Sequence[str], *, optional: Collection[str] = (), releasing: bool = False
) -> TableReader:
    """Open a table by the fields of a plug-in that name its columns: `lon_column` for `lon`, and so on.

    A field that is null asks for no column; one that keeps its default may go by another usual name.
    """
    names = {part: getattr(settings, field_of(part)) for part in parts}
    wanted = [part for part, name in names.items() if name is not None]
    called = {part: names[part] for part in wanted if names[part] != part}

    def name_it(part: str) -> str:
        return f"name it in {field_of(part)}"

    return open_table(path, wanted, called=called, optional=optional, name_it=name_it, releasing=releasing)


def field_of(part: str) -> str:
    """Return the field of a plug-in that names the column of a part."""
    return f"{part.removesuffix('_s')}_column"


def require_columns(
    path: Path,
    wanted: Mapping[str, str],
    found: Sequence[str],
    *,
    name_it: NameIt = call_it,
    releasing: bool = False,
    purpose: str = "",
) -> None:
    """Refuse a file that lacks a column; `wanted` maps what it stands for to its name.

    A release quotes nothing: where the line of names is missing, the first line is where somebody was.
    """
    part, name = next(((part, name) for part, name in wanted.items() if name not in found), ("", ""))
    if not part:
        return
    if is_csv(path) and any(_is_number(column) for column in found):
        raise DataError(
            f"{path.name}: the first line holds numbers instead of column names {', '.join(wanted.values())}."
        )
    if len(found) == 1 and any(mark in found[0] for mark in ";\t|"):
        first = "" if releasing else f" (the first line is {found[0]!r})"
        raise DataError(
            f"{path.name}: no column '{name}': the columns are not separated by commas{first}. Save the file with "
            "commas."
        )
    like = likely(name, found)
    near = did_you_mean(name, found) if like is None else f" Did you mean '{like}'?"
    seen = "" if releasing else f"{near} Found: {', '.join(found)}."
    raise DataError(f"{path.name}: no column '{name}'{purpose}.{seen} If it goes by another name, {name_it(part)}.")


def read_batches(
    path: Path,
    numbers: Sequence[str] = (),
    names: Sequence[str] = (),
    *,
    times: Sequence[str] = (),
    binary: Sequence[str] = (),
    called: Mapping[str, str] | None = None,
    total: bool = False,
    groups: Sequence[int] | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield the file's rows batch by batch: numbers as float arrays, times as seconds, names as pyarrow arrays.

    A missing number is NaN. Times are seconds or dates, which become seconds since 1970 (UTC). Names are words in sound
    UTF-8, or anything that can be written as a word (numbers, times); columns of bytes (`binary`) come as they are.
    `called` says what columns are called in the file where that differs. `total`: see `TableReader.batches`. `groups`:
    row groups of a Parquet file, where not all are read.
    """
    of = {name: (called or {}).get(name, name) for name in (*numbers, *times, *names, *binary)}
    floats, words = (_total_floats, _total_names) if total else (_as_floats, _as_names)
    others = dict.fromkeys(of[name] for name in (*times, *names, *binary))
    plain = list(dict.fromkeys(of[name] for name in numbers if of[name] not in others))
    for batch in raw_batches(path, plain, list(others), total=total, groups=groups):
        columns = {name: floats(path, of[name], batch.column(of[name])) for name in numbers}
        columns |= {name: _as_seconds(path, of[name], batch.column(of[name])) for name in times}
        columns |= {name: words(path, of[name], batch.column(of[name])) for name in names}
        yield columns | {name: batch.column(of[name]) for name in binary}


def is_missing(names: Any) -> npt.NDArray[np.bool_]:
    """Tell which names are missing: null, empty, or not a number where names are numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    missing = np.asarray(names.is_null(nan_is_null=True))
    if pa.types.is_string(names.type) or pa.types.is_large_string(names.type):
        missing |= np.asarray(pc.fill_null(pc.equal(names, ""), True))
    return missing


def as_text(column: Any) -> Any:
    """Return names as strings, whatever they are in the file: the number 12 and the word '12' are the same name."""
    import pyarrow as pa

    return _as_plain(column).cast(pa.string())


def words_of(parts: Sequence[Mapping[str, Any]], name: str) -> Any:
    """Return one column of names of all batches as a pyarrow array of strings, null where there is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    nothing = pa.scalar(None, pa.string())
    words = [pc.if_else(pa.array(is_missing(part[name])), nothing, as_text(part[name])) for part in parts]
    return pa.chunked_array(words, pa.string()).combine_chunks()


class Numbering:
    """Numbers names in the order of their first appearance over all batches."""

    def __init__(self) -> None:
        self._known: dict[Any, int] = {}

    @property
    def names(self) -> list[Any]:
        """All names so far, by number."""
        return list(self._known)

    def number(self, column: Any) -> npt.NDArray[np.int64]:
        """Return the number of every name of a pyarrow column without gaps."""
        coded = column.dictionary_encode()
        known = [self._known.setdefault(name, len(self._known)) for name in coded.dictionary.to_pylist()]
        return np.asarray(np.array(known, dtype=np.int64)[coded.indices.to_numpy()])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _lenient(part: str, column: Any, zone: str, note: Callable[[str, int], None]) -> Any:
    """Return a column of a part, nothing where a cell cannot be read."""
    import pyarrow as pa

    if part in TIMES:
        times = read_time_column(column, zone)
        if times.local:
            note(f"no time zone stated: taken as {zone}", times.local)
        for unit, count in times.finer.items():
            note(f"times too large for seconds: taken as {unit} since 1970", count)
        return pa.array(times.seconds)
    if part not in PLACE:
        return total_rows.as_words(column)
    return total_rows.as_numbers(column) if pa.types.is_string(column.type) else column.cast(pa.float64(), safe=False)


def _in_words(batch: Any) -> Any:
    import pyarrow as pa

    words = [unguard_column(total_rows.as_words(column)) for column in batch.columns]
    return pa.record_batch(words, batch.schema.names)


def _total_floats(path: Path, name: str, column: Any) -> Any:
    """Return numbers, NaN where there is none; the type of a column outside csv is public, and may be refused."""
    import pyarrow as pa

    if not pa.types.is_binary(column.type):
        return _as_floats(path, name, column)
    return total_rows.as_numbers(column).to_numpy(zero_copy_only=False)


def _total_names(path: Path, name: str, column: Any) -> Any:
    """Return whole numbers as they are and everything else as words, null where there is none."""
    import pyarrow as pa

    if pa.types.is_binary(column.type) and is_csv(path):
        return unguard_column(total_rows.as_words(column))
    _as_names(path, name, column.slice(0, 0))  # the type alone
    plain = _as_plain(column)
    if pa.types.is_floating(plain.type):  # a user called nan would be several people
        plain = pa.array(plain.to_numpy(zero_copy_only=False), from_pandas=True)
    return plain if pa.types.is_integer(plain.type) else total_rows.as_words(plain)


def _as_floats(path: Path, name: str, column: Any) -> Any:
    import pyarrow as pa

    _require_type(path, name, column.type, "numbers")
    return column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)


def _as_seconds(path: Path, name: str, column: Any) -> Any:
    """Return times in seconds, NaN where a cell holds none; what had to be assumed about them is said."""
    import pyarrow as pa

    plain = _as_plain(column)
    if pa.types.is_binary(plain.type):
        plain = total_rows.as_words(plain)
    _require_type(path, name, plain.type, "times", pa.types.is_temporal, pa.types.is_string, pa.types.is_large_string)
    times = read_time_column(plain)
    if times.local:
        notice(f"{path.name}: dates in column '{name}' that state no time zone are taken as they stand.")
    for unit in times.finer:
        notice(f"{path.name}: numbers in column '{name}' too large for seconds are taken as {unit} since 1970.")
    return times.seconds


def _as_names(path: Path, name: str, column: Any) -> Any:
    import pyarrow as pa

    plain = _as_plain(column)
    if not (pa.types.is_string(plain.type) or pa.types.is_large_string(plain.type)):
        what = "names: words or numbers"
        _require_type(path, name, plain.type, what, pa.types.is_boolean, pa.types.is_temporal)
        return plain
    try:
        plain.validate(full=True)  # Parquet holds any bytes, and calls them words
    except pa.ArrowInvalid as error:
        raise DataError(f"{path.name}: column '{name}' holds words that are not UTF-8.") from error
    return plain


def _require_type(path: Path, name: str, kind: Any, what: str, *more: Callable[[Any], bool]) -> None:
    """Refuse a column that holds neither numbers (or nothing) nor what else may be there."""
    import pyarrow as pa

    numeric = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_null)
    if not any(test(kind) for test in (*numeric, *more)):
        raise DataError(f"{path.name}: column '{name}' must hold {what}; it holds {kind}.")


def _as_plain(column: Any) -> Any:
    """Return a column without dictionary encoding."""
    import pyarrow as pa

    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
