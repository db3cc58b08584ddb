"""The folder of a sweep: results as they come, one driver at a time, and tables at the end."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ClassVar

from geodp._version import __version__
from geodp.errors import DataError, OutputError
from geodp.storage.csv_cells import read_guarded_csv
from geodp.storage.files import FileBusy, lock_file, write_text_whole
from geodp.storage.folders import clear_folder
from geodp.storage.manifest import MANIFEST, read_manifest, require_all_intact, require_intact, write_manifest
from geodp.storage.stamp import SIMULATED
from geodp.sweeps.executors import Job, Outcome

if TYPE_CHECKING:
    import pandas as pd

    from geodp.sweeps.sweep_file import LoadedSweep

RESULTS = "results.jsonl"
ADVICE = "advice.json"
OUTPUT = ("runs.parquet", "summary.csv", "failures.txt", "timings.parquet", "report.html")
_CHECKSUM = "checksum"
_RUN_ID = re.compile(r"[0-9a-f]{20}")
log = logging.getLogger("geodp")


class SweepFolder:
    """Results on disk. `results.jsonl` grows by one line per finished run, with a checksum of its own.

    A line that is torn or damaged counts as not there: its run is made again, and all others are kept.
    """

    kind: ClassVar[str] = "sweep"
    """What the manifest says the folder is."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path)

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Hold the folder: a second driver is refused, and a killed one leaves nothing locked."""
        self._check_is_sweep()  # before anything is written into somebody else's folder
        with contextlib.ExitStack() as stack:
            try:
                self.path.mkdir(parents=True, exist_ok=True)
                stack.enter_context(lock_file(self.path / ".lock", wait=False))
            except FileBusy:
                raise OutputError(
                    f"{self.path}: another sweep is writing to this folder. Wait for it, or use another --out."
                ) from None
            except OSError as error:
                raise OutputError(f"{self.path}: cannot be written ({error.strerror or error})") from error
            stack.enter_context(self._explain_errors())
            yield

    @contextmanager
    def _explain_errors(self) -> Iterator[None]:
        """Say of a disk that cannot be written to what is kept and what to do."""
        try:
            yield
        except BrokenPipeError:  # whoever reads what is printed has gone
            raise
        except OSError as error:
            raise OutputError(
                f"{self.path}: could not be written ({error.strerror or error}). What had finished is kept: make room "
                "and run the same command again."
            ) from error

    def begin(self, sweep: LoadedSweep, checksums: dict[str, str], *, fresh: bool) -> None:
        """Start in an empty folder, or go on in one that belongs to the same sweep, version and data."""
        before = self._read_manifest()
        if before is None:
            log.warning("%s: is damaged; the results are kept, each has its own checksum", self.path / MANIFEST)
            before = {}
        if not fresh and not before.get("starting_over") and before:
            self._require_same(before, sweep, checksums)
        facts: dict[str, Any] = {"kind": self.kind, "geodp": __version__, "name": sweep.sweep.name}
        facts |= {"checksums": checksums, "finished": False}
        if fresh or before.get("starting_over"):
            write_manifest(self.path, {**facts, "starting_over": True})  # from here on the old results are void
            self._forget()
        self._repair()
        clear_folder(self.path / "runs")
        write_manifest(self.path, facts)

    def _check_is_sweep(self) -> None:
        """Refuse a folder that holds something, and not a sweep."""
        if not self.path.exists():
            return
        if not self.path.is_dir():
            raise OutputError(f"{self.path}: is a file. Use another --out.")
        facts = self._read_manifest()
        if facts is None and (self.path / RESULTS).is_file():
            return  # only a sweep has such a file: its manifest is damaged
        if facts is None or (facts and not self._is_own(facts)):
            what = "the folder of a run" if facts is not None and "seed" in facts else f"not the folder of {self._word}"
            raise OutputError(f"{self.path}: is {what}: it will not be changed. Use another --out.")
        if not facts and any(not entry.name.startswith(".") for entry in self.path.iterdir()):
            raise OutputError(f"{self.path}: not empty, and not the folder of {self._word}. Use another --out.")

    _word: ClassVar[str] = "a sweep"

    def _is_own(self, facts: dict[str, Any]) -> bool:
        return facts.get("kind") == "sweep" or ("kind" not in facts and "finished" in facts and "seed" not in facts)

    def _read_manifest(self) -> dict[str, Any] | None:
        """Return what the folder says about itself ({} when it says nothing), or None when that is damaged."""
        if not (self.path / MANIFEST).is_file():
            return {}
        try:
            return read_manifest(self.path)
        except DataError:
            return None

    def _forget(self) -> None:
        """Remove what sweeps write, and nothing else."""
        for name in (RESULTS, *OUTPUT):
            (self.path / name).unlink(missing_ok=True)
        for part in ("runs", "figures"):
            folder = self.path / part
            if folder.is_dir():
                for entry in folder.iterdir():
                    if part == "runs" and _RUN_ID.fullmatch(entry.name):
                        shutil.rmtree(entry)
                    elif part == "figures" and entry.suffix in {".png", ".svg", ".pdf"}:
                        entry.unlink()
                with contextlib.suppress(OSError):  # it holds something of somebody else's
                    folder.rmdir()

    def _repair(self) -> None:
        """Leave the intact lines of the results alone in the file."""
        path = self.path / RESULTS
        if not path.is_file():
            return
        kept, lost = self._lines()
        if lost:
            log.warning(
                "%s: %d of %d results are damaged; their runs are made again, all others are kept",
                *(path, lost, lost + len(kept)),
            )
        text = "".join(_line(outcome) for outcome in kept)
        if text.encode() != path.read_bytes():
            write_text_whole(path, text)

    def _lines(self) -> tuple[list[Outcome], int]:
        """Return the intact results, and how many are damaged (a last line that was cut off is none)."""
        path = self.path / RESULTS
        if not path.is_file():
            return [], 0
        plain = not _has_checksums(self._read_manifest())
        lines = path.read_bytes().split(b"\n")
        read = [_outcome(line, plain=plain) for line in lines[:-1]]
        kept = [outcome for outcome in read if outcome is not None]
        return kept, len(read) - len(kept)

    def drop(self, run_ids: set[str]) -> None:
        """Forget the results of some runs."""
        kept, _ = self._lines()
        text = "".join(_line(outcome) for outcome in kept if outcome["run_id"] not in run_ids)
        write_text_whole(self.path / RESULTS, text)

    def find_damaged_parts(self, jobs: list[Job]) -> set[str]:
        """Return the runs whose kept parts are gone or not as they were written."""
        return {job["run_id"] for job in jobs if job["folder"] is not None and not _intact(job)}

    def _require_same(self, before: dict[str, Any], sweep: LoadedSweep, checksums: dict[str, str]) -> None:
        name, version, known = before.get("name"), before.get("geodp"), before.get("checksums", {})
        changed = [path for path, digest in checksums.items() if known.get(path, digest) != digest]
        if name != sweep.sweep.name:
            fault = f"holds the sweep '{name}', not '{sweep.sweep.name}'"
        elif version != __version__:
            fault = f"was made with geodp {version}, this is {__version__}"
        elif changed:
            fault = f"the data changed since ({', '.join(changed)})"
        else:
            return
        advice = "Results of both must not be mixed: use --fresh to start over, or another --out."
        raise OutputError(f"{self.path}: {fault}. {advice}")

    def manifest(self) -> dict[str, Any]:
        """Return what the folder says about itself ({} when it says nothing)."""
        return self._read_manifest() or {}

    def output_identity(self, sweep: LoadedSweep, jobs: list[Job], *, draw: bool) -> str:
        """Return the identity of tables and figures: the sweep, its runs, and the results they are made from."""
        path = self.path / RESULTS
        size = path.stat().st_size if path.is_file() else 0
        facts = [__version__, sweep.sweep.model_dump(mode="json"), [job["run_id"] for job in jobs], size, draw]
        return hashlib.blake2b(json.dumps(facts, sort_keys=True).encode(), digest_size=10).hexdigest()

    def has_output(self) -> bool:
        """Tell whether all tables are there, as they were written."""
        facts = self.manifest()
        try:
            require_all_intact(self.path, facts)
        except DataError:
            return False
        return all(name in facts.get("files", {}) for name in OUTPUT)

    @contextmanager
    def open_results(self) -> Iterator[Results]:
        """Open the results for adding to."""
        path = self.path / RESULTS
        with self._explain_errors(), path.open("a", encoding="utf-8") as file:
            yield Results(file)

    def outcomes(self) -> dict[str, Outcome]:
        """Return what has finished well, by run id, and the last failure of what has not."""
        return {outcome["run_id"]: outcome for outcome in self._lines()[0]}

    def notices(self) -> list[str]:
        """Return what runs dropped, guessed or clipped: each sentence once, whatever order the runs ended in."""
        return sorted({text for outcome in self.outcomes().values() for text in outcome.get("notices", ())})

    def table(self, name: str) -> pd.DataFrame:
        """Read a table of a finished sweep."""
        import pandas as pd

        path = self.path / name
        if not path.is_file():
            raise DataError(f"{self.path}: not a finished sweep (it has no {name})")
        facts = read_manifest(self.path) if (self.path / MANIFEST).is_file() else {}
        require_intact(self.path, name, facts)
        return pd.read_parquet(path) if path.suffix == ".parquet" else read_guarded_csv(path)


class AdviceFolder(SweepFolder):
    """The folder of advice: calibrations as they come, the answer, and its plot.

    A calibration is known by its scenario, seed, success, version and data, so other questions may share the folder.
    """

    kind: ClassVar[str] = "advice"
    _word: ClassVar[str] = "advice"

    def _is_own(self, facts: dict[str, Any]) -> bool:
        return facts.get("kind") == self.kind

    @contextmanager
    def hold_for_advice(self, name: str, *, fresh: bool) -> Iterator[None]:
        """Hold the folder, keep the intact results (none, if `fresh`), and say that the answer is not there yet."""
        with self.hold():
            if fresh:
                self._forget()
            self._repair()
            self._write_facts(name, finished=False)
            yield

    def finish_advice(self, name: str, values: dict[str, Any]) -> None:
        """Write the answer."""
        write_text_whole(self.path / ADVICE, json.dumps(values, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
        self._write_facts(name, finished=True)

    def _write_facts(self, name: str, *, finished: bool) -> None:
        write_manifest(
            self.path, {"kind": self.kind, **SIMULATED, "geodp": __version__, "name": name, "finished": finished}
        )


class Results:
    """An open results file."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def add(self, outcome: Outcome) -> None:
        """Write one outcome so that it survives whatever happens next."""
        self._file.write(_line(outcome))
        self._file.flush()
        os.fsync(self._file.fileno())


def _line(outcome: Outcome) -> str:
    return json.dumps({**outcome, _CHECKSUM: _checksum(outcome)}, allow_nan=False) + "\n"


def _outcome(line: bytes, *, plain: bool) -> Outcome | None:
    """Return the result that a line holds, or None when it is damaged; `plain` ones have no checksum."""
    try:
        outcome: Outcome = json.loads(line.decode())
        stated = outcome.pop(_CHECKSUM, None)
        whole = stated == _checksum(outcome) or (plain and stated is None)
        return outcome if whole and {"run_id", "cell", "seed", "status", "metrics"} <= outcome.keys() else None
    except (ValueError, AttributeError):
        return None


def _checksum(outcome: Outcome) -> str:
    return hashlib.sha256(json.dumps(outcome, sort_keys=True).encode()).hexdigest()[:32]


def _has_checksums(facts: dict[str, Any] | None) -> bool:
    """Tell whether results have checksums: those of version 0.1 have none."""
    return facts is None or not facts or "kind" in facts


def _intact(job: Job) -> bool:
    folder = Path(job["folder"]) / job["run_id"]
    try:
        facts = read_manifest(folder)
        require_all_intact(folder, facts)
        for arm in facts.get("arms", []) if (folder / "arms").is_dir() else []:
            require_all_intact(folder / "arms" / arm, read_manifest(folder / "arms" / arm))
    except DataError:
        return False
    return True
