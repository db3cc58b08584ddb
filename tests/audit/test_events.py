import numpy as np
import pytest

from geodp.audit.events import scanned_events, stated_event


def laplace(seed: int, shift: float, samples: int = 100_000) -> np.ndarray:
    return np.asarray(shift + np.random.default_rng(seed).laplace(0, 1, samples))


def test_the_stated_event_of_a_laplace_count_certifies_nearly_all() -> None:
    finding = stated_event(laplace(1, 1.0), laplace(2, 0.0), 1.0, alpha=0.01, delta=0.0)
    assert 0.95 < finding.certified <= 1.0


def test_scanning_finds_a_threshold_on_either_side_without_being_told_one() -> None:
    high, low = scanned_events(laplace(1, 1.0), laplace(2, 0.0), alpha=0.01, delta=0.0)
    assert (high.favours, low.favours) == ("with", "without")
    assert 0.93 < high.certified <= 1.0
    assert 0.93 < low.certified <= 1.0


def test_what_was_chosen_on_one_half_is_certified_on_the_other() -> None:
    # In the first half the inputs are worlds apart, in the second they are the same: nothing may be certified.
    same = np.zeros(5000)
    findings = scanned_events(np.append(same + 9, same), np.append(same, same), alpha=0.01, delta=0.0)
    assert [finding.certified for finding in findings] == [0.0, 0.0]


def test_missing_scores_lie_above_nothing() -> None:
    some = np.where(np.arange(10_000) % 2 == 0, np.nan, 1.0)
    finding = stated_event(np.ones(10_000), some, 0.5, alpha=0.01, delta=0.0)
    assert finding.certified == pytest.approx(np.log(2), abs=0.05)
    assert scanned_events(np.full(1000, np.nan), np.full(1000, np.nan), alpha=0.01, delta=0.0) == []
