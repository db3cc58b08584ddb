"""Ho and Ruan's patterns: where visits lie together, and what one person changes."""

import numpy as np
import pytest
from pydantic import ValidationError

from geodp.audit.kinds import audit_kind
from geodp.curator.publications.location_patterns import LocationPatterns
from geodp.privacy.noise import SimulatedNoise
from geodp.tables.visits.histories import Histories, Venues


def town(seed: int = 0) -> tuple[Histories, Venues]:
    """Return 300 people of 10 visits each: half of all around one corner, the rest over 400 venues."""
    rng = np.random.default_rng(seed)
    lon, lat = rng.uniform(0, 0.05, (2, 400))
    lon[:40], lat[:40] = rng.normal(0.01, 0.0004, (2, 40))
    venues = Venues(np.array([f"v{number}" for number in range(400)], dtype=np.object_), lon, lat)
    venue = np.where(rng.random(3000) < 0.5, rng.integers(0, 40, 3000), rng.integers(0, 400, 3000))
    people = np.array([f"p{number}" for number in range(300)], dtype=np.object_)
    return Histories(people, np.repeat(np.arange(300), 10), venue), venues


def test_the_place_where_visits_lie_together_is_found_with_its_number() -> None:
    histories, venues = town()
    found = LocationPatterns(epsilon=8.0, cap=10).find_patterns(
        histories, venues, SimulatedNoise(np.random.default_rng(1))
    )
    busiest = np.argmax(found.visits)
    x_m, y_m = (place[histories.venue] for place in venues.places_m())
    assert found.x_m[busiest] == pytest.approx(np.median(x_m[histories.venue < 40]), abs=80)
    assert found.y_m[busiest] == pytest.approx(np.median(y_m[histories.venue < 40]), abs=80)
    assert (found.x_m >= found.west_m).all()
    assert (found.x_m <= found.west_m + found.side_x_m).all()


def test_without_noise_it_is_the_exact_mean_of_every_leaf() -> None:
    histories, venues = town()
    method = LocationPatterns(epsilon=1e7, cap=10, divide_above=300, threshold=60, depth=5)
    found = method.find_patterns(histories, venues, SimulatedNoise(np.random.default_rng(2)))
    x_m, y_m = (place[histories.venue] for place in venues.places_m())
    assert found.x_m.size > 5
    for leaf in range(found.x_m.size):
        inside = (x_m >= found.west_m[leaf]) & (x_m < found.west_m[leaf] + found.side_x_m[leaf])
        inside &= (y_m >= found.south_m[leaf]) & (y_m < found.south_m[leaf] + found.side_y_m[leaf])
        assert round(found.visits[leaf]) == inside.sum() > 60
        assert found.x_m[leaf] == pytest.approx(x_m[inside].mean(), abs=found.side_x_m[leaf] / 500)
        assert found.y_m[leaf] == pytest.approx(y_m[inside].mean(), abs=found.side_y_m[leaf] / 500)


def test_what_it_promises_and_costs() -> None:
    method = LocationPatterns(epsilon=1.0, cap=20, depth=6, centroid_share=0.3)
    assert sum(method.parts().values()) == pytest.approx(1.0)
    assert method.count_scale == pytest.approx(20 * 6 / 0.7)
    with pytest.raises(ValidationError, match="more than divide_above"):
        LocationPatterns(threshold=500.0)


def test_noise_for_half_a_side_less_is_refuted() -> None:
    """A planted fault: sums are said to move by one coordinate only."""
    from geodp.audit.kinds import audit_plugin, noise_by_name
    from geodp.curator.publications import location_patterns
    from geodp.privacy import primitives

    assert not audit_kind("location_patterns", samples=1000).refuted
    kept = primitives.laplace_counts

    def too_little(counts, *, epsilon, sensitivity, noise):  # type: ignore[no-untyped-def]
        less = sensitivity / 2 if sensitivity >= 512 else sensitivity
        return kept(counts, epsilon=epsilon, sensitivity=less, noise=noise)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(location_patterns, "laplace_counts", too_little)
        assert audit_plugin(
            LocationPatterns(depth=1, centroid_share=0.9), noise_by_name("simulate", 0), samples=1000
        ).refuted


def test_nothing_stands_out_where_nobody_was() -> None:
    histories, venues = town()
    none = Histories(histories.people, histories.person[:0], histories.venue[:0])
    found = LocationPatterns(threshold=1e6, divide_above=1e6).find_patterns(
        none, venues, SimulatedNoise(np.random.default_rng(3))
    )
    assert found.x_m.size == 0
