"""The event log: what happened, in one vocabulary, streamed to disk in bounded memory."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq


class Kind(StrEnum):
    """Kinds of event, with the meaning of their columns."""

    RELEASE = "release"
    """The curator published, or did not; value = epsilon charged."""
    TASK_ARRIVED = "task_arrived"
    """x_m, y_m = the task's place."""
    OFFER = "offer"
    """The curator broadcasts an offer; x_m, y_m = the task's place, value = radius in metres."""
    REFUSAL = "refusal"
    """A notified worker says no; x_m, y_m = the worker's place, value = distance to the task."""
    ACCEPTANCE = "acceptance"
    """A worker says yes; x_m, y_m = the worker's place, value = distance to the task."""
    DEPARTURE = "departure"
    """The chosen worker sets out; x_m, y_m = from where, value = reward promised."""
    COMPLETION = "completion"
    """The task is done; x_m, y_m = the task's place, value = distance travelled."""
    EXPIRY = "expiry"
    """The task is given up."""
    UNREACHABLE = "unreachable"
    """The server makes no offer; value = radius its model asks for (null when none suffices)."""
    CENSORED = "censored"
    """Undecided when the run ends; counted, and left out of success rates."""


class Reason(StrEnum):
    """Why it happened: the fixed vocabulary of the column `reason`."""

    NONE = ""
    # release
    REUSED_LAST = "budget_spent_last_release_reused"
    STOPPED = "budget_spent_releases_stopped"
    # refusal
    UNWILLING = "unwilling"
    TOO_FAR = "beyond_max_travel"
    BUSY = "busy"
    LOW_REWARD = "reward_below_minimum"
    # acceptance
    PICKED = "picked"
    NOT_PICKED = "not_picked"
    TAKEN = "took_another_task"
    # expiry
    NO_ACCEPTANCE = "no_acceptance"
    NOBODY_NOTIFIED = "nobody_in_circle"
    OUT_OF_PATIENCE = "patience_ran_out"
    # unreachable
    BEYOND_REACH = "target_needs_more_than_max_travel"
    NO_RADIUS = "no_radius_reaches_target"
    PURSE_EMPTY = "reward_exhausted"
    NO_RELEASE = "no_release_to_plan_from"
    BAD_RADIUS = "solver_gave_no_usable_radius"
    # censored
    RUN_ENDED = "undecided_at_end"


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
    ]
)
_COLUMNS = {
    "time_s": np.float64,
    "kind": np.int8,
    "task": np.int64,
    "worker": np.int64,
    "x_m": np.float64,
    "y_m": np.float64,
    "value": np.float64,
    "reason": np.int8,
}
Numbers = float | npt.NDArray[Any]
_KINDS, _REASONS = list(Kind), list(Reason)
_KIND_CODE = {kind: code for code, kind in enumerate(_KINDS)}
_REASON_CODE = {reason: code for code, reason in enumerate(_REASONS)}


def reason_codes(reasons: list[Reason]) -> npt.NDArray[np.int8]:
    """Return the codes of reasons, for logging many events that differ in their reason."""
    return np.array([_REASON_CODE[reason] for reason in reasons], dtype=np.int8)


class EventLog:
    """Writes events to a Parquet file in row groups; missing task, worker, place or value become null."""

    def __init__(self, path: Path, rows_in_memory: int = 200_000) -> None:
        self._writer = pq.ParquetWriter(path, SCHEMA, compression="zstd")
        # Columns that fill up and are written out when full: one row costs no allocation.
        self._columns = {name: np.empty(rows_in_memory, dtype=kind) for name, kind in _COLUMNS.items()}
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
        rows = next((entry.size for entry in row if isinstance(entry, np.ndarray)), 1)
        self.rows += rows
        written = 0
        while written < rows:
            if self._filled == self._limit:
                self._flush()
            fits = min(rows - written, self._limit - self._filled)
            self._fill(row, slice(written, written + fits))
            written += fits

    def _fill(self, row: tuple[Numbers, ...], part: slice) -> None:
        """Copy part of some events (single numbers hold for all of them) behind what is there."""
        here = slice(self._filled, self._filled + part.stop - part.start)
        for column, entry in zip(self._columns.values(), row, strict=True):
            column[here] = entry[part] if isinstance(entry, np.ndarray) else entry
        self._filled = here.stop

    def close(self) -> None:
        """Write what is left and close the file."""
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._filled == 0:
            return
        time_s, kind, task, worker, x_m, y_m, value, reason = (
            column[: self._filled] for column in self._columns.values()
        )
        self._filled = 0
        columns = [
            pa.array(time_s),
            pa.DictionaryArray.from_arrays(kind, [str(name) for name in _KINDS]),
            pa.array(task, mask=task < 0),
            pa.array(worker, mask=worker < 0),
            pa.array(x_m, mask=np.isnan(x_m)),
            pa.array(y_m, mask=np.isnan(y_m)),
            pa.array(value, mask=~np.isfinite(value)),
            pa.DictionaryArray.from_arrays(reason, [str(name) for name in _REASONS]),
        ]
        self._writer.write_table(pa.Table.from_arrays(columns, schema=SCHEMA))
