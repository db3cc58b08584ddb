"""Prices of a success on many worlds at once: a calibration per seed, on all cores."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodp.errors import GeodpError, UsageError
from geodp.runs.equal_success import COLUMNS, calibrate_scenario, require_success, require_target
from geodp.sweeps.executors import Job, LocalExecutor, Outcome, attempt, job_scenario, make_jobs

if TYPE_CHECKING:
    from geodp.scenario.schema import Scenario


def price_jobs(scenario: Scenario, cell: str, seeds: Iterable[int], success: float) -> list[Job]:
    """Return a calibration per seed."""
    return make_jobs(scenario, cell, seeds, keep=(), at_success=success)


def price_job(job: Job) -> Outcome:
    """Calibrate one scenario with one seed; an error becomes a failed outcome, never an exception."""
    return attempt(job, _price)


def _price(job: Job) -> dict[str, Any]:
    found = calibrate_scenario(job_scenario(job), job["seed"], job["at_success"])
    sizes = {"fixed_success": found.first.success, "fixed_cost": found.first.asked, "fixed_taken": found.first.taken}
    sizes |= {"tasks": found.first.tasks, "runs": found.runs, "mixed": float(found.mixed)}
    return {"metrics": found.columns() | sizes, "notices": []}


def cost_at_success(
    scenario: str | Path,
    success: float = 0.9,
    *,
    seeds: int = 8,
    first_seed: int = 0,
    workers: int | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Any:
    """Price a success: how many workers a scenario asks per task, once its target is such that successes are equal.

    Parameters
    ----------
    scenario
        The scenario file.
    success
        The mean expected success, reached to ± 0.002 on every seed.
    seeds, first_seed
        How many worlds, and the first seed.
    workers
        Processes (default: all cores).
    overrides
        Dotted path → value, applied to the scenario first.

    Returns
    -------
    pandas.DataFrame
        A row per seed: `cost_at_success` (infinite where no target is enough), `target_at_success`,
        `expected_at_success`, `taken_at_success`, `travel_at_success_m`, `reward_at_success`, `tasks`.

    Raises
    ------
    ScenarioError
        If the scenario is wrong.
    UsageError
        If the success makes no sense, or the scenario plans on no target.
    GeodpError
        If a run failed.

    Examples
    --------
    >>> import geodp
    >>> small = {"duration_s": 900, "workers.source.count": 2000}
    >>> prices = geodp.cost_at_success("scenarios/quickstart.yaml", 0.8, seeds=2, workers=1, overrides=small)
    >>> bool(prices["cost_at_success"].between(1, 100).all())
    True
    """
    import pandas as pd

    from geodp.scenario.schema import load_scenario

    require_success(success)
    base = load_scenario(scenario, overrides, trust_plugins=True)
    if base.compare:
        raise UsageError(f"{scenario}: compares arms; a price needs a scenario without 'compare'")
    require_target(base)
    numbers = list(range(first_seed, first_seed + seeds))
    executor = LocalExecutor(max(1, min(workers or os.cpu_count() or 1, seeds)))
    rows: dict[int, dict[str, Any]] = {}
    for outcome in executor.outcomes(price_jobs(base, base.name, numbers, success), price_job):
        if outcome["status"] != "ok":
            raise GeodpError(f"seed {outcome['seed']}: {outcome['error']}")
        rows[outcome["seed"]] = outcome["metrics"]
    table = pd.DataFrame([rows[seed] for seed in numbers], index=pd.Index(numbers, name="seed"))
    table = table[[*COLUMNS, "tasks"]].astype("float64").astype({"tasks": "int64"})
    return table.assign(cost_at_success=table["cost_at_success"].fillna(math.inf))
