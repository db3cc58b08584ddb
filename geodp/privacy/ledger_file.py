"""A ledger that outlives a process: one file, one writer at a time, written whole or not at all."""

from __future__ import annotations

import contextlib
import json
import math
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from geodp.errors import BudgetSpent, DataError, OutputError, UsageError
from geodp.privacy.guarantee import Neighbours, Unit
from geodp.privacy.ledger import COLUMNS, Account, Charge, Ledger

if TYPE_CHECKING:
    import pandas as pd

SUFFIXES = (".csv", ".parquet", ".json")
_SETTINGS = ("budget_epsilon", "per", "window_s", "budget_delta")
_MARK = "# geodp ledger "


@dataclass(frozen=True)
class LedgerFile:
    """A ledger in a csv, Parquet or JSON file, with the budget it was opened with.

    A file that cannot be read is an error, never an empty ledger, and a budget once written is not raised silently.
    """

    path: Path
    budget_epsilon: float | None = None
    """Budget per person; default: the one in the file (a new file then has none: charges are only recorded)."""
    per: str | None = None
    """`run` (for ever) or `day`; default: as in the file, `run` in a new one."""
    window_s: float | None = None
    """Length of the window in which the budget may be spent, seconds; default: as in the file."""

    def __post_init__(self) -> None:
        if self.path.suffix not in SUFFIXES:
            raise UsageError(f"{self.path}: a ledger ends in {', '.join(SUFFIXES)}")

    @contextlib.contextmanager
    def opened(self) -> Iterator[Ledger]:
        """Hold the lock, hand out the ledger, and write it back when all its charges were accepted.

        Charge inside the block and publish after it: when the block ends the charges are on the disk. If anything in it
        fails, the file stays as it was.
        """
        with _locked(self.path):
            ledger = self.read()
            before = len(ledger.charges)
            try:
                yield ledger
            except BudgetSpent as refused:
                rows = f"{before} row{'' if before == 1 else 's'}"
                refused.advice = f"{self.path} holds {rows} of earlier charges. Ask for less, or wait for a new budget."
                raise
            if len(ledger.charges) != before or not self.path.exists():
                self._write(ledger)

    def read(self) -> Ledger:
        """Return the ledger as it is on the disk (new when there is no file)."""
        asked: dict[str, Any] = {"budget_epsilon": self.budget_epsilon, "per": self.per, "window_s": self.window_s}
        if not self.path.exists():
            return Ledger(**{key: value for key, value in asked.items() if value is not None})
        try:
            settings, rows = _READERS[self.path.suffix](self.path)
            charges = [_charge(row) for row in rows]
            kept = {key: settings.get(key) for key in _SETTINGS}
        except Exception as error:
            raise DataError(
                f"{self.path}: cannot be read as a ledger ({error}). What was spent is unknown, so nothing is released."
            ) from error
        for key, value in asked.items():
            if value is not None and value != kept[key]:
                raise UsageError(
                    f"{self.path}: the ledger was begun with {key} {kept[key]}, and {value} was asked for. "
                    "A budget is not changed under way: use the same one, or leave it out."
                )
        return Ledger(charges=charges, **{key: value for key, value in kept.items() if value is not None})

    def _write(self, ledger: Ledger) -> None:
        settings = {key: getattr(ledger, key) for key in _SETTINGS}
        frame = ledger.to_frame().assign(account=[str(row.account) for row in ledger.charges])
        try:
            handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.stem}-", suffix=self.path.suffix)
            os.close(handle)
            try:
                _WRITERS[self.path.suffix](Path(name), settings, frame)
                with Path(name).open("rb") as file:
                    os.fsync(file.fileno())
                Path(name).replace(self.path)
                _sync_folder(self.path.parent)
            finally:
                Path(name).unlink(missing_ok=True)
        except OSError as error:
            raise OutputError(
                f"{self.path}: the ledger cannot be written ({error}). Nothing was charged, so nothing is released."
            ) from error


def _sync_folder(folder: Path) -> None:
    """Make a rename outlast a power cut; where folders cannot be synced (Windows), it is left to the system."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _charge(row: dict[str, Any]) -> Charge:
    epsilon, delta, time_s = float(row["epsilon"]), float(row["delta"]), float(row["time_s"])
    if not (epsilon >= 0 and math.isfinite(epsilon) and 0 <= delta < 1 and math.isfinite(time_s)):
        raise ValueError(f"impossible charge of {epsilon} at {time_s}")
    return Charge(
        time_s=time_s,
        scope=str(row["scope"]),
        unit=Unit(row["unit"]),
        neighbours=str(Neighbours(row["neighbours"])),
        mechanism=str(row["mechanism"]),
        epsilon=epsilon,
        delta=delta,
        total=float(row["total"]),
        account=Account(row["account"]),
    )


def _read_csv(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    import io

    import pandas as pd

    first, _, rest = path.read_text(encoding="utf-8").partition("\n")
    if not first.startswith(_MARK):
        raise ValueError("its first line is not that of a ledger")
    frame = pd.read_csv(io.StringIO(rest), dtype={"epsilon": str, "delta": str}, keep_default_na=False)
    return json.loads(first.removeprefix(_MARK)), _rows(frame)


def _write_csv(path: Path, settings: dict[str, Any], frame: pd.DataFrame) -> None:
    exact = frame.assign(epsilon=[repr(value) for value in frame["epsilon"]])
    path.write_text(_MARK + json.dumps(settings) + "\n" + exact.to_csv(index=False), encoding="utf-8")


def _read_json(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    held = json.loads(path.read_text(encoding="utf-8"))
    return {key: held[key] for key in _SETTINGS}, held["charges"]


def _write_json(path: Path, settings: dict[str, Any], frame: pd.DataFrame) -> None:
    path.write_text(json.dumps({**settings, "charges": _rows(frame)}, indent=1) + "\n", encoding="utf-8")


def _read_parquet(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    return json.loads(table.schema.metadata[b"geodp ledger"]), table.to_pylist()


def _write_parquet(path: Path, settings: dict[str, Any], frame: pd.DataFrame) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pandas(frame, preserve_index=False)
    metadata = {**(table.schema.metadata or {}), b"geodp ledger": json.dumps(settings).encode()}
    pq.write_table(table.replace_schema_metadata(metadata), path, compression="zstd")


def _rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    missing = {*COLUMNS, "account"} - set(frame.columns)
    if missing:
        raise ValueError(f"it lacks the columns {', '.join(sorted(missing))}")
    return [{str(key): value for key, value in row.items()} for row in frame.to_dict("records")]


_READERS = {".csv": _read_csv, ".json": _read_json, ".parquet": _read_parquet}
_WRITERS = {".csv": _write_csv, ".json": _write_json, ".parquet": _write_parquet}


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Let one process at a time pass; the lock goes with the process, so a crash leaves none behind."""
    name = path.with_name(path.name + ".lock")
    try:
        file = name.open("a+b")
    except OSError as error:
        raise OutputError(f"{path}: the ledger cannot be locked ({error}). Nothing was charged.") from error
    with file:
        _lock(file)
        yield


def _lock(file: IO[bytes]) -> None:
    """Wait for the exclusive lock; closing the file gives it up."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined]
        return
    fcntl.flock(file, fcntl.LOCK_EX)
