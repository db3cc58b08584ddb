import numpy as np
import pytest

from geodp.audit.one_run import certify_one_run, guess_coins
from geodp.errors import UsageError


def test_goldens_of_the_page() -> None:
    assert certify_one_run(731, 1000) == pytest.approx(0.881, abs=5e-4)
    assert certify_one_run(7311, 10_000) == pytest.approx(0.963, abs=5e-4)


def test_coins_certify_nothing_and_certainty_something() -> None:
    assert certify_one_run(500, 1000) == 0
    assert certify_one_run(0, 0) == 0
    assert certify_one_run(1000, 1000) > 5
    with pytest.raises(UsageError, match="11 right guesses of 10"):
        certify_one_run(11, 10)


def test_one_run_never_certifies_more_than_the_claim() -> None:
    """Laplace counts of ε = 1, 1,000 canaries: 100 runs at alpha 1e-8 err with a chance of 1e-6 together."""
    rng = np.random.default_rng(4)
    found = []
    for _ in range(100):
        coins = rng.random(1000) < 0.5
        score = coins + rng.laplace(0, 1.0, 1000)
        found.append(certify_one_run(*guess_coins(score, coins, share=0.5), alpha=1e-8))
    assert max(found) <= 1.0
    assert np.mean(found) > 0.2  # and it does certify most of it


def test_half_the_noise_is_found() -> None:
    rng = np.random.default_rng(4)
    coins = rng.random(20_000) < 0.5
    score = coins + rng.laplace(0, 0.25, coins.size)
    assert certify_one_run(*guess_coins(score, coins, share=0.2), alpha=1e-6) > 1.0


def test_the_named_are_left_out() -> None:
    coins = np.array([True, True, False, False])
    named = np.array([True, False, False, False])
    assert guess_coins(np.array([9.0, 3, 2, 1]), coins, share=1.0, named=named) == (2, 2)
    assert guess_coins(np.array([9.0]), np.array([True]), share=1.0, named=np.array([True])) == (0, 0)
