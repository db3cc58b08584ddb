"""PriLocation by level: who hides the city is moved between cities, and a coarser level hides more."""

import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from geodp.curator.publications.prilocation import PriLocation
from geodp.curator.venue_clusters import Slots, cluster_by_units
from geodp.errors import UsageError
from geodp.figures.kinds.publications import PublishedVisits
from geodp.privacy.noise import SimulatedNoise
from geodp.run_folder.visit_scores import chance_of_unit, match_people
from geodp.tables.visits.generated_visits import Sizes, generate_histories
from geodp.tables.visits.hierarchy import Hierarchy, hierarchy_of
from geodp.tables.visits.histories import Histories, Venues
from tests.tables.visits.tables import same_unit_share


def three_cities() -> Hierarchy:
    """Three cities 30 km from one another, four streets at (±1, ±1) km, five places at 0 and ±100 m."""
    centres = [(0.0, 0.0), (30.0, 0.0), (15.0, 15.0 * math.sqrt(3))]
    streets = [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)]
    places = [(0.0, 0.0), (0.1, 0.0), (-0.1, 0.0), (0.0, 0.1), (0.0, -0.1)]
    where = np.array(
        [np.add(np.add(city, street), place) for city in centres for street in streets for place in places]
    )
    number = np.arange(60)
    units = {"city": number // 20, "street": number // 5, "place": number}
    return Hierarchy(("city", "street", "place"), units, where[:, 0] * 1000, where[:, 1] * 1000)


@pytest.mark.parametrize(
    ("level", "same_street", "same_city", "away_km"),
    [("place", 1.0, 1.0, 0.104), ("street", 0.2856, 1.0, 1.649), ("city", 0.0969, 0.3827, 19.194)],
)
def test_the_golden_shares_of_three_cities(level: str, same_street: float, same_city: float, away_km: float) -> None:
    """The exact law at ε_s = 0.5: P ∝ exp(-ε_s·d/2HS) in the whole area above the level."""
    hierarchy = three_cities()
    clusters = cluster_by_units(hierarchy, level)
    away = np.hypot(hierarchy.x_m[:, None] - hierarchy.x_m, hierarchy.y_m[:, None] - hierarchy.y_m)
    chance = np.exp(-0.5 * away / (2 * hierarchy.sensitivity_m(level))) * (clusters.label[:, None] == clusters.label)
    chance /= chance.sum(axis=1, keepdims=True)
    street, city = hierarchy.units["street"], hierarchy.units["city"]
    assert (chance * (street[:, None] == street)).sum(axis=1).mean() == pytest.approx(same_street, abs=5e-5)
    assert (chance * (city[:, None] == city)).sum(axis=1).mean() == pytest.approx(same_city, abs=5e-5)
    assert (chance * away).sum(axis=1).mean() / 1000 == pytest.approx(away_km, abs=5e-4)


@pytest.mark.parametrize("level", ["place", "street", "city"])
def test_exchanging_two_visits_of_one_area_costs_at_most_epsilon_s(level: str) -> None:
    """The exact law of one slot: the odds of any place, from any two places of one area, differ by at most e^ε_s."""
    hierarchy, method = three_cities(), PriLocation(level=level, cap=None, epsilon=2.0)
    clusters, number = cluster_by_units(hierarchy, level), hierarchy.x_m.size
    everywhere = np.arange(number)
    slots = Slots(np.zeros(number, dtype=np.int64), everywhere, np.ones(number, dtype=np.bool_))
    histories = Histories(np.array(["x"], dtype=object), slots.person, everywhere)
    rate = method.rates_per_m(slots, histories, clusters, hierarchy)
    away = np.hypot(hierarchy.x_m[:, None] - hierarchy.x_m, hierarchy.y_m[:, None] - hierarchy.y_m)
    same = clusters.label[:, None] == clusters.label
    logits = np.where(same, -rate[:, None] * away, -np.inf)
    logs = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    epsilon_s, worst = method.budgets()[2], 0.0
    assert epsilon_s == 1.0  # half of ε: the public areas leave the other parts to numbers and places
    for area in range(clusters.size):
        inside = np.flatnonzero(clusters.label == area)
        law = logs[np.ix_(inside, inside)]
        worst = max(worst, float(np.abs(law[:, None] - law[None]).max()))
    assert 0.4 * epsilon_s < worst <= epsilon_s + 1e-12


@pytest.fixture(scope="module")
def town() -> tuple[Histories, Venues]:
    return generate_histories(Sizes(people=300, visits=40, venues=1500), np.random.default_rng(3))


def noise(seed: int = 0) -> SimulatedNoise:
    return SimulatedNoise(np.random.default_rng(seed))


def measure_levels(histories: Histories, venues: Venues, hierarchy: Hierarchy, cap: int) -> np.ndarray[Any, Any]:
    """Return a row per level, finest first: shares of visits in the same unit, people found, mean distance."""
    levels = hierarchy.levels[::-1]
    rows = []
    for level in levels:
        released, truth = PriLocation(level=level, cap=cap).release_with_truth(histories, venues, noise())
        kept = truth.survived
        away = np.hypot(
            truth.x_m[kept] - hierarchy.x_m[truth.true_venue[kept]],
            truth.y_m[kept] - hierarchy.y_m[truth.true_venue[kept]],
        )
        same = [same_unit_share(truth, hierarchy, unit) for unit in levels]
        found = float(match_people(histories, released, venues).shares(1).mean())
        rows.append([*same, found, float(away.mean())])
    return np.array(rows)


def require_monotone(table: np.ndarray[Any, Any], histories: Histories, hierarchy: Hierarchy) -> None:
    """A coarser level: shares and re-identification fall, the error rises; what is hidden is seen as by chance."""
    assert (np.diff(table[:, :-1], axis=0) <= 0).all()
    assert (np.diff(table[:, -2]) < 0).all()
    assert (np.diff(table[:, -1]) > 0).all()
    for place, level in enumerate(hierarchy.levels[::-1]):
        chance = float(chance_of_unit(hierarchy, level)[histories.venue].mean())
        assert table[place, place] == pytest.approx(chance, abs=0.05)


def test_a_coarser_level_hides_more_and_costs_more(town: tuple[Histories, Venues]) -> None:
    histories, venues = town
    hierarchy = hierarchy_of(venues)
    require_monotone(measure_levels(histories, venues, hierarchy, 60), histories, hierarchy)


@pytest.mark.skipif("GEODP_DATA" not in os.environ, reason="GEODP_DATA names no folder of real data")
def test_levels_are_monotone_on_real_visits_with_boroughs_neighbourhoods_and_tracts() -> None:
    folder = Path(os.environ["GEODP_DATA"]) / "foursquare_nyc"
    if not folder.is_dir():
        pytest.skip("no Foursquare visits in GEODP_DATA")
    histories, venues, hierarchy = PublishedVisits(
        visits_path=str(folder / "checkins.parquet"),
        places_path=str(folder / "venues.csv.gz"),
        levels_path=str(folder / "venue_hierarchy.csv.gz"),
        venue_column="poi",
        levels=("borough", "neighbourhood", "tract"),
        people=150,
    ).read_records()
    table = measure_levels(histories, venues, hierarchy, 150)
    require_monotone(table, histories, hierarchy)
    assert table[0, 1] == 1.0, "who hides the tract stays in the neighbourhood"
    assert table[-1, -2] < 0.25 * table[0, -2], "people are found again less than a quarter as often"


def test_people_who_hide_different_levels_are_moved_as_far_as_each_asks(town: tuple[Histories, Venues]) -> None:
    histories, venues = town
    hierarchy = hierarchy_of(venues)
    mixed = PriLocation(level="street", level_shares={"city": 0.5}, cap=60)
    _, truth = mixed.release_with_truth(histories, venues, noise())
    hides_city = np.array([level == "city" for level in mixed.levels_of(histories.people)])[truth.person]
    city = hierarchy.units["city"]
    stayed = city[truth.true_venue] == city[truth.released_venue]
    assert stayed[~hides_city & truth.survived].all(), "who hides the street stays in the district"
    assert not stayed[hides_city & truth.survived].all()


def test_strata_keep_the_category_where_every_unit_has_it() -> None:
    hierarchy = three_cities()
    # every street has a café; only some have a school or a clinic
    category = np.where(np.arange(60) % 5 < 2, "café", np.where(np.arange(60) < 30, "school", "clinic")).astype(object)
    divided = cluster_by_units(hierarchy, "street", category)
    cafe = category == "café"
    city = hierarchy.units["city"]
    for number in range(divided.size):
        here = divided.label == number
        assert np.unique(city[here]).size == 1
        assert np.unique(hierarchy.units["street"][here]).size == 4, "every street of the city stays in every part"
    assert not set(divided.label[cafe]) & set(divided.label[~cafe])
    # in a city with no category that all streets have, nothing is divided
    alone = np.array([f"kind {number}" for number in range(60)], dtype=object)
    assert cluster_by_units(hierarchy, "street", alone).size == 3


def test_clusters_by_level_need_levels_and_no_number() -> None:
    with pytest.raises(ValidationError, match="goes with clusters_by: space"):
        PriLocation(clusters_by="level", clusters=4)
    with pytest.raises(ValidationError, match="dplloyd makes compact clusters"):
        PriLocation(clusters_by="level", clustering="dplloyd")
    lone = Venues(np.array(["a", "b"], dtype=object), np.array([10.0, 10.1]), np.array([50.0, 50.0]))
    nobody = Histories(np.array(["x"], dtype=object), np.empty(0, np.int64), np.empty(0, np.int64))
    with pytest.raises(UsageError, match="needs a venue list with levels"):
        PriLocation(clusters_by="level").release(nobody, lone, noise())
    leveled = Venues(lone.name, lone.lon, lone.lat, {"city": np.array(["p", "q"], dtype=object)})
    with pytest.raises(UsageError, match="have no category"):
        PriLocation(clusters_by="level", strata=True).release(nobody, leveled, noise())
