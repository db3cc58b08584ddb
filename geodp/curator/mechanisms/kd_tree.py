"""A k-d tree of noisy counts: boxes cut at noisy medians, which are paid for."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from pydantic import Field

from geodp.curator.mechanisms._decomposition import laplace_evidence
from geodp.curator.mechanisms._lattice_table import Boxes, LatticeTable, Whole, lattice_of
from geodp.curator.mechanisms._tree_mechanism import TreeMechanism, middles, path_evidence
from geodp.geometry import Array, Grid, Region
from geodp.privacy.audit_case import AuditCase
from geodp.privacy.noise import Noise

_MOST_LINES = 1024
_NEVER = -1e9  # logit of a line outside the box
_AUDIT_HEIGHT, _AUDIT_SIDE, _AUDIT_OTHERS = 2, 8, 40
_AUDIT_PLACE = 3  # column and row of the audited worker; the others are in the far corner


class KdTree(TreeMechanism):
    """Noisy counts on every level of a tree that is cut at noisy medians, so that crowded places get small cells.

    Guarantee
    ---------
    ε-differential privacy for one worker's position in one release (snapshot), against everyone but the curator.
    A cut is chosen by the exponential mechanism among the lines of a public lattice, with score -|people west of it -
    half of the people|, which one worker changes by at most 1/2. Every worker meets two cuts per level with medians
    and one count per level; their epsilons add up to at most ε. Below, boxes are halved, which costs nothing.

    Reference
    ---------
    Cormode, Procopiuc, Srivastava, Shen and Yu 2012, Differentially private spatial decompositions (kd-hybrid): medians
    above, quarters below, 30 % of ε for medians, geometric budget for counts, least-squares post-processing.
    """

    kind: ClassVar[str] = "kd_tree"

    median_levels: int = Field(default=3, ge=1, le=6)
    """Levels from the root on which boxes are cut at noisy medians; below they are halved."""
    median_share: float = Field(default=0.3, gt=0, lt=1)
    """Share of ε for the medians."""

    def _counting_epsilon(self) -> float:
        whole = self._counts_epsilon()
        return whole - self.median_share * whole

    def _cut_epsilon(self, height: int) -> float:
        """Return ε of one cut: a worker meets two on every level that has medians."""
        return self.median_share * self._counts_epsilon() / (2 * min(self.median_levels, height))

    def _lattice(self, region: Region, height: int) -> Grid:  # noqa: ARG002 - medians need lines, whatever the height
        sides = (region.width_m, region.height_m)
        columns, rows = (max(1, min(_MOST_LINES, int(side / self.least_cell_m))) for side in sides)
        return lattice_of(region, columns, rows)

    def _cuts(
        self, boxes: Boxes, table: LatticeTable, depth: int, height: int, change: float, noise: Noise
    ) -> tuple[Whole, Whole, Whole]:
        if depth >= self.median_levels:
            row = middles(boxes.south, boxes.north)
            return middles(boxes.west, boxes.east), row, row
        per_unit = self._cut_epsilon(height) / change
        w, s, e, n = (edge[:, None] for edge in (boxes.west, boxes.south, boxes.east, boxes.north))
        column = _noisy_medians(boxes.west, boxes.east, lambda line: table.inside(w, s, line, n), per_unit, noise)
        cut = column[:, None]
        west_row = _noisy_medians(boxes.south, boxes.north, lambda line: table.inside(w, s, cut, line), per_unit, noise)
        east_row = _noisy_medians(boxes.south, boxes.north, lambda line: table.inside(cut, s, e, line), per_unit, noise)
        return column, west_row, east_row

    def audit_cases(self) -> list[AuditCase]:
        """One worker more in a small tree with one level of medians: her cuts and counts; many trees at once."""
        small = self.model_copy(update={"median_levels": 1})
        whole = self._counts_epsilon()
        scales = [1 / epsilon for epsilon in self._level_epsilons(_AUDIT_HEIGHT)]
        evidence = small._cut_evidence()

        def measured(noise: Noise, present: bool, samples: int) -> Array:
            return small._trials(noise, present, samples)

        def of_counts(rows: Array) -> Array:
            return np.asarray(sum(laplace_evidence(rows[:, i - 3], scale) for i, scale in enumerate(scales)))

        def of_all(rows: Array) -> Array:
            column, row = rows[:, 0].astype(np.int64) - 1, rows[:, 1].astype(np.int64) - 1
            # West of the cut she is alone, and then every row is as good as any other.
            return evidence[column] + np.where(column < _AUDIT_PLACE, evidence[row], 0.0) + of_counts(rows)

        def exact() -> tuple[Array, Array]:
            with_her, without = (np.exp(small._cut_logits(present)) for present in (True, False))
            return with_her / with_her.sum(), without / without.sum()

        counting = self._counting_epsilon()
        return [
            AuditCase("one worker: her cuts and counts on all levels", whole, measured, of_all, 0.9 * counting),
            AuditCase(
                "one worker: her counts on all levels",
                counting,
                lambda noise, present, samples: measured(noise, present, samples)[:, 2:],
                of_counts,
                0.999 * counting,
            ),
            AuditCase(
                "one worker: the first cut",
                small._cut_epsilon(_AUDIT_HEIGHT),
                lambda noise, present, samples: measured(noise, present, samples)[:, 0],
                lambda column: evidence[column.astype(np.int64) - 1],
                0.0,
                exact=exact,
            ),
        ]

    def _cut_logits(self, present: bool) -> Array:
        """Return the logits of the lines of an audited tree: her place is known, the others are east of all lines."""
        west = np.where(np.arange(1, _AUDIT_SIDE) > _AUDIT_PLACE, float(present), 0.0)
        return -self._cut_epsilon(_AUDIT_HEIGHT) * np.abs(west - (_AUDIT_OTHERS + present) / 2)

    def _cut_evidence(self) -> Array:
        """Return what each line of an audited tree says about her presence: ln P(line | there) / P(line | not)."""
        logs = [logits - np.log(np.exp(logits).sum()) for logits in map(self._cut_logits, (True, False))]
        return np.asarray(logs[0] - logs[1])

    def _trials(self, noise: Noise, present: bool, samples: int) -> Array:
        """Return column and row at which her box was cut, and the counts that hold her less the others."""
        side = _AUDIT_SIDE
        corner, south = np.arange(samples) * side, np.zeros(samples, dtype=np.int64)
        people = np.zeros((side, samples * side), dtype=np.int64)
        people[side - 1, corner + side - 1] = _AUDIT_OTHERS
        others = LatticeTable.of(people)
        people[_AUDIT_PLACE, corner + _AUDIT_PLACE] = int(present)
        roots = Boxes(corner, south, corner + side, south + side)
        levels = self._measure(roots, LatticeTable.of(people), _AUDIT_HEIGHT, 1.0, noise)
        hers = (corner + _AUDIT_PLACE, south + _AUDIT_PLACE)
        boxes = levels[1].boxes
        here = (boxes.west <= hers[0][levels[1].parent]) & (hers[0][levels[1].parent] < boxes.east)
        here &= (boxes.south <= _AUDIT_PLACE) & (boxes.north > _AUDIT_PLACE)
        own = boxes.take(here)
        column = np.where(own.west > corner, own.west, own.east) - corner
        row = np.where(own.south > 0, own.south, own.north)
        counts = path_evidence(levels, *hers, others)[0]
        return np.column_stack([column, row, counts]).astype(np.float64)


def _noisy_medians(
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
