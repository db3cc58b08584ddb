"""Trips from random answers: what one answer tells, that estimates are unbiased, and what is refused."""

import math

import numpy as np
import pytest
from pydantic import ValidationError

from geodp.curator.publications.local_markov import ANSWERS, QUESTIONS, LocalMarkov, ask
from geodp.privacy.noise import SimulatedNoise
from geodp.public.guarantee import Neighbours, Trust, Unit
from geodp.registry import plugin
from geodp.tables.trajectories.table import nobody
from tests.curator.synthesis.small_town import TOWN, trips


@pytest.mark.parametrize(("categories", "epsilon"), [(4, 1.0), (40, 1.0), (40, 3.0)])
def test_estimates_are_unbiased_and_as_wide_as_stated(categories: int, epsilon: float) -> None:
    """Directly or by Hadamard's matrix; 6 standard errors: a false alarm once in 10^7 at most."""
    values = np.repeat(np.arange(4), [400, 300, 200, 100])
    noise, runs = SimulatedNoise(np.random.default_rng(0)), 200
    found = [ask(values, categories, epsilon, values.size, noise) for _ in range(runs)]
    counts = np.array([one.counts for one in found])
    spread = counts.std(axis=0)
    off = (counts.mean(axis=0) - np.bincount(values, minlength=categories)) / (spread / math.sqrt(runs))
    assert np.abs(off).max() < 6
    assert math.sqrt(2) * found[0].scale == pytest.approx(np.median(spread), rel=0.25)


def test_nobody_is_trusted_and_one_answer_is_all_that_is_told() -> None:
    for unit, owner in (("person", Unit.USER), ("trajectory", Unit.TRAJECTORY)):
        method = plugin("local_markov", unit=unit, epsilon=2.0)
        promised = method.guarantee()
        assert (promised.epsilon, promised.unit) == (2.0, owner)
        assert (promised.trust, promised.neighbours) == (Trust.LOCAL, Neighbours.REPLACE)
        world = trips(people=8)
        made, receipts = method.release_with_receipts(world, TOWN, SimulatedNoise(np.random.default_rng(0)))
        assert [(receipt.part, receipt.epsilon) for receipt in receipts] == [(ANSWERS, 2.0)]
        assert receipts[0].size == made.size == (np.unique(world.person).size if unit == "person" else world.size)
        assert TOWN.contains(made.x_m, made.y_m).all()
    assert sum(QUESTIONS.values()) == pytest.approx(1.0)


def test_caps_mean_nothing_here_and_nobody_is_no_error() -> None:
    assert LocalMarkov(trajectories_per_person=1).cap == 1
    with pytest.raises(ValidationError, match="one trip of each person is asked about"):
        LocalMarkov(trajectories_per_person=3)
    with pytest.raises(ValidationError, match="every trip is asked about"):
        LocalMarkov(unit="trajectory", trajectories_per_person=1)
    made = LocalMarkov().release(nobody(), TOWN, SimulatedNoise(np.random.default_rng(0)))
    assert made.size == 1
    assert "±" in LocalMarkov().forecast(TOWN)
