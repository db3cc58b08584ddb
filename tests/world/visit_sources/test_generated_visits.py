"""Histories that are generated: everyone has one, over venues that do not depend on where people are."""

import numpy as np
import pytest
from pydantic import ValidationError

from geodp.geometry import Region
from geodp.tables.visits.hierarchy import hierarchy_of
from geodp.tables.visits.histories import Histories, Venues
from geodp.world.population import Population
from geodp.world.visit_sources.generated_visits import GeneratedVisits

REGION = Region(10.0, 50.0, 10.1, 50.06)


def drawn(population: Population | None = None, **fields: object) -> tuple[Histories, Venues]:
    if population is None:
        population = Population(*REGION.sample(800, np.random.default_rng(1)))
    made = GeneratedVisits.model_validate(fields)
    return made.visits(population, REGION, duration_s=3600.0, rng=np.random.default_rng(5))


def test_everyone_has_a_history_within_the_days_and_venues_lie_in_the_region() -> None:
    histories, venues = drawn(mean_visits=20, days=10)
    assert set(histories.person.tolist()) == set(range(800))
    assert histories.time_s is not None
    assert histories.time_s.min() >= -10 * 86_400
    assert histories.time_s.max() < 3600
    assert REGION.contains(*REGION.projection.to_m(lon=venues.lon, lat=venues.lat)).all()
    assert abs(histories.size / 800 - 20) < 2.6  # the mean of 800 lognormals with sd 15.9 strays 0.56: 4.6 sd


def test_venues_follow_from_the_region_alone_so_that_the_list_may_be_public() -> None:
    corner = Population(np.full(50, 10.0), np.full(50, -20.0))
    one, other = drawn()[1], drawn(corner)[1]
    assert (one.lon == other.lon).all()
    assert (one.name == other.name).all()


def test_the_hierarchy_nests_and_popularity_has_a_long_tail() -> None:
    histories, venues = drawn()
    hierarchy = hierarchy_of(venues)
    assert hierarchy.levels == ("city", "district", "street")
    for fine, coarse in (("street", "district"), ("district", "city")):
        pairs = set(zip(hierarchy.units[fine].tolist(), hierarchy.units[coarse].tolist(), strict=True))
        assert len(pairs) == len(set(hierarchy.units[fine].tolist()))
    counts = np.sort(np.bincount(histories.venue, minlength=venues.size))[::-1]
    assert counts[: venues.size // 10].sum() > 0.35 * counts.sum()


def test_people_return_to_their_own_places_near_home() -> None:
    histories, venues = drawn()
    shares = [np.bincount(histories.venue[histories.person == p]).max() for p in range(100)]
    lengths = np.bincount(histories.person)[:100]
    assert np.mean(shares / lengths) > 0.12  # half of the visits go to six favourites
    x_m, y_m = REGION.projection.to_m(lon=venues.lon, lat=venues.lat)
    homes = Population(*REGION.sample(800, np.random.default_rng(1)))
    away = np.hypot(
        x_m[histories.venue] - homes.x_m[histories.person], y_m[histories.venue] - homes.y_m[histories.person]
    )
    shuffled = np.random.default_rng(0).permutation(histories.person)
    apart = np.hypot(x_m[histories.venue] - homes.x_m[shuffled], y_m[histories.venue] - homes.y_m[shuffled])
    assert away.mean() < 0.75 * apart.mean()


@pytest.mark.parametrize("fields", [{"venues": 0}, {"mean_visits": 0}, {"categories": {}}, {"categories": {"a": -1.0}}])
def test_sizes_that_make_no_sense_are_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        GeneratedVisits.model_validate(fields)


def test_few_venues_are_enough() -> None:
    histories, venues = drawn(venues=3, cities=1, districts=1, streets=1)
    assert venues.size == 3
    assert histories.venue.max() <= 2
