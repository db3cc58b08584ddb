"""Pings from files, in buckets of people on disk, and their counts: memory holds a bucket, however long the files."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from geodp.errors import DataError
from geodp.flows.contributions import FlowRules, FlowTables, Words, count_flows, make_empty
from geodp.flows.zones import ZoneMap
from geodp.tables.formats import ENDINGS, is_table, row_count
from geodp.tables.reader import TableReader, as_text, is_missing, open_table

PARTS = ("user", "time_s", "lon", "lat")
_ROWS = 1_000_000
"""Rows of a bucket, about."""
_MOST_BUCKETS = 512
_RECORD = np.dtype([("person", "<u8"), ("place", "<u8")])
_SECOND_BITS, _ZONE_BITS = 17, 24


@dataclass
class PingNotes:
    """What became of the rows: private numbers."""

    rows: int = 0
    used: int = 0
    left_out: dict[str, int] = field(default_factory=dict)

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


def open_pings(source: Path, called: Mapping[str, str] | None = None, *, releasing: bool = False) -> list[TableReader]:
    """Open files of pings by their columns.

    Parameters
    ----------
    source
        A file, or a folder of files.
    called
        What columns are called.
    releasing
        Whether nothing of the files may be told.
    """
    return [
        open_table(path, PARTS, called=called, releasing=releasing, purpose=", so it holds no pings")
        for path in list_files(source)
    ]


def count_pings(
    tables: list[TableReader], zones: ZoneMap, rules: FlowRules, *, releasing: bool = False
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
    """
    notes = PingNotes()
    many = sum(row_count(table.path) for table in tables)
    buckets = int(min(max(many // _ROWS, 1), _MOST_BUCKETS))
    total = make_empty(rules)
    with tempfile.TemporaryDirectory(prefix="geodp-pings-") as folder:  # nobody else can read it
        paths = [Path(folder) / f"{number}.bin" for number in range(buckets)]
        with ExitStack() as held:
            files = [held.enter_context(path.open("wb")) for path in paths]
            for table in tables:
                for batch in table.batches(total=releasing):
                    _write(files, _make_records(batch, zones, rules, notes))
        for path in paths:
            total = total.add(_count_bucket(np.fromfile(path, dtype=_RECORD), rules))
            path.unlink()
    return total, notes


def _make_records(batch: dict[str, Any], zones: ZoneMap, rules: FlowRules, notes: PingNotes) -> npt.NDArray[Any]:
    """Return the pings of a batch that count: a word for the person; day, second and zone in one word."""
    names, moment = batch["user"], np.asarray(batch["time_s"], dtype=np.float64)
    if not len(names):
        return np.empty(0, dtype=_RECORD)
    edges = rules.days.edges_s
    with np.errstate(invalid="ignore"):
        day = np.searchsorted(edges, moment, side="right") - 1
        inside = np.isfinite(moment) & (day >= 0) & (day < rules.days.count)
    lon, lat = (np.asarray(batch[part], dtype=np.float64) for part in ("lon", "lat"))
    known = ~is_missing(names)
    placed = np.isfinite(lon) & np.isfinite(lat)
    kept = np.flatnonzero(inside & known & placed)
    notes.rows += len(names)
    notes.used += kept.size
    notes.leave_out("no user", int((~known).sum()))
    notes.leave_out("no place", int((known & ~placed).sum()))
    notes.leave_out("a time that is none, or of another day", int((known & placed & ~inside).sum()))
    records = np.empty(kept.size, dtype=_RECORD)
    records["person"] = hash_names(names)[kept]
    second = (moment[kept] - edges[day[kept]]).astype(np.uint64)
    place = day[kept].astype(np.uint64) << np.uint64(_SECOND_BITS + _ZONE_BITS)
    place |= second << np.uint64(_ZONE_BITS)
    records["place"] = place | zones.locate(lon[kept], lat[kept]).astype(np.uint64)
    return records


def hash_names(names: Any) -> Words:
    """Return a word for each name (pyarrow): the number 12 and the word '12' are one person."""
    import pandas as pd

    coded = names.dictionary_encode()
    words = as_text(coded.dictionary).to_pandas().to_numpy(dtype=np.object_)
    hashed = pd.util.hash_array(np.where(pd.isna(words), "", words), categorize=False)
    index = np.asarray(coded.indices.fill_null(0).to_numpy(zero_copy_only=False), dtype=np.int64)
    return hashed[index] if hashed.size else np.zeros(len(names), dtype=np.uint64)


def _write(files: Sequence[BinaryIO], records: npt.NDArray[Any]) -> None:
    if len(files) == 1:
        records.tofile(files[0])
        return
    bucket = (records["person"] % np.uint64(len(files))).astype(np.uint16)
    order = np.argsort(bucket, kind="stable")
    ends = np.cumsum(np.bincount(bucket, minlength=len(files)))
    ordered = records[order]
    for file, begin, end in zip(files, np.append(0, ends[:-1]), ends, strict=True):
        ordered[begin:end].tofile(file)


def _count_bucket(records: npt.NDArray[Any], rules: FlowRules) -> FlowTables:
    place = records["place"]
    day = (place >> np.uint64(_SECOND_BITS + _ZONE_BITS)).astype(np.int64)
    second = ((place >> np.uint64(_ZONE_BITS)) & np.uint64((1 << _SECOND_BITS) - 1)).astype(np.int64)
    zone = (place & np.uint64((1 << _ZONE_BITS) - 1)).astype(np.int64)
    return count_flows(np.ascontiguousarray(records["person"]), day, second, zone, rules=rules)
