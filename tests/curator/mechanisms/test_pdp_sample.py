"""Counts in which everyone gets her own ε: kept by a hidden coin."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from scipy import stats

from geodp import plugin
from geodp.audit.kinds import audit_plugin, noise_by_name
from geodp.curator.mechanisms import Snapshot
from geodp.curator.mechanisms.pdp_sample import PdpSample, keep_probability
from geodp.geometry import Region
from geodp.privacy.noise import Noise, SimulatedNoise, noise_source
from geodp.public.guarantee import Neighbours, Unit
from geodp.public.levels import draw_groups
from geodp.public.release import AdaptiveCells, Cells, Contours
from geodp.registry import PublicFacts

TOWN = Region(-0.02, -0.02, 0.02, 0.02)
HALVES = {"careful": {"epsilon": 0.1, "share": 0.5}, "relaxed": {"epsilon": 1.0, "share": 0.5}}
FEW = {"careful": {"epsilon": 0.1, "share": 0.1}, "relaxed": {"epsilon": 1.0, "share": 0.9}}
ONE_CELL = {"kind": "uniform_grid", "cell_m": 4000}


def sample(**settings: Any) -> PdpSample:
    return plugin("pdp_sample", **{"levels": HALVES, "cells": ONE_CELL, **settings})  # type: ignore[no-any-return]


def town(groups: np.ndarray[Any, Any] | None, size: int = 0) -> Snapshot:
    many = size if groups is None else groups.size
    return Snapshot(0.0, np.zeros(many), np.zeros(many), TOWN, expected_workers=100.0, group=groups)


def test_people_are_kept_with_the_probabilities_of_the_page() -> None:
    assert keep_probability(0.1, 1.0) == pytest.approx(0.061207, abs=5e-7)
    assert keep_probability(0.5, 1.0) == pytest.approx(0.377541, abs=5e-7)
    assert keep_probability(2.0, 1.0) == 1.0
    assert keep_probability(900.0, 1000.0) == pytest.approx(math.exp(-100))  # where e^ε overflows


@pytest.mark.parametrize("threshold", [0.2, 0.5, 1.0])
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 1.0])
def test_each_person_gets_exactly_her_epsilon(threshold: float, epsilon: float) -> None:
    """Enumerated: the count of one cell with geometric noise of ratio e^-t, with her and without."""
    kept = keep_probability(epsilon, threshold)
    numbers = np.arange(-400, 402)
    law = np.exp(-threshold * np.abs(numbers))
    law /= law.sum()
    present = (1 - kept) * law[1:] + kept * law[:-1]  # as many again, one further up
    ratio = np.log(present / law[1:])[200:600]
    assert np.abs(ratio).max() == pytest.approx(min(epsilon, threshold), rel=1e-9)


def test_a_coin_of_another_bias_gives_another_epsilon() -> None:
    """The enumeration can fail: someone kept half of the time at t = 1 gets 0.62, and not 0.5."""
    assert math.log1p(0.5 * math.expm1(1.0)) == pytest.approx(0.620, abs=5e-4)
    assert math.log1p(keep_probability(0.5, 1.0) * math.expm1(1.0)) == pytest.approx(0.5)


def count_cells(mechanism: PdpSample, people: int, rng: np.random.Generator) -> Cells:
    """Release once, with so many people in each of 3,600 cells: as many counts with independent noise and coins."""
    side = 60
    west, south, east, north = TOWN.box_m
    x, y = (low + (np.arange(side) + 0.5) / side * (high - low) for low, high in ((west, east), (south, north)))
    x, y = np.repeat(np.tile(x, side), people), np.repeat(np.repeat(y, side), people)
    fine = mechanism.model_copy(update={"cells": plugin("uniform_grid", cell_m=(east - west) / side)})
    groups = draw_groups(mechanism.group_shares, rng.random(x.size))
    made = fine.release(Snapshot(0.0, x, y, TOWN, expected_workers=100.0, group=groups), SimulatedNoise(rng))
    assert made.count.size == side**2
    return made


def test_counts_are_right_on_average_and_vary_as_the_page_says() -> None:
    """Levels by lot: variance (n π̄(1 - π̄) + 2/t²)/π̄², mean n.

    Of 3,600 counts the mean is off by 5.2 of its standard deviations with probability 2e-7; the variance of nearly
    Gaussian values by 13 % (5.5 standard deviations) with 4e-8.
    """
    mechanism, people = sample(levels=FEW), 100
    made, share = count_cells(mechanism, people, np.random.default_rng(3)), mechanism.mean_kept()
    variance = (people * share * (1 - share) + 2) / share**2
    assert abs(made.count.mean() - people) < 5.2 * math.sqrt(variance / made.count.size)
    assert made.count.var() == pytest.approx(variance, rel=0.13)
    assert np.mean(2 * made.noise_scale**2) == pytest.approx(variance, rel=0.02)


def test_noise_of_empty_cells_is_hardly_overstated() -> None:
    """A negative noisy count says nobody was left out: on average only half of the noise is taken for people."""
    mechanism = sample()
    made, share = count_cells(mechanism, 0, np.random.default_rng(4)), mechanism.mean_kept()
    assert np.mean(2 * made.noise_scale**2) * share**2 == pytest.approx(2 + 0.5 * (1 - share), rel=0.02)


def test_the_crossovers_and_comparisons_of_the_page() -> None:
    """Below so many people a cell's count is better than if everyone got the smallest ε: 2/ε² = 200."""

    def variance(levels: dict[str, Any], people: float) -> float:
        share = sample(levels=levels).mean_kept()
        return (people * share * (1 - share) + 2) / share**2

    for levels, crossover in ((HALVES, 218), (FEW, 1907)):
        assert variance(levels, crossover - 1) < 200 < variance(levels, crossover + 1)
    assert variance(FEW, 100) == pytest.approx(12.8, abs=0.05)
    kept = sample(levels=FEW).kept_shares["careful"]
    assert 10 * (1 - kept) / kept + 2 / kept**2 + 2 == pytest.approx(689, abs=0.5)  # each group worked back by itself
    assert 2 / 0.1**2 + 2 / 1.0**2 > 200  # a count for each group


def test_groups_that_nobody_tells_are_the_most_careful() -> None:
    rng = np.random.default_rng(5)
    counts = [sample().release(town(None, 2000), SimulatedNoise(rng)).count[0] for _ in range(60)]
    kept = keep_probability(0.1, 1.0)
    variance = (2000 * kept * (1 - kept) + 2) / kept**2
    assert abs(np.mean(counts) - 2000) < 5.2 * math.sqrt(variance / 60)  # false alarm 2e-7
    assert np.var(counts) > variance / 4  # with the public mean it would be 60 times less


@pytest.mark.parametrize("kind", ["adaptive_grid", "contour", "dawa", "dpcube", "kd_tree", "privtree", "quadtree"])
def test_any_mechanism_of_cells_counts_those_who_are_kept(kind: str) -> None:
    """3,000 people in one place: of each mechanism, the total is right within eight standard deviations of the coin."""
    mechanism, rng = sample(cells={"kind": kind}), np.random.default_rng(6)
    groups = draw_groups(mechanism.group_shares, rng.random(3000))
    made = mechanism.release(town(groups), SimulatedNoise(rng))
    share = mechanism.mean_kept()
    assert isinstance(made, Cells)
    assert abs(made.count.sum() - 3000) < 8 * math.sqrt(3000 * (1 - share) / share) + 400
    assert made.mechanism == "pdp_sample"
    assert dict(made.guarantee.by_group) == {"careful": 0.1, "relaxed": 1.0}
    if isinstance(made, AdaptiveCells):
        assert made.fine_scale is None
        assert made.coarse_scale is None
    if isinstance(made, Contours):
        assert made.levels.max() <= made.count.max()


def test_it_releases_in_both_modes() -> None:
    groups = np.repeat(["careful", "relaxed"], 500)
    for noise in (noise_source("simulate", seed=1), noise_source("release")):
        count = sample().release(town(groups), noise).count[0]
        assert abs(count - 1000) < 250  # sd 20, and the groups are not mixed by lot: at most 6 % more


def test_the_promise_names_groups_and_doubles_where_people_move() -> None:
    promise = sample(threshold=0.5).guarantee()
    assert (promise.unit, promise.epsilon) == (Unit.SNAPSHOT, 0.5)
    assert dict(promise.by_group) == {"careful": 0.1, "relaxed": 0.5}
    assert dict(sample().guarantee(Neighbours.REPLACE).by_group) == {"careful": 0.2, "relaxed": 2.0}
    assert dict(sample().with_epsilon(2.0).guarantee().by_group) == {"careful": 0.2, "relaxed": 2.0}


def test_cells_are_sized_for_those_who_are_kept() -> None:
    facts = PublicFacts(10_000.0, 1.0, 1.0, 0.1, 10_000.0, 10_000.0)
    mechanism = plugin("pdp_sample", levels=HALVES).resolve(facts)
    kept = plugin("uniform_grid", epsilon=1.0).resolve(
        PublicFacts(10_000.0 * mechanism.mean_kept(), 1.0, 1.0, 0.1, 10_000.0, 10_000.0)
    )
    assert mechanism.cells.cell_m == kept.cell_m


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"levels": {"a": {"epsilon": 0.1, "share": 0.7}, "b": {"epsilon": 1, "share": 0.5}}}, "add up to 1.2"),
        ({"levels": {"a": {"epsilon": 0.1, "share": 0.7}}}, "leave 0.3 of the people without a level"),
        ({"levels": {"a": {"epsilon": 0.1, "share": 0}, "b": {"epsilon": 1, "share": 1}}}, "nobody has the level 'a'"),
        ({"levels": {}}, "levels"),
        ({"threshold": 1.5}, "a level that no group has: the largest is 1"),
        ({"cells": "tree_counts"}, "'tree_counts' cannot be used here"),
        ({"cells": "no_privacy"}, "'no_privacy' cannot count"),
        ({"cells": "pdp_sample"}, "'pdp_sample' cannot be used here"),
        ({"cells": {"kind": "uniform_grid", "epsilon": 0.7}}, "cells.epsilon has no effect"),
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        sample(**settings)


def test_an_audit_finds_a_missing_coin() -> None:
    """Everyone is counted, also the careful: with 20,000 counts of cells that is seen at once."""

    class NoCoin(PdpSample):
        kind = "no_coin_for_a_test"

        def release(self, snapshot: Snapshot, noise: Noise) -> Cells:
            everyone = np.full(snapshot.x_m.size, "relaxed")
            return super().release(
                Snapshot(0.0, snapshot.x_m, snapshot.y_m, snapshot.region, 60.0, group=everyone), noise
            )

    settings = {"levels": HALVES, "cells": {"kind": "uniform_grid"}}
    noise = noise_by_name("simulate", 0)
    assert not audit_plugin(PdpSample(**settings), noise, samples=20_000).refuted
    assert audit_plugin(NoCoin(**settings), noise, samples=20_000).refuted


def test_stated_terms_tell_how_nearly_gaussian_the_noise_is() -> None:
    """Kurtosis 3/terms: that of the noise is 3, that of the coin none to speak of. 36,000 counts: within 0.4."""
    rng, mechanism = np.random.default_rng(8), sample(levels=FEW)
    made = [count_cells(mechanism, 20, rng) for _ in range(10)]
    terms = np.concatenate([one.noise_terms for one in made if one.noise_terms is not None])
    found = stats.kurtosis(np.concatenate([one.count for one in made]))
    assert 3 / np.median(terms) == pytest.approx(found, abs=0.4)
