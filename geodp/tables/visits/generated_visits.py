"""Visits without any data: believable histories, tables of a given shape, and shapes known by their margins alone."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar, cast

import numpy as np
import numpy.typing as npt

from geodp.errors import UsageError
from geodp.geometry import Array
from geodp.tables.visits.histories import Histories, Integers, Venues
from geodp.tables.visits.visit_sets import VisitSets, visit_sets

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


def generate_histories(sizes: Sizes, rng: np.random.Generator) -> tuple[Histories, Venues]:
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


_MOST_ROUNDS = 12
_FEW = 200_000


@dataclass(frozen=True)
class Shape:
    """What a paper tells about a data set."""

    rows: int
    """Users."""
    columns: int
    """Venues (items, words)."""
    largest: int
    """Most venues of one user (Δ)."""
    mean_count: float
    """Mean number of users per venue."""
    tail: float = 0.9
    """Popularity falls with the rank to this power."""

    def __post_init__(self) -> None:
        if min(self.rows, self.columns, self.largest) < 1 or self.largest > self.columns:
            raise UsageError("a shape needs rows, columns, and a largest row within the columns")
        if not self.rows <= self.entries <= self.rows * self.largest:
            raise UsageError(
                f"no table of {self.rows} rows up to {self.largest} has a mean count of {self.mean_count:g}"
            )

    @property
    def entries(self) -> int:
        """Visits in all."""
        return round(self.columns * self.mean_count)


def draw_shaped_table(shape: Shape, rng: np.random.Generator) -> VisitSets:
    """Draw a table of a shape: row sizes are lognormal up to the largest, venues are drawn by popularity.

    A row's venues are drawn with replacement, again for what repeats, a dozen times at most; what long rows then still
    lack (a few in a thousand visits) is left out, but for the longest row, which has exactly its size.
    """
    size = row_sizes(shape, rng)
    weight = np.cumsum((np.arange(shape.columns) + 2.0) ** -shape.tail)
    weight /= weight[-1]
    pair = np.empty(0, dtype=np.int64)
    lacking = size.copy()
    for _ in range(_MOST_ROUNDS):
        who = np.repeat(np.arange(shape.rows), lacking)
        pairs = who * shape.columns + np.minimum(np.searchsorted(weight, rng.random(who.size)), shape.columns - 1)
        new = np.unique(pairs)
        pair = np.concatenate([pair, new[~_among(new, pair)]])
        pair.sort(kind="stable")  # two sorted runs: merged, not sorted again
        lacking = size - np.bincount(pair // shape.columns, minlength=shape.rows)
        if lacking.sum() <= 0.002 * size.sum():
            break
    longest = int(np.argmax(size)) * shape.columns
    own = pair[(pair >= longest) & (pair < longest + shape.columns)] - longest
    rest = np.setdiff1d(np.arange(shape.columns), own)[: shape.largest - own.size]
    pair = np.concatenate([pair, longest + rest])
    users = rng.permutation(shape.rows).astype(np.uint64)
    place = rng.permutation(shape.columns)  # the order of the list tells nothing about popularity
    return visit_sets(users, pair // shape.columns, place[pair % shape.columns], shape.columns)


def _among(values: Integers, ordered: Integers) -> npt.NDArray[np.bool_]:
    """Tell which values are among the ordered ones."""
    if not ordered.size:
        return np.zeros(values.size, dtype=np.bool_)
    place = np.minimum(np.searchsorted(ordered, values), ordered.size - 1)
    return np.asarray(ordered[place] == values)


def row_sizes(shape: Shape, rng: np.random.Generator) -> Integers:
    """Return lognormal row sizes from 1 to the largest, one of which is the largest, with the right mean."""
    spread = rng.normal(0.0, 1.0, shape.rows)
    some, mean = spread[:_FEW], shape.entries / shape.rows
    low, high = -20.0, 20.0
    for _ in range(60):  # the shift that gives the mean, found on some of the rows
        middle = (low + high) / 2
        low, high = (middle, high) if np.clip(np.exp(some + middle), 1, shape.largest).mean() < mean else (low, middle)
    sizes = np.clip(np.exp(spread + low), 1, shape.largest)
    found = np.clip(np.floor(sizes + rng.random(shape.rows)).astype(np.int64), 1, shape.largest)
    found[np.argmax(found)] = shape.largest
    return found


GS_SHAPES = {
    "checkin": Shape(196_591, 5_977_758, 2_175, 1.08),
    "document": Shape(8_200_000, 141_043, 436, 5_175.72),
    "netflix": Shape(480_189, 17_770, 17_000, 5_654.50),
    "trajectory": Shape(62_956, 14_021, 55, 43.54),
}
"""Table 2 of Kellaris & Papadopoulos 2013."""
DPSENSE_SHAPES = {
    "netflix": Shape(480_189, 17_770, 17_653, 5_654.50),
    "transaction": Shape(515_597, 1_657, 164, 2_031.99),
    "movielens": Shape(71_567, 10_681, 7_359, 936.25),
    "document": Shape(8_200_000, 141_043, 436, 3_427.68),
    "aol": Shape(657_426, 46_176, 27_027, 498.85),
    "kosarak": Shape(990_002, 41_270, 2_497, 194.31),
}
"""Table 2 of Day & Li 2015."""


T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class ModelledVisits:
    """A table of visits known by its margins; every method has the law of that of `VisitSets`."""

    size: Integers
    """Venues of each user."""
    count: Integers
    """Users of each venue."""

    @property
    def users(self) -> int:
        """Number of users."""
        return int(self.size.size)

    @property
    def venues(self) -> int:
        """Number of venues."""
        return int(self.count.size)

    def sum_pieces(self, measure: Callable[[VisitSets], T]) -> T:
        """Measure the only piece."""
        return measure(cast("VisitSets", self))

    def counts(self) -> Integers:
        """Return how many users visited each venue."""
        return self.count

    def sizes_up_to(self, most: int) -> Integers:
        """Return how many users have 0, 1, …, `most` venues (those with more count at `most`)."""
        return np.bincount(np.minimum(self.size, most), minlength=most + 1)

    def keep_at_most(self, cap: int, key: bytes) -> ModelledVisits:  # noqa: ARG002 - as `VisitSets`
        """Return the table itself; a cap below the longest row would need the visits."""
        if cap < int(self.size.max()):
            raise UsageError("modelled visits know no single users: the cap must be the longest row")
        return self

    def one_each(self, key: bytes) -> Integers:
        """Draw one venue of every user: multinomial, by the counts."""
        return _generator(key).multinomial(self.users, self.count / self.count.sum())

    def rows_sampled(self, rate: float, key: bytes) -> Integers:
        """Draw the counts of users taken with probability `rate` each: binomial."""
        return _generator(key).binomial(self.count, rate)

    def sum_weights(self, weight: Array) -> Array:
        """Return the sum of the weights of each venue's users: that of a user who is drawn by their visits."""
        return np.asarray(self.count * (float(np.dot(weight, self.size)) / float(self.size.sum())))


def model_visits(shape: Shape, rng: np.random.Generator) -> ModelledVisits:
    """Draw row sizes and counts of a shape: popularity falls with the rank, and nobody visits a venue twice."""
    size = row_sizes(shape, rng)
    weight = (np.arange(shape.columns) + 2.0) ** -shape.tail
    low, high = 0.0, shape.rows / weight.min()
    for _ in range(50):  # the factor at which counts, none above the number of users, have the right sum
        middle = (low + high) / 2
        total = np.minimum(middle * weight, shape.rows).sum()
        low, high = (middle, high) if total < shape.entries else (low, middle)
    chance = np.minimum(low * weight / shape.rows, 1.0)
    return ModelledVisits(size, rng.permutation(rng.binomial(shape.rows, chance)))


def _generator(key: bytes) -> np.random.Generator:
    return np.random.default_rng(int.from_bytes(hashlib.blake2b(key, digest_size=16).digest(), "little"))
