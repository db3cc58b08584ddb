from __future__ import annotations

from geodp.metrics.tasks import UnreachableShare
from geodp.run_folder.folder import RunFolder
from tests.metrics.hand_made import plan, server_view


def test_planned_tasks_never_offered(hand_made: RunFolder) -> None:
    assert UnreachableShare().per_task(hand_made).to_dict() == {0: 0, 1: 0, 2: 0, 3: 1, 4: 1, 5: 0, 7: 0}
    assert UnreachableShare().measure(hand_made)["unreachable_share"].value == 2 / 7


def test_a_task_whose_re_offer_is_impossible_was_offered(copied: RunFolder) -> None:
    import pandas as pd

    extra = pd.DataFrame([plan(1, round=1, uncapped_radius_m=10.0, unreachable="reward_exhausted")])
    pd.concat([server_view(), extra]).to_parquet(copied.path / "server_view.parquet")
    assert UnreachableShare().per_task(RunFolder(copied.path))[1] == 0
