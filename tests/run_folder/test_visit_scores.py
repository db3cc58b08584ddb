"""Scores of published visits, by hand."""

import numpy as np
import pytest

from geodp.public.guarantee import Guarantee
from geodp.run_folder.visit_scores import (
    category_error,
    count_error,
    match_people,
    popularity,
)
from geodp.tables.visits.generated_visits import Sizes, generate_histories
from geodp.tables.visits.hierarchy import Hierarchy
from geodp.tables.visits.histories import Histories, ReleasedVisits, Replacements
from tests.tables.visits.tables import distance_error, same_unit_share

PEOPLE = np.array(["u", "v"], dtype=np.object_)


def test_distance_error_is_per_person_over_survivors_in_units_of_hs() -> None:
    place = Hierarchy(("city",), {"city": np.array([0, 0, 1])}, np.array([0.0, 30.0, 100.0]), np.zeros(3))
    truth = Replacements(
        np.array([0, 0, 1, 1]),
        np.array([0, 1, 0, 0]),
        np.array([1, 1, 2, 2]),
        np.array([True, True, True, False]),
        np.array([30.0, 30.0, 100.0, 100.0]),
        np.zeros(4),
    )
    assert distance_error(truth, place, 100.0) == pytest.approx((0.15 + 1.0) / 2)
    assert same_unit_share(truth, place, "city") == pytest.approx(2 / 3)


def told(histories: Histories, keep: np.ndarray) -> ReleasedVisits:
    person, venue = histories.person[keep], histories.venue[keep]
    nowhere = np.zeros(venue.size)
    return ReleasedVisits(histories.people, person, venue, nowhere, nowhere, "test", Guarantee.none("a test"))


def test_the_truth_itself_scores_perfectly_and_names_everyone() -> None:
    histories, venues = generate_histories(Sizes(people=60, visits=40, venues=300), np.random.default_rng(0))
    same = told(histories, np.arange(histories.size))
    assert count_error(histories, same) == 0.0
    assert category_error(histories, same, venues) == 0.0
    assert popularity(histories, same, venues) == pytest.approx((1.0, 1.0))
    assert match_people(histories, same, venues).share() == 1.0
    nothing = told(histories, np.zeros(0, dtype=np.int64))
    assert count_error(histories, nothing) == pytest.approx(histories.size / 60)
    assert match_people(histories, nothing, venues).share() == pytest.approx(1 / 60), "a guess"


def test_generated_histories_have_a_long_tail_habits_and_nested_units() -> None:
    histories, venues = generate_histories(Sizes(people=200, visits=100, venues=2000), np.random.default_rng(1))
    counts = np.sort(np.bincount(histories.venue, minlength=2000))[::-1]
    assert counts[:200].sum() > 0.5 * counts.sum(), "a tenth of the venues has most visits"
    pairs = np.unique(histories.person * 2000 + histories.venue).size
    assert pairs < 0.6 * histories.size, "people return"
    for fine, coarse in (("street", "district"), ("district", "city")):
        parent: dict[str, str] = {}
        for unit, above in zip(venues.levels[fine], venues.levels[coarse], strict=True):
            assert parent.setdefault(unit, above) == above
