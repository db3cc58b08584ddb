import math

import numpy as np
import pytest

from geodp.audit.exact import exact_epsilon
from geodp.errors import GeodpError
from tests.audit.zoo import EPSILON_PER_M, GRID, renormalised_row


def test_randomised_response_spends_the_log_of_its_odds() -> None:
    assert exact_epsilon([0.75, 0.25], [0.25, 0.75]) == pytest.approx(math.log(3))


def test_an_output_of_one_input_only_is_infinite() -> None:
    assert exact_epsilon([0.5, 0.5, 0.0], [0.5, 0.25, 0.25]) == math.inf


def test_outputs_that_never_happen_do_not_count() -> None:
    assert exact_epsilon([0.5, 0.5, 0.0], [0.5, 0.5, 0.0]) == 0.0


def test_delta_follows_the_hockey_stick() -> None:
    p, q = np.array([0.6, 0.3, 0.1]), np.array([0.2, 0.3, 0.5])
    for delta in (0.05, 0.1, 0.3):
        epsilon = exact_epsilon(p, q, delta)
        for first, second in ((p, q), (q, p)):
            assert np.maximum(first - math.exp(epsilon) * second, 0).sum() <= delta + 1e-12
        less = math.exp(epsilon - 1e-6)
        assert max(np.maximum(p - less * q, 0).sum(), np.maximum(q - less * p, 0).sum()) > delta


def test_delta_pays_for_an_output_of_one_input_only() -> None:
    assert exact_epsilon([0.9, 0.1], [1.0, 0.0], delta=0.1) == pytest.approx(0.0, abs=1e-9)
    assert exact_epsilon([0.9, 0.1], [1.0, 0.0], delta=0.05) == math.inf


def test_renormalising_per_place_costs_up_to_twice_epsilon_and_half_the_exponent_never_does() -> None:
    def worst(exponent: float) -> float:
        rows = [renormalised_row(place, exponent) for place in range(len(GRID))]
        pairs = [(first, second) for first in range(len(GRID)) for second in range(first)]
        claimed = [EPSILON_PER_M * float(np.linalg.norm(GRID[first] - GRID[second])) for first, second in pairs]
        spent = [exact_epsilon(rows[first], rows[second]) for first, second in pairs]
        return float(np.max(np.array(spent) / claimed))

    assert 1.4 < worst(1.0) <= 2.0
    assert worst(0.5) <= 1.0


@pytest.mark.parametrize("rows", [([0.5, 0.5], [1.0]), ([0.5, 0.6], [0.5, 0.5]), ([1.5, -0.5], [0.5, 0.5])])
def test_what_is_no_channel_is_refused(rows: tuple[list[float], list[float]]) -> None:
    with pytest.raises(GeodpError, match="exact channel"):
        exact_epsilon(*rows)
