"""Believable visit histories without any data: towns, districts and streets, popular venues, habits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodp.errors import UsageError
from geodp.tables.visits.histories import Histories, Venues

CATEGORIES = ("café", "restaurant", "shop", "office", "gym", "clinic", "park", "bar", "school", "station")
_SHARES = np.array([0.16, 0.2, 0.18, 0.14, 0.05, 0.04, 0.06, 0.09, 0.05, 0.03])


@dataclass(frozen=True)
class Sizes:
    """How many of everything."""

    people: int = 1000
    visits: int = 150
    """Mean number of visits of a person."""
    venues: int = 5000
    cities: int = 4
    districts: int = 10
    """Districts of a city."""
    streets: int = 12
    """Streets of a district."""

    def __post_init__(self) -> None:
        if min(self.people, self.visits, self.venues, self.cities, self.districts, self.streets) < 1:
            raise UsageError("generated visits need at least one of everything: people, visits, venues, cities, …")


def generated_histories(sizes: Sizes, rng: np.random.Generator) -> tuple[Histories, Venues]:
    """Draw venues in a country with nested units, and people who return to their favourites near home.

    Venues have popularities with a long tail; a person's number of visits is lognormal; half of the visits go to a
    handful of own places, most others to popular places near home, some anywhere.
    """
    venues, home_x, home_y = _venues(sizes, rng)
    tail = (rng.permutation(sizes.venues) + 3.0) ** -0.9
    number = np.maximum(1, np.round(rng.lognormal(-0.245, 0.7, sizes.people) * sizes.visits)).astype(np.int64)
    parts = [_one_person(int(count), home_x, home_y, tail, rng) for count in number]
    person = np.repeat(np.arange(sizes.people), number)
    names = np.array([f"person-{i:05d}" for i in range(sizes.people)], dtype=np.object_)
    time_s = np.floor(rng.uniform(0, 180 * 86_400, person.size))
    return Histories(names, person, np.concatenate(parts), time_s), venues


def _venues(sizes: Sizes, rng: np.random.Generator) -> tuple[Venues, np.ndarray, np.ndarray]:
    """Scatter streets around districts around cities, and venues along streets (degrees; about 111 km each)."""
    city_at = rng.uniform(-0.45, 0.45, (sizes.cities, 2))
    pull = rng.exponential(1.0, sizes.cities) + 0.2
    city = rng.choice(sizes.cities, sizes.venues, p=pull / pull.sum())
    district = rng.integers(0, sizes.districts, sizes.venues)
    street = rng.integers(0, sizes.streets, sizes.venues)
    district_at = rng.normal(0, 0.03, (sizes.cities, sizes.districts, 2))
    street_at = rng.normal(0, 0.006, (sizes.cities, sizes.districts, sizes.streets, 2))
    place = city_at[city] + district_at[city, district] + street_at[city, district, street]
    place = place + rng.normal(0, 0.0012, (sizes.venues, 2))
    labels = {
        "city": [f"city-{i}" for i in city],
        "district": [f"district-{i}-{j}" for i, j in zip(city, district, strict=True)],
        "street": [f"street-{i}-{j}-{k}" for i, j, k in zip(city, district, street, strict=True)],
    }
    venues = Venues(
        np.array([f"venue-{i:06d}" for i in range(sizes.venues)], dtype=np.object_),
        place[:, 0] + 10.0,
        place[:, 1] + 50.0,
        {name: np.array(values, dtype=np.object_) for name, values in labels.items()},
        np.array(CATEGORIES, dtype=np.object_)[rng.choice(len(CATEGORIES), sizes.venues, p=_SHARES)],
    )
    return venues, place[:, 0], place[:, 1]


def _one_person(count: int, x: np.ndarray, y: np.ndarray, tail: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw one person's visits from a few hundred venues that they know: near home by popularity, some anywhere."""
    home = rng.integers(x.size)
    known = np.concatenate([[home], rng.integers(0, x.size, min(400, 2 * x.size))])
    near = np.exp(-np.hypot(x[known] - x[home], y[known] - y[home]) / 0.03) + 0.002
    weight = tail[known] * near
    favourites = rng.choice(known, 6, p=weight / weight.sum())
    others = rng.choice(known, count, p=weight / weight.sum())
    return np.where(rng.random(count) < 0.5, favourites[rng.integers(0, 6, count)], others)
