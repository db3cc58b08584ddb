"""Hidden thresholds: the exact law of their answers, and what they cost together."""

from __future__ import annotations

import numpy as np
import pytest

from geodp.audit.thresholds import Threshold, ThresholdsChanged, ThresholdTests, log_answers
from geodp.privacy.hidden_thresholds import HiddenThresholds
from geodp.privacy.noise import SimulatedNoise, ThresholdLaw

LAW = ThresholdLaw(threshold=5.0, threshold_scale=4.0, test_scale=8.0)
VALUES = np.array([0.0, 1.0, 3.0, 10.0])
PASSED = np.array([True, True, True, False])


def test_the_answers_of_a_threshold_have_the_computed_law() -> None:
    """200,000 rows of real tests; each of five outcomes within 5.5 standard errors (false alarms: 2e-7)."""
    rows, rng = 200_000, np.random.default_rng(3)
    hidden, noise = HiddenThresholds(rows, LAW), SimulatedNoise(rng)
    everyone = np.arange(rows)
    hidden.renew(everyone, noise)
    told = np.array([hidden.are_below(everyone, np.full(rows, value), noise) for value in VALUES])
    turned, same = log_answers(VALUES, PASSED, LAW)
    assert np.exp(turned).sum() + np.exp(same) == pytest.approx(1.0, abs=1e-9)
    alike = told == PASSED[:, None]
    for test, chance in enumerate(np.exp(turned)):
        seen = np.mean(alike[:test].all(axis=0) & ~alike[test])
        assert abs(seen - chance) < 5.5 * np.sqrt(chance * (1 - chance) / rows)
    assert abs(alike.all(axis=0).mean() - np.exp(same)) < 5.5 * 0.5 / np.sqrt(rows)


@pytest.mark.parametrize("tests", [1, 5, 40])
def test_passing_many_tests_costs_no_more_than_epsilon(tests: int) -> None:
    """Scales 2Δ/ε and 4Δ/ε, every value changes by Δ: above threshold costs ε however many pass; one by one, 10 ε."""
    law = ThresholdLaw(0.0, 2.0, 4.0)  # Δ = 1, ε = 1
    worst = 0.0
    for level in (-20.0, -5.0, 0.0, 5.0):
        true = np.full(tests, level)
        true[-1] = 6.0
        other = true + 1.0
        other[-1] = 5.0
        passed = np.ones(tests)
        passed[-1] = 0.0
        worst = max(worst, Threshold(law, true, other, passed).cost)
    assert worst <= 1.0
    assert worst > 0.2


def test_a_threshold_that_is_used_on_after_a_no_costs_more() -> None:
    """The reason for renewing it: yes and no in turn, each a little more likely on one input."""
    law, passed = ThresholdLaw(0.0, 2.0, 4.0), np.tile([1.0, 0.0], 20)
    true = np.zeros(passed.size)
    assert Threshold(law, true, true + 2 * passed - 1, passed).cost > 3.0


def test_evidence_adds_up_to_the_odds_of_what_is_drawn() -> None:
    """Mean of e^-evidence under the first input is 1; 100,000 draws, within 6 standard errors."""
    true, other = VALUES, VALUES + np.array([2.0, -1.0, 0.0, 1.0])
    changed = ThresholdsChanged([Threshold(LAW, true, other, PASSED.astype(float))] * 2)
    answers = changed.answers(SimulatedNoise(np.random.default_rng(1)), True, 100_000)
    odds = np.exp(-changed.evidence(answers))
    assert answers.shape == (100_000, changed.columns)
    assert abs(odds.mean() - 1) < 6 * odds.std() / np.sqrt(odds.size)
    assert np.abs(changed.evidence(answers)).max() <= changed.cost + 1e-12


def test_only_thresholds_that_tell_the_inputs_apart_are_kept() -> None:
    both = ThresholdTests(LAW, np.array([7, 9]), np.array([1.0, 2.0]), np.array([1.0, 3.0]), np.array([True, False]))
    again = ThresholdTests(LAW, np.array([7, 9]), np.array([1.0, 2.0]), np.array([1.0, 2.0]), np.array([True, True]))
    found = ThresholdsChanged.among([both, again])
    assert found is not None
    assert [one.true.tolist() for one in found.thresholds] == [[2.0, 2.0]]
    assert ThresholdsChanged.among([again]) is None
