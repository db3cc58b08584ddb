"""A public tree over a box, its metric, and the law of reports that are obfuscated along it.

The box is halved both ways again and again, down to leaves (a quadtree: a hierarchically separated tree whose cuts are
fixed and public). Two leaves whose smallest common square spans 2^i leaves a side are `diagonal·(2^i - 1)` metres apart
along the tree, where `diagonal` is that of a leaf. That is never less than the distance between their centres as the
crow flies (equal between opposite corners), and may be far more: neighbours on either side of the first cut are as far
apart as the tree is wide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from geodp.errors import DataError, OldMethod, UsageError
from geodp.geometry import Array, Grid
from geodp.public.channels import Box, FiniteChannel

Ids = npt.NDArray[np.int64]
MOST_LEVELS = 12
"""16.8 million leaves: more are too many to look at one by one."""
_ANGLES = 720


@dataclass(frozen=True)
class PublicTree:
    """Leaves in 2^levels columns and as many rows over a box; leaf = row · 2^levels + column.

    Parameters
    ----------
    box_m
        West, south, east and north edge, metres.
    levels
        How often the box is halved both ways.

    Examples
    --------
    >>> from geodp.public.tree_metric import PublicTree
    >>> tree = PublicTree((0.0, 0.0, 800.0, 800.0), levels=3)
    >>> [round(far) for far in tree.distance_m]
    [0, 141, 424, 990]
    """

    box_m: Box
    levels: int

    @classmethod
    def over(cls, box_m: Box, leaf_m: float) -> PublicTree:
        """Return the tree whose leaves have sides of at most `leaf_m`."""
        side = max(box_m[2] - box_m[0], box_m[3] - box_m[1])
        levels = max(0, math.ceil(math.log2(side / leaf_m) - 1e-9))
        if levels > MOST_LEVELS:
            least = side / 2**MOST_LEVELS
            raise DataError(
                f"a tree over {side:,.0f} m with leaves of {leaf_m:g} m has {levels} levels; at most {MOST_LEVELS}: "
                f"use leaves of {least:.3g} m or more, or a smaller region"
            )
        return cls(box_m, levels)

    @cached_property
    def grid(self) -> Grid:
        """The leaves as cells of a grid."""
        west, south, east, north = self.box_m
        side = 2**self.levels
        return Grid(
            west_m=west,
            south_m=south,
            cell_x_m=(east - west) / side,
            cell_y_m=(north - south) / side,
            columns=side,
            rows=side,
        )

    @cached_property
    def distance_m(self) -> Array:
        """Distance along the tree by the level at which two leaves meet, 0 to `levels`."""
        diagonal = math.hypot(self.grid.cell_x_m, self.grid.cell_y_m)
        return np.asarray(diagonal * (2.0 ** np.arange(self.levels + 1) - 1))

    @cached_property
    def ring(self) -> Array:
        """How many leaves meet a given one at each level: itself, then three quarters of each larger square."""
        return np.array([1.0] + [3.0 * 4.0 ** (level - 1) for level in range(1, self.levels + 1)])

    def locate(self, x_m: npt.ArrayLike, y_m: npt.ArrayLike) -> Ids:
        """Return the leaf of each place; places outside the box belong to the nearest leaf."""
        west, south, east, north = self.box_m
        return self.grid.locate(np.clip(x_m, west, east), np.clip(y_m, south, north))

    def centres(self, leaf: Ids) -> tuple[Array, Array]:
        """Return where leaves have their centre."""
        x, y = self.grid.centres()
        return x[leaf & (self.grid.columns - 1)], y[leaf >> self.levels]

    def find_meeting_level(self, leaf: npt.ArrayLike, other: npt.ArrayLike) -> Ids:
        """Return at which level two leaves meet: 0 where they are the same."""
        apart = np.asarray(leaf, dtype=np.int64) ^ np.asarray(other, dtype=np.int64)
        # a column's or a row's highest differing bit
        either = (apart | (apart >> self.levels)) & (self.grid.columns - 1)
        return np.frexp(either.astype(np.float64))[1].astype(np.int64)

    meeting_level = OldMethod("find_meeting_level")

    def between_m(self, here: tuple[float, float], there: tuple[float, float]) -> float:
        """Return the distance between two places along the tree, metres: 0 inside a leaf."""
        return float(self.distance_m[self.find_meeting_level(self.locate(*here), self.locate(*there))])

    def in_order(self, leaf: Ids) -> Ids:
        """Return a number per leaf in whose order every square of the tree is one run."""
        column, row = leaf & (self.grid.columns - 1), leaf >> self.levels
        order = np.zeros(np.shape(leaf), dtype=np.int64)
        for bit in range(self.levels):
            order |= ((column >> bit) & 1) << (2 * bit)
            order |= ((row >> bit) & 1) << (2 * bit + 1)
        return order

    def mean_distance_m(self, apart_m: float) -> float:
        """Return the mean distance along the tree between two places so far apart, over all bearings and positions.

        A cut every s metres separates two places whose difference along its axis is a with probability min(1, a/s).
        The edge of the box counts as one more cut, beyond which the box begins anew.
        """
        turn = (np.arange(_ANGLES) + 0.5) * 2 * np.pi / _ANGLES
        across, along = apart_m * np.abs(np.cos(turn)), apart_m * np.abs(np.sin(turn))
        steps, total = np.diff(self.distance_m), 0.0
        for level, step in enumerate(steps.tolist()):
            wide, high = self.grid.cell_x_m * 2**level, self.grid.cell_y_m * 2**level
            together = np.maximum(1 - across / wide, 0) * np.maximum(1 - along / high, 0)
            total += step * float(1 - together.mean())
        return total


@dataclass(frozen=True)
class TreeChannel:
    """Reports are leaves z with probability ∝ exp(-ε·d(x, z)), d being the distance along the tree from the leaf of x.

    All leaves have as many others at every level, so all have the same normaliser.
    """

    epsilon_per_m: float
    cell_m: float
    """Sides of leaves at most, metres."""
    box_m: Box

    def __post_init__(self) -> None:
        for name, value in (("epsilon_per_m", self.epsilon_per_m), ("leaf_m", self.cell_m)):
            if not (math.isfinite(value) and value > 0):
                raise UsageError(f"{name} must be a finite number greater than 0, got {value}")

    @cached_property
    def tree(self) -> PublicTree:
        """The public tree."""
        return PublicTree.over(self.box_m, self.cell_m)

    @cached_property
    def level_law(self) -> Array:
        """Probability that a report meets the true leaf at each level."""
        weight = self.tree.ring * np.exp(-self.epsilon_per_m * self.tree.distance_m)
        return np.asarray(weight / weight.sum())

    @cached_property
    def variance_m2(self) -> float:
        """Mean square displacement per coordinate, over evenly spread leaves."""
        radius = self.displacement_quantiles(2000)
        return float(np.mean(radius**2) / 2)

    def likelihood(self, z_x_m: npt.ArrayLike, z_y_m: npt.ArrayLike, x_m: npt.ArrayLike, y_m: npt.ArrayLike) -> Array:
        """Return P(z|x), a row per report and a column per place."""
        report = self.tree.locate(np.atleast_1d(z_x_m), np.atleast_1d(z_y_m))
        place = self.tree.locate(np.atleast_1d(x_m), np.atleast_1d(y_m))
        return np.asarray((self.level_law / self.tree.ring)[self.tree.find_meeting_level(report[:, None], place)])

    def characteristic(self, wx: npt.ArrayLike, wy: npt.ArrayLike) -> Array:  # noqa: ARG002
        """Refuse: what is reported depends on the place, so no one noise can be taken off again."""
        raise UsageError("reports along a tree depend on the place: their noise has no characteristic function")

    def matrix(self, x_cells: Grid, z_cells: Grid) -> Array:
        """Return P(report in z cell | true place at the centre of x cell), a row per x cell."""
        every = np.arange(self.tree.grid.size)
        target = z_cells.locate(*self.tree.centres(every))
        known = target >= 0
        rows = [
            np.bincount(target[known], weights=law[known], minlength=z_cells.size)
            for law in (self.law_of(place) for place in self.tree.locate(*x_cells.all_centres()).tolist())
        ]
        return np.array(rows)

    def law_of(self, leaf: int) -> Array:
        """Return the probability of every leaf being reported from one."""
        every = np.arange(self.tree.grid.size)
        return np.asarray((self.level_law / self.tree.ring)[self.tree.find_meeting_level(every, leaf)])

    def coarse(self, most_cells: int) -> FiniteChannel:
        """Return the law of the square that holds a report, given the square that holds the place: exact, and smaller.

        Squares are as small as `most_cells` of them allow.
        """
        up = max(0, self.tree.levels - int(math.log2(most_cells)) // 2)
        squares = PublicTree(self.box_m, self.tree.levels - up)
        inside = float(self.level_law[: up + 1].sum())
        each = self.level_law[up + 1 :] / squares.ring[1:]
        every = np.arange(squares.grid.size)
        table = np.append(inside, each)[squares.find_meeting_level(every[:, None], every)]
        return FiniteChannel(self.epsilon_per_m, squares.grid, table)

    def displacement_quantiles(self, count: int) -> Array:
        """Return evenly weighted distances between a place and its report, for places spread evenly over the box.

        Two leaves that meet at a level are evenly spread over different quarters of one square.
        """
        near = _quarter_distances(self.tree.grid.cell_x_m, self.tree.grid.cell_y_m)
        parts = [near[0]] + [near[1] * 2.0 ** (level - 1) for level in range(1, self.tree.levels + 1)]
        weight = np.concatenate(
            [np.full(part.size, p / part.size) for part, p in zip(parts, self.level_law, strict=True)]
        )
        radius = np.concatenate(parts)
        order = np.argsort(radius)
        at = np.searchsorted(np.cumsum(weight[order]), (np.arange(count) + 0.5) / count)
        return np.asarray(radius[order][np.minimum(at, radius.size - 1)])


def _quarter_distances(wide_m: float, high_m: float) -> tuple[Array, Array]:
    """Return distances from places in a leaf to its centre, and between places in two different quarters of a square.

    Quarters have the sides of a leaf. Both are evenly weighted, over a lattice of 12 × 12 places a leaf.
    """
    step = (np.arange(12) + 0.5) / 12
    x, y = (side.ravel() for side in np.meshgrid(step * wide_m, step * high_m))
    own = np.hypot(x - wide_m / 2, y - high_m / 2)
    shifts = ((wide_m, 0.0), (0.0, high_m), (wide_m, high_m))
    others = [np.hypot(x[:, None] + dx - x, y[:, None] + dy - y).ravel() for dx, dy in shifts]
    return own, np.concatenate(others)
