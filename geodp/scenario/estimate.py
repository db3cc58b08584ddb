"""What a run will take: time and memory, from the sizes that a scenario and its files state.

The figures were fitted to runs of the shipped scenarios on one core of a common machine. They are meant to be right
within a factor of three: enough to know whether to wait, and whether it fits.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from geodp.curator.publications.flows import Flows
from geodp.errors import GeodpError
from geodp.geometry import Region
from geodp.scenario.schema import WORLD_PATHS, Scenario
from geodp.storage.files import is_regular
from geodp.tables.positions import FirstRows
from geodp.world.bounds import MOST_CELLS

_START_S, _START_BYTES = 2.0, 230e6  # libraries, map, summary
_PER_WORKER_S, _PER_WORKER_BYTES = 1e-6, 100.0
_PER_TURN_S, _PER_TURN_BYTES = 2e-7, 20.0
_PER_ROW_S, _PER_ROW_BYTES = 1e-6, 200.0
_PER_TASK_S, _PER_TASK_BYTES = 4e-4, 1500.0
_PER_BATCH_S = 3e-4
_PER_RELEASE_S, _PER_CELL_S, _PER_CELL_BYTES = 0.03, 4e-6, 300.0
_PER_ROUND_S = 0.6  # phones report: a density is worked out from the reports
_PER_VISIT_S, _PER_VISIT_BYTES = 3e-6, 150.0
_PER_PUBLICATION_S, _PER_ATTACK_S = 1.0, 1.0
_PER_CROSSING_S, _PER_CROSSING_BYTES = 2e-3, 1e5  # quickest ways from each to every place
_PER_PING_S = 3e-7
_SAMPLED = 20_000  # workers whose places are kept for scoring attacks


@dataclass(frozen=True)
class RunEstimate:
    """Time and memory of a run."""

    seconds: float
    bytes: float

    def sentence(self) -> str:
        """Say both in round figures."""
        memory = f"{self.bytes / 1e9:.2g} GB" if self.bytes >= 1e9 else f"{self.bytes / 1e6:.0f} MB"
        return f"about {_round(self.seconds)} s and {memory} of memory (an estimate, within a factor of three)"


def estimate_run(scenario: Scenario, files: list[FirstRows]) -> RunEstimate:
    """Estimate a run of a scenario (of one arm, where it has several)."""
    rows = sum(file.rows for file in files)
    workers = float(scenario.workers.source.public_count() or rows)
    turns = workers * scenario.workers.mobility.turns(scenario.area, scenario.duration_s)
    tasks, batches = scenario.expected_tasks(), scenario.duration_s / scenario.server.batch_s
    seconds, memory = _START_S, _START_BYTES
    for count, per_s, per_bytes in (
        (rows, _PER_ROW_S, _PER_ROW_BYTES),
        (workers, _PER_WORKER_S, _PER_WORKER_BYTES),
        (turns, _PER_TURN_S, _PER_TURN_BYTES),
        (tasks * (1 + scenario.server.reoffers), _PER_TASK_S, _PER_TASK_BYTES),
        (batches, _PER_BATCH_S, 0.0),
        (_visits(scenario, workers), _PER_VISIT_S, _PER_VISIT_BYTES),
        (_crossings(scenario), _PER_CROSSING_S, _PER_CROSSING_BYTES),
        (_pings(scenario, workers), _PER_PING_S, 0.0),
    ):
        seconds += count * per_s
        memory += count * per_bytes
    released_s, released_bytes = _estimate_releases(scenario, workers)
    seconds += len(scenario.publish) * _PER_PUBLICATION_S + len(scenario.attacks) * _PER_ATTACK_S
    return RunEstimate(seconds + released_s, memory + released_bytes)


def _estimate_releases(scenario: Scenario, workers: float) -> tuple[float, float]:
    releases = scenario.release_count()
    kept = releases * min(workers, _SAMPLED) * 40.0 if scenario.attacks or scenario.phones_report else 0.0
    if scenario.phones_report:
        return releases * (_PER_ROUND_S + 3 * workers * _PER_WORKER_S), kept + 150e6 + 200 * workers
    cells = _cells(scenario)
    each_s = _PER_RELEASE_S + workers * _PER_WORKER_S / 10 + cells * _PER_CELL_S
    return releases * each_s, kept + cells * _PER_CELL_BYTES


def _cells(scenario: Scenario) -> float:
    """Return about how many cells a release has."""
    if scenario.curator is None:
        return 0.0
    mechanism = scenario.curator.mechanism.resolve(scenario.public_facts())
    part = getattr(mechanism, "cells", mechanism)
    if cell_m := getattr(part, "cell_m", None):
        return float(min(scenario.area.width_m * scenario.area.height_m / cell_m**2, MOST_CELLS))
    if height := getattr(part, "height", None):
        return float(4**height)
    return float(4 * (getattr(part, "first_level", None) or 50) ** 2)


def _visits(scenario: Scenario, workers: float) -> float:
    if not scenario.needs_visits:
        return 0.0
    return workers * float(getattr(scenario.workers.visit_source, "mean_visits", 20.0))


def _pings(scenario: Scenario, workers: float) -> float:
    """Return about how many pings are counted: once for all publications that see people alike."""
    ways = {item.watch for item in scenario.publish if isinstance(item, Flows)}
    return workers * scenario.duration_s / 3600 * sum(watch.pings_per_hour for watch in ways)


def _crossings(scenario: Scenario) -> float:
    block_m = getattr(scenario.workers.source, "block_m", None)
    return 0.0 if not block_m else scenario.area.width_m / block_m * (scenario.area.height_m / block_m)


def _round(value: float) -> str:
    """Return two significant figures, without an exponent."""
    return f"{float(f'{value:.2g}'):,.0f}" if value >= 1 else f"{value:.2g}"


def look_at_files(scenario: Scenario) -> tuple[list[FirstRows], list[tuple[str, str]]]:
    """Look at the data files that a scenario names; return what they are like, and what is wrong with them.

    All arms of a comparison share the world, and a file is looked at once for all of them.
    """
    world = _world_state(scenario)
    if world not in _looked_at:
        _looked_at.clear()
        _looked_at[world] = _look(scenario, scenario.area)
    return _looked_at[world]


_looked_at: dict[str, tuple[list[FirstRows], list[tuple[str, str]]]] = {}
"""What was seen of the world that was looked at last, by its settings and the state of its files."""


def _world_plugins(scenario: Scenario) -> dict[str, Any]:
    """Return what the world is made from."""
    return {path: part for path, part in scenario.file_plugins() if path in WORLD_PATHS}


def _world_state(scenario: Scenario) -> str:
    world = _world_plugins(scenario)
    files = [file for part in world.values() for file in part.files()]
    states = [(file.stat().st_mtime_ns, file.stat().st_size) if is_regular(file) else None for file in files]
    return repr((scenario.region, world, states))


def _look(scenario: Scenario, region: Region) -> tuple[list[FirstRows], list[tuple[str, str]]]:
    found: list[FirstRows] = []
    problems: list[tuple[str, str]] = []
    for path, part in _world_plugins(scenario).items():
        try:
            rows = part.look(region)
        except GeodpError as error:
            problems.append((path, str(error)))
        else:
            found += [] if rows is None else [rows]
    return found, problems


def machine_bytes() -> float | None:
    """Return how much memory a process can have here (None: this system does not say)."""
    try:
        total = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return None
    try:
        import resource
    except ImportError:
        return total
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return total if limit == resource.RLIM_INFINITY else min(total, float(limit))
