"""Plans against the truth, on runs made by hand."""

from __future__ import annotations

import pandas as pd
import pytest

from geodp.metrics.plans import DistanceError, NegativeRadii, PlannedSuccess, RejectionRatio, SuccessGap, UnderOneWorker
from geodp.run_folder.folder import RunFolder
from geodp.runs.measure import measure_run
from tests.metrics.hand_made import SCENARIO, plan


def test_mean_over_first_offers(hand_made: RunFolder) -> None:
    measured = PlannedSuccess().measure(hand_made)["planned_success"]
    assert measured.value == pytest.approx((0.9 + 0.9 + 0.8 + 0.6 + 0.7) / 5)  # not the 0.95 of the re-offer
    half = 2.776445 * 0.1303840 / 5**0.5  # t(4), sample sd
    assert measured.high == pytest.approx(0.78 + half, abs=1e-6)


def test_unreachable_tasks_have_no_plan(hand_made: RunFolder) -> None:
    assert set(PlannedSuccess().per_task(hand_made).index) == {0, 1, 2, 5, 7}


def test_first_offers_against_their_own_plans(hand_made: RunFolder) -> None:
    gaps = SuccessGap().per_task(hand_made)
    # task 2 failed its first offer although a later one succeeded; task 7 was never answered
    assert gaps.to_dict() == pytest.approx({0: 0.1, 1: -0.9, 2: -0.8, 5: 0.4})
    measured = SuccessGap().measure(hand_made)["success_gap"]
    assert measured.value == pytest.approx(-0.3)
    assert measured.low is not None
    assert measured.high is not None
    assert measured.low < -0.3 < measured.high


def test_mean_true_distance_against_two_thirds_of_the_last_radius(hand_made: RunFolder) -> None:
    errors = DistanceError().per_task(hand_made)
    # 0: |200 - 200|; 1: |450 - 400|; 2: |600 - 600|, of the second circle; 5: |50 - 100|; 7: nobody was asked
    assert errors.to_dict() == pytest.approx({0: 0, 1: 50, 2: 0, 5: 50})
    assert DistanceError().measure(hand_made)["distance_error_m"].value == pytest.approx(25)


def test_posted_tasks_have_no_circle(copied: RunFolder) -> None:
    posted = SCENARIO.replace("server:", "server:\n  mode: worker_selected")
    (copied.path / "scenario.yaml").write_text(posted)
    assert DistanceError().measure(RunFolder(copied.path))["distance_error_m"].value is None


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


def test_a_run_of_version_0_1_joined_words_by_semicolons_and_measures_alike(copied: RunFolder) -> None:
    expected = [metric.measure(copied) for metric in (SuccessGap(), NegativeRadii(), UnderOneWorker())]
    file = copied.path / "server_view.parquet"
    frame = pd.read_parquet(file)
    joined = {name: frame[name].map(";".join).astype("string") for name in ("notes", "winners")}
    frame = frame.assign(**joined).rename(columns={"winners": "winner"})
    frame.assign(winner=frame["winner"].mask(frame["winner"] == "")).to_parquet(file)
    old = RunFolder(copied.path)
    assert [metric.measure(old) for metric in (SuccessGap(), NegativeRadii(), UnderOneWorker())] == expected


def test_runs_of_version_0_1_with_joined_words_are_read_alike(hand_made: RunFolder, copied: RunFolder) -> None:
    """They had a text `winner`, and text `notes`, several joined by semicolons."""
    path = copied.path / "server_view.parquet"
    view = pd.read_parquet(path)
    view["winner"] = [";".join(words) or None for words in view.pop("winners")]
    view["notes"] = [";".join(words) for words in view["notes"]]
    view.to_parquet(path)
    assert copied.offers["winners"].tolist() == hand_made.offers["winners"].tolist()
    assert copied.offers["notes"].tolist() == hand_made.offers["notes"].tolist()
    assert measure_run(copied) == measure_run(hand_made)
    view["winner"], view["notes"] = "a;b", "negative_radius;under_one_worker"
    view.to_parquet(path)
    old = RunFolder(copied.path).offers
    assert set(old["winners"]) == {("a", "b")}
    assert set(old["notes"]) == {("negative_radius", "under_one_worker")}
