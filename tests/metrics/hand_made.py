"""A run folder written by hand: eight tasks, ten workers, two releases, numbers one can check on paper.

| task | arrived | what happens |
|---|---|---|
| 0 | 0 s | circle of 300 m; asked at 100, 200, 300 m; one accepts, reward 2, leaves at 60, done at 160 |
| 1 | 10 s | circle of 600 m; asked at 400, 500 m; nobody accepts |
| 2 | 20 s | circle of 300 m is empty; then 900 m: asked at 600 m, reward 3, leaves at 200, done at 520 |
| 3 | 30 s | no radius suffices: unreachable |
| 4 | 40 s | the solver returns -50 m: unreachable |
| 5 | 50 s | circle of 150 m, under one worker; asked at 50 m, reward 4, leaves at 580, never done |
| 6 | 590 s | arrives after the last batch: censored, never planned |
| 7 | 500 s | asks for 5,000 m, capped at 3,000 m; censored before anyone answers |
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from geodp.geometry import Grid
from geodp.public.events import Kind, Reason
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit
from geodp.public.release import GridCells
from geodp.run_folder.folder import RunFolder
from geodp.run_folder.release_store import write_release
from geodp.simulation.event_log import EventLog

WORKERS = 10
GRID = Grid(-1000.0, -500.0, 1000.0, 1000.0, columns=2, rows=1)
TRUE_COUNTS = [10, 20]
NOISY_COUNTS = [[12.0, 17.0], [11.0, 20.0]]
SNAPSHOT = Guarantee(0.3, Unit.SNAPSHOT, Neighbours.ADD_REMOVE, Trust.CENTRAL)
SCENARIO = """\
geodp: 1
name: hand_made
about: Eight tasks one can check on paper.
seed: 7
region: {west: -122.5, south: 37.7, east: -122.4, north: 37.8}
duration_s: 600
workers:
  source: {kind: synthetic_city, count: 10}
  acceptance: {kind: tanh_reward, max_travel_m: 3000}
tasks:
  reward: {total: 80, minimum: 1}
curator:
  mechanism: {kind: contour, epsilon: 0.3, cell_m: 1000}
  release_every_s: 300
  expected_workers: 10
  budget: {epsilon: 0.9}
server:
  assignment: {kind: reward_radius, target_success: 0.9}
"""


@dataclass
class Asked:
    """A worker who is asked about a task."""

    worker: int
    distance_m: float
    accepts: bool = False


def hand_made_run(path: Path) -> RunFolder:
    """Write the folder and open it."""
    path.mkdir(parents=True)
    for folder in ("releases", "truth/counts"):
        (path / folder).mkdir(parents=True)
    _events(path)
    server_view().to_parquet(path / "server_view.parquet")
    for index, counts in enumerate(NOISY_COUNTS):
        write_release(path / "releases", index, release(counts, time_s=300.0 * index))
        pd.DataFrame({"count": TRUE_COUNTS}).to_parquet(path / f"truth/counts/{index:04d}.parquet")
    _ledger(path)
    (path / "truth/world.json").write_text(json.dumps({"workers": WORKERS}))
    (path / "scenario.yaml").write_text(SCENARIO)
    manifest = {"geodp": "0.1.0", "seed": 7, "name": "hand_made", "arms": []}
    (path / "manifest.json").write_text(json.dumps(manifest))
    return RunFolder(path)


def release(counts: list[float], *, time_s: float, guarantee: Guarantee = SNAPSHOT) -> GridCells:
    """Return two cells of one square kilometre with these counts, and a floor of 15 workers per km²."""
    west, south, east, north = GRID.edges()
    return GridCells(
        time_s=time_s,
        mechanism="uniform_grid",
        guarantee=guarantee,
        west_m=west,
        south_m=south,
        east_m=east,
        north_m=north,
        count=np.array(counts),
        noise_scale=np.full(2, 1 / 0.3),
        floor_per_m2=15e-6,
        grid=GRID,
    )


def _events(path: Path) -> None:
    log = EventLog(path / "events.parquet")
    log.add(0.0, Kind.RELEASE, value=0.3)
    for task, arrived_s in enumerate([0, 10, 20, 30, 40, 50, 590, 500]):
        log.add(float(arrived_s), Kind.TASK_ARRIVED, task=task, x_m=100.0 * task, y_m=0.0)
    _round(log, 0, 30.0, 300.0, [Asked(0, 100.0, accepts=True), Asked(1, 200.0), Asked(2, 300.0)])
    _trip(log, 0, worker=0, distance_m=100.0, reward=2.0, departed_s=60.0, completed_s=160.0)
    _round(log, 1, 30.0, 600.0, [Asked(3, 400.0), Asked(4, 500.0)])
    log.add(60.0, Kind.EXPIRY, task=1, reason=Reason.NO_ACCEPTANCE)
    _round(log, 2, 30.0, 300.0, [])
    _round(log, 2, 170.0, 900.0, [Asked(5, 600.0, accepts=True)])
    _trip(log, 2, worker=5, distance_m=600.0, reward=3.0, departed_s=200.0, completed_s=520.0)
    log.add(60.0, Kind.UNREACHABLE, task=3, reason=Reason.NO_RADIUS)
    log.add(60.0, Kind.UNREACHABLE, task=4, value=-50.0, reason=Reason.BAD_RADIUS)
    _round(log, 5, 550.0, 150.0, [Asked(6, 50.0, accepts=True)])
    _trip(log, 5, worker=6, distance_m=50.0, reward=4.0, departed_s=580.0, completed_s=None)
    log.add(590.0, Kind.OFFER, task=7, x_m=700.0, y_m=0.0, value=3000.0)
    log.add(600.0, Kind.CENSORED, task=np.array([6, 7]), reason=Reason.RUN_ENDED)
    log.close()


def _round(log: EventLog, task: int, time_s: float, radius_m: float, asked: list[Asked]) -> None:
    log.add(time_s, Kind.OFFER, task=task, x_m=100.0 * task, y_m=0.0, value=radius_m)
    for one in asked:
        kind, reason = (Kind.ACCEPTANCE, Reason.PICKED) if one.accepts else (Kind.REFUSAL, Reason.UNWILLING)
        place = {"x_m": 100.0 * task, "y_m": one.distance_m, "value": one.distance_m}
        log.add(time_s + 20.0, kind, task=task, worker=one.worker, reason=reason, **place)


def _trip(
    log: EventLog,
    task: int,
    *,
    worker: int,
    distance_m: float,
    reward: float,
    departed_s: float,
    completed_s: float | None,
) -> None:
    x_m = 100.0 * task
    log.add(departed_s, Kind.DEPARTURE, task=task, worker=worker, x_m=x_m, y_m=distance_m, value=reward)
    if completed_s is not None:
        log.add(completed_s, Kind.COMPLETION, task=task, worker=worker, x_m=x_m, y_m=0.0, value=distance_m)


def server_view() -> pd.DataFrame:
    """Return what the server decided and learnt, one row per task and round."""
    rows = [
        plan(0, radius_m=300.0, planned_success=0.9, winners=("a",), answered_s=60.0),
        plan(1, radius_m=600.0, planned_success=0.9, answered_s=60.0),
        plan(2, radius_m=300.0, planned_success=0.8, answered_s=60.0),
        plan(2, round=1, radius_m=900.0, planned_success=0.95, winners=("b",), answered_s=200.0),
        plan(3, uncapped_radius_m=None, unreachable="no_radius_reaches_target"),
        plan(4, uncapped_radius_m=-50.0, unreachable="solver_gave_no_usable_radius", notes=("negative_radius",)),
        plan(5, radius_m=150.0, planned_success=0.6, winners=("c",), answered_s=580.0, notes=("under_one_worker",)),
        plan(7, radius_m=3000.0, uncapped_radius_m=5000.0, planned_success=0.7),
    ]
    return pd.DataFrame(rows)


def plan(task: int, **fields: Any) -> dict[str, Any]:
    """Return one row of the server's view; the uncapped radius is the radius unless said otherwise."""
    row: dict[str, Any] = {
        "task": task,
        "round": 0,
        "time_s": 30.0,
        "x_m": 100.0 * task,
        "y_m": 0.0,
        "reward": 2.0,
        "radius_m": 0.0,
        "uncapped_radius_m": fields.get("radius_m"),
        "planned_success": 0.0,
        "density_per_m2": 1e-5,
        "expected_workers": 3.0,
        "unreachable": "",
        "notes": (),
        "winners": (),
        "answered_s": None,
        "completed_s": None,
    }
    return row | fields


def _ledger(path: Path) -> None:
    common = {"scope": "everyone", "unit": "snapshot", "neighbours": "add_remove", "delta": 0.0}
    rows = [
        {"time_s": 300.0 * index, "mechanism": "contour", "epsilon": 0.3, "total": 0.3 * (index + 1)} | common
        for index in range(2)
    ]
    pd.DataFrame(rows).to_parquet(path / "ledger.parquet")
    disclosed = pd.DataFrame({"worker": [1, 2, 3, 3], "epsilon": [0.2, 0.3, 0.1, 0.4]})
    disclosed.assign(time_s=600.0, unit="interaction").to_parquet(path / "truth/ledger.parquet")
