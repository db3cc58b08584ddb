"""A million workers: what the whole run costs, how cost grows, and how many workers move per second."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from typing import Any

import numpy as np
import simpy

import geodp
from geodp.run_folder.folder import RunFolder
from geodp.scenario.schema import load_scenario
from geodp.simulation.engine import Engine, World, build_world
from geodp.simulation.event_log import EventLog
from geodp.simulation.worker_states import WorkerStates
from geodp.streams import Streams
from tests.benchmarks._figure import Figure
from tests.benchmarks._measuring import CITY_MILLION, SCENARIOS, city_million_run, cpu_s, scratch_folder

FILES = (
    *("summary.md", "scenario.yaml", "manifest.json", "metrics.json", "map.html", "run.log", "releases"),
    *("events.parquet", "ledger.parquet", "server_view.parquet"),
    *("truth/paths.parquet", "truth/ledger.parquet", "truth/counts"),
)
WORKERS = (100_000, 300_000, 1_000_000)
TASKS = (10_000, 30_000, 100_000)
WORKERS_WHILE_TASKS_GROW = 300_000
MOST_GROWTH = 1.1  # exponent of a power law: 1 is linear
MINUTES = 60
Steps = Generator[simpy.Event, Any, None]


def measure() -> Iterator[Figure]:
    """Measure the whole run, then its growth, then the movement alone."""
    yield from _whole_run()
    yield from _growth("workers", {count: {"workers.source.count": count} for count in WORKERS})
    yield from _growth("tasks", {count: _with_tasks(count) for count in TASKS})
    yield from _worker_updates()


def _whole_run() -> Iterator[Figure]:
    folder, used = city_million_run()
    yield Figure("engine_city_million_cpu_s", used.cpu_s, at_most=60)
    yield Figure("engine_city_million_peak_mb", used.peak_mb, at_most=2000)
    missing = [name for name in FILES if not (folder / name).exists()]
    yield Figure("engine_city_million_files_missing", float(len(missing)), at_most=0, note=", ".join(missing))
    yield Figure("engine_city_million_tasks", float(len(RunFolder(folder).tasks)), better="more", at_least=9_500)
    yield Figure("engine_city_million_releases", float(len(RunFolder(folder).releases)), better="more", at_least=6)


def _with_tasks(count: int) -> dict[str, Any]:
    """Set the number of tasks, at the same reward each."""
    return {
        "workers.source.count": WORKERS_WHILE_TASKS_GROW,
        "tasks.demand.per_hour": count,
        "tasks.reward.total": 10 * count,
    }


def _growth(what: str, sizes: Mapping[int, Mapping[str, Any]]) -> Iterator[Figure]:
    """Run `city_million` at several sizes, map and metrics included, and fit the power law of its CPU time."""
    geodp.run(SCENARIOS / "quickstart.yaml", scratch_folder() / "warm", force=True)  # imports are not growth
    spent = []
    for size, changes in sizes.items():
        spent.append(min(_run_cpu_s(changes) for _ in range(2)))
        yield Figure(f"engine_{size}_{what}_cpu_s", spent[-1])
    logs = np.log(list(sizes)), np.log(spent)
    yield Figure(f"engine_growth_in_{what}", float(np.polyfit(*logs, 1)[0]), at_most=MOST_GROWTH)
    # What a run costs at any size flattens the fit; the step to the largest size shows growth at its steepest.
    steepest = float(np.diff(logs[1])[-1] / np.diff(logs[0])[-1])
    yield Figure(f"engine_growth_in_{what}_last_step", steepest, at_most=MOST_GROWTH)


def _run_cpu_s(changes: Mapping[str, Any]) -> float:
    folder = scratch_folder() / "growth"
    return cpu_s(lambda: geodp.run(CITY_MILLION, folder, overrides=changes, force=True))[0]


def _worker_updates() -> Iterator[Figure]:
    """Move everyone once a minute for an hour: columns under one clock, against one process per worker."""
    scenario, streams = load_scenario(CITY_MILLION).resolve(), Streams(0)
    world = build_world(scenario, streams)
    ours = max(_worker_updates_per_s(world, scenario.workers.travel_speed_mps) for _ in range(3))
    yardsticks = {f"simpy_{workers}_processes": _process_updates_per_s(workers) for workers in (10_000, 100_000)}
    for against, theirs in yardsticks.items():
        yield Figure("engine_worker_updates_per_s", ours, "more", against, theirs, at_least=100)
    log = EventLog(scratch_folder() / "events.parquet")
    engine = Engine(
        scenario, world, streams, log, on_release=_ignore, on_sample=_ignore, on_progress=_ignore, samples=2
    )
    spent, _ = cpu_s(engine.run)
    log.close()
    looks = len(scenario.release_times()) + int(scenario.duration_s // scenario.server.batch_s) - 1
    whole = engine.workers.size * looks / spent
    # Ours with the whole protocol, theirs with movement alone: reported, not required.
    for against, theirs in yardsticks.items():
        yield Figure("engine_worker_updates_per_s_with_protocol", whole, "more", against, theirs)


def _ignore(*_: object) -> None:
    """Take what the engine tells and do nothing."""


def _worker_updates_per_s(world: World, speed_mps: float) -> float:
    def minutely(env: simpy.Environment, workers: WorkerStates) -> Steps:
        for _ in range(MINUTES):
            yield env.timeout(60.0)
            workers.positions(env.now)

    def move() -> None:
        env = simpy.Environment()
        env.process(minutely(env, WorkerStates(world.motion, speed_mps)))
        env.run()

    return world.motion.workers * MINUTES / cpu_s(move)[0]


class _Walker:
    """A worker as an object with a process of its own."""

    __slots__ = ("vx_mps", "vy_mps", "x_m", "y_m")

    def __init__(self, vx_mps: float, vy_mps: float) -> None:
        self.x_m = self.y_m = 0.0
        self.vx_mps, self.vy_mps = vx_mps, vy_mps

    def walk(self, env: simpy.Environment) -> Steps:
        while True:
            yield env.timeout(60.0)
            self.x_m += 60.0 * self.vx_mps
            self.y_m += 60.0 * self.vy_mps


def _process_updates_per_s(workers: int) -> float:
    """Return the rate without setting up the processes, which is to the yardstick's favour."""
    env = simpy.Environment()
    for speed in np.random.default_rng(0).uniform(-2, 2, (workers, 2)).tolist():
        env.process(_Walker(*speed).walk(env))
    minutes = max(600_000 // workers, 2)
    spent, _ = cpu_s(lambda: env.run(until=60.0 * minutes + 1))
    return workers * minutes / spent
