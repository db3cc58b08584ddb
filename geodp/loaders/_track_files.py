"""Folders of track files: which belong to a format, each checked by itself, so that an error names the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodp.errors import DataError
from geodp.loaders import TRAJECTORIES, Dropped
from geodp.loaders._checks import Checker

if TYPE_CHECKING:
    import pyarrow as pa

EMPTY = "files without a row"


def files_of(path: Path, pattern: str, what: str, *, total: bool) -> list[Path]:
    """Return the file itself, or the files of a folder (and those below it) whose names fit a pattern, in order."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise DataError(f"{path}: no such file or folder")
    found = sorted(file for file in path.rglob(pattern) if file.is_file())
    if not found and not total:
        raise DataError(f"{path}: holds no file called {pattern} ({what})")
    return found


def each_file(
    files: list[Path],
    dropped: Dropped,
    read: Callable[[Path, Dropped], Iterator[dict[str, Any]]],
    check: Callable[[Path, Dropped], Checker],
) -> Iterator[pa.RecordBatch]:
    """Yield the checked rows of all files; empty ones are counted when there are others."""
    import pyarrow as pa

    for file in files:
        if len(files) > 1 and file.stat().st_size == 0:
            dropped.note(EMPTY, 1)
            continue
        own = Dropped(lenient=dropped.lenient)
        rows = (pa.record_batch([part[name] for name in TRAJECTORIES], list(TRAJECTORIES)) for part in read(file, own))
        try:
            yield from check(file, own).checked(rows)
        except DataError:
            if not dropped.lenient:  # a file is often one person's: what is wrong with it is nobody else's business
                raise
        dropped.rows += own.rows
        for reason, count in own.reasons.items():
            dropped.drop(reason, count)
        for what, count in own.notes.items():
            dropped.note(what, count)


def constant(value: str, count: int) -> Any:
    """Return a column that says the same in every row."""
    import pyarrow as pa

    return pa.repeat(pa.scalar(value, pa.string()), count)
