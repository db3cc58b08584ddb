from __future__ import annotations

from geodp.metrics.plans import RejectionRatio
from geodp.run_folder.folder import RunFolder
from tests.metrics.hand_made import SCENARIO, plan


def test_radius_before_the_cap_decides(hand_made: RunFolder) -> None:
    # maximum travel 3,000 m: rejected from r = 4,500 m. Task 3 needs an infinite radius, task 7 asks for
    # 5,000 m, task 4 has no radius at all (negative)
    rejected = RejectionRatio().per_task(hand_made)
    assert rejected.to_dict() == {0: 0, 1: 0, 2: 0, 3: 1, 5: 0, 7: 1}
    assert RejectionRatio().measure(hand_made)["rejection_ratio"].value == 2 / 6


def test_exactly_at_the_limit_is_not_rejected_and_unplanned_tasks_do_not_count(copied: RunFolder) -> None:
    import pandas as pd

    rows = [
        plan(0, uncapped_radius_m=4500.0),
        plan(1, uncapped_radius_m=4500.1),
        plan(2, uncapped_radius_m=None, unreachable="reward_exhausted"),
        plan(3, uncapped_radius_m=None, unreachable="no_release_to_plan_from"),
    ]
    pd.DataFrame(rows).to_parquet(copied.path / "server_view.parquet")
    assert RejectionRatio().per_task(RunFolder(copied.path)).to_dict() == {0: 0, 1: 1}


def test_posted_tasks_have_no_radius(copied: RunFolder) -> None:
    posted = SCENARIO.replace("server:", "server:\n  mode: worker_selected")
    (copied.path / "scenario.yaml").write_text(posted)
    assert RejectionRatio().measure(RunFolder(copied.path))["rejection_ratio"].value is None
