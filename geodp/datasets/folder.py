"""A folder of tables that appears whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from geodp.errors import OutputError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

Ending = Literal["parquet", "csv"]
ENDINGS = ("parquet", "csv")


def require_ending(ending: str) -> Ending:
    """Refuse any other kind of file."""
    if ending not in ENDINGS:
        raise UsageError(f"--as {ending}: use one of {', '.join(ENDINGS)}")
    return "csv" if ending == "csv" else "parquet"


@contextmanager
def whole_folder(out: Path, *, force: bool) -> Iterator[Path]:
    """Give a folder to write into; it becomes `out` when everything went well, and is gone otherwise."""
    if out.exists() and (not force or not out.is_dir()):
        advice = "It is a file" if out.is_file() else "Use --force to replace it, or another --out"
        raise OutputError(f"{out} exists already. {advice}. Nothing was written.")
    partial = out.with_name(f".{out.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir(parents=True)
        yield partial
        if out.exists():
            _require_ours(out)
            shutil.rmtree(out)
        partial.rename(out)
    except OSError as error:
        raise OutputError(
            f"{out}: could not be written ({error.strerror or error}). Nothing was left behind."
        ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _require_ours(out: Path) -> None:
    """Refuse to delete a folder that holds anything but tables."""
    others = [path.name for path in out.iterdir() if path.suffix not in (".parquet", ".csv", ".json", ".md")]
    if others:
        raise OutputError(f"{out} holds more than tables ('{others[0]}'): it is not replaced. Name another --out.")


class TableFile:
    """One table of a folder, written batch by batch."""

    def __init__(self, folder: Path, name: str, ending: Ending) -> None:
        self.path = folder / f"{name}.{ending}"
        self._writer: Any = None

    def __enter__(self) -> TableFile:
        return self

    def __exit__(self, *error: object) -> None:
        if self._writer is not None:
            self._writer.close()

    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows."""
        import pyarrow.parquet as pq
        from pyarrow import csv

        if self._writer is None:
            if self.path.suffix == ".csv":
                self._writer = csv.CSVWriter(
                    self.path, batch.schema, write_options=csv.WriteOptions(quoting_style="needed")
                )
            else:
                self._writer = pq.ParquetWriter(self.path, batch.schema, compression="zstd")
        self._writer.write(batch)
