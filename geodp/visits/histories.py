"""Histories of visits with repeats: who was where, beside the public list of venues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from geodp.errors import DataError
from geodp.geometry import Array, Region

Integers = npt.NDArray[np.int64]
Names = npt.NDArray[np.object_]
CATEGORY_MARK = "|"
"""Stands between the categories of a venue that has several."""


@dataclass(frozen=True, eq=False)
class Venues:
    """The public list of venues: names, places, levels of the hierarchy (coarsest first) and categories."""

    name: Names
    lon: Array
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
        if bad.any():
            raise DataError(
                f"{np.count_nonzero(bad):,} venues have no place on earth (the first is '{self.name[np.argmax(bad)]}')"
            )
        if len(set(self.name.tolist())) != len(self.name):
            raise DataError("the venue list names a venue twice: every venue needs a name of its own")

    @property
    def size(self) -> int:
        """Number of venues."""
        return len(self.name)

    def chosen(self, keep: npt.NDArray[np.bool_]) -> Venues:
        """Return the list with some of the venues only."""
        levels = {name: values[keep] for name, values in self.levels.items()}
        category = None if self.category is None else self.category[keep]
        return Venues(self.name[keep], self.lon[keep], self.lat[keep], levels, category)

    def region(self) -> Region:
        """Return a box around all venues (public, because the list is), a little wider than they are."""
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

    def numbers_of(self, names: Sequence[object] | Names) -> Integers:
        """Return the number of each named venue; -1 for names that are not in the list."""
        known = {name: number for number, name in enumerate(self.name.tolist())}
        return np.array([known.get(name, -1) for name in names], dtype=np.int64)


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

    def capped(self, cap: int) -> Histories:
        """Return the histories in which everyone keeps their first `cap` visits: their own alone decide which."""
        order = np.argsort(self.person, kind="stable")
        starts = np.searchsorted(self.person[order], np.arange(len(self.people)))
        rank = np.empty(self.size, dtype=np.int64)
        rank[order] = np.arange(self.size) - starts[self.person[order]]
        kept = rank < cap
        times = None if self.time_s is None else self.time_s[kept]
        return Histories(self.people, self.person[kept], self.venue[kept], times)
