"""The public catalogue: which items (venues) there are, and which categories each belongs to."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from geodp.errors import DataError
from geodp.tables.visits.histories import CATEGORY_MARK, Venues

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Catalogue:
    """Items and their categories, known to everyone.

    Parameters
    ----------
    membership
        Matrix C, items × categories: 1 where an item belongs to a category.
    categories
        Names of the categories; default their numbers.
    popularity
        Public share of people who have each item; default equal for all.
    typical_items
        Public average length of a history.
    """

    membership: Array
    categories: tuple[str, ...] = ()
    popularity: Array | None = None
    typical_items: float = 17.0
    remembered: dict[tuple[object, ...], Array] = field(default_factory=dict, repr=False)
    """Noise scales worked out for this catalogue before: they are public and the same for everyone who asks alike."""

    def __post_init__(self) -> None:
        table = check_membership(self.membership)
        object.__setattr__(self, "membership", table)
        if not self.categories:
            object.__setattr__(self, "categories", tuple(str(number) for number in range(table.shape[1])))
        if len(self.categories) != table.shape[1]:
            raise DataError(f"the catalogue names {len(self.categories)} categories and has {table.shape[1]} columns")
        if self.popularity is not None and np.shape(self.popularity) != (self.items,):
            raise DataError(f"the catalogue has {self.items} items and {np.size(self.popularity)} popularities")
        if not self.typical_items > 0:
            raise DataError(f"the typical number of items must be greater than 0, got {self.typical_items}")

    @property
    def items(self) -> int:
        """Number of items."""
        return int(self.membership.shape[0])

    @cached_property
    def prior(self) -> Array:
        """Public probability that a person has each item, with `typical_items` expected in total."""
        popularity = np.ones(self.items) if self.popularity is None else np.asarray(self.popularity, dtype=np.float64)
        share = popularity / max(float(popularity.sum()), 1e-300)
        return np.clip(share * self.typical_items, 1e-6, 1 - 1e-6)

    @cached_property
    def patterns(self) -> tuple[Array, Integers]:
        """Return the distinct rows of C and the pattern of every item: items of one pattern are interchangeable."""
        rows, pattern = np.unique(self.membership, axis=0, return_inverse=True)
        return rows, pattern.reshape(-1).astype(np.int64)


def check_membership(membership: npt.ArrayLike) -> Array:
    """Return C as doubles, or refuse it."""
    table = np.asarray(membership, dtype=np.float64)
    if table.ndim != 2 or 0 in table.shape:
        raise DataError(f"categories must be a matrix of items × categories, got shape {table.shape}")
    if not np.isin(table, (0.0, 1.0)).all():
        raise DataError("a matrix of categories holds 0 and 1 only: an item belongs to a category or it does not")
    without = np.flatnonzero(table.sum(axis=1) == 0)
    if without.size:
        raise DataError(
            f"{without.size} items have no category (the first is item {without[0]}): give each at least one, such as "
            "'other'. Nothing was released or charged."
        )
    return table


def golden_catalogue() -> Catalogue:
    """Return five items in five categories that give all the numbers of EpicRec's figure 4."""
    rows = ["11100", "00110", "10001", "10110", "11000"]
    return Catalogue(np.array([[float(digit) for digit in row] for row in rows]), typical_items=2.0)


def venue_catalogue(venues: Venues, typical_items: float) -> Catalogue:
    """Return the public list of venues as a catalogue; a venue may have several categories (`café|bar`)."""
    if venues.category is None:
        raise DataError("the public list of venues has no categories: phones cannot tell anything by category")
    named = [[] if names is None else str(names).split(CATEGORY_MARK) for names in venues.category]
    known = sorted({name for names in named for name in names})
    place = {name: number for number, name in enumerate(known)}
    table = np.zeros((venues.size, len(known)))
    for item, names in enumerate(named):
        table[item, [place[name] for name in names]] = 1.0
    return Catalogue(table, tuple(known), typical_items=typical_items)
