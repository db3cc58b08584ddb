"""Numbers about attacks, on scores one can check on paper."""

from __future__ import annotations

import pandas as pd
import pytest

from geodp.metrics import Metric
from geodp.metrics.attacks import AttackError, AttackHitRate, PriorError
from geodp.run_folder.folder import ATTACK_SCORES, RunFolder

NAMES = ["number", "attack", "method", "release", "who", "error_m", "prior_error_m", "hit"]
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
    frame = pd.DataFrame(ROWS, columns=NAMES).assign(time_s=0.0, x_m=0.0, y_m=0.0)
    frame[list(ATTACK_SCORES)].astype(ATTACK_SCORES).to_parquet(copied.path / "attacks.parquet")
    return copied


def test_errors_are_averaged_over_people_not_over_guesses(attacked: RunFolder) -> None:
    error = AttackError().measure(attacked)["attack_error_m"]
    assert error.value == pytest.approx((200 + 400) / 2)
    assert error.low == pytest.approx(300 - 12.706205 * 100, abs=1e-2)  # t(1) · sd / √2, sd = 141.4
    assert AttackHitRate().measure(attacked)["attack_hit_rate"].value == pytest.approx((0.5 + 0.0) / 2)
    assert PriorError().measure(attacked)["prior_error_m"].value == pytest.approx((1100 + 2000) / 2)


def test_both_ways_of_tracking_are_told_apart(attacked: RunFolder) -> None:
    tracked = AttackError().measure(attacked)
    assert tracked["tracking_error_m"].value == pytest.approx(100.0)
    assert tracked["tracking_error_viterbi_m"].value == pytest.approx(70.0)
    assert AttackHitRate().measure(attacked)["tracking_hit_rate"].value == pytest.approx(1.0)


def test_the_prior_is_that_of_tracking_when_nothing_else_attacked(attacked: RunFolder) -> None:
    frame = attacked.attacks
    frame[frame["attack"] == "tracking"].to_parquet(attacked.path / "attacks.parquet")
    assert PriorError().measure(RunFolder(attacked.path))["prior_error_m"].value == pytest.approx(1500.0)


@pytest.mark.parametrize("metric", [AttackError, AttackHitRate, PriorError])
def test_without_an_attack_they_are_undefined(hand_made: RunFolder, metric: type[Metric]) -> None:
    assert {one.value for one in metric().measure(hand_made).values()} == {None}


def test_any_attack_has_keys_of_its_kind_and_the_second_of_a_kind_its_own(attacked: RunFolder) -> None:
    rows = [
        (3, "guesser", "sober", 0, "a", 10.0, 70.0, True),
        (3, "guesser", "drunk", 0, "a", 30.0, 70.0, False),
        (4, "guesser", "sober", 0, "a", 20.0, 70.0, False),
    ]
    more = pd.DataFrame(rows, columns=NAMES).assign(time_s=0.0, x_m=0.0, y_m=0.0)
    scores = pd.concat([attacked.attacks, more[list(ATTACK_SCORES)].astype(ATTACK_SCORES)], ignore_index=True)
    scores.to_parquet(attacked.path / "attacks.parquet")
    errors = {key: one.value for key, one in AttackError().measure(RunFolder(attacked.path)).items()}
    assert errors == {
        "attack_error_m": 300.0,
        "attack_error_m_2": 9999.0,
        "tracking_error_m": 100.0,
        "tracking_error_viterbi_m": 70.0,
        "guesser_error_m": 10.0,
        "guesser_error_drunk_m": 30.0,
        "guesser_error_m_2": 20.0,
    }
    hits = {key: one.value for key, one in AttackHitRate().measure(RunFolder(attacked.path)).items()}
    assert hits["guesser_hit_rate"] == 1.0
    assert hits["guesser_hit_rate_2"] == 0.0
    assert {AttackError.unit_of(key) for key in errors} == {"m"}
    alone = scores[scores["attack"] == "guesser"]
    alone.to_parquet(attacked.path / "attacks.parquet")
    assert PriorError().measure(RunFolder(attacked.path))["prior_error_m"].value == 70.0
