"""Two steps: noisy counts on a fine grid show where density changes, then the even parts are counted again."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from geodp.curator.decomposition import (
    Boxes,
    LatticeTable,
    SizedDecomposition,
)
from geodp.curator.mechanisms import Snapshot
from geodp.curator.tree_mechanism import Estimates, lattice_cells
from geodp.geometry import Array, Grid
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Neighbours
from geodp.public.release import LatticeCells

_SPREAD = {"laplace": 5.0, "gaussian": 2.0}  # variance of a sample variance of q such variables: about 5 or 2 σ⁴ / q
Part = tuple[int, int, int, int]


class DpCube(SizedDecomposition):
    """Noisy counts on a fine grid decide where the region is cut into even parts, which are then counted again.

    Guarantee
    ---------
    ε-differential privacy for one worker's position in one release (snapshot), against everyone but the curator.
    The fine grid costs α ε; cutting looks at its noisy counts alone and costs nothing; counting the disjoint parts
    costs the rest. Averaging both counts of a part is post-processing. (The noise stated for a part does not know that
    cuts were chosen by the same noisy counts; its variance is up to a fifth larger.) With `noise: gaussian`, ρ that is
    worth ε at delta: both counts have Gaussian noise and a part of ρ.

    Reference
    ---------
    In the style of Xiao, Xiong, Fan, Goryczka and Li 2014, DPCube: differentially private histogram release through
    multidimensional partitioning. Cuts are chosen here by the largest difference in density in units of its noise.
    """

    kind: ClassVar[str] = "dpcube"

    alpha: float = Field(default=0.5, gt=0, lt=1)
    """Share of ε for the fine grid (with `noise: gaussian`, ρ is shared as its 3/2th power)."""
    cell_m: float | None = Field(default=None, gt=0)
    """Side of a cell of the fine grid, metres. Default: the guideline, sqrt(N ε / 10) cells per side."""
    detail: float = Field(default=2.0, ge=0)
    """A part is cut while its noisy counts are uneven by more than so many standard deviations of noise and chance."""

    def release(self, snapshot: Snapshot, noise: Noise) -> LatticeCells:
        """Measure the fine grid, cut it into even parts, measure those, and average."""
        grid = Grid.fit(snapshot.region, self._size(snapshot, noise))
        true = grid.count(snapshot.x_m, snapshot.y_m).reshape(grid.rows, grid.columns)
        whole = [(0, 0, grid.columns, grid.rows)]
        noisy, boxes, again = self._measure(true, whole, snapshot.neighbours, noise)
        found = again.average(noisy.within(boxes))
        return lattice_cells(found, grid, self.release_fields(snapshot, boxes.edges_m(grid)))

    def _measure(
        self, true: npt.NDArray[np.int64], roots: list[Part], neighbours: Neighbours, noise: Noise
    ) -> tuple[NoisyGrid, Boxes, Estimates]:
        """Return the noisy fine grid, the parts cut out of it, and their noisy counts."""
        fine_scale, part_scale = (self._scale(neighbours, step) for step in range(2))
        noisy = NoisyGrid(self.add_noise(true, fine_scale, noise), fine_scale, self.terms)
        boxes = Boxes(*np.array(list(self._parts(noisy, roots)), dtype=np.int64).T)
        count = self.add_noise(LatticeTable.of(true).within(boxes), part_scale, noise)
        return noisy, boxes, Estimates.of(count, part_scale, self.terms)

    def _split(self) -> tuple[float, float]:
        """Return ε of the fine grid and of the parts; together they are all of ε."""
        whole = self._counts_epsilon()
        return self.alpha * whole, whole - self.alpha * whole

    def _scale(self, neighbours: Neighbours, step: int) -> float:
        return self.find_scale(self.change(neighbours), neighbours, list(self._split()), step)

    def _parts(self, noisy: NoisyGrid, roots: list[Part]) -> Iterator[Part]:
        """Yield even parts of the grid, in lattice units, from noisy counts alone."""
        sums, squares, variance = noisy.sums.below, LatticeTable.of(noisy.count**2).below, 2 * noisy.scale**2
        waiting = list(roots)
        while waiting:
            part = waiting.pop()
            halves = self._cut(part, sums, squares, variance)
            if halves:
                waiting += halves
            else:
                yield part

    def _cut(self, part: Part, sums: Array, squares: Array, noise_variance: float) -> list[Part]:
        """Return the two halves of an uneven part, nothing for an even one.

        The best line is where the mean counts of both sides differ most, in standard deviations of an even part.
        """
        west, south, east, north = part
        width, height = east - west, north - south
        cells = width * height
        if cells == 1:
            return []
        across = sums[north, west : east + 1] - sums[south, west : east + 1]
        along = sums[south : north + 1, east] - sums[south : north + 1, west]
        across, along = across - across[0], along - along[0]
        total = float(across[-1])
        variance = noise_variance + max(total / cells, 0.0)  # noise, and chance as in a Poisson field
        best, line = 0.0, (0, 0)
        for axis, (before, other) in enumerate(((across, height), (along, width))):
            if before.size > 2:
                first = np.arange(1, before.size - 1) * other
                gain = before[1:-1] ** 2 / first + (total - before[1:-1]) ** 2 / (cells - first) - total**2 / cells
                at = int(np.argmax(gain))
                if gain[at] > best:
                    best, line = float(gain[at]), (axis, at + 1)
        spread = squares[north, east] - squares[south, east] - squares[north, west] + squares[south, west]
        excess = (spread - total**2 / cells) / variance - (cells - 1)
        uneven = max(math.sqrt(best / variance), excess / math.sqrt(_SPREAD[self.noise] * (cells - 1)))
        if uneven <= self.detail or best <= 0:
            return []
        axis, at = line
        if axis == 0:
            return [(west, south, west + at, north), (west + at, south, east, north)]
        return [(west, south, east, south + at), (west, south + at, east, north)]

    def expected_noise(self, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> float:
        """Return the mean noise of a part's count; averaging with the fine grid makes it smaller."""
        return self.mean_noise(self._scale(neighbours, 1))


@dataclass(frozen=True)
class NoisyGrid:
    """The fine grid with its noisy counts, rows (south first) by columns."""

    count: Array
    scale: float
    terms: float = 1.0

    @cached_property
    def sums(self) -> LatticeTable:
        """Noisy counts, added up."""
        return LatticeTable.of(self.count)

    def within(self, boxes: Boxes) -> Estimates:
        """Return what the fine grid says about each part."""
        cells = ((boxes.east - boxes.west) * (boxes.north - boxes.south)).astype(np.float64)
        value = np.asarray(self.sums.within(boxes), dtype=np.float64)
        return Estimates(value, cells * self.scale**2, cells * self.scale**4 / self.terms)
