"""A small scenario that runs in well under a second, for tests of the whole."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import yaml

from geodp.scenario.file import build_scenario, set_path
from geodp.scenario.schema import Scenario

SMALL: dict[str, Any] = {
    "geodp": 1,
    "name": "small",
    "about": "A small town for an hour.",
    "region": {"west": 10.0, "south": 50.0, "east": 10.08, "north": 50.05},
    "duration_s": 1800,
    "workers": {
        "source": {"kind": "synthetic_city", "count": 1500},
        "mobility": {"kind": "random_waypoint"},
        "acceptance": {"kind": "tanh_reward", "max_travel_m": 2000},
    },
    "tasks": {"demand": {"kind": "poisson", "per_hour": 120}, "reward": {"total": 600}},
    "curator": {"mechanism": {"kind": "contour", "epsilon": 0.5}, "release_every_s": 600},
}


def small_raw(changes: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the raw small scenario with some dotted paths changed."""
    raw = copy.deepcopy(SMALL)
    for path, value in (changes or {}).items():
        set_path(raw, path, value)
    return raw


def small(changes: dict[str, Any] | None = None) -> Scenario:
    """Return the small scenario with some dotted paths changed."""
    return build_scenario(small_raw(changes), source="small", folder=Path.cwd(), trust_plugins=True)


def small_file(folder: Path, changes: dict[str, Any] | None = None) -> Path:
    """Write the small scenario to a file."""
    path = folder / "small.yaml"
    path.write_text(yaml.safe_dump(small_raw(changes), sort_keys=False), encoding="utf-8")
    return path
