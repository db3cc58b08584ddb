"""One run of a sweep, as plain values in and plain values out: it may happen on another machine."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

from geodp._version import __version__
from geodp.errors import GeodpError

Job = dict[str, Any]
"""`run_id, cell, seed, scenario` (plain values), `keep`, `folder` (where kept parts go, or None)."""
Outcome = dict[str, Any]
"""`run_id, cell, seed, status` (`ok` or `failed`), `error, metrics, seconds`."""

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
        metrics = _measured(job)
    except KeyboardInterrupt:
        raise
    except GeodpError as error:
        outcome |= {"status": "failed", "error": str(error), "metrics": {}}
    except Exception as error:  # noqa: BLE001 - whatever a run raises must not stop the others
        place = traceback.format_exc(limit=-1).strip().splitlines()
        text = f"{type(error).__name__}: {error} ({' '.join(place[1:2]).strip()})"
        outcome |= {"status": "failed", "error": text, "metrics": {}}
    else:
        outcome |= {"status": "ok", "error": "", "metrics": metrics}
    return outcome | {"seconds": time.perf_counter() - started}


def _measured(job: Job) -> dict[str, float | None]:
    from geodp.runs.run import run
    from geodp.scenario_file import build_scenario

    scenario = build_scenario(job["scenario"], source=job["cell"], folder=Path.cwd(), trust_plugins=True)
    keep = set(job["keep"])
    with tempfile.TemporaryDirectory(prefix="geodp-") as scratch:
        made = run(
            scenario,
            Path(scratch) / "run",
            seed=job["seed"],
            draw_map=bool(keep & {"map", "run"}),
            summarise=bool(keep & {"summary", "run"}),
        )
        metrics = made.metrics
        if job["folder"] is not None:
            _keep_parts(made.path, Path(job["folder"]) / job["run_id"], keep)
    return metrics


def _keep_parts(run: Path, target: Path, keep: set[str]) -> None:
    """Copy what is to be kept, whole or not at all."""
    partial = target.with_name(target.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    if "run" in keep:
        shutil.copytree(run, partial)
    else:
        partial.mkdir(parents=True)
        names = ["scenario.yaml", "manifest.json", "metrics.json"]
        names += [name for part in sorted(keep & set(_PARTS)) for name in _PARTS[part]]
        for name in names:
            source = run / name
            if source.is_dir():
                shutil.copytree(source, partial / name)
            elif source.exists():
                shutil.copy2(source, partial / name)
    shutil.rmtree(target, ignore_errors=True)
    partial.rename(target)
