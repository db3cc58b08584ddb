from itertools import product
from typing import Any

import numpy as np
import pytest

from geodp.attacks.tracking import Steps, forward_backward, viterbi

SIDE, TIMES = 3, 4


def model(seed: int) -> tuple[np.ndarray, np.ndarray, list[Any], np.ndarray]:
    """Return likelihood, start and steps of one person, and the step matrix over all cells, from-cell by to-cell."""
    rng = np.random.default_rng(seed)
    likelihood = rng.exponential(1.0, (1, TIMES, SIDE, SIDE))
    start = rng.exponential(1.0, (1, SIDE, SIDE))
    kinds = Steps(0.4, 20.0, 1.0).matrices(60.0, np.array([40.0]), SIDE)
    whole = sum(share * np.einsum("ac,bd->abcd", step[0], step[0]) for share, step in kinds)
    return likelihood, start, [kinds] * (TIMES - 1), np.asarray(whole).reshape(SIDE**2, SIDE**2)


def path_weights(likelihood: np.ndarray, start: np.ndarray, whole: np.ndarray) -> dict[tuple[int, ...], float]:
    seen, first = likelihood.reshape(TIMES, -1), start.ravel()
    weights = {}
    for path in product(range(SIDE**2), repeat=TIMES):
        weight = first[path[0]] * seen[0, path[0]]
        for t in range(1, TIMES):
            weight *= whole[path[t - 1], path[t]] * seen[t, path[t]]
        weights[path] = float(weight)
    return weights


@pytest.mark.parametrize("seed", range(3))
def test_forward_backward_is_the_sum_over_all_paths(seed: int) -> None:
    likelihood, start, moves, whole = model(seed)
    weights = path_weights(likelihood, start, whole)
    expected = np.zeros((TIMES, SIDE**2))
    for path, weight in weights.items():
        for t, cell in enumerate(path):
            expected[t, cell] += weight
    belief = forward_backward(likelihood, start, moves).reshape(TIMES, -1)
    assert belief / belief.sum(axis=1, keepdims=True) == pytest.approx(
        expected / expected.sum(axis=1, keepdims=True), rel=1e-9
    )


@pytest.mark.parametrize("seed", range(3))
def test_viterbi_finds_the_most_likely_path(seed: int) -> None:
    """With one kind of step it is the largest of all paths (with more, the best kind is taken at each step)."""
    likelihood, start, _, _ = model(seed)
    kinds = Steps(0.0, 20.0, 1.0).matrices(60.0, np.array([40.0]), SIDE)[:1]
    whole = np.einsum("ac,bd->abcd", kinds[0][1][0], kinds[0][1][0]).reshape(SIDE**2, SIDE**2)
    weights = path_weights(likelihood, start, whole)
    best = max(weights, key=lambda path: weights[path])
    assert tuple(viterbi(likelihood, start, [kinds] * (TIMES - 1))[0]) == best


def test_people_are_independent_of_who_else_is_followed() -> None:
    first, second = model(0), model(1)
    likelihood, start = (np.concatenate([one, other]) for one, other in zip(first[:2], second[:2], strict=True))
    kinds = Steps(0.4, 20.0, 1.0).matrices(60.0, np.array([40.0, 40.0]), SIDE)
    moves = [kinds] * (TIMES - 1)
    belief = forward_backward(likelihood, start, moves)
    assert belief[1] == pytest.approx(forward_backward(*second[:3])[0])
    assert viterbi(likelihood, start, moves)[0].tolist() == viterbi(*first[:3])[0].tolist()


def test_steps_are_probabilities_and_widen_with_time() -> None:
    kinds = Steps(0.5, 20.0, 1.4).matrices(60.0, np.array([30.0]), 21)
    assert sum(share for share, _ in kinds) == pytest.approx(1.0)
    for _, step in kinds:
        assert step.sum(axis=2) == pytest.approx(1.0)
    still, moved = kinds[0][1], kinds[1][1]
    middle = np.arange(21) - 10
    assert float(moved[0, 10] @ middle**2) * 30.0**2 == pytest.approx((1.4 * 60) ** 2 / 2, rel=0.01)
    assert float(still[0, 10] @ middle**2) < float(moved[0, 10] @ middle**2)
