"""Zones: rectangles of cells with about equally many ends of trips each, found from noisy counts alone."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from geodp.curator.synthesis.reference_systems import Integers
from geodp.geometry import Array, Grid


@dataclass(frozen=True, eq=False)
class Zones:
    """A division of a grid's cells into zones, and where in its zone a trip is likely to end."""

    grid: Grid
    label: Integers
    """Zone of each cell."""
    count: int
    weight: Array
    """Noisy number of ends in each cell, not negative."""

    def of(self, x_m: Array, y_m: Array) -> Integers:
        """Return the zones of places."""
        return self.label[self.grid.locate(x_m, y_m)]

    @cached_property
    def centres(self) -> tuple[Array, Array]:
        """Mean place of each zone's cells (m)."""
        x, y = self.grid.centres()
        cells = np.bincount(self.label, minlength=self.count)
        column, row = np.tile(x, self.grid.rows), np.repeat(y, self.grid.columns)
        return np.bincount(self.label, column, self.count) / cells, np.bincount(self.label, row, self.count) / cells

    def places(self, zone: Integers, candidates: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draw so many places in each of the zones given: cells by their weight, evenly within a cell."""
        order = np.argsort(self.label, kind="stable")
        reached = np.append(0.0, np.cumsum(self.weight[order] + 1e-6))
        begin = np.searchsorted(self.label[order], np.arange(self.count + 1))
        low, high = reached[begin[zone]][:, None], reached[begin[zone + 1]][:, None]
        target = low + rng.random((zone.size, candidates)) * (high - low)
        place = np.searchsorted(reached, target, side="right") - 1
        cell = order[np.clip(place, begin[zone][:, None], begin[zone + 1][:, None] - 1)]
        row, column = np.divmod(cell, self.grid.columns)
        x_m = self.grid.west_m + (column + rng.random(cell.shape)) * self.grid.cell_x_m
        y_m = self.grid.south_m + (row + rng.random(cell.shape)) * self.grid.cell_y_m
        return x_m, y_m


def divided(weight: Array, grid: Grid, zones: int) -> Zones:
    """Divide the fullest rectangle of cells in two equally full ones, until there are so many zones."""
    table = weight.reshape(grid.rows, grid.columns)
    sums = np.zeros((grid.rows + 1, grid.columns + 1))
    sums[1:, 1:] = table.cumsum(axis=0).cumsum(axis=1)

    def mass(box: tuple[int, int, int, int]) -> float:
        south, north, west, east = box
        return float(sums[north, east] - sums[south, east] - sums[north, west] + sums[south, west])

    whole = (0, grid.rows, 0, grid.columns)
    waiting = [(-mass(whole), whole)]
    done: list[tuple[int, int, int, int]] = []
    while waiting and len(waiting) + len(done) < zones:
        _, box = heapq.heappop(waiting)
        halves = _halves(table, box, upright=_is_high(box, grid))
        if halves is None:
            done.append(box)
            continue
        for half in halves:
            heapq.heappush(waiting, (-mass(half), half))
    label = np.zeros_like(table, dtype=np.int64)
    boxes = sorted([*done, *(box for _, box in waiting)])
    for number, (south, north, west, east) in enumerate(boxes):
        label[south:north, west:east] = number
    return Zones(grid, label.ravel(), len(boxes), weight)


def _is_high(box: tuple[int, int, int, int], grid: Grid) -> bool:
    south, north, west, east = box
    return bool((north - south) * grid.cell_y_m >= (east - west) * grid.cell_x_m)


def _halves(table: Array, box: tuple[int, int, int, int], *, upright: bool) -> list[tuple[int, int, int, int]] | None:
    """Cut a rectangle across its longer side where either part has about half of what is in it; None: a single cell."""
    south, north, west, east = box
    if (north - south) * (east - west) == 1:
        return None
    upright = (upright and north - south > 1) or east - west == 1
    reached = np.cumsum(table[south:north, west:east].sum(axis=1 if upright else 0))
    cut = int(np.argmin(np.abs(reached[:-1] - reached[-1] / 2))) + 1
    if upright:
        return [(south, south + cut, west, east), (south + cut, north, west, east)]
    return [(south, north, west, west + cut), (south, north, west + cut, east)]
