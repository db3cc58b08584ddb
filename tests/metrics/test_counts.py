"""The metrics that only count: `tasks_arrived`, `censored_tasks`, `negative_radii`, `under_one_worker`."""

from __future__ import annotations

from geodp.metrics.plans import NegativeRadii, UnderOneWorker
from geodp.metrics.tasks import CensoredTasks, TasksArrived
from geodp.run_folder.folder import RunFolder
from tests.metrics.hand_made import plan


def test_counts(hand_made: RunFolder) -> None:
    assert TasksArrived().measure(hand_made)["tasks_arrived"].value == 8
    assert CensoredTasks().measure(hand_made)["censored_tasks"].value == 2
    assert NegativeRadii().measure(hand_made)["negative_radii"].value == 1
    assert UnderOneWorker().measure(hand_made)["under_one_worker"].value == 1


def test_a_task_noted_in_two_rounds_counts_once(copied: RunFolder) -> None:
    import pandas as pd

    both = ("negative_radius", "under_one_worker")
    rows = [plan(0, notes=both), plan(0, round=1, notes=both), plan(1, notes=("under_one_worker",)), plan(2)]
    pd.DataFrame(rows).to_parquet(copied.path / "server_view.parquet")
    run = RunFolder(copied.path)
    assert NegativeRadii().measure(run)["negative_radii"].value == 1
    assert UnderOneWorker().measure(run)["under_one_worker"].value == 2
