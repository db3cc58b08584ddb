"""Leakage about one's own movement: page C's numbers, all subsets, and all outputs of a small mechanism."""

import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest

from geodp.errors import UsageError
from geodp.metrics.temporal_leakage import LeakageStep, measure_leakage, reverse_chain, trace_leakage

STICKY = [[0.9, 0.1], [0.1, 0.9]]


def test_two_places_that_people_leave_one_time_in_ten() -> None:
    found = trace_leakage(LeakageStep(STICKY), [0.1] * 2000)
    assert found[:5] == pytest.approx([0.1, 0.179976, 0.243841, 0.294725, 0.335166], abs=5e-7)
    assert found[9] == pytest.approx(0.440847, abs=5e-7)
    assert found[-1] == pytest.approx(0.486221, abs=5e-7)
    assert measure_leakage(STICKY, [0.1] * 10)[4] == pytest.approx(0.602395, abs=5e-7)


def test_places_that_tell_nothing_and_places_that_tell_everything() -> None:
    assert measure_leakage([[0.5, 0.5]] * 2, [0.1] * 7) == pytest.approx(0.1)
    assert trace_leakage(LeakageStep(np.eye(3)), [0.1] * 7) == pytest.approx(0.1 * np.arange(1, 8))
    assert measure_leakage(np.eye(3), [0.1] * 7) == pytest.approx(0.7)
    assert measure_leakage([[1.0]], [0.1] * 7) == pytest.approx(0.1)
    assert measure_leakage(STICKY, [0.3, 0.0, 0.0])[0] == pytest.approx(0.3)  # two looked at nobody


@pytest.mark.parametrize("time", range(6))
def test_all_outputs_of_randomised_response_tell_as_much(time: int) -> None:
    """Each release tells the place truly with odds e^ε; the chain is in its stationary law."""
    epsilon, length = 0.1, 6
    honest = math.exp(epsilon) / (1 + math.exp(epsilon))
    chain = np.array(STICKY)

    def told(outputs: tuple[int, ...]) -> npt.NDArray[np.float64]:
        likely = [np.where(np.arange(2) == seen, honest, 1 - honest) for seen in outputs]
        before, after = np.ones(2), np.ones(2)
        for step in range(time):  # the chain is its own reverse
            before = chain @ (before * likely[step])
        for step in range(length - 1, time, -1):
            after = chain @ (after * likely[step])
        return before * likely[time] * after

    most = max(abs(math.log(np.divide(*told(outputs)))) for outputs in itertools.product((0, 1), repeat=length))
    assert measure_leakage(STICKY, [epsilon] * length)[time] == pytest.approx(most, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_prefixes_of_falling_ratios_are_as_good_as_all_sets(seed: int) -> None:
    chain = np.random.default_rng(seed).dirichlet(np.full(5, 0.5), 5)
    chain[0, 2] = 0.0
    chain[0] /= chain[0].sum()
    sets = [list(chosen) for size in range(6) for chosen in itertools.combinations(range(5), size)]
    for leakage in (0.01, 0.5, 3.0):
        grown = math.expm1(leakage)
        most = max(
            math.log((1 + grown * q[chosen].sum()) / (1 + grown * d[chosen].sum()))
            for q in chain
            for d in chain
            for chosen in sets
        )
        assert LeakageStep(chain).after(leakage) == pytest.approx(most, abs=1e-12)


def test_a_reversed_chain_has_the_same_pairs() -> None:
    chain = np.random.default_rng(5).dirichlet(np.ones(4), 4)
    law = np.linalg.matrix_power(chain, 500)[0]
    assert law[:, None] * reverse_chain(chain) == pytest.approx((law[:, None] * chain).T)


@pytest.mark.parametrize("chain", [[[0.5, 0.4], [0.5, 0.5]], [[1.5, -0.5], [0.5, 0.5]], [[math.nan, 1], [0, 1]], []])
def test_what_is_no_chain_is_refused(chain: list[list[float]]) -> None:
    with pytest.raises(UsageError, match="chain"):
        LeakageStep(chain)
