"""Decision regret: how much worse the choices made on a fitted world do on the data it was fitted to.

Both worlds are the people of one moment each; tasks, luck and options are the same. The best option is the one with the
greatest profit per task; a tie within one part in fifty goes to the option that comes first, the more careful one.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from geodp.errors import GeodpError
from geodp.geometry import Region
from geodp.scenario.file import build_scenario
from geodp.sweeps.executors import make_jobs, run_job
from geodp.tables.visit_log import VisitLog

WORTH, ASKING = 20.0, 0.25
"""What a task that is done is worth, and what asking a worker costs, where the usual reward is 10."""
PER_HOUR, LASTS_S, REWARD = 120.0, 1_800.0, 10.0
SEEDS = 3
_SAME = 0.02
_MOST_PEOPLE = 1_000
_EARLIEST_H, _LATEST_H = 7, 21
_USUAL: dict[str, Any] = {"kind": "adaptive_grid", "epsilon": 0.5}
DECISIONS: dict[str, dict[str, dict[str, Any]]] = {
    "mechanism": {
        name: {"mechanism": mechanism}
        for name, mechanism in (
            ("uniform_grid", {"kind": "uniform_grid", "epsilon": 0.5}),
            ("adaptive_grid", _USUAL),
            ("quadtree", {"kind": "quadtree", "epsilon": 0.5}),
        )
    },
    "epsilon": {f"{epsilon:g}": {"mechanism": {**_USUAL, "epsilon": epsilon}} for epsilon in (0.1, 0.5, 2.0)},
    "reward": {f"{reward:g}": {"reward": reward} for reward in (5.0, 10.0, 20.0)},
    "cell size": {
        f"{cell_m:g} m": {"mechanism": {"kind": "uniform_grid", "epsilon": 0.5, "cell_m": cell_m}}
        for cell_m in (2_000.0, 1_000.0, 500.0)
    },
}
"""Options of every decision, the more careful ones first."""


@dataclass(frozen=True)
class Regret:
    """One decision: what is chosen on the fitted world, and how that does on the data."""

    decision: str
    chosen: str
    best: str
    """What would be chosen on the data themselves."""
    loss: float
    """How much less profit a task makes on the data with the choice than with the best, as a share of the best."""

    def line(self) -> str:
        """Say it."""
        if self.chosen == self.best or self.loss <= 0:
            return f"decision regret, {self.decision}: none ({self.chosen} is right on the data, too)"
        return (
            f"decision regret, {self.decision}: {self.chosen} on the fitted world, {self.best} on the data, "
            f"{100 * self.loss:.1f} % less profit"
        )


def measure_regret(
    data: VisitLog, fitted: VisitLog, region: Region, *, seeds: int = SEEDS, tell: Callable[[float], None]
) -> list[Regret]:
    """Make every decision on both worlds, and hold the choices of the fitted one against the data.

    Parameters
    ----------
    data, fitted
        Visits of both worlds; each person is where one of her visits between 7 and 21 o'clock was, by lot.
    region
        The public region; people outside it stand at its edge.
    seeds
        Runs of every option on either world.
    tell
        Hears which share of the work is done.
    """
    people = min(data.people, fitted.people, _MOST_PEOPLE)
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("data.csv", "fitted.csv")]
        for log, file in zip((data, fitted), files, strict=True):
            _write_people(log, region, people, file)
        found = []
        for number, (decision, options) in enumerate(DECISIONS.items()):
            true, made = (
                {name: _measure_profit(file, region, people, each, seeds) for name, each in options.items()}
                for file in files
            )
            found.append(judge(decision, true, made))
            tell((number + 1) / len(DECISIONS))
        return found


def judge(decision: str, true: Mapping[str, float], made: Mapping[str, float]) -> Regret:
    """Compare the choice that profits of a made world lead to with that of true ones.

    Examples
    --------
    >>> from geodp.fit.regret import judge
    >>> judge("reward", {"5": 4.0, "10": 5.0}, {"5": 3.0, "10": 2.0}).loss
    0.2
    """
    chosen, best = _choose(made), _choose(true)
    loss = max(true[best] - true[chosen], 0.0) / max(abs(true[best]), 1e-9)
    return Regret(decision, chosen, best, loss)


def _choose(profits: Mapping[str, float]) -> str:
    most = max(profits.values())
    return next(name for name, profit in profits.items() if profit >= most - _SAME * abs(most))


def _measure_profit(file: Path, region: Region, people: int, option: Mapping[str, Any], seeds: int) -> float:
    """Return the mean profit per task of some runs."""
    reward = float(option.get("reward", REWARD))
    tasks = PER_HOUR * LASTS_S / 3_600
    raw = {
        "geodp": 1,
        "name": "regret",
        "region": {side: float(getattr(region, side)) for side in ("west", "south", "east", "north")},
        "duration_s": LASTS_S,
        "workers": {"source": {"kind": "table", "path": str(file)}},
        "tasks": {
            "demand": {"kind": "poisson", "per_hour": PER_HOUR},
            "reward": {"total": reward * tasks, "minimum": REWARD / 10},
        },
        "curator": {"expected_workers": people, "mechanism": option.get("mechanism", _USUAL)},
        "server": {"assignment": {"kind": "geocast", "target_success": 0.9}},
        "yardstick": False,
    }
    scenario = build_scenario(raw, source="decision regret", folder=file.parent)
    profits = []
    for job in make_jobs(scenario, "regret", range(1, seeds + 1)):
        outcome = run_job(job)
        if outcome["status"] != "ok":
            raise GeodpError(f"decision regret: a run failed: {outcome['error']}")
        got = outcome["metrics"]
        done, asked = got["success_rate"] or 0.0, got["notified_workers"] or 0.0
        spent = (got["reward_spent"] or 0.0) / max(got["tasks_arrived"] or 0, 1)
        profits.append(WORTH * done - spent - ASKING * asked)
    return float(np.mean(profits))


def _write_people(log: VisitLog, region: Region, people: int, file: Path) -> None:
    """Write one place of each of some people, by lot."""
    rng = np.random.default_rng(0)
    hour = np.mod(log.time_s - log.monday_s, 86_400.0) / 3_600.0
    awake = (hour >= _EARLIEST_H) & (hour < _LATEST_H)
    order = np.lexsort((rng.random(log.size), ~awake, log.owner))
    row = order[log.first[:-1]]
    row = rng.permutation(row)[:people]
    x_m, y_m = region.clamp(log.x_m[row], log.y_m[row])
    lon, lat = region.projection.to_lonlat(x_m=x_m, y_m=y_m)
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(("worker", "lon", "lat"))
        writer.writerows((f"w{number}", *place) for number, place in enumerate(zip(lon, lat, strict=True)))
