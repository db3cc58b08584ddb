"""Histories without any data: venues in nested areas of the region, and people with habits around their homes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import numpy as np
from pydantic import Field, field_validator

from geodp.geometry import Array, Region
from geodp.model import bound_field
from geodp.tables.visits.histories import CATEGORY_MARK, Histories, Integers, Names, Venues
from geodp.world.population import Population
from geodp.world.visit_sources import VisitSource

LEVELS = ("city", "district", "street")
CATEGORIES = {
    "café": 0.16,
    "restaurant": 0.2,
    "shop": 0.18,
    "office": 0.14,
    "gym": 0.05,
    "clinic": 0.04,
    "park": 0.06,
    "bar": 0.09,
    "school": 0.05,
    "station": 0.03,
}
_NEAR = 64
"""A person chooses among so many venues nearest to home."""
_FAVOURITES = 6
_CANDIDATES = 8
_HABIT, _NEARBY = 0.5, 0.4
"""Shares of visits to favourites, and to other places near home; the rest goes anywhere, by popularity."""
_TAIL = 0.9
"""Popularity falls with the rank to this power: a long tail."""
_DAY_S = 86_400.0


class GeneratedVisits(VisitSource):
    """Visits of people who return to their favourites near home, over venues in nested areas of the region.

    Venues lie in cities, districts and streets of the region alone (never where workers are: the list is public),
    with a category each and popularities with a long tail. A worker's number of visits is lognormal.
    """

    kind: ClassVar[str] = "generated_visits"

    venues: int = bound_field("the list is kept in memory", default=500, ge=1, le=1_000_000)
    """Number of venues."""
    cities: int = Field(default=3, ge=1, le=200)
    """Cities of the region."""
    districts: int = Field(default=4, ge=1, le=200)
    """Districts of a city."""
    streets: int = Field(default=5, ge=1, le=200)
    """Streets of a district."""
    mean_visits: float = Field(default=20.0, gt=0, le=100_000)
    """Mean number of visits of a worker."""
    days: float = Field(default=30.0, ge=0, le=36_500)
    """Visits happened during so many days before the run, and until its end."""
    categories: dict[str, float] = Field(default_factory=lambda: dict(CATEGORIES))
    """Categories of venues, each with its share (they need not add up to 1)."""
    second_category_share: float = Field(default=0.0, ge=0, le=1)
    """Share of venues that belong to a second category as well, written `café|bar`."""

    @field_validator("categories")
    @classmethod
    def _shares(cls, value: dict[str, float]) -> dict[str, float]:
        if not value or min(value.values()) < 0 or sum(value.values()) <= 0:
            raise ValueError("needs at least one category with a share greater than 0, and none below 0")
        return value

    def idle_fields(self) -> dict[str, str]:
        """Return the second category where there is one."""
        return {"second_category_share": "with one category"} if len(self.categories) == 1 else {}

    def visits(
        self, population: Population, region: Region, *, duration_s: float, rng: np.random.Generator
    ) -> tuple[Histories, Venues]:
        """Draw venues, then everyone's visits to them."""
        venues = self.lay_out(region, rng)
        x_m, y_m = region.projection.to_m(lon=venues.lon, lat=venues.lat)
        pull = draw_popularities(self.venues, rng)
        spread = np.exp(rng.normal(-0.245, 0.7, population.size))  # mean 1
        number = np.maximum(1, np.round(self.mean_visits * spread)).astype(np.int64)
        person = np.repeat(np.arange(population.size), number)
        venue = _draw_venues(population=population, x_m=x_m, y_m=y_m, pull=pull, person=person, rng=rng)
        time_s = np.floor(rng.uniform(-self.days * _DAY_S, duration_s, person.size))
        order = np.lexsort((time_s, person))
        people = np.array([f"worker-{number:05d}" for number in range(population.size)], dtype=np.object_)
        return Histories(people, person[order], venue[order], time_s[order]), venues

    def lay_out(self, region: Region, rng: np.random.Generator) -> Venues:
        """Scatter venues around streets around districts around cities; names of areas follow from that alone."""
        city_at = _apart(region, self.cities, rng)
        size_m = min(region.width_m, region.height_m) / np.sqrt(self.cities)
        district_at = city_at[:, None] + rng.normal(0, 0.22 * size_m, (self.cities, self.districts, 2))
        shape = (self.cities, self.districts, self.streets, 2)
        street_at = district_at[:, :, None] + rng.normal(0, 0.08 * size_m, shape)
        pull = rng.exponential(1.0, self.cities) + 0.3
        city = rng.choice(self.cities, self.venues, p=pull / pull.sum())
        district = rng.integers(0, self.districts, self.venues)
        street = rng.integers(0, self.streets, self.venues)
        place = street_at[city, district, street] + rng.normal(0, 0.03 * size_m, (self.venues, 2))
        lon, lat = region.projection.to_lonlat(**_mirror_inside(place, region))
        share = np.array(list(self.categories.values()))
        names = np.array(list(self.categories), dtype=np.object_)
        category = names[rng.choice(share.size, self.venues, p=share / share.sum())]
        if self.second_category_share and share.size > 1:
            also = names[rng.choice(share.size, self.venues, p=share / share.sum())]
            both = (rng.random(self.venues) < self.second_category_share) & (also != category)
            category[both] = category[both] + CATEGORY_MARK + also[both]
        return Venues(
            _words(f"venue-{number:05d}" for number in range(self.venues)),
            lon,
            lat,
            {
                "city": _words(f"city {i + 1}" for i in city),
                "district": _words(f"district {i + 1}.{j + 1}" for i, j in zip(city, district, strict=True)),
                "street": _words(
                    f"street {i + 1}.{j + 1}.{k + 1}" for i, j, k in zip(city, district, street, strict=True)
                ),
            },
            category,
        )

    def public_levels(self) -> tuple[str, ...]:
        """Return city, district and street."""
        return LEVELS

    def public_categories(self) -> tuple[str, ...]:
        """Return the names given."""
        return tuple(self.categories)

    def public_venues(self) -> int:
        """Return the number given."""
        return self.venues


def draw_popularities(venues: int, rng: np.random.Generator, power: float = _TAIL) -> Array:
    """Return how popular each of so many venues is: it falls with the rank to a power, a long tail."""
    return np.asarray((rng.permutation(venues) + 3.0) ** -power, dtype=np.float64)


def _apart(region: Region, number: int, rng: np.random.Generator) -> Array:
    """Return places far from one another: each the best of a few at random."""
    west_m, south_m, east_m, north_m = region.box_m
    corner, sides = np.array([west_m, south_m]), np.array([east_m - west_m, north_m - south_m])
    found = [corner + sides * rng.uniform(0.2, 0.8, 2)]
    for _ in range(number - 1):
        tried = corner + sides * rng.uniform(0.12, 0.88, (_CANDIDATES, 2))
        away = np.min([np.hypot(*(tried - place).T) for place in found], axis=0)
        found.append(tried[np.argmax(away)])
    return np.array(found)


def _mirror_inside(place: Array, region: Region) -> dict[str, Array]:
    """Mirror places beyond an edge of the region back inside, so that none pile up at the edge."""
    west_m, south_m, east_m, north_m = region.box_m
    sides = np.array([[west_m, south_m], [east_m, north_m]])
    inside = np.where(place < sides[0], 2 * sides[0] - place, place)
    inside = np.where(inside > sides[1], 2 * sides[1] - inside, inside)
    x_m, y_m = region.clamp(inside[:, 0], inside[:, 1])
    return {"x_m": x_m, "y_m": y_m}


def _words(values: Iterable[str]) -> Names:
    return np.array(list(values), dtype=np.object_)


def _draw_venues(
    population: Population, x_m: Array, y_m: Array, pull: Array, person: Integers, rng: np.random.Generator
) -> Integers:
    """Draw the venue of every visit: a favourite, another place near home, or any place."""
    from scipy.spatial import cKDTree

    near = min(_NEAR, x_m.size)
    homes = np.column_stack([population.x_m, population.y_m])
    found = cKDTree(np.column_stack([x_m, y_m])).query(homes, k=np.arange(1, near + 1))
    away, known = np.asarray(found[0]), np.asarray(found[1])
    reach_m = np.maximum(away.mean(axis=1, keepdims=True), 1.0)
    weight = pull[known] * np.exp(-away / reach_m)
    rows = np.arange(population.size)
    own = np.column_stack([known[rows, _draw_columns(weight, rows, rng)] for _ in range(_FAVOURITES)])
    which = rng.random(person.size)
    favourite = own[person, rng.integers(0, _FAVOURITES, person.size)]
    nearby = known[person, _draw_columns(weight, person, rng)]
    anywhere = rng.choice(x_m.size, person.size, p=pull / pull.sum())
    return np.where(which < _HABIT, favourite, np.where(which < _HABIT + _NEARBY, nearby, anywhere)).astype(np.int64)


def _draw_columns(weight: Array, row: Integers, rng: np.random.Generator) -> Integers:
    """Draw a column for each of the given rows, with the row's weights."""
    summed = np.cumsum(weight, axis=1)
    summed = summed / summed[:, -1:]
    found = np.searchsorted((summed + np.arange(len(weight))[:, None]).ravel(), row + rng.random(row.size))
    return np.asarray(np.minimum(found - row * weight.shape[1], weight.shape[1] - 1), dtype=np.int64)
