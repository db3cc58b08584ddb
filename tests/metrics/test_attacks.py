"""Numbers about attacks, on scores one can check on paper."""

from __future__ import annotations

import pandas as pd
import pytest

from geodp.metrics import Metric
from geodp.metrics.attack_error_m import AttackError
from geodp.metrics.attack_hit_rate import AttackHitRate
from geodp.metrics.prior_error_m import PriorError
from geodp.metrics.tracking_error_m import TrackingError
from geodp.metrics.tracking_hit_rate import TrackingHitRate
from geodp.run_folder.folder import ATTACK_SCORES, RunFolder

ROWS = [
    # number, attack, method, release, who, error, prior error, hit
    (0, "bayes_location", "bayes_location", 0, "a", 100.0, 1000.0, True),
    (0, "bayes_location", "bayes_location", 1, "a", 300.0, 1200.0, False),
    (0, "bayes_location", "bayes_location", 0, "b", 400.0, 2000.0, False),
    (1, "bayes_location", "bayes_location", 0, "a", 9999.0, 9999.0, False),  # a second attack of the kind
    (2, "tracking", "smoothed", 0, "a", 50.0, 1000.0, True),
    (2, "tracking", "smoothed", 0, "b", 150.0, 2000.0, True),
    (2, "tracking", "viterbi", 0, "a", 70.0, 1000.0, True),
]


@pytest.fixture
def attacked(copied: RunFolder) -> RunFolder:
    names = ["number", "attack", "method", "release", "who", "error_m", "prior_error_m", "hit"]
    frame = pd.DataFrame(ROWS, columns=names).assign(time_s=0.0, x_m=0.0, y_m=0.0)
    frame[list(ATTACK_SCORES)].astype(ATTACK_SCORES).to_parquet(copied.path / "attacks.parquet")
    return copied


def test_errors_are_averaged_over_people_not_over_guesses(attacked: RunFolder) -> None:
    error = AttackError().measure(attacked)["attack_error_m"]
    assert error.value == pytest.approx((200 + 400) / 2)
    assert error.low == pytest.approx(300 - 12.706205 * 100, abs=1e-2)  # t(1) · sd / √2, sd = 141.4
    assert AttackHitRate().measure(attacked)["attack_hit_rate"].value == pytest.approx((0.5 + 0.0) / 2)
    assert PriorError().measure(attacked)["prior_error_m"].value == pytest.approx((1100 + 2000) / 2)


def test_both_ways_of_tracking_are_told_apart(attacked: RunFolder) -> None:
    tracked = TrackingError().measure(attacked)
    assert tracked["tracking_error_m"].value == pytest.approx(100.0)
    assert tracked["tracking_error_viterbi_m"].value == pytest.approx(70.0)
    assert TrackingHitRate().measure(attacked)["tracking_hit_rate"].value == pytest.approx(1.0)


def test_the_prior_is_that_of_tracking_when_nothing_else_attacked(attacked: RunFolder) -> None:
    frame = attacked.attacks
    frame[frame["attack"] == "tracking"].to_parquet(attacked.path / "attacks.parquet")
    assert PriorError().measure(attacked)["prior_error_m"].value == pytest.approx(1500.0)


@pytest.mark.parametrize("metric", [AttackError, AttackHitRate, PriorError, TrackingError, TrackingHitRate])
def test_without_an_attack_they_are_undefined(hand_made: RunFolder, metric: type[Metric]) -> None:
    assert {one.value for one in metric().measure(hand_made).values()} == {None}
