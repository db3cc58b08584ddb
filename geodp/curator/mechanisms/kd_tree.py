"""A k-d tree of noisy counts: boxes cut at noisy medians, which are paid for."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from pydantic import Field

from geodp.curator.decomposition import Boxes, LatticeTable, Whole
from geodp.curator.tree_mechanism import TreeMechanism
from geodp.geometry import Array, Grid, Region
from geodp.privacy.noise import Noise

_MOST_LINES = 1024
_NEVER = -1e9  # logit of a line outside the box


class KdTree(TreeMechanism):
    """Noisy counts on every level of a tree that is cut at noisy medians (not recommended: `adaptive_grid` errs less).

    In the benchmark of range queries (seven sets of positions, ε of 0.1, 0.4 and 1) its errors are 1.9 times those of
    `adaptive_grid` on average, 2.3 times on the four real sets, and larger on every set (1.07 to 3.9 times).

    Guarantee
    ---------
    ε-differential privacy for one worker's position in one release (snapshot), against everyone but the curator.
    A cut is chosen by the exponential mechanism among the lines of a public lattice, with score -|people west of it -
    half of the people|, which one worker changes by at most 1/2. Every worker meets two cuts per level with medians
    and one count per level; their epsilons add up to at most ε. Below, boxes are halved, which costs nothing. With
    `noise: gaussian`, ρ that is worth ε at delta: counts have Gaussian noise, and a cut of ε' costs ε'²/2 of it.

    Reference
    ---------
    Cormode, Procopiuc, Srivastava, Shen and Yu 2012, Differentially private spatial decompositions (kd-hybrid): medians
    above, quarters below, 30 % of ε for medians, geometric budget for counts, least-squares post-processing.
    """

    kind: ClassVar[str] = "kd_tree"

    median_levels: int = Field(default=3, ge=1, le=6)
    """Levels from the root on which boxes are cut at noisy medians; below they are halved."""
    median_share: float = Field(default=0.3, gt=0, lt=1)
    """Share of ε (of ρ, with `noise: gaussian`) for the medians."""

    def _find_count_epsilon(self) -> float:
        whole = self._counts_epsilon()
        return whole - self.median_share * whole

    @property
    def counts_part(self) -> float:
        """Part of the price for counts."""
        return super().counts_part * (1 - self.median_share)

    def _cut_epsilon(self, height: int) -> float:
        """Return ε of one cut: a worker meets two on every level that has medians."""
        cuts = 2 * min(self.median_levels, height)
        if self.noise == "laplace":
            return self.median_share * self._counts_epsilon() / cuts
        return self.find_choice_epsilon((1 - self.count_share) * self.median_share / cuts)

    def _lattice(self, region: Region, height: int) -> Grid:  # noqa: ARG002 - medians need lines, whatever the height
        sides = (region.width_m, region.height_m)
        columns, rows = (max(1, min(_MOST_LINES, int(side / self.least_cell_m))) for side in sides)
        return Grid.divide(region, columns, rows)

    def _cuts(
        self, boxes: Boxes, table: LatticeTable, depth: int, height: int, change: float, noise: Noise
    ) -> tuple[Whole, Whole, Whole]:
        if depth >= self.median_levels:
            return super()._cuts(boxes=boxes, table=table, depth=depth, height=height, change=change, noise=noise)
        per_unit = self._cut_epsilon(height) / change
        w, s, e, n = (edge[:, None] for edge in (boxes.west, boxes.south, boxes.east, boxes.north))
        column = choose_medians(boxes.west, boxes.east, lambda line: table.inside(w, s, line, n), per_unit, noise)
        cut = column[:, None]
        west_row = choose_medians(boxes.south, boxes.north, lambda line: table.inside(w, s, cut, line), per_unit, noise)
        east_row = choose_medians(boxes.south, boxes.north, lambda line: table.inside(cut, s, e, line), per_unit, noise)
        return column, west_row, east_row


def choose_medians(
    low: Whole, high: Whole, before: Callable[[Whole], Array | Whole], per_unit: float, noise: Noise
) -> Whole:
    """Choose a lattice line strictly between low and high for each box, with probability ∝ exp(-ε |before - half|).

    `before` tells how many people of each box lie before a line. A box one square wide is not cut: its low edge is
    returned.
    """
    width = high - low
    most = int(width.max(initial=1)) - 1
    if most < 1:
        return low
    lines = low[:, None] + 1 + np.arange(most)
    people = before(high[:, None])
    logits = -per_unit * np.abs(before(np.minimum(lines, high[:, None])) - people / 2)
    chosen = noise.choose(np.where(lines < high[:, None], logits, _NEVER))
    return np.where(width > 1, np.minimum(low + 1 + chosen, high - 1), low)
