"""Who visited which venues, as sets: a sparse binary matrix with a row per user and a column per public venue.

Rules that look at one user's rows alone (the cap, the sample) follow from a key and that user's name, not from a
generator: they give the same result however the users are spread over files, processes or machines.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from geodp.errors import DataError
from geodp.geometry import Array
from geodp.privacy.keyed_choice import hash_users, user_words
from geodp.streams import GOLDEN, Words, mix_bits, uniforms
from geodp.tables.visits.histories import Histories, Integers

T = TypeVar("T")

LEAST_RATE = 2.0**-53
"""Users are sampled at multiples of this rate; at lower rates nobody is taken."""
_AT_ONCE = 1 << 23
"""Visits that are looked at together."""


class VisitTable(Protocol):
    """Visits of everyone, in one piece or in many; every user is whole in one piece."""

    @property
    def venues(self) -> int:
        """Number of public venues (columns)."""
        ...

    def sum_pieces(self, measure: Callable[[VisitSets], T]) -> T:
        """Return the sum over all pieces of what is measured on each (arrays or numbers)."""
        ...


@dataclass(frozen=True, eq=False)
class VisitSets:
    """Users and the venues each of them visited, each venue once: one piece of a table, or all of it."""

    start: Integers
    """Where the venues of each user begin in `venue`; one entry more than there are users."""
    venue: npt.NDArray[np.int32]
    """Venues by number in the public list, user after user."""
    user: Words
    """A number of each user that seeds what is drawn for that user; nothing else depends on it."""
    venues: int
    """Number of public venues."""

    @property
    def users(self) -> int:
        """Number of users (private)."""
        return int(self.start.size - 1)

    @property
    def size(self) -> Integers:
        """Number of venues of each user."""
        return np.diff(self.start)

    def sum_pieces(self, measure: Callable[[VisitSets], T]) -> T:
        """Measure some users at a time: what is made on the way stays small, however many visits there are."""
        first, *more = self._pieces()
        total = measure(first)
        for piece in more:
            total = operator.add(total, measure(piece))
        return total

    def _pieces(self) -> list[VisitSets]:
        """Return views of the table, each of whole users and of about `_AT_ONCE` visits."""
        if self.venue.size <= _AT_ONCE:
            return [self]
        wanted = np.arange(_AT_ONCE, self.venue.size, _AT_ONCE)
        ends = np.unique(np.concatenate([[0], np.searchsorted(self.start, wanted), [self.users]]))
        return [
            VisitSets(
                self.start[low : high + 1] - self.start[low],
                self.venue[self.start[low] : self.start[high]],
                self.user[low:high],
                self.venues,
            )
            for low, high in pairwise(ends.tolist())
        ]

    def counts(self) -> Integers:
        """Return how many users visited each venue."""
        return np.bincount(self.venue, minlength=self.venues)

    def sum_weights(self, weight: Array) -> Array:
        """Return the sum of the weights of the users who visited each venue."""
        summed = np.bincount(self.venue, weights=np.repeat(weight, self.size), minlength=self.venues)
        return np.asarray(summed, dtype=np.float64)

    def sizes_up_to(self, most: int) -> Integers:
        """Return how many users have 0, 1, …, `most` venues (those with more count at `most`)."""
        return np.bincount(np.minimum(self.size, most), minlength=most + 1)

    def keep(self, mask: npt.NDArray[np.bool_]) -> VisitSets:
        """Return the table with some of its visits only."""
        total = np.concatenate([[0], np.cumsum(mask)])
        return VisitSets(total[self.start], self.venue[mask], self.user, self.venues)

    def keep_at_most(self, cap: int, key: bytes) -> VisitSets:
        """Return the table in which every user keeps at most `cap` venues, drawn by the key and that user alone.

        Under any key the rule looks at nobody else, so one user changes the counts by at most `cap`.
        """
        large = self.size > cap
        if not large.any():
            return self
        mask = np.repeat(~large, self.size)
        rows, sizes = np.flatnonzero(~mask), self.size[large]
        seed = np.repeat(hash_users(self.user[large], key), sizes)
        priority = mix_bits(seed ^ (self.venue[rows].astype(np.uint64) * GOLDEN))
        mask[rows] = first_of_each(priority, sizes, cap)
        return self.keep(mask)

    def one_each(self, key: bytes) -> Integers:
        """Count one venue of every user, each equally likely: the sample of columns (Kellaris & Papadopoulos 3.2)."""
        some = self.size > 0
        lot = uniforms(hash_users(self.user[some], key))
        place = np.minimum((lot * self.size[some]).astype(np.int64), self.size[some] - 1)
        return np.bincount(self.venue[self.start[:-1][some] + place], minlength=self.venues)

    def rows_sampled(self, rate: float, key: bytes) -> Integers:
        """Count the venues of users who are each taken with probability `rate`: the sample of rows.

        The rate is rounded down to a multiple of `LEAST_RATE`: a user taken more often than stated would be hidden less
        than stated, however tiny the rate.
        """
        taken = uniforms(hash_users(self.user, key)) + LEAST_RATE <= rate
        return self.keep(np.repeat(taken, self.size)).counts()


def visit_sets(user: Words, number: Integers, venue: npt.NDArray[np.integer], venues: int) -> VisitSets:
    """Build the table from visits: user number (from 0) and venue of each; repeated visits count once.

    Parameters
    ----------
    user
        The seed of each user.
    number, venue
        User and venue of each visit, by number.
    venues
        Number of public venues.
    """
    if venue.size and not (venue.min() >= 0 and venue.max() < venues):
        raise DataError("a visit names a venue that is not in the public list. Nothing was released or charged.")
    return sets_of_sorted(user, distinct(number.astype(np.int64) * venues + venue), venues)


def sets_of_sorted(user: Words, visits: Integers, venues: int) -> VisitSets:
    """Build the table from visits as sorted numbers without repeats: user number × `venues` + venue."""
    start = np.searchsorted(visits, np.arange(user.size + 1) * venues)
    venue = np.empty(visits.size, dtype=np.int32)
    np.remainder(visits, max(venues, 1), out=venue, casting="unsafe")
    return VisitSets(start, venue, user, venues)


def distinct(numbers: Integers) -> Integers:
    """Sort numbers in place, and return each of them once (sorting is much faster here than hashing)."""
    numbers.sort()
    again = numbers[1:] == numbers[:-1]
    return numbers[np.concatenate([[True], ~again])] if again.any() else numbers


def first_of_each(priority: Words, sizes: Integers, cap: int) -> npt.NDArray[np.bool_]:
    """Tell which visits are among the `cap` first of their user by priority; every user has at least `cap`.

    Words that begin with the user's number are sorted as a whole, which is many times faster than ordering visits by
    two keys, and show the last word that each user keeps.
    """
    bits = max(int(sizes.size - 1).bit_length(), 1)
    number = np.repeat(np.arange(sizes.size, dtype=np.uint64), sizes)
    word = (number << np.uint64(64 - bits)) | (priority >> np.uint64(bits))
    begins = np.cumsum(sizes) - sizes
    kept = np.asarray(word <= np.repeat(np.sort(word)[begins + cap - 1], sizes))
    # The last bits of a priority are not in its word: who has several of the last word is looked at in full.
    for user in np.flatnonzero(np.add.reduceat(kept, begins, dtype=np.int64) > cap):
        own = slice(begins[user], begins[user] + sizes[user])
        rank = np.argsort(np.argsort(priority[own], kind="stable"), kind="stable")
        kept[own] = rank < cap
    return kept


def sets_of(histories: Histories, venues: int) -> VisitSets:
    """Return who visited what, without repeats."""
    return visit_sets(user_words(histories.people), histories.person, histories.venue, venues)
