"""Tables of visits with a given shape (rows, columns, largest row, mean count): stand-ins for data of the papers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geodp.errors import UsageError
from geodp.tables.visits.histories import Integers
from geodp.tables.visits.visit_sets import VisitSets, visit_sets

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


def shaped_table(shape: Shape, rng: np.random.Generator) -> VisitSets:
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
        drawn = who * shape.columns + np.minimum(np.searchsorted(weight, rng.random(who.size)), shape.columns - 1)
        new = np.unique(drawn)
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
