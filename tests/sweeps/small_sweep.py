"""A small sweep for tests: four cells of a run that takes a fraction of a second."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests.small import small_file

QUICK = {"workers.source.count": 200, "duration_s": 600, "tasks.demand.per_hour": 120}


def sweep_file(folder: Path, changes: dict[str, Any] | None = None, base: dict[str, Any] | None = None) -> Path:
    """Write a base scenario and a sweep over it."""
    folder.mkdir(exist_ok=True)
    quick = {path: value for path, value in QUICK.items() if not {path, path.rpartition(".")[0]} & set(base or {})}
    small_file(folder, quick | (base or {}))
    raw: dict[str, Any] = {
        "geodp": 1,
        "name": "quick",
        "about": "Does epsilon matter?",
        "base": "small.yaml",
        "seeds": {"first": 1, "count": 3},
        "grids": [{"curator.mechanism.epsilon": [0.2, 2.0], "server.assignment.reward": ["uniform", "optimised"]}],
        "plot": {"y": "success_rate"},
    }
    raw |= changes or {}
    path = folder / "sweep.yaml"
    path.write_text(yaml.safe_dump(raw, sort_keys=False), encoding="utf-8")
    return path
