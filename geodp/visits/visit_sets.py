"""Who visited which venues, as sets: a sparse binary matrix with a row per user and a column per public venue.

Rules that look at one user's rows alone (the cap, the sample) follow from a key and that user's name, not from a
generator: they give the same result however the users are spread over files, processes or machines.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from geodp.errors import DataError
from geodp.geometry import Array
from geodp.privacy.noise import Noise
from geodp.visits.histories import Histories, Integers

Words = npt.NDArray[np.uint64]
T = TypeVar("T")

LEAST_RATE = 2.0**-53
"""Users are sampled at multiples of this rate; at lower rates nobody is taken."""
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: spreads consecutive keys
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)  # the two multipliers of the SplitMix64 finaliser
_MIX_2 = np.uint64(0x94D049BB133111EB)


class VisitTable(Protocol):
    """Visits of everyone, in one piece or in many; every user is whole in one piece."""

    @property
    def venues(self) -> int:
        """Number of public venues (columns)."""
        ...

    def summed(self, measure: Callable[[VisitSets], T]) -> T:
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

    def summed(self, measure: Callable[[VisitSets], T]) -> T:
        """Measure the only piece."""
        return measure(self)

    def counts(self) -> Integers:
        """Return how many users visited each venue."""
        return np.bincount(self.venue, minlength=self.venues)

    def weighted(self, weight: Array) -> Array:
        """Return the sum of the weights of the users who visited each venue."""
        summed = np.bincount(self.venue, weights=np.repeat(weight, self.size), minlength=self.venues)
        return np.asarray(summed, dtype=np.float64)

    def sizes_up_to(self, most: int) -> Integers:
        """Return how many users have 0, 1, …, `most` venues (those with more count at `most`)."""
        return np.bincount(np.minimum(self.size, most), minlength=most + 1)

    def kept(self, mask: npt.NDArray[np.bool_]) -> VisitSets:
        """Return the table with some of its visits only."""
        total = np.concatenate([[0], np.cumsum(mask)])
        return VisitSets(total[self.start], self.venue[mask], self.user, self.venues)

    def capped(self, cap: int, key: bytes) -> VisitSets:
        """Return the table in which every user keeps at most `cap` venues, drawn by the key and that user alone.

        Under any key the rule looks at nobody else, so one user changes the counts by at most `cap`.
        """
        large = self.size > cap
        if not large.any():
            return self
        number = np.repeat(np.arange(self.users), self.size)
        rows = np.flatnonzero(large[number])  # only users above the cap are sorted
        order = np.lexsort((self._priority(rows, number, key), number[rows]))
        begins = np.cumsum(self.size[large]) - self.size[large]
        rank = np.arange(rows.size) - np.repeat(begins, self.size[large])
        mask = np.ones(self.venue.size, dtype=np.bool_)
        mask[rows[order]] = rank < cap
        return self.kept(mask)

    def one_each(self, key: bytes) -> Integers:
        """Count one venue of every user, each equally likely: the sample of columns (Kellaris & Papadopoulos 3.2)."""
        some = self.size > 0
        drawn = _uniform(keyed(self.user[some], key))
        place = np.minimum((drawn * self.size[some]).astype(np.int64), self.size[some] - 1)
        return np.bincount(self.venue[self.start[:-1][some] + place], minlength=self.venues)

    def rows_sampled(self, rate: float, key: bytes) -> Integers:
        """Count the venues of users who are each taken with probability `rate`: the sample of rows.

        The rate is rounded down to a multiple of `LEAST_RATE`: a user taken more often than stated would be hidden less
        than stated, however tiny the rate.
        """
        taken = _uniform(keyed(self.user, key)) + LEAST_RATE <= rate
        return self.kept(np.repeat(taken, self.size)).counts()

    def _priority(self, rows: Integers, number: Integers, key: bytes) -> Words:
        """Return a number for each visit that follows from the key, the user and the venue."""
        large, place = np.unique(number[rows], return_inverse=True)
        seed = keyed(self.user[large], key)[place]
        return mixed(seed ^ (self.venue[rows].astype(np.uint64) * _GOLDEN))


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
    pair = number.astype(np.int64) * venues + venue
    pair.sort()
    if pair.size:
        pair = pair[np.concatenate([[True], pair[1:] != pair[:-1]])]
    of = pair // venues
    start = np.searchsorted(of, np.arange(user.size + 1))
    return VisitSets(start, (pair - of * venues).astype(np.int32), user, venues)


def sets_of(histories: Histories, venues: int) -> VisitSets:
    """Return who visited what, without repeats."""
    return visit_sets(user_words(histories.people), histories.person, histories.venue, venues)


def user_words(names: npt.ArrayLike) -> Words:
    """Return a 64-bit number for each name, the same in every process and on every machine."""
    digests = b"".join(
        hashlib.blake2b(str(name).encode(), digest_size=8).digest() for name in np.asarray(names).tolist()
    )
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def draw_key(noise: Noise) -> bytes:
    """Draw a secret key of 256 bits from the noise source."""
    words = (noise.uniform(8) * 2.0**32).astype("<u4")
    return words.tobytes()


def keyed(user: Words, key: bytes) -> Words:
    """Return 64 bits per user that follow from the key and the user (keyed BLAKE2b: unpredictable without the key)."""
    text = np.ascontiguousarray(user, dtype="<u8").tobytes()
    digests = b"".join(
        hashlib.blake2b(text[at : at + 8], digest_size=8, key=key).digest() for at in range(0, len(text), 8)
    )
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def mixed(state: Words) -> Words:
    """Spread 64-bit words evenly (the finaliser of SplitMix64)."""
    state = (state ^ (state >> np.uint64(30))) * _MIX_1
    state = (state ^ (state >> np.uint64(27))) * _MIX_2
    return state ^ (state >> np.uint64(31))


def _uniform(words: Words) -> Array:
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
