"""The trends of the book's figures 13.7 to 13.11 on a small world, with what our corrected model does to them.

Zhu et al. 2017, Differential Privacy and Applications, section 13.3.4. The book defines neither its metrics nor its
constants, so trends are compared, not numbers. All runs share one seed, hence the same workers, tasks and answers:
differences are paired task by task and their 95 % intervals must lie on the side the trend says.

Not as in the book, and why: execution cost is nearly flat in ε only where noise is small against the counts of a cell.
Below that it falls steeply with ε, because a cell that noise makes look empty gets a circle many times too large.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import geodp
from geodp.metrics._protocol import first_plans
from geodp.runs.compare import compare_runs
from geodp.runs.run_folder import RunFolder

pytestmark = pytest.mark.slow

FULL = 6000.0
"""W: with it, circles are as small as the number of workers they need allows."""
TENTH = 0.1 * FULL
WORLD = f"""\
geodp: 1
name: trends
seed: 3
region: {{west: -122.5135, south: 37.7113, east: -122.3627, north: 37.8327}}
duration_s: 1860
workers:
  source: {{kind: synthetic_city, count: 6000}}
  mobility: {{kind: static}}
  acceptance: {{kind: tanh_reward, max_travel_m: 3600, metres_per_reward: 76}}
tasks:
  demand: {{kind: poisson, per_hour: 900}}
  reward: {{total: {TENTH}, minimum: 0.1}}
curator:
  mechanism: {{kind: contour, epsilon: 0.3, cell_m: 500, sigma_cells: 0}}
  release_every_s: 1860
server:
  batch_s: 600  # rewards are tuned among 150 tasks at a time
  assignment: {{kind: reward_radius, target_success: 0.9, reward: optimised}}
"""
TARGET, REWARD, SPLIT, EPSILON = (
    "server.assignment.target_success",
    "tasks.reward.total",
    "server.assignment.reward",
    "curator.mechanism.epsilon",
)
Runner = Callable[[dict[str, Any]], RunFolder]


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    """Run the small world with changed settings, each setting once."""
    folder = tmp_path_factory.mktemp("trends")
    file = folder / "world.yaml"
    file.write_text(WORLD)
    done: dict[str, RunFolder] = {}

    def run(changes: dict[str, Any]) -> RunFolder:
        key = repr(sorted(changes.items()))
        if key not in done:
            result = geodp.run(file, folder / f"run{len(done)}", overrides=changes, draw_map=False)
            done[key] = result.folder
        return done[key]

    return run


def _change(metric: str, before: RunFolder, after: RunFolder) -> tuple[float, float, float]:
    """Return after - before with its paired interval."""
    row = compare_runs({"before": before, "after": after}).set_index("metric").loc[metric]
    assert row["paired"]
    return tuple(float(row[f"after - before{end}"]) for end in ("", " low", " high"))  # type: ignore[return-value]


def _rises(metric: str, runs: list[RunFolder]) -> None:
    for before, after in pairwise(runs):
        assert _change(metric, before, after)[1] > 0


def _falls(metric: str, runs: list[RunFolder]) -> None:
    _rises(metric, runs[::-1])


def _value(run: RunFolder, metric: str) -> float:
    value = run.metrics[metric]
    assert value is not None
    return value


@pytest.mark.parametrize("split", ["uniform", "optimised"])
def test_distance_error_and_execution_cost_rise_with_the_target(runner: Runner, split: str) -> None:
    """Figures 13.7a, 13.8a and 13.10a: a higher target needs larger circles."""
    runs = [runner({TARGET: target, SPLIT: split}) for target in (0.6, 0.8, 0.9)]
    _rises("execution_cost_m", runs)
    assert _change("distance_error_m", runs[0], runs[-1])[1] > 0
