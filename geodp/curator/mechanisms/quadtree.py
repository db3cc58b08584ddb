"""A quadtree of noisy counts: boxes cut into equal quarters."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from geodp.curator.mechanisms._decomposition import laplace_evidence
from geodp.curator.mechanisms._lattice_table import Boxes, LatticeTable, Whole, lattice_of
from geodp.curator.mechanisms._tree_mechanism import TreeMechanism, middles, path_evidence
from geodp.geometry import Array, Grid, Region
from geodp.privacy.audit_case import AuditCase
from geodp.privacy.noise import Noise

_AUDIT_HEIGHT = 2


class Quadtree(TreeMechanism):
    """Noisy counts on every level of a quadtree, made to agree, then pruned where few people are.

    Guarantee
    ---------
    ε-differential privacy for one worker's position in one release (snapshot), against everyone but the curator.
    The cells of a level are disjoint, and the levels' epsilons add up to ε: every worker is counted once on each. The
    whole tree is measured whoever is where; which cells are divided in the end is read off noisy counts.

    Reference
    ---------
    Cormode, Procopiuc, Srivastava, Shen and Yu 2012, Differentially private spatial decompositions: geometric budget,
    least-squares post-processing and pruning.
    """

    kind: ClassVar[str] = "quadtree"

    def _lattice(self, region: Region, height: int) -> Grid:
        return lattice_of(region, 2**height, 2**height)

    def _cuts(
        self,
        boxes: Boxes,
        table: LatticeTable,  # noqa: ARG002 - equal quarters, whoever is where
        depth: int,  # noqa: ARG002
        height: int,  # noqa: ARG002
        change: float,  # noqa: ARG002
        noise: Noise,  # noqa: ARG002
    ) -> tuple[Whole, Whole, Whole]:
        row = middles(boxes.south, boxes.north)
        return middles(boxes.west, boxes.east), row, row

    def audit_cases(self) -> list[AuditCase]:
        """One worker more in a small quadtree: all counts that hold her; many trees are measured at once."""
        whole = self._counting_epsilon()
        scales = [1 / epsilon for epsilon in self._level_epsilons(_AUDIT_HEIGHT)]

        def draw(noise: Noise, present: bool, samples: int) -> Array:
            side = 2**_AUDIT_HEIGHT
            corner = np.arange(samples) * side  # trees in one long row, with the worker in the corner of each
            people = np.zeros((side, samples * side), dtype=np.int64)
            nobody = LatticeTable.of(people)
            people[0, corner] = int(present)
            roots = Boxes(corner, np.zeros_like(corner), corner + side, np.full_like(corner, side))
            levels = self._measure(roots, LatticeTable.of(people), _AUDIT_HEIGHT, 1.0, noise)
            return path_evidence(levels, corner, np.zeros_like(corner), nobody)[0]

        def score(rows: Array) -> Array:
            return np.asarray(sum(laplace_evidence(rows[:, i], scale) for i, scale in enumerate(scales)))

        return [AuditCase("one worker: her counts on all levels", whole, draw, score, 0.999 * whole)]
