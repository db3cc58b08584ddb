"""Pings from files, in buckets of people's days on disk, and their counts: memory holds one bucket at a time."""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from geodp.errors import DataError
from geodp.flows.contributions import FlowRules, FlowTables, Words, count_flows, make_empty, mix
from geodp.flows.zones import ZoneMap
from geodp.public.towers import NO_TOWER, Towers
from geodp.tables.formats import ENDINGS, is_table, row_count
from geodp.tables.reader import TableReader, as_text, is_missing, open_table

PARTS = ("user", "time_s", "lon", "lat")
TOWER_PARTS = ("user", "time_s", "tower")
"""What pings hold where phones were seen by towers."""
DAY_S = 86_400
_ROWS = 250_000
"""Rows of a bucket, about: so many are sorted and looked up where processors are fast."""
_MOST_BUCKETS = 200
_MOST_RECORDS = 8_000_000
"""Pings of a bucket that are read at once."""
_LARGEST_NUMBER = 10**18
_NUMBER = "^(0|-?[1-9][0-9]{0,17})$"
"""Words that whole numbers are written as, where these are smaller than the largest."""
_PERSON = 0x67656F6470
_RECORD = np.dtype([("person", "<u8"), ("place", "<u8")])
_SECOND_BITS, _ZONE_BITS = 17, 24


@dataclass
class PingNotes:
    """What became of the rows: private numbers."""

    rows: int = 0
    used: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    by_day: Counter[int] = field(default_factory=Counter)
    """Pings that were used, by number of the day."""
    first_s: float = math.inf
    """The earliest time of any row, seconds since 1970."""
    last_s: float = -math.inf
    """The latest."""

    def add(self, other: PingNotes) -> None:
        """Add what became of other rows."""
        self.rows += other.rows
        self.used += other.used
        self.by_day.update(other.by_day)
        self.first_s, self.last_s = min(self.first_s, other.first_s), max(self.last_s, other.last_s)
        for why, rows in other.left_out.items():
            self.leave_out(why, rows)

    def leave_out(self, why: str, rows: int) -> None:
        """Note rows that are not used."""
        if rows:
            self.left_out[why] = self.left_out.get(why, 0) + rows


def list_files(source: Path) -> list[Path]:
    """Return the tables of pings: a file, or all tables of a folder by name."""
    if not source.is_dir():
        return [source]
    found = sorted(path for path in source.rglob("*") if path.is_file() and is_table(path))
    if not found:
        raise DataError(f"{source}: the folder holds no table. Tables end in {', '.join(ENDINGS)}.")
    return found


@dataclass(frozen=True, eq=False)
class TowerSites:
    """Public towers, and the zone of each by its number."""

    towers: Towers
    zone: npt.NDArray[np.int64]

    def locate(self, names: Any) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
        """Return which names (pyarrow) are those of a tower, and the zone of every one (0 where there is none)."""
        coded = as_text(names).dictionary_encode()
        number = self.towers.number(coded.dictionary.to_pylist())
        at = np.asarray(coded.indices.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)
        tower = np.append(number, NO_TOWER)[at]
        return tower != NO_TOWER, np.append(self.zone, 0)[tower]


def open_pings(
    source: Path,
    called: Mapping[str, str] | None = None,
    *,
    releasing: bool = False,
    parts: tuple[str, ...] = PARTS,
) -> list[TableReader]:
    """Open files of pings by their columns.

    Parameters
    ----------
    source
        A file, or a folder of files.
    called
        What columns are called.
    releasing
        Whether nothing of the files may be told.
    parts
        What they hold: `PARTS`, or `TOWER_PARTS`.
    """
    return [
        open_table(path, parts, called=called, releasing=releasing, purpose=", so it holds no pings")
        for path in list_files(source)
    ]


def count_buckets(tables: Sequence[TableReader]) -> int:
    """Return how many buckets hold about 250,000 rows each (at most 200 of them): by the sizes of the files."""
    return int(min(max(sum(row_count(table.path) for table in tables) // _ROWS, 1), _MOST_BUCKETS))


def count_pings(
    tables: list[TableReader],
    zones: ZoneMap,
    rules: FlowRules,
    *,
    releasing: bool = False,
    sites: TowerSites | None = None,
) -> tuple[FlowTables, PingNotes]:
    """Count what the pings of files add to the tables.

    Parameters
    ----------
    tables
        The open files.
    zones
        Public zones.
    rules
        What is counted.
    releasing
        Whether a row that cannot be read is left out without a word (otherwise it is an error).
    sites
        The towers, where pings name those.
    """
    batches = (batch for table in tables for batch in table.batches(total=releasing))
    return count_batches(batches, zones, rules, buckets=count_buckets(tables), sites=sites)


def count_batches(
    batches: Iterable[Mapping[str, Any]],
    zones: ZoneMap,
    rules: FlowRules,
    *,
    buckets: int = 1,
    sites: TowerSites | None = None,
) -> tuple[FlowTables, PingNotes]:
    """Count what pings add to the tables, whatever they come from: a batch and a bucket are in memory at a time.

    Parameters
    ----------
    batches
        Pings by part: `user` (pyarrow), `time_s`, `lon` and `lat`.
    zones, rules
        Public settings.
    buckets
        Files on disk in which people's days are collected: 200 are open at a time.
    sites
        The towers, where pings name those.
    """
    notes, total = PingNotes(), make_empty(rules)
    with tempfile.TemporaryDirectory(prefix="geodp-pings-") as folder:  # nobody else can read it
        paths = [Path(folder) / f"{number}.bin" for number in range(buckets)]
        with ExitStack() as held:
            files = [held.enter_context(path.open("wb")) for path in paths]
            for batch in batches:
                _write(files, _make_records(batch, zones, rules, notes, sites))
        for path in paths:
            total = total.add(count_records(_read_bucket(path), rules))
            path.unlink()
    return total, notes


def split_table(
    table: TableReader,
    zones: ZoneMap,
    rules: FlowRules,
    buckets: int,
    *,
    releasing: bool = False,
    sites: TowerSites | None = None,
) -> tuple[PingNotes, list[npt.NDArray[Any]]]:
    """Return what became of the rows of a file, and its pings in buckets of people's days: for clusters.

    Parameters
    ----------
    table
        The open file.
    zones, rules
        Public settings.
    buckets
        How many buckets there are.
    releasing
        Whether a row that cannot be read is left out without a word.
    sites
        The towers, where pings name those.
    """
    notes = PingNotes()
    batches = [_make_records(batch, zones, rules, notes, sites) for batch in table.batches(total=releasing)]
    records = np.concatenate(batches) if batches else np.empty(0, dtype=_RECORD)
    return notes, list(_split(records, buckets))


def _read_bucket(path: Path) -> npt.NDArray[Any]:
    """Read a bucket; one that is far too large holds a day of somebody with very many pings, who repeat themselves."""
    if path.stat().st_size <= _MOST_RECORDS * _RECORD.itemsize:
        return np.fromfile(path, dtype=_RECORD)
    kept = np.empty(0, dtype=_RECORD)
    with path.open("rb") as file:
        while (part := np.fromfile(file, dtype=_RECORD, count=_MOST_RECORDS)).size:
            kept = np.unique(np.concatenate([kept, part]))
    return kept


def _make_records(
    batch: Mapping[str, Any], zones: ZoneMap, rules: FlowRules, notes: PingNotes, sites: TowerSites | None = None
) -> npt.NDArray[Any]:
    """Return the pings of a batch that count: a word for the person; day, second and zone in one word."""
    names, moment = batch["user"], np.asarray(batch["time_s"], dtype=np.float64)
    if not len(names):
        return np.empty(0, dtype=_RECORD)
    edges = rules.days.edges_s
    with np.errstate(invalid="ignore"):
        inside = (moment >= edges[0]) & (moment < edges[-1])
        if (np.diff(edges) == DAY_S).all():
            day = np.where(inside, (moment - edges[0]) // DAY_S, -1).astype(np.int64)
        else:  # clocks were changed
            day = np.searchsorted(edges, moment, side="right") - 1
    known = ~is_missing(names)
    lon = lat = np.empty(0)
    if sites is None:
        lon, lat = (np.asarray(batch[part], dtype=np.float64) for part in ("lon", "lat"))
        with np.errstate(invalid="ignore"):
            placed = (np.abs(lon) <= 180) & (np.abs(lat) <= 90)
    else:
        placed, zone = sites.locate(batch["tower"])
    kept = np.flatnonzero(inside & known & placed)
    notes.rows += len(names)
    notes.used += kept.size
    notes.leave_out("no user", int((~known).sum()))
    notes.leave_out("no place" if sites is None else "a tower that is not listed", int((known & ~placed).sum()))
    notes.leave_out("a time that is none, or of another day", int((known & placed & ~inside).sum()))
    pick = slice(None) if kept.size == len(names) else kept  # most often all: nothing has to be copied
    day = day[pick]
    notes.by_day.update({number: int(rows) for number, rows in enumerate(np.bincount(day)) if rows})
    if not kept.size:  # then somebody may ask of when they are
        notes.first_s = float(np.nanmin(moment, initial=notes.first_s))
        notes.last_s = float(np.nanmax(moment, initial=notes.last_s))
    records = np.empty(kept.size, dtype=_RECORD)
    records["person"] = hash_names(names)[pick]
    second = (moment[pick] - edges[day]).astype(np.uint64)
    place = day.astype(np.uint64) << np.uint64(_SECOND_BITS + _ZONE_BITS)
    place |= second << np.uint64(_ZONE_BITS)
    found = zones.locate(lon[pick], lat[pick]) if sites is None else zone[pick]
    records["place"] = place | found.astype(np.uint64)
    return records


def hash_names(names: Any) -> Words:
    """Return a word for each name (pyarrow): the number 12 and the word '12' are one person."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_integer(names.type):
        limits = pc.min_max(names).as_py()
        if (limits["min"] or 0) > -_LARGEST_NUMBER and (limits["max"] or 0) < _LARGEST_NUMBER:
            return _hash_numbers(names)
    coded = names.dictionary_encode()
    words = as_text(coded.dictionary)
    index = np.asarray(coded.indices.fill_null(0).to_numpy(zero_copy_only=False), dtype=np.int64)
    if not len(words):
        return np.zeros(len(names), dtype=np.uint64)
    written = np.asarray(pc.fill_null(pc.match_substring_regex(words, _NUMBER), False))
    hashed = np.empty(len(words), dtype=np.uint64)
    numbers, others = words.filter(pa.array(written)), words.filter(pa.array(~written))
    hashed[written] = _hash_numbers(numbers.cast(pa.int64()))
    listed = others.to_pandas().to_numpy(dtype=np.object_)
    hashed[~written] = pd.util.hash_array(np.where(pd.isna(listed), "", listed), categorize=False)
    return hashed[index]


def _hash_numbers(names: Any) -> Words:
    """Return words for whole numbers, missing ones among them: no two of them share one."""
    import pyarrow as pa

    plain = np.asarray(names.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False))
    return mix(np.full(1, _PERSON, dtype=np.uint64), plain)


def _write(files: Sequence[BinaryIO], records: npt.NDArray[Any]) -> None:
    for file, part in zip(files, _split(records, len(files)), strict=True):
        part.tofile(file)


def _split(records: npt.NDArray[Any], buckets: int) -> Iterator[npt.NDArray[Any]]:
    """Divide pings into buckets, which hold whole days of people: nothing that is counted reaches beyond one."""
    if buckets == 1:
        yield records
        return
    day = records["place"] >> np.uint64(_SECOND_BITS + _ZONE_BITS)
    bucket = (mix(records["person"], day) % np.uint64(buckets)).astype(np.uint16)
    order = np.argsort(bucket, kind="stable")
    ends = np.cumsum(np.bincount(bucket, minlength=buckets))
    ordered = records[order]
    for begin, end in zip(np.append(0, ends[:-1]), ends, strict=True):
        yield ordered[begin:end]


def count_records(records: npt.NDArray[Any], rules: FlowRules) -> FlowTables:
    """Count what the pings of whole days of people add to the tables.

    Parameters
    ----------
    records
        Pings as `split_table` makes them.
    rules
        What is counted.
    """
    place = records["place"]
    day = (place >> np.uint64(_SECOND_BITS + _ZONE_BITS)).astype(np.int64)
    second = ((place >> np.uint64(_ZONE_BITS)) & np.uint64((1 << _SECOND_BITS) - 1)).astype(np.int64)
    zone = (place & np.uint64((1 << _ZONE_BITS) - 1)).astype(np.int64)
    return count_flows(np.ascontiguousarray(records["person"]), day, second, zone, rules=rules)
