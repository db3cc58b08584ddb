"""A count drawn by what it takes to get there, so that everyone pays her own ε."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from geodp import plugin
from geodp.curator.mechanisms import Snapshot
from geodp.curator.mechanisms.pdp_exponential import Ladder, PdpExponential
from geodp.geometry import Region
from geodp.privacy.noise import SimulatedNoise, noise_source
from geodp.public.guarantee import Neighbours
from geodp.registry import PublicFacts

TOWN = Region(-0.02, -0.02, 0.02, 0.02)
EPSILONS = (0.1, 0.2, 0.5, 1.0)
ROOM = (1, 1, 1, 2)


def exponential(**settings: Any) -> PdpExponential:
    return plugin("pdp_exponential", **{"cell_m": 4000, "slots": 40, **settings})  # type: ignore[no-any-return]


def cheapest(inside: list[float], outside: list[float]) -> np.ndarray[Any, Any]:
    """Return the least cost of every number, over all sets of people who come and go."""
    costs = np.full(len(inside) + len(outside) + 1, np.inf)
    for gone in range(len(inside) + 1):
        for leaving in combinations(inside, gone):
            for come in range(len(outside) + 1):
                for arriving in combinations(outside, come):
                    number = len(inside) - gone + come
                    costs[number] = min(costs[number], sum(leaving) + sum(arriving))
    return costs


def test_the_golden_law_of_the_page() -> None:
    """Inside .1, .5, 1; outside .2, 1."""
    law = Ladder(EPSILONS, ROOM).probabilities([[1, 0, 1, 1]])[0]
    assert law.round(4).tolist() == [0.0978, 0.1612, 0.2070, 0.2176, 0.1969, 0.1194]


def test_costs_are_the_cheapest_of_all_ways_to_get_there() -> None:
    for held in product(*(range(room + 1) for room in ROOM)):
        inside = [e for e, number in zip(EPSILONS, held, strict=True) for _ in range(number)]
        outside = [e for e, number, room in zip(EPSILONS, held, ROOM, strict=True) for _ in range(room - number)]
        assert Ladder(EPSILONS, ROOM).cost([held])[0] == pytest.approx(cheapest(inside, outside))


def test_each_toggle_costs_its_owner_less_than_her_epsilon() -> None:
    """Exact, for every crowd of these five people and everyone who may come or go."""
    ladder, most = Ladder(EPSILONS, ROOM), dict.fromkeys(EPSILONS, 0.0)
    for held in product(*(range(room + 1) for room in ROOM)):
        for place, epsilon in enumerate(EPSILONS):
            if held[place] < ROOM[place]:
                more = [number + (place == at) for at, number in enumerate(held)]
                ratio = np.log(ladder.probabilities([more])[0] / ladder.probabilities([held])[0])
                most[epsilon] = max(most[epsilon], float(np.abs(ratio).max()))
    assert all(0 < most[epsilon] < epsilon for epsilon in EPSILONS)


def test_more_people_than_there_is_room_for_are_not_counted() -> None:
    ladder = Ladder((0.1, 1.0), (3, 2))
    assert ladder.probabilities([[9, 1]]).tolist() == ladder.probabilities([[3, 1]]).tolist()


def test_what_is_published_is_right_on_average_where_groups_are_mixed_as_stated() -> None:
    """1,000 releases with 20 people of 40 slots; within five standard deviations (false alarm below 6e-7)."""
    mechanism, rng = exponential(), np.random.default_rng(2)
    groups = np.repeat(["careful", "relaxed"], 10)
    snapshot = Snapshot(0.0, np.zeros(20), np.zeros(20), TOWN, expected_workers=20.0, group=groups)
    made = [mechanism.release(snapshot, SimulatedNoise(rng)) for _ in range(1000)]
    counts = np.array([one.count[0] for one in made])
    stated = np.array([one.noise_scale[0] for one in made])
    assert abs(counts.mean() - 20) < 5 * counts.std() / np.sqrt(1000) + 0.2  # numbers are whole, and read by lines
    assert np.mean(2 * stated**2) == pytest.approx(counts.var(), rel=0.25)


def test_groups_are_counted_by_cell_and_unnamed_people_are_the_most_careful() -> None:
    mechanism = exponential(cell_m=2000)
    x = np.array([-1000.0, -1000.0, 1000.0])
    snapshot = Snapshot(0.0, x, x, TOWN, expected_workers=3.0, group=np.array(["relaxed", "careful", "relaxed"]))
    grid = mechanism.fit_grid(snapshot)
    held = mechanism.count_groups(snapshot, grid)
    assert held[grid.locate([-1000.0], [-1000.0])[0]].tolist() == [1, 1]
    assert held[grid.locate([1000.0], [1000.0])[0]].tolist() == [0, 1]
    unnamed = mechanism.count_groups(Snapshot(0.0, x, x, TOWN, expected_workers=3.0), grid)
    assert unnamed.sum(axis=0).tolist() == [3, 0]


def test_it_releases_in_both_modes_and_resolves_from_public_facts() -> None:
    snapshot = Snapshot(0.0, np.zeros(5), np.zeros(5), TOWN, expected_workers=5.0)
    for noise in (noise_source("simulate", seed=1), noise_source("release")):
        assert np.isfinite(exponential().release(snapshot, noise).count).all()
    resolved = plugin("pdp_exponential").resolve(PublicFacts(5000.0, 1.0, 1.0, 0.1, 5000.0, 5000.0))
    assert resolved.slots == max(20, int(np.ceil(4 * 5000 * resolved.cell_m**2 / 25e6)))


def test_the_promise_doubles_where_people_move() -> None:
    assert dict(exponential().guarantee().by_group) == {"careful": 0.1, "relaxed": 1.0}
    assert dict(exponential().guarantee(Neighbours.REPLACE).by_group) == {"careful": 0.2, "relaxed": 2.0}


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"levels": {"a": {"epsilon": 1, "share": 0.4}}}, "leave 0.6 of the people"),
        ({"slots": 0}, "slots"),
        ({"slots": 5000}, "at most 2,?000"),
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        exponential(**settings)
