from __future__ import annotations

import json
from pathlib import Path

import pytest

from geodp.errors import GeodpError
from geodp.run_folder.folder import RunFolder
from geodp.runs.measure import measure_run, write_metrics
from tests.metrics.hand_made import SCENARIO, hand_made_run

PROMISED_KEYS = [
    "success_rate",
    "planned_success",
    "notified_workers",
    "travel_distance_m",
    "distance_error_m",
    "rejection_ratio",
    "execution_cost_m",
    "reward_spent",
    "reward_per_completed",
    "waiting_time_s",
    "unreachable_share",
    "epsilon_spent",
    "density_error",
    "interaction_leakage_mean",
    "interaction_leakage_max",
]
MEANS = [
    "success_rate",
    "planned_success",
    "success_gap",
    "notified_workers",
    "travel_distance_m",
    "distance_error_m",
    "rejection_ratio",
    "execution_cost_m",
    "reward_per_completed",
    "waiting_time_s",
    "unreachable_share",
    "density_error",
    "interaction_leakage_mean",
]


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return hand_made_run(tmp_path / "run")


def test_all_promised_keys_are_there_and_means_have_intervals(run: RunFolder) -> None:
    metrics = measure_run(run)
    assert set(PROMISED_KEYS) <= set(metrics)
    for key in MEANS:
        assert list(metrics)[list(metrics).index(key) + 1 :][:2] == [f"{key}_low", f"{key}_high"]
        value, low, high = metrics[key], metrics[f"{key}_low"], metrics[f"{key}_high"]
        assert value is not None
        assert low is not None
        assert high is not None
        assert low <= value <= high
    assert "epsilon_spent_low" not in metrics


def test_written_file_is_flat_strict_json(run: RunFolder) -> None:
    returned = write_metrics(run)
    text = (run.path / "metrics.json").read_text(encoding="utf-8")
    assert "NaN" not in text
    assert json.loads(text) == returned == run.metrics
    assert all(value is None or isinstance(value, int | float) for value in returned.values())
    assert '"tasks_arrived": 8,' in text  # a count is a whole number


def test_a_metric_of_the_users_own_joins_in_and_stays_out_of_other_runs(tmp_path: Path) -> None:
    own = tmp_path / "first_arrival.py"
    own.write_text(
        "from typing import ClassVar\n"
        "from geodp.metrics import Measured, Metric\n"
        "class FirstArrival(Metric):\n"
        '    """Time of the first task."""\n'
        '    kind: ClassVar[str] = "first_arrival_s"\n'
        "    def measure(self, run):\n"
        '        return {self.kind: Measured(float(run.tasks["arrived_s"].min()))}\n'
    )
    run = hand_made_run(tmp_path / "with_own")
    (run.path / "scenario.yaml").write_text(f"{SCENARIO}plugins: [{own}]\n")
    assert measure_run(RunFolder(run.path, trust_plugins=True))["first_arrival_s"] == 0.0
    assert "first_arrival_s" not in measure_run(hand_made_run(tmp_path / "without"))


def test_a_failing_metric_is_named(tmp_path: Path) -> None:
    own = tmp_path / "broken.py"
    own.write_text(
        "from typing import ClassVar\n"
        "from geodp.metrics import Metric\n"
        "class Broken(Metric):\n"
        '    """Fails."""\n'
        '    kind: ClassVar[str] = "broken_metric"\n'
        "    def measure(self, run):\n"
        "        return 1 / 0\n"
    )
    made = hand_made_run(tmp_path / "run")
    (made.path / "scenario.yaml").write_text(f"{SCENARIO}plugins: [{own}]\n")
    run = RunFolder(made.path, trust_plugins=True)
    with pytest.raises(GeodpError, match=r"metric 'broken_metric' failed .*ZeroDivisionError"):
        measure_run(run)
