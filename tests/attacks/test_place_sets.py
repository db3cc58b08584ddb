"""Attacks on reports that name sets of places: enumeration, and guesses that never leave the set."""

from itertools import product

import numpy as np
import pytest

from geodp.attacks import AttackView
from geodp.attacks.bayes_location import BayesLocation
from geodp.attacks.inference import Prior, from_reports
from geodp.attacks.place_sets import choose_candidate, find_likeliest_candidates, follow_candidates, weigh_candidates
from geodp.attacks.tracking import Steps, Tracking
from geodp.geometry import Region
from tests.places import candidates_of, cloaks_of

REGION = Region(-0.02, -0.02, 0.02, 0.02)


def test_beliefs_over_candidates_are_those_of_all_paths() -> None:
    rng = np.random.default_rng(0)
    start, steps = rng.random((2, 3)), [rng.random((2, 3, 3)) for _ in range(3)]
    belief, best = follow_candidates(start, steps), find_likeliest_candidates(start, steps)
    for person in range(2):
        weight = {}
        for path in product(range(3), repeat=4):
            weight[path] = start[person, path[0]]
            for t in range(3):
                weight[path] *= steps[t][person, path[t], path[t + 1]]
        total = sum(weight.values())
        for t, place in product(range(4), range(3)):
            share = sum(value for path, value in weight.items() if path[t] == place) / total
            assert belief[person, t, place] == pytest.approx(share)
        assert tuple(best[person].tolist()) == max(weight, key=lambda path: weight[path])


def test_the_best_guess_is_the_candidate_with_the_least_expected_distance() -> None:
    x, y = np.array([[0.0, 100.0, 110.0]]), np.zeros((1, 3))
    assert choose_candidate(x, y, np.array([[0.4, 0.3, 0.3]]))[0].tolist() == [100.0]
    assert choose_candidate(x, y, np.array([[0.8, 0.1, 0.1]]))[0].tolist() == [0.0]
    nowhere = Prior.uniform(REGION).with_counts(np.eye(1, Prior.uniform(REGION).grid.size)[0])
    assert weigh_candidates(nowhere, x, y).tolist() == [pytest.approx([1 / 3] * 3)]


def test_guesses_of_cloaks_stay_inside_and_a_flat_prior_guesses_the_middle() -> None:
    cloaks = [cloaks_of([(0, 0, 400, 200), (-900, -900, -880, 800)], k=2, time_s=time_s) for time_s in (0.0, 300.0)]
    found = BayesLocation().guess(AttackView(REGION, cloaks))
    assert found.x_m[:2] == pytest.approx([200, -890], abs=15)
    assert found.y_m[:2] == pytest.approx([100, -50], abs=25)
    tracked = Tracking().guess(AttackView(REGION, cloaks))
    inside = (tracked.x_m >= np.where(tracked.who == "a", 0, -900)) & (
        tracked.x_m <= np.where(tracked.who == "a", 400, -880)
    )
    assert inside.all()
    assert tracked.method.size == 2 * 2 * 2


def test_linked_candidates_give_away_whoever_moves_like_a_person() -> None:
    """The true place stays; made-up ones are anywhere: after six reports tracking names the true one."""
    rng = np.random.default_rng(1)
    releases = []
    for number in range(6):
        x, y = rng.uniform(-2000, 2000, (2, 20, 4))
        x[:, 2], y[:, 2] = np.linspace(-1500, 1500, 20), 100.0
        releases.append(candidates_of(x.tolist(), y.tolist(), time_s=300.0 * number))
    for attack in (Tracking(), Tracking(top_speed_mps=1.0)):
        found = attack.guess(AttackView(REGION, releases))
        true = np.linspace(-1500, 1500, 20)[np.array([ord(name) - ord("a") for name in found.who.tolist()])]
        assert np.mean(np.hypot(found.x_m - true, found.y_m - 100.0) < 1) > 0.97
    alone = BayesLocation().guess(AttackView(REGION, releases[:1]))
    assert np.mean(np.abs(alone.y_m - 100.0) < 1) < 0.8


def test_nobody_is_faster_than_the_bound() -> None:
    steps = Steps(0.5, 20.0, 2.0, top_speed_mps=1.0)
    here, there = (np.zeros((1, 1)),) * 2, (np.array([[50.0, 150.0]]), np.zeros((1, 2)))
    likely = steps.between(here, there, 100.0, 1e6)
    assert likely[0, 0, 0] > 0
    assert likely[0, 0, 1] == 0
    assert Steps(0.5, 20.0, 2.0).between(here, there, 100.0, 1e6)[0, 0, 1] > 0


def test_where_people_are_is_learnt_from_their_sets() -> None:
    before = Prior.uniform(REGION)
    learnt = from_reports(before, [cloaks_of([(-500, -500, 500, 500)] * 3, k=3)])
    x, y = before.grid.all_centres()
    assert learnt.share[(np.abs(x) < 550) & (np.abs(y) < 550)].sum() > 0.9
    told = candidates_of([[100.0, 1500.0], [100.0, -1500.0]], [[0.0, 0.0], [0.0, 0.0]])
    shared = from_reports(before, [told])
    near = np.hypot(x - 100, y) < 200
    assert shared.share[near].sum() > 0.6, "the place that both name"
