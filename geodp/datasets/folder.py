"""A folder of tables that appears whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from geodp.errors import OutputError, UsageError
from geodp.storage.csv_cells import guarded
from geodp.storage.folders import whole_folder

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
def table_folder(out: Path, *, force: bool) -> Iterator[Path]:
    """Give a folder to write tables into; it becomes `out` when everything went well, and is gone otherwise."""
    with whole_folder(out, force=force, check_replaceable=_require_ours) as folder:
        yield folder


def _require_ours(out: Path) -> None:
    """Refuse to delete a folder that holds anything but tables."""
    if not out.is_dir():
        raise OutputError(f"{out} is a file: it is not replaced. Name another --out.")
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

        if self.path.suffix == ".csv":
            batch = guarded(batch)
        if self._writer is None:
            if self.path.suffix == ".csv":
                self._writer = csv.CSVWriter(
                    self.path, batch.schema, write_options=csv.WriteOptions(quoting_style="needed")
                )
            else:
                self._writer = pq.ParquetWriter(self.path, batch.schema, compression="zstd")
        self._writer.write(batch)
