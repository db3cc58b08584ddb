"""Two levels of grids: where noisy counts say that many people are, cells are divided further."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from geodp.curator.decomposition import (
    GUIDELINE,
    MAX_CELLS,
    SizedDecomposition,
    equal_noise,
)
from geodp.curator.mechanisms import Snapshot
from geodp.errors import DataError
from geodp.geometry import Array, Grid
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Neighbours
from geodp.public.release import AdaptiveCells, locate_in_two_levels
from geodp.registry import PublicFacts

_LEAST_PER_SIDE = 10  # coarse cells per side, at least
_COARSER = 0.25  # the first level has a quarter of the uniform grid's cells per side
_PEOPLE_PER_CELL = {"original": 5.0, "crowdsourcing": math.sqrt(2)}  # c2: in units of 1/ε2


@dataclass(frozen=True)
class TwoLevels:
    """What was measured: noisy counts of both levels, before they are made to agree."""

    coarse: Grid
    coarse_count: Array
    coarse_scale: float
    per_side: npt.NDArray[np.int64]
    first: npt.NDArray[np.int64]
    fine_count: Array
    fine_scale: float
    terms: float = 1.0
    """How many Laplace variables the noise of a count is worth."""

    def consistent(self) -> tuple[Array, Array, Array]:
        """Return fine counts that add up to the best estimate of their coarse cell, their noise scales and terms.

        The coarse count v and the sum of fine counts u are averaged with weights inverse to their variances,
        v' = a v + (1-a) Σu, and the difference is spread evenly: u' = u + (v' - Σu)/m². So u' = u - c Σu + c v with
        c = a/m², whose noise is a sum of m² + 1 Laplace variables.
        """
        cells = (self.per_side**2).astype(np.float64)
        ratio = cells * self.fine_scale**2 / self.coarse_scale**2
        a = ratio / (1 + ratio)
        total = np.add.reduceat(self.fine_count, self.first[:-1])
        better = a * self.coarse_count + (1 - a) * total
        count = self.fine_count + np.repeat((better - total) / cells, self.per_side**2)
        c = a / cells
        scales = [
            c**power * self.coarse_scale**power + ((1 - c) ** power + (cells - 1) * c**power) * self.fine_scale**power
            for power in (2, 4)
        ]
        scale, terms = equal_noise(scales[0], scales[1] / self.terms)
        return count, np.repeat(scale, self.per_side**2), np.repeat(terms, self.per_side**2)


class AdaptiveGrid(SizedDecomposition):
    """Noisy counts on a coarse grid whose crowded cells are divided further, as far as their noisy counts say.

    Guarantee
    ---------
    ε-differential privacy for one worker's position in one release (snapshot), against everyone but the curator.
    Both levels are disjoint cells: the first costs α ε, the second the rest, on every path and also where a cell is
    not divided (it is then measured twice and the two are combined). How far a cell is divided follows from its noisy
    count alone, so an empty cell and one with a single worker are divided alike. Making the levels agree is
    post-processing. With `noise: gaussian`, ρ that is worth ε at delta: both levels have Gaussian noise, and a part of
    ρ each.

    Reference
    ---------
    To, Ghinita and Shahabi 2014, A framework for protecting worker location privacy in spatial crowdsourcing, with the
    grids of Qardaji, Yang and Li 2013; Zhu et al. 2017, Differential Privacy and Applications, section 13.2.2. Weights
    of the two levels are inverse to their variances.
    """

    kind: ClassVar[str] = "adaptive_grid"
    size: ClassVar[str] = "first_level"

    alpha: float = Field(default=0.5, gt=0, lt=1)
    """Share of ε for the first level (with `noise: gaussian`, ρ is shared as its 3/2th power)."""
    granularity: Literal["crowdsourcing", "original"] = "crowdsourcing"
    """How far cells are divided: until a part holds about sqrt(2)/ε2 people, one standard deviation of its noise
    (`crowdsourcing`), or 5/ε2 (`original`)."""
    first_level: int | None = Field(default=None, gt=0, le=5000)
    """Cells per side of the first level. Default: a quarter of sqrt(N ε / 10), at least 10."""
    least_cell_m: float = Field(default=10.0, gt=0)
    """No cell is made narrower than this, metres."""
    consistency: bool = True
    """Whether the two levels are made to agree, which costs nothing and lowers the error."""

    def _guideline_size(self, facts: PublicFacts) -> int:
        """Return m1 = max(10, ceil(sqrt(N ε / 10) / 4)), but no cell narrower than the least one."""
        people = facts.expected_workers * self._size_epsilon() / facts.sensitivity
        asked = max(_LEAST_PER_SIDE, math.ceil(_COARSER * math.sqrt(people / GUIDELINE)))
        return max(1, min(asked, int(min(facts.width_m, facts.height_m) / self.least_cell_m), 5000))

    def release(self, snapshot: Snapshot, noise: Noise) -> AdaptiveCells:
        """Measure both levels, make them agree, and publish the finer one."""
        levels = self._measure(snapshot, noise)
        count, size = levels.fine_count, levels.fine_count.size
        scale, terms = np.full(size, levels.fine_scale), self.list_terms(size)
        if self.consistency:
            count, scale, terms = levels.consistent()
        return AdaptiveCells(
            count=count,
            noise_scale=scale,
            noise_terms=terms,
            coarse=levels.coarse,
            per_side=levels.per_side,
            fine_scale=levels.fine_scale,
            coarse_scale=levels.coarse_scale if self.consistency else None,
            coarse_count=levels.coarse_count if self.consistency else None,
            **self.release_fields(snapshot, _edges(levels)),
        )

    def _measure(self, snapshot: Snapshot, noise: Noise) -> TwoLevels:
        """Count both levels with noise: all that is ever learnt from where people are."""
        side = self._size(snapshot, noise)
        region = snapshot.region
        coarse = Grid.divide(region, side, side)
        coarse_scale, fine_scale = (self._scale(snapshot.neighbours, level) for level in range(2))
        x, y = snapshot.x_m, snapshot.y_m
        coarse_count = self.add_noise(coarse.count(x, y), coarse_scale, noise)
        per_side = self._per_side(coarse_count, fine_scale, coarse)
        first = np.concatenate([[0], np.cumsum(per_side**2)])
        if first[-1] > MAX_CELLS:
            raise DataError(
                f"curator.mechanism: the adaptive grid would have {first[-1]:,} cells, more than {MAX_CELLS:,}: use a "
                "smaller epsilon or first_level, or a larger least_cell_m"
            )
        cell = locate_in_two_levels(coarse, per_side, first, x, y)
        fine_count = self.add_noise(np.bincount(cell[cell >= 0], minlength=int(first[-1])), fine_scale, noise)
        return TwoLevels(
            coarse=coarse,
            coarse_count=coarse_count,
            coarse_scale=coarse_scale,
            terms=self.terms,
            per_side=per_side,
            first=first,
            fine_count=fine_count,
            fine_scale=fine_scale,
        )

    def _split(self) -> tuple[float, float]:
        """Return ε of the first and of the second level; together they are all of ε."""
        whole = self._counts_epsilon()
        return self.alpha * whole, whole - self.alpha * whole

    def _scale(self, neighbours: Neighbours, level: int) -> float:
        return self.find_scale(self.change(neighbours), neighbours, list(self._split()), level)

    def _per_side(self, noisy: Array, fine_scale: float, coarse: Grid) -> npt.NDArray[np.int64]:
        """Return m2 = round(sqrt(max(0, N') ε2 / c2)), at least 1, from noisy counts alone."""
        asked = np.rint(np.sqrt(np.maximum(noisy, 0.0) / (fine_scale * _PEOPLE_PER_CELL[self.granularity])))
        most = max(1, int(min(coarse.cell_x_m, coarse.cell_y_m) / self.least_cell_m))
        return np.clip(asked, 1, most).astype(np.int64)

    def expected_noise(self, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> float:
        """Return the mean noise of a second-level count; agreement with the first level makes it a little smaller."""
        return self.mean_noise(self._scale(neighbours, 1))


def _edges(levels: TwoLevels) -> tuple[Array, Array, Array, Array]:
    """Return west, south, east and north edge of every fine cell."""
    parts = levels.per_side**2
    above = np.repeat(np.arange(levels.coarse.size), parts)
    side = levels.per_side[above]
    row, column = np.divmod(np.arange(above.size) - np.repeat(levels.first[:-1], parts), side)
    coarse_row, coarse_column = np.divmod(above, levels.coarse.columns)
    grid = levels.coarse
    # Both neighbours of an edge must compute it alike, so that cells meet exactly.
    west, east = (grid.west_m + grid.cell_x_m * (coarse_column + (column + far) / side) for far in (0, 1))
    south, north = (grid.south_m + grid.cell_y_m * (coarse_row + (row + far) / side) for far in (0, 1))
    return west, south, east, north
