"""A quadtree of noisy counts: boxes cut into equal quarters."""

from __future__ import annotations

from typing import ClassVar

from geodp.curator.tree_mechanism import TreeMechanism
from geodp.geometry import Grid, Region


class Quadtree(TreeMechanism):
    """Noisy counts on every level of a quadtree, made to agree, then pruned where few people are.

    Guarantee
    ---------
    ε-differential privacy for one worker's position in one release (snapshot), against everyone but the curator.
    The cells of a level are disjoint, and the levels' epsilons add up to ε (with `noise: gaussian` their ρ to the one
    that is worth ε at delta): every worker is counted once on each. The whole tree is measured whoever is where; which
    cells are divided in the end is read off noisy counts.

    Reference
    ---------
    Cormode, Procopiuc, Srivastava, Shen and Yu 2012, Differentially private spatial decompositions: geometric budget,
    least-squares post-processing and pruning.
    """

    kind: ClassVar[str] = "quadtree"

    def _lattice(self, region: Region, height: int) -> Grid:
        return Grid.divide(region, 2**height, 2**height)
