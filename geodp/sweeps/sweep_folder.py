"""The folder of a sweep: results as they come, one driver at a time, and tables at the end."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from geodp._version import __version__
from geodp.errors import DataError, OutputError
from geodp.runs.run_folder import write_json
from geodp.sweeps.job import Job, Outcome

if TYPE_CHECKING:
    import pandas as pd

    from geodp.sweeps.sweep_file import LoadedSweep

RESULTS = "results.jsonl"
OUTPUT = ("runs.parquet", "summary.csv", "failures.txt", "timings.parquet", "report.html")


class SweepFolder:
    """Results on disk. `results.jsonl` grows by one line per finished run; a torn last line is ignored."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder: a second driver is refused, and a killed one leaves nothing locked."""
        import fcntl

        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = (self.path / ".lock").open("w")
        except OSError as error:
            raise OutputError(f"{self.path}: cannot be written ({error.strerror or error})") from error
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise OutputError(
                    f"{self.path}: another sweep is writing to this folder. Wait for it, or use another --out."
                ) from None
            yield

    def begin(self, sweep: LoadedSweep, checksums: dict[str, str], *, fresh: bool) -> None:
        """Start in an empty folder, or go on in one that belongs to the same sweep, version and data."""
        manifest = self.path / "manifest.json"
        others = [entry for entry in self.path.iterdir() if entry.name != ".lock"]
        if fresh and manifest.is_file():
            for entry in others:
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        elif manifest.is_file():
            self._same(json.loads(manifest.read_text(encoding="utf-8")), sweep, checksums)
        elif others:
            raise OutputError(f"{self.path}: not empty, and not the folder of a sweep. Use another --out.")
        facts = {"geodp": __version__, "name": sweep.sweep.name, "checksums": checksums, "finished": False}
        write_json(manifest, facts)

    def _same(self, before: dict[str, Any], sweep: LoadedSweep, checksums: dict[str, str]) -> None:
        advice = "Results of both must not be mixed: use --fresh to start over, or another --out."
        if before.get("name") != sweep.sweep.name:
            raise OutputError(
                f"{self.path}: holds the sweep '{before.get('name')}', not '{sweep.sweep.name}'. {advice}"
            )
        if before.get("geodp") != __version__:
            raise OutputError(
                f"{self.path}: was made with geodp {before.get('geodp')}, this is {__version__}. {advice}"
            )
        changed = [
            path for path, digest in checksums.items() if before.get("checksums", {}).get(path, digest) != digest
        ]
        if changed:
            raise OutputError(f"{self.path}: the data changed since ({', '.join(changed)}). {advice}")

    def manifest(self) -> dict[str, Any]:
        """Return what the folder says about itself ({} when it says nothing)."""
        path = self.path / "manifest.json"
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        return found

    def write_manifest(self, facts: dict[str, Any]) -> None:
        """Write what the folder says about itself."""
        write_json(self.path / "manifest.json", facts)

    def output_identity(self, sweep: LoadedSweep, jobs: list[Job], *, draw: bool) -> str:
        """Return the identity of tables and figures: the sweep, its runs, and the results they are made from."""
        path = self.path / RESULTS
        size = path.stat().st_size if path.is_file() else 0
        facts = [__version__, sweep.sweep.model_dump(mode="json"), [job["run_id"] for job in jobs], size, draw]
        return hashlib.blake2b(json.dumps(facts, sort_keys=True).encode(), digest_size=10).hexdigest()

    def has_output(self) -> bool:
        """Tell whether all tables are there."""
        return all((self.path / name).is_file() for name in OUTPUT)

    @contextmanager
    def appending(self) -> Iterator[Results]:
        """Open the results for adding to."""
        path = self.path / RESULTS
        _cut_torn_line(path)
        try:
            with path.open("a", encoding="utf-8") as file:
                yield Results(file)
        except OSError as error:
            raise OutputError(
                f"{path}: could not be written ({error.strerror or error}). What had finished is kept: make room and "
                "run the same command again."
            ) from error

    def outcomes(self) -> dict[str, Outcome]:
        """Return what has finished well, by run id, and the last failure of what has not."""
        path = self.path / RESULTS
        found: dict[str, Outcome] = {}
        if path.is_file():
            with path.open(encoding="utf-8") as file:
                for line in file:
                    if line.endswith("\n"):
                        outcome = json.loads(line)
                        found[outcome["run_id"]] = outcome
        return found

    def table(self, name: str) -> pd.DataFrame:
        """Read a table of a finished sweep."""
        import pandas as pd

        path = self.path / name
        if not path.is_file():
            raise DataError(f"{self.path}: not a finished sweep (it has no {name})")
        return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)


class Results:
    """An open results file."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def add(self, outcome: Outcome) -> None:
        """Write one outcome so that it survives whatever happens next."""
        self._file.write(json.dumps(outcome, allow_nan=False) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())


def _cut_torn_line(path: Path) -> None:
    """Remove a last line that a killed driver did not finish."""
    if not path.is_file() or path.stat().st_size == 0:
        return
    with path.open("rb+") as file:
        file.seek(-1, os.SEEK_END)
        if file.read(1) == b"\n":
            return
        text = path.read_bytes()
        file.truncate(text.rfind(b"\n") + 1)
