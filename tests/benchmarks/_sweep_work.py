"""What the sweep benchmark runs in other processes: work that costs nothing, and a driver that tells what it used."""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

import yaml

from tests.small import SMALL

METRICS = {f"metric_{number}": number / 7 for number in range(80)}
"""As many numbers as a run leaves."""


def no_work(job: dict[str, Any]) -> dict[str, Any]:
    """Return an outcome at once."""
    facts = {key: job[key] for key in ("run_id", "cell", "seed")}
    return {**facts, "status": "ok", "error": "", "metrics": METRICS | {"success_rate": 0.5}, "seconds": 0.0}


def sweep_file(folder: Path, cells: int, seeds: int, scenario: dict[str, Any] | None = None) -> Path:
    """Write a sweep with so many runs."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "base.yaml").write_text(yaml.safe_dump(scenario or SMALL), encoding="utf-8")
    grid = {"curator.mechanism.epsilon": [round(0.1 + 0.01 * number, 4) for number in range(cells)]}
    raw = {"geodp": 1, "name": "many", "base": "base.yaml", "seeds": {"count": seeds}, "grids": [grid]}
    path = folder / "sweep.yaml"
    path.write_text(yaml.safe_dump(raw), encoding="utf-8")
    return path


def drive(folder: Path, cells: int, seeds: int, workers: int) -> dict[str, float]:
    """Sweep with work that costs nothing, then resume the finished sweep; return what both used."""
    from geodp.sweeps import sweep as module

    module.run_job = no_work  # type: ignore[attr-defined]
    path = sweep_file(folder, cells, seeds)
    wall, cpu = time.perf_counter(), time.process_time()
    module.sweep(path, folder / "out", workers=workers)
    used = {"seconds": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}
    cpu = time.process_time()
    result = module.sweep(path, folder / "out", workers=workers)
    used["resume_cpu_s"] = time.process_time() - cpu
    used["runs"] = float(len(result.runs))
    used["peak_mb"] = (
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6
    )
    return used


def main(folder: str, cells: str, seeds: str, workers: str) -> None:
    """Drive and print what was used; call it from `python -c`, so that spawned processes find `no_work` by its name."""
    print(json.dumps(drive(Path(folder), int(cells), int(seeds), int(workers))))
