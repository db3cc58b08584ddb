"""A quadtree of noisy counts: boxes cut into equal quarters."""

from __future__ import annotations

from typing import ClassVar

from geodp.curator.count_noise import CountNoise
from geodp.curator.decomposition import Boxes, Whole
from geodp.curator.tree_mechanism import MAX_HEIGHT, Level, TreeMechanism
from geodp.geometry import Array, Grid, Region
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Guarantee, Neighbours, Unit


class Quadtree(CountNoise, TreeMechanism):
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

    def guarantee(self, neighbours: Neighbours = Neighbours.ADD_REMOVE, counts: str = "all") -> Guarantee:
        """Promise ε for one snapshot position, or for those of a household."""
        return self.make_promise(Unit.SNAPSHOT, neighbours, counts)

    def _level_scale(self, change: float, epsilons: list[float], depth: int) -> float:
        moved = change > self.household  # whoever is replaced leaves one cell and enters another
        neighbours = Neighbours.REPLACE if moved else Neighbours.ADD_REMOVE
        return self.find_scale(change, neighbours, epsilons, depth)

    def _measure_level(self, boxes: Boxes, parent: Whole, count: Array, scale: float, noise: Noise) -> Level:
        return Level(boxes, parent, self.add_noise(count, scale, noise), scale, self.terms)

    def expected_noise(self, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> float:
        """Return the mean noise of a count on the finest level; agreement with the others makes it smaller."""
        epsilons = self._level_epsilons(self.height or MAX_HEIGHT)
        return self.mean_noise(self.find_scale(self.change(neighbours), neighbours, epsilons, len(epsilons) - 1))

    def _lattice(self, region: Region, height: int) -> Grid:
        return Grid.divide(region, 2**height, 2**height)
