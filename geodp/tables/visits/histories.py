"""Histories of visits with repeats: who was where, beside the public list of venues; what is published of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.errors import DataError
from geodp.geometry import Array, Region
from geodp.privacy.keyed_choice import hash_users, user_words
from geodp.public.guarantee import Guarantee
from geodp.streams import GOLDEN, mix_bits
from geodp.tables.caps import keep_first, rank_in_groups
from geodp.tables.visits.space_order import space_order

Integers = npt.NDArray[np.int64]
Names = npt.NDArray[np.object_]
CATEGORY_MARK = "|"
"""Stands between the categories of a venue that has several."""


@dataclass(frozen=True, eq=False)
class Venues:
    """The public list of venues: names, places, levels of the hierarchy (coarsest first) and categories."""

    name: Names
    lon: Array
    """Longitudes (degrees); NaN throughout, as `lat`, where the list has no places."""
    lat: Array
    levels: Mapping[str, Names] = field(default_factory=dict)
    category: Names | None = None

    def __post_init__(self) -> None:
        columns = [self.lon, self.lat, *self.levels.values(), *([] if self.category is None else [self.category])]
        if any(len(column) != len(self.name) for column in columns):
            raise DataError("the columns of the venue list have unlike lengths")
        if not len(self.name):
            raise DataError("the venue list is empty")
        bad = ~((np.abs(self.lon) <= 180) & (np.abs(self.lat) <= 90))
        if self.placed and bad.any():
            raise DataError(
                f"{np.count_nonzero(bad):,} venues have no place on earth (the first is '{self.name[np.argmax(bad)]}')"
            )
        if len(set(self.name.tolist())) != len(self.name):
            raise DataError("the venue list names a venue twice: every venue needs a name of its own")

    @property
    def size(self) -> int:
        """Number of venues."""
        return len(self.name)

    @property
    def placed(self) -> bool:
        """Whether the list says where its venues are."""
        return not (np.isnan(self.lon).all() and np.isnan(self.lat).all())

    def select(self, keep: npt.NDArray[np.bool_]) -> Venues:
        """Return the list with some of the venues only."""
        levels = {name: values[keep] for name, values in self.levels.items()}
        category = None if self.category is None else self.category[keep]
        return Venues(self.name[keep], self.lon[keep], self.lat[keep], levels, category)

    def region(self) -> Region:
        """Return a box a little wider than all venues (public, because the list is); the world where none is placed."""
        if not self.placed:
            return Region(-180.0, -85.0, 180.0, 85.0)
        margin = 1e-4
        return Region(
            float(self.lon.min()) - margin,
            float(self.lat.min()) - margin,
            float(self.lon.max()) + margin,
            float(self.lat.max()) + margin,
        )

    def places_m(self) -> tuple[Array, Array]:
        """Return the places in metres around the middle of the list."""
        return self.region().projection.to_m(lon=self.lon, lat=self.lat)

    def order(self) -> Integers | None:
        """Return the venues in an order in which neighbours are near each other, where places are known."""
        return space_order(*self.places_m()) if self.placed else None

    @cached_property
    def _words(self) -> Any:
        import pyarrow as pa

        return pa.array(self.name, pa.string())

    def numbers_of(self, names: Any) -> Integers:
        """Return the number of each named venue (words, also a pyarrow array of them); -1 for names not in the list."""
        import pyarrow as pa
        import pyarrow.compute as pc

        words = names if isinstance(names, pa.Array) else pa.array(names, pa.string(), from_pandas=True)
        found = pc.index_in(words, value_set=self._words)
        return np.asarray(pc.fill_null(found, -1), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Histories:
    """Visits of people, in no particular order; a person may visit a venue many times."""

    people: Names
    """Names of the people. They are public; a person's visits are not."""
    person: Integers
    """Person of each visit, by number."""
    venue: Integers
    """Venue of each visit, by number in the public list."""
    time_s: Array | None = None

    def __post_init__(self) -> None:
        if self.person.shape != self.venue.shape:
            raise DataError("a visit needs a person and a venue")
        if self.person.size and not (self.person.min() >= 0 and self.person.max() < len(self.people)):
            raise DataError("a visit names a person who is not there")

    @property
    def size(self) -> int:
        """Number of visits (private)."""
        return int(self.venue.size)

    def choose_people(self, people: Integers) -> Histories:
        """Return the visits of some people, who are numbered anew in the order given."""
        place = np.full(len(self.people), -1, dtype=np.int64)
        place[people] = np.arange(people.size)
        theirs = place[self.person] >= 0
        time_s = None if self.time_s is None else self.time_s[theirs]
        return Histories(self.people[people], place[self.person[theirs]], self.venue[theirs], time_s)

    def find_visited(self, venues: int, until_s: float) -> npt.NDArray[np.bool_]:
        """Return which of so many venues each person had been to by a time (visits without a time count)."""
        flags = np.zeros((len(self.people), venues), dtype=np.bool_)
        known = slice(None) if self.time_s is None else self.time_s <= until_s
        flags[self.person[known], self.venue[known]] = True
        return flags

    def keep_at_most(self, cap: int, key: bytes = b"", *, blind: bool = False) -> Histories:
        """Return the histories in which everyone keeps `cap` visits, by chance: the first ones are no better.

        The key, the person, the venue and which visit to it this is decide, hence the person's own visits alone,
        in whatever order. One visit more takes the place of at most one other.

        Parameters
        ----------
        cap
            How many visits everyone keeps at most.
        key
            A secret key.
        blind
            Choose by the order of the visits instead of by their venues: then a visit that moves changes no choice.
        """
        venue = np.zeros_like(self.venue) if blind else self.venue
        again = rank_in_groups(self.person * (int(venue.max(initial=0)) + 1) + venue)
        seed = hash_users(user_words(self.people), key)[self.person]
        chance = mix_bits(seed ^ mix_bits(venue.astype(np.uint64) * GOLDEN + again.astype(np.uint64)))
        kept = keep_first(self.person, chance, cap)
        times = None if self.time_s is None else self.time_s[kept]
        return Histories(self.people, self.person[kept], self.venue[kept], times)


@dataclass(frozen=True, eq=False)
class ReleasedVisits:
    """Visits as published: per person an unordered multiset of places, here sorted by person, then place."""

    people: Names
    person: Integers
    venue: Integers
    """Venue of each published visit by number in the public list; -1 where a place is no venue (a centroid)."""
    x_m: Array
    y_m: Array
    mechanism: str
    guarantee: Guarantee
    cluster: Integers | None = None
    """Public cluster of every venue of the list, where there are clusters."""


@dataclass(frozen=True, eq=False)
class Replacements:
    """Truth: which place took the place of which. Never published."""

    person: Integers
    true_venue: Integers
    """The visit behind a published one; for added visits the place that pads."""
    released_venue: Integers
    survived: npt.NDArray[np.bool_]
    """False for visits that were added to reach the noisy number."""
    x_m: Array
    y_m: Array
    """Published places."""


@dataclass(frozen=True, eq=False)
class VenueCounts:
    """Noisy numbers of users per venue."""

    count: Array
    """One number per venue of the public list, in its order."""
    mechanism: str
    guarantee: Guarantee
    facts: Mapping[str, float] = field(default_factory=dict)
    """What was settled on the way and paid for (group width, threshold, noise scale): as public as the counts."""
