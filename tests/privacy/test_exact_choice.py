"""Exact choices: uniform numbers below a bound, coins of exp(-g), and the law of the exponential mechanism."""

import os

import numpy as np
import pytest
from scipy.stats import binom, chisquare

from geodp.privacy.release_noise import BITS, acceptance, below, coins, exact_choice

ALARM = 1e-6
"""Every test raises a false alarm with at most this probability; the bytes below are seeded, so it never changes."""


@pytest.fixture(autouse=True)
def _seeded_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(11)
    monkeypatch.setattr(os, "urandom", rng.bytes)


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 1000, 2**52, 3 * 2**52, 2**63 + 1])
def test_numbers_below_a_bound_are_uniform(bound: int) -> None:
    drawn = below(np.full(20_000, bound, dtype=np.uint64))
    assert drawn.max() < bound
    counts = np.histogram(drawn / bound, bins=min(bound, 10), range=(0, 1))[0]
    assert counts.size == 1 or chisquare(counts).pvalue > ALARM


def test_words_of_the_last_incomplete_round_are_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the bound 2^63 + 1 every word from that bound on would favour small numbers: it must not be used."""
    words = iter([2**64 - 1, 2**63 + 1, 2**63])
    monkeypatch.setattr(os, "urandom", lambda _: np.uint64(next(words)).tobytes())
    assert below(np.array([2**63 + 1], dtype=np.uint64)).tolist() == [2**63]


@pytest.mark.parametrize(("whole", "rest"), [(0, 0.0), (0, 0.3), (0, 1.0), (1, 0.5), (3, 0.0)])
def test_coins_show_heads_with_the_right_probability(whole: int, rest: float) -> None:
    number = 50_000
    share = np.full(number, round(rest * 2**BITS), dtype=np.uint64)
    heads = int(coins(np.full(number, whole), share).sum())
    chance = float(np.exp(-(whole + rest)))
    assert min(binom.cdf(heads, number, chance), binom.sf(heads - 1, number, chance)) > ALARM / 2


@pytest.mark.parametrize("logits", [[0.0, -0.3, -1.7, -2.5, -4.2], [0.0] * 3, [-5.0, -4.0, -4.5], [1e3, 1e3 - 1]])
def test_choices_follow_the_exponential_mechanism(logits: list[float]) -> None:
    odds = np.array(logits)
    chosen = exact_choice(odds, 50_000)
    law = np.exp(odds - odds.max())
    law /= law.sum()
    assert chisquare(np.bincount(chosen, minlength=law.size), law * 50_000).pvalue > ALARM


def test_the_share_of_accepted_proposals_tells_when_it_is_worth_it() -> None:
    assert acceptance(np.zeros(5)) == 1.0
    assert acceptance(np.array([0.0, -1000.0])) == 0.5
