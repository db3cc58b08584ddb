"""Counts of people on a fine public lattice, added up so that any rectangle of it is counted by four look-ups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geodp.curator.mechanisms import Snapshot
from geodp.geometry import Array, Grid, Region

Whole = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Boxes:
    """Rectangles in lattice units: columns west to east (not included), rows south to north (not included)."""

    west: Whole
    south: Whole
    east: Whole
    north: Whole

    @property
    def size(self) -> int:
        """How many there are."""
        return int(self.west.size)

    def take(self, which: npt.NDArray[np.bool_] | Whole) -> Boxes:
        """Return some of them."""
        return Boxes(self.west[which], self.south[which], self.east[which], self.north[which])

    def edges_m(self, lattice: Grid) -> tuple[Array, Array, Array, Array]:
        """Return western, southern, eastern and northern edges in metres."""
        west, east = (lattice.west_m + edge.astype(np.float64) * lattice.cell_x_m for edge in (self.west, self.east))
        south, north = (
            lattice.south_m + edge.astype(np.float64) * lattice.cell_y_m for edge in (self.south, self.north)
        )
        return west, south, east, north

    @classmethod
    def joined(cls, parts: list[Boxes]) -> Boxes:
        """Return all boxes of several sets."""
        names = ("west", "south", "east", "north")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    @classmethod
    def whole(cls, lattice: Grid) -> Boxes:
        """Return the one box that covers a lattice."""
        return cls(*(np.array([edge]) for edge in (0, 0, lattice.columns, lattice.rows)))


@dataclass(frozen=True)
class LatticeTable:
    """Sums of a quantity over all squares south-west of each lattice point; whole numbers are exact in doubles."""

    below: Array

    @classmethod
    def of(cls, values: npt.ArrayLike) -> LatticeTable:
        """Add up values given per square, rows (south first) by columns."""
        table = np.asarray(values, dtype=np.float64)
        return cls(np.pad(table.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0))))

    @classmethod
    def counted(cls, snapshot: Snapshot, lattice: Grid) -> LatticeTable:
        """Count people per square."""
        return cls.of(lattice.count(snapshot.x_m, snapshot.y_m).reshape(lattice.rows, lattice.columns))

    def inside(self, west: Whole, south: Whole, east: Whole, north: Whole) -> Array:
        """Return the sum over each rectangle."""
        b = self.below
        return b[north, east] - b[south, east] - b[north, west] + b[south, west]

    def within(self, boxes: Boxes) -> Array:
        """Return the sum over each box."""
        return self.inside(boxes.west, boxes.south, boxes.east, boxes.north)


def lattice_of(region: Region, columns: int, rows: int) -> Grid:
    """Return the lattice with so many squares across and along the region's box."""
    west, south, _, _ = region.box_m
    return Grid(west, south, region.width_m / columns, region.height_m / rows, columns, rows)
