"""What a count tells about one person when others do as she does: page C's numbers, and brute force."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodp.errors import UsageError
from geodp.privacy.dependence import (
    Dependence,
    bin_laws,
    count_laws,
    find_correlated_sensitivity,
    household_sensitivity,
    largest_log_ratio,
    wasserstein_distance,
)


@pytest.mark.parametrize(
    ("people", "degree", "model", "sensitivity", "ratio"),
    [(10, 0.1, "copies", 1.9, 1.146), (100, 0.1, "copies", 10.9, 2.432), (10, 0.59, "independent", 1.0, 6.035)],
)
def test_what_correlated_sensitivity_really_tells(
    people: int, degree: float, model: Dependence, sensitivity: float, ratio: float
) -> None:
    threshold = 0.6 if model == "independent" else 0.0
    assert household_sensitivity(people, degree, threshold) == pytest.approx(sensitivity)
    found = largest_log_ratio(*count_laws(people, degree, model), scale=sensitivity)
    assert found == pytest.approx(ratio, abs=5e-4)


def test_a_rare_answer_that_all_follow_tells_three_times_as_much_as_claimed() -> None:
    without, with_ = np.zeros(11), np.zeros(11)
    without[:10] = [math.comb(9, hit) * 0.495**hit * 0.505 ** (9 - hit) for hit in range(10)]
    with_[10] = 1.0  # others then surely 1
    covariance = 0.01 * 0.99 * (1 - 0.495)
    other = 0.01 + 0.99 * 0.495
    degree = covariance / math.sqrt(0.01 * 0.99 * other * (1 - other))
    assert degree == pytest.approx(0.1005, abs=1e-4)
    scale = household_sensitivity(10, degree)
    assert scale == pytest.approx(1.904, abs=1e-3)
    assert largest_log_ratio(without, with_, scale) == pytest.approx(3.218, abs=2e-3)


@pytest.mark.parametrize(
    ("degree", "model", "distance", "loss"), [(0.1, "copies", 4, 0.494), (0.6, "independent", 7, 0.913)]
)
def test_wasserstein_distances(degree: float, model: Dependence, distance: int, loss: float) -> None:
    laws = count_laws(10, degree, model)
    assert wasserstein_distance(*laws) == distance
    assert largest_log_ratio(*laws, scale=distance) == pytest.approx(loss, abs=5e-4)


@pytest.mark.parametrize("model", ["copies", "independent"])
def test_laws_are_those_of_all_outcomes(model: Dependence) -> None:
    people, degree, share = 4, 0.3, 0.2
    for own, law in zip((0, 1), count_laws(people, degree, model, share), strict=True):
        counted = np.zeros(people + 1)
        alone = {0: 1 - share, 1: share}
        for others in itertools.product((0, 1), repeat=people - 1):
            if model == "copies":
                chance = (1 - degree) * math.prod(alone[each] for each in others) + degree * all(
                    each == own for each in others
                )
            else:
                chance = math.prod((1 - degree) * alone[each] + degree * (each == own) for each in others)
            counted[own + sum(others)] += chance
        assert law == pytest.approx(counted)


@settings(max_examples=60, deadline=None)
@given(
    people=st.integers(1, 12),
    degree=st.floats(0, 1),
    share=st.floats(0.01, 0.99),
    model=st.sampled_from(["copies", "independent"]),
    epsilon=st.floats(0.05, 4),
)
def test_noise_of_the_distance_keeps_epsilon(
    people: int, degree: float, share: float, model: Dependence, epsilon: float
) -> None:
    laws = count_laws(people, degree, model, share)
    distance = wasserstein_distance(*laws)
    assert 1 <= distance <= people
    told = largest_log_ratio(*laws, scale=distance / epsilon)
    assert told <= epsilon * (1 + 1e-9)
    first, second = bin_laws(*laws, distance / epsilon)
    assert first.sum() == pytest.approx(1)
    assert np.abs(np.log(first / second)).max() <= told + 1e-9


def test_degrees_below_the_threshold_count_as_none() -> None:
    degrees = [[1, 0.7, -0.65], [0.7, 1, 0.5], [-0.65, 0.5, 1]]
    assert find_correlated_sensitivity(degrees, threshold=0.6) == pytest.approx(2.35)
    assert find_correlated_sensitivity(degrees, [1, 2, 4], threshold=0.6) == pytest.approx(1 + 1.4 + 2.6)
    assert find_correlated_sensitivity(np.eye(3)) == 1.0


def test_chances_outside_0_and_1_are_refused() -> None:
    with pytest.raises(UsageError, match="chances lie in"):
        count_laws(3, 1.5, "copies")
