"""One run of a sweep, as plain values in and plain values out: it may happen on another machine."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
import traceback
from pathlib import Path
from typing import Any

from geodp._version import __version__
from geodp.errors import GeodpError
from geodp.storage.folders import scratch_folder, whole_folder
from geodp.storage.manifest import read_manifest, write_manifest

Job = dict[str, Any]
"""`run_id, cell, seed, scenario` (plain values), `keep`, `folder` (where kept parts go, or None)."""
Outcome = dict[str, Any]
"""`run_id, cell, seed, status` (`ok` or `failed`), `error, metrics, notices, seconds`."""

_PARTS = {
    "events": ["events.parquet", "server_view.parquet"],
    "releases": ["releases"],
    "summary": ["summary.md"],
    "map": ["map.html"],
}


def run_id(scenario: dict[str, Any], seed: int, checksums: dict[str, str]) -> str:
    """Return the identity of a run: its resolved scenario, seed, geodp's version and its data.

    How it is called and drawn does not count.
    """
    facts = {key: value for key, value in scenario.items() if key not in ("name", "about", "map", "seed")}
    text = json.dumps([__version__, seed, facts, sorted(checksums.values())], sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=10).hexdigest()


def run_job(job: Job) -> Outcome:
    """Run one scenario with one seed; an error becomes a failed outcome, never an exception."""
    started = time.perf_counter()
    outcome: Outcome = {key: job[key] for key in ("run_id", "cell", "seed")}
    try:
        metrics, notices = _measured(job)
    except KeyboardInterrupt:
        raise
    except GeodpError as error:
        outcome |= {"status": "failed", "error": str(error), "metrics": {}}
    except Exception as error:  # noqa: BLE001 - whatever a run raises must not stop the others
        from geodp.registry import blamed

        place = traceback.format_exc(limit=-1).strip().splitlines()
        text = blamed(error) or f"{type(error).__name__}: {error} ({' '.join(place[1:2]).strip()})"
        outcome |= {"status": "failed", "error": text, "metrics": {}}
    else:
        outcome |= {"status": "ok", "error": "", "metrics": metrics, "notices": notices}
    return outcome | {"seconds": time.perf_counter() - started}


def _measured(job: Job) -> tuple[dict[str, float | None], list[str]]:
    """Run it, and return its metrics and what was dropped, guessed or clipped on the way."""
    from geodp.run_folder.folder import RunFolder
    from geodp.runs.run import run_into
    from geodp.scenario.file import build_scenario

    scenario = build_scenario(job["scenario"], source=job["cell"], folder=Path.cwd(), trust_plugins=True)
    keep = set(job["keep"])
    with scratch_folder() as scratch:
        run_into(
            scratch,
            scenario.model_copy(update={"seed": job["seed"]}),
            draw_map=bool(keep & {"map", "run"}),
            summarise=bool(keep & {"summary", "run"}),
        )
        made = RunFolder(scratch, trust_plugins=True)
        metrics, notices = made.metrics, made.notices
        if job["folder"] is not None:
            _keep_parts(scratch, Path(job["folder"]) / job["run_id"], keep)
    return metrics, notices


def _keep_parts(run: Path, target: Path, keep: set[str]) -> None:
    """Copy what is to be kept, whole or not at all, after another who does the same (left by a killed driver)."""
    with whole_folder(target, force=True, check_replaceable=lambda _: None, wait=True) as folder:
        if "run" in keep:
            shutil.copytree(run, folder, dirs_exist_ok=True)
            return
        names = ["scenario.yaml", "metrics.json"]
        names += [name for part in sorted(keep & set(_PARTS)) for name in _PARTS[part]]
        for name in names:
            if (run / name).is_dir():
                shutil.copytree(run / name, folder / name)
            elif (run / name).exists():
                shutil.copy2(run / name, folder / name)
        facts = read_manifest(run)
        there = {name: digest for name, digest in facts["files"].items() if (folder / name).is_file()}
        write_manifest(folder, {**facts, "files": there})
