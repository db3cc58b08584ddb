"""The event log: what happened, in the words of `geodp.public.events`, streamed to disk in bounded memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from geodp.public.events import Kind, Reason
from geodp.storage.stamp import METADATA

SCHEMA = pa.schema(
    [
        ("time_s", pa.float64()),
        ("kind", pa.dictionary(pa.int8(), pa.string())),
        ("task", pa.int64()),
        ("worker", pa.int64()),
        ("x_m", pa.float64()),
        ("y_m", pa.float64()),
        ("value", pa.float64()),
        ("reason", pa.dictionary(pa.int8(), pa.string())),
    ],
    metadata=METADATA,
)
_COLUMN_TYPES = (np.float64, np.int8, np.int64, np.int64, np.float64, np.float64, np.float64, np.int8)  # as in SCHEMA
Numbers = float | npt.NDArray[Any]
"""One number for all events of a call, or one for each."""
_WORDS = {"kind": [str(kind) for kind in Kind], "reason": [str(reason) for reason in Reason]}
_KIND_CODE = {kind: code for code, kind in enumerate(Kind)}
_REASON_CODE = {reason: code for code, reason in enumerate(Reason)}


def reason_codes(reasons: list[Reason]) -> npt.NDArray[np.int8]:
    """Return the codes of reasons, for logging many events that differ in their reason."""
    return np.array([_REASON_CODE[reason] for reason in reasons], dtype=np.int8)


class EventLog:
    """Writes events to a Parquet file in row groups; missing task, worker, place or value become null."""

    def __init__(self, path: Path, rows_in_memory: int = 200_000) -> None:
        self._writer = pq.ParquetWriter(path, SCHEMA, compression="zstd")
        # Columns that fill up and are written out when full: one row costs no allocation.
        self._columns: list[npt.NDArray[Any]] = [np.empty(rows_in_memory, dtype=kind) for kind in _COLUMN_TYPES]
        self._limit, self._filled = rows_in_memory, 0
        self.rows = 0

    def add(
        self,
        time_s: float,
        kind: Kind,
        *,
        task: Numbers = -1,
        worker: Numbers = -1,
        x_m: Numbers = np.nan,
        y_m: Numbers = np.nan,
        value: Numbers = np.nan,
        reason: Reason | npt.NDArray[np.int8] = Reason.NONE,
    ) -> None:
        """Log one event, or many of one kind at one time when arrays are given."""
        codes = _REASON_CODE[reason] if isinstance(reason, Reason) else reason
        row = (time_s, _KIND_CODE[kind], task, worker, x_m, y_m, value, codes)
        if not any(isinstance(entry, np.ndarray) for entry in row):  # most calls: one event
            self._add_one(row)
            return
        sizes = {entry.size for entry in row if isinstance(entry, np.ndarray)}
        if len(sizes) > 1:
            raise ValueError(f"columns of one call to EventLog.add differ in length: {sorted(sizes)}")
        rows, written = sizes.pop(), 0
        while written < rows:  # behind what is there, in as many pieces as it takes
            if self._filled == self._limit:
                self._flush()
            stop = min(rows, written + self._limit - self._filled)
            here = slice(self._filled, self._filled + stop - written)
            for column, entry in zip(self._columns, row, strict=True):
                column[here] = entry[written:stop] if isinstance(entry, np.ndarray) else entry
            written, self._filled = stop, here.stop
        self.rows += rows

    def _add_one(self, row: Sequence[Any]) -> None:
        if self._filled == self._limit:
            self._flush()
        for column, entry in zip(self._columns, row, strict=True):
            column[self._filled] = entry
        self._filled += 1
        self.rows += 1

    def close(self) -> None:
        """Write what is left and close the file."""
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._filled == 0:
            return
        columns = []
        for field, column in zip(SCHEMA, self._columns, strict=True):
            part = column[: self._filled]
            if field.name in _WORDS:
                columns.append(pa.DictionaryArray.from_arrays(part, _WORDS[field.name]))
            else:
                columns.append(pa.array(part, mask=part < 0 if part.dtype == np.int64 else ~np.isfinite(part)))
        self._filled = 0
        self._writer.write_table(pa.Table.from_arrays(columns, schema=SCHEMA))
