"""A quadtree of noisy counts: boxes cut into equal quarters."""

from __future__ import annotations

from typing import ClassVar

from geodp.curator.mechanisms._lattice_table import Boxes, LatticeTable, Whole, lattice_of
from geodp.curator.mechanisms._tree_mechanism import TreeMechanism, middles
from geodp.geometry import Grid, Region
from geodp.privacy.noise import Noise


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
