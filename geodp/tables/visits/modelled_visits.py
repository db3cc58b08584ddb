"""Visits of a given shape without the visits: row sizes and column counts, from which publications draw what they need.

Where venues are drawn independently of how many a user has, the counts, the row sizes and the two kinds of samples have
simple laws. They stand for hundreds of millions of visits in the memory of one row and one column.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np

from geodp.errors import UsageError
from geodp.geometry import Array
from geodp.tables.visits.data_shapes import Shape, row_sizes
from geodp.tables.visits.histories import Integers

if TYPE_CHECKING:
    from geodp.tables.visits.visit_sets import VisitSets

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

    def summed(self, measure: Callable[[VisitSets], T]) -> T:
        """Measure the only piece."""
        return measure(cast("VisitSets", self))

    def counts(self) -> Integers:
        """Return how many users visited each venue."""
        return self.count

    def sizes_up_to(self, most: int) -> Integers:
        """Return how many users have 0, 1, …, `most` venues (those with more count at `most`)."""
        return np.bincount(np.minimum(self.size, most), minlength=most + 1)

    def capped(self, cap: int, key: bytes) -> ModelledVisits:  # noqa: ARG002 - as `VisitSets`
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

    def weighted(self, weight: Array) -> Array:
        """Return the sum of the weights of each venue's users: that of a user who is drawn by their visits."""
        return np.asarray(self.count * (float(np.dot(weight, self.size)) / float(self.size.sum())))


def modelled_visits(shape: Shape, rng: np.random.Generator) -> ModelledVisits:
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
