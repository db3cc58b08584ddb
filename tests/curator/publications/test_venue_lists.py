"""Lists of other venues: chances by the golden numbers, nobody in more lists than paid for."""

from pathlib import Path

import numpy as np
import pytest

from geodp.curator.publications.venue_lists import VenueLists, rank_venues
from geodp.errors import DataError
from geodp.privacy.keyed_choice import user_words
from geodp.privacy.noise import noise_source
from geodp.runs.run import run
from geodp.tables.visits.visit_sets import VisitSets, visit_sets
from tests.small import small


def sets(*people: list[int], venues: int) -> VisitSets:
    names = np.array([f"p{number}" for number in range(len(people))], dtype=np.object_)
    who = np.repeat(np.arange(len(people)), [len(own) for own in people])
    return visit_sets(user_words(names), who, np.concatenate(people).astype(np.int64), venues)


def test_scores_10_5_0_are_chosen_with_the_golden_chances() -> None:
    # one list at ε = 1: cap 2 and ε = 2; 200,000 draws, six standard errors
    number = 200_000
    lists = VenueLists(epsilon=2.0, cap=2, length=1)
    scores = np.tile([10.0, 5.0, 0.0], (number, 1))
    chosen = lists.choose_from(scores, np.tile(np.arange(3), (number, 1)), noise_source("simulate", seed=5))[:, 0]
    shares = np.bincount(chosen, minlength=3) / number
    for share, golden in zip(shares, (0.993262, 0.006693, 0.000045), strict=True):
        assert abs(share - golden) < 6 * np.sqrt(golden * (1 - golden) / number)


def test_a_list_names_other_venues_once_each() -> None:
    visits = sets([0, 1, 2], [1, 2, 3], [0, 4], venues=5)
    chosen = VenueLists(epsilon=1.0, cap=3, length=9).choose_venues(visits, noise_source("simulate", seed=1))
    assert chosen.shape == (5, 4), "where there are fewer others, all of them"
    for venue, row in enumerate(chosen):
        assert sorted([venue, *row.tolist()]) == list(range(5))


def test_with_much_budget_the_lists_are_the_exact_ones() -> None:
    people = [[0, 1]] * 30 + [[0, 2]] * 20 + [[0, 3]] * 10 + [[1, 2]] * 5
    chosen = VenueLists(epsilon=1e4, cap=2, length=3).choose_venues(
        sets(*people, venues=4), noise_source("simulate", seed=2)
    )
    assert chosen[0].tolist() == [1, 2, 3]
    assert chosen[1].tolist()[:2] == [0, 2]


def test_ties_follow_the_public_list() -> None:
    assert rank_venues(np.array([[1.0, 3.0, 3.0, 0.0]]), 3).tolist() == [[1, 2, 0]]


def test_one_venue_leaves_nothing_to_name() -> None:
    with pytest.raises(DataError, match="there is no other one to name"):
        VenueLists().require_venues(1)


def test_a_run_publishes_lists_and_says_how_many_of_the_exact_venues_are_on_them(tmp_path: Path) -> None:
    visits = {"kind": "generated_visits", "venues": 40, "mean_visits": 6, "days": 30}
    recall = []
    for number, epsilon in enumerate((0.01, 1e5)):
        lists = {"kind": "venue_lists", "epsilon": epsilon, "cap": 50, "length": 3}
        made = run(small({"workers.visit_source": visits, "publish": [lists]}), tmp_path / f"{number}", draw_map=False)
        recall.append(made.metrics["list_recall"] or 0.0)
    assert recall[0] < 0.3, "three of 39 venues at random are right in 8 % of cases"
    assert recall[1] > 0.7, "what is missing are ties"
