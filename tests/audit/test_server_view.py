import itertools
from pathlib import Path

import numpy as np
import pytest

from geodp.audit.server_view import (
    DecidedOffers,
    certify_joint,
    chances_of_others,
    estimate_server_view,
    find_worst_places,
)
from geodp.geometry import Region
from geodp.public.acceptance.tanh_reward import TanhReward
from geodp.run_folder.folder import RunFolder
from geodp.runs.run import run
from tests.small import small

ACCEPTANCE = TanhReward(ceiling=0.9, metres_per_reward=100.0, max_travel_m=2000.0, minimum_reward=0.0)


def one_offer(nobody: float, share: float) -> DecidedOffers:
    """One offer of reward 1 at the origin, to everyone within a kilometre."""
    column = np.zeros(1)
    chances = np.array([nobody]), np.array([share])
    return DecidedOffers(column, column, np.array([1000.0]), np.ones(1), *chances, ACCEPTANCE)


def test_the_chances_of_the_others_match_enumeration() -> None:
    chance = np.array([0.1, 0.5, 0.9, 0.25])
    nobody, share = 0.0, 0.0
    for answers in itertools.product([0, 1], repeat=4):
        weight = float(np.prod(np.where(answers, chance, 1 - chance)))
        nobody += weight * (sum(answers) == 0)
        share += weight / (sum(answers) + 1)
    rows = np.array([1, 1, 1, 1])
    found = chances_of_others(rows, chance, 2)
    assert found[0] == pytest.approx([1.0, nobody])
    assert found[1] == pytest.approx([1.0, share])  # an offer nobody else was asked about: she is picked for certain


def test_outcomes_follow_the_law_that_the_likelihood_ratio_assumes() -> None:
    """E[ratio | out] is the chance of not being picked; false alarm below 1e-6."""
    n = 200_000
    offers = one_offer(nobody=0.3, share=0.6)
    place = np.full(n, 80.0), np.zeros(n)
    chance = float(ACCEPTANCE.probability(1.0, 80.0))
    out, _ = offers.meet(*place, np.zeros(n, dtype=bool), np.random.default_rng(1))
    ratio = np.exp(out)
    assert abs(ratio.mean() - (1 - 0.6 * chance)) < 5 * ratio.std() / np.sqrt(n)
    within, picked = offers.meet(*place, np.ones(n, dtype=bool), np.random.default_rng(2))
    assert abs(picked.mean() - 0.6 * chance) < 5 * 0.5 / np.sqrt(n)
    assert np.array_equal(np.isinf(within), picked)


def test_an_offer_that_nobody_took_speaks_against_a_worker_nearby() -> None:
    n = 1000
    offers = one_offer(nobody=1.0, share=1.0)
    out, picked = offers.meet(np.full(n, 80.0), np.zeros(n), np.zeros(n, dtype=bool), np.random.default_rng(1))
    assert out == pytest.approx(np.full(n, float(ACCEPTANCE.log_refusal(1.0, 80.0))))
    assert not picked.any()


def test_offers_elsewhere_say_nothing() -> None:
    offers = one_offer(nobody=0.5, share=0.8)
    inside = np.array([True, False])
    said, picked = offers.meet(np.array([3000.0, 3000.0]), np.zeros(2), inside, np.random.default_rng(1))
    assert said.tolist() == [0.0, 0.0]
    assert not picked.any()


def test_the_chances_read_from_a_run_agree_with_what_happened(tmp_path: Path) -> None:
    """Tasks that nobody took: as many as the chances say, to five standard deviations."""
    run(small({"tasks.demand.per_hour": 1200, "tasks.reward.total": 6000}), tmp_path / "run", draw_map=False)
    opened = RunFolder(tmp_path / "run")
    offers = DecidedOffers.of(opened)
    failed = opened.tasks["outcome"].eq("failure").sum()
    expected = offers.nobody.sum()
    assert offers.nobody.size > 400
    assert abs(failed - expected) < 5 * np.sqrt((offers.nobody * (1 - offers.nobody)).sum())


def test_not_being_named_is_evidence_and_belongs_to_the_event() -> None:
    """Nobody else is asked: given that she is not named, "nobody" is certain either way; jointly it says ln 2."""
    n = 100_000
    chance = float(ACCEPTANCE.probability(1.0, 80.0))
    offers = one_offer(nobody=1.0, share=1.0)
    x, y = np.full(2 * n, 80.0), np.zeros(2 * n)
    inside = np.arange(2 * n) < n
    said, named = offers.meet(x, y, inside, np.random.default_rng(3))
    claim = -np.log1p(-chance)
    found = certify_joint(said[inside], named[inside], said[~inside], alpha=1e-6)
    assert 0.9 * claim < found <= claim
    quiet = inside & ~named
    assert np.ptp(said[quiet]) == 0  # the conditional game sees nothing
    assert said[~inside] == pytest.approx(said[quiet][0])


def test_the_worst_places_are_those_that_most_offers_reach() -> None:
    x_m = np.array([0.0, 0.0, 3000.0])
    column = np.zeros(3)
    offers = DecidedOffers(x_m, column, np.full(3, 500.0), np.ones(3), np.full(3, 0.5), np.full(3, 0.8), ACCEPTANCE)
    region = Region(0.0, 50.0, 0.1, 50.1)
    worst = find_worst_places(offers, region, np.random.default_rng(1))
    assert worst[0] == (0.0, 0.0)
    east, north = np.array(worst).T
    apart = np.hypot(east[:, None] - east, north[:, None] - north)[np.triu_indices(len(worst), 1)]
    assert apart.min() >= 200.0
    most, nats = offers.bound_at(worst)
    assert most == 2
    assert nats == pytest.approx(-2 * np.log1p(-0.9))
    none = np.empty(0)
    nobody = DecidedOffers(none, none, none, none, none, none, ACCEPTANCE)
    assert find_worst_places(nobody, region, np.random.default_rng(1)) == []
    assert nobody.bound_at([]) == (0, 0.0)


def test_both_ends_are_printed_for_those_who_took_no_task(tmp_path: Path) -> None:
    run(small(), tmp_path / "run", draw_map=False)
    found = estimate_server_view(RunFolder(tmp_path / "run"), samples=2000)
    assert found.upper_unnamed is not None
    assert found.certified_unnamed <= found.upper_unnamed
    assert not found.upper_promised  # the model's ceiling is no promise
    assert f"{found.certified_unnamed:.4g} ≤ ε ≤ {found.upper_unnamed:.4g} for those who took no task" in found.text()
