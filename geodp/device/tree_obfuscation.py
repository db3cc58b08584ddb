"""Reports that are obfuscated along a public tree over the region."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from geodp.device import Device
from geodp.device.planar import check_places
from geodp.errors import NotReleasable, UsageError
from geodp.geometry import Array, Region
from geodp.privacy.noise import Noise, SimulatedNoise, as_noise
from geodp.privacy.primitives import DEFAULT_PLANAR_EPSILON_PER_M
from geodp.public.guarantee import Guarantee
from geodp.public.tree_metric import PublicTree, TreeChannel

_METRIC = (
    "along the public tree of squares over the region: never less than between the centres of their leaves as the crow "
    "flies, and up to the tree's whole width for neighbours on either side of a high cut"
)


class TreeObfuscation(Device):
    """Each phone reports a leaf of a public tree of squares, near ones along the tree with higher probability.

    Guarantee
    ---------
    ε-geo-indistinguishability of one report in the metric of the tree, with no trusted party: a leaf z is reported from
    x with probability ∝ exp(-ε·d(x, z)), so two places change the odds of any report by at most exp(ε·d) where d is
    their distance along the tree. Two leaves of diagonal g that meet in a square of 2^i leaves a side are g·(2^i - 1)
    metres apart: at least the distance between their centres as the crow flies, and 0 within a leaf. It is no promise
    per metre on the ground: two places a hair apart on either side of the first cut are as far apart as the tree is
    wide. On average over all places and bearings, two places 200 m apart are some 2,100 m apart along a tree of seven
    levels with leaves of 100 m, so the same ε per metre promises about a tenth as much as planar noise does. n reports
    cost n·ε. Simulation only: levels are drawn with doubles.

    Reference
    ---------
    [recalled] Tao, Tong, Zhou, Shi, Chen, Xu 2020, Differentially private online task assignment in spatial
    crowdsourcing: a tree-based approach (ICDE): the law of a leaf, and its draw level by level. Their tree is drawn at
    random around predefined points, which bounds the mean stretch; ours is a quadtree over the box, with fixed cuts.
    """

    kind: ClassVar[str] = "tree_obfuscation"
    releases: ClassVar[frozenset[str]] = frozenset({"points", "leaves"})
    audited_by: ClassVar[str] = "channel"

    epsilon_per_m: float = Field(default=DEFAULT_PLANAR_EPSILON_PER_M, gt=0)
    """ε per metre along the tree; default ln 4 within 200 m."""
    leaf_m: float = Field(default=100.0, gt=0)
    """Sides of leaves at most, metres: the region's box is halved both ways until they are as small."""

    def report(
        self,
        x_m: npt.ArrayLike,
        y_m: npt.ArrayLike,
        *,
        rng: np.random.Generator | Noise,
        region: Region | None = None,
    ) -> tuple[Array, Array]:
        """Return the centre of the leaf that each phone reports."""
        noise = as_noise(rng)
        if noise.releasable:
            raise NotReleasable(
                "tree_obfuscation draws levels with doubles: it must not be used for a release. Use planar_geometric, "
                "which draws whole steps on a grid."
            )
        if not isinstance(noise, SimulatedNoise):
            raise UsageError("tree_obfuscation draws from a numpy Generator or from SimulatedNoise")
        x, y = check_places(x_m, y_m, region)
        law = self.law(region)
        leaf = obfuscate_leaves(law.tree, law.level_law, law.tree.locate(x.ravel(), y.ravel()), noise.rng)
        east, north = law.tree.centres(leaf)
        return east.reshape(x.shape), north.reshape(x.shape)

    def guarantee(self, region: Region | None = None) -> Guarantee:  # noqa: ARG002 - distances are the tree's own
        """Promise ε per metre along the tree for one report."""
        return Guarantee.per_metre(self.epsilon_per_m, metric=_METRIC)

    def channel(self, region: Region | None = None) -> TreeChannel | None:
        """Return the public law of a report; without a region there is no tree, hence no law."""
        return None if region is None else self.law(region)

    def law(self, region: Region | None) -> TreeChannel:
        """Return the law of a report in a region, over which the tree stands."""
        if region is None:
            raise UsageError("tree_obfuscation needs a region: its tree stands over it. Nothing was reported.")
        return TreeChannel(self.epsilon_per_m, self.leaf_m, region.box_m)


def obfuscate_leaves(
    tree: PublicTree, level_law: Array, leaf: npt.NDArray[np.int64], rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Return a leaf for each: first at which level it meets the true one, then evenly among those that do.

    To meet at level i > 0 is to lie in one of the other three quarters of the square of level i, at any leaf of it.
    """
    level = np.minimum(np.searchsorted(np.cumsum(level_law), rng.random(leaf.size), side="right"), tree.levels)
    low = np.maximum(level - 1, 0)
    quarter = rng.integers(1, 4, leaf.size)  # which of the column and the row is the other one
    within = rng.integers(0, 1 << np.repeat(low, 2).reshape(-1, 2))
    column, row = leaf & (tree.grid.columns - 1), leaf >> tree.levels
    moved = [
        (((own >> low) ^ (quarter >> axis & 1)) << low) | within[:, axis] for axis, own in enumerate((column, row))
    ]
    return np.asarray(np.where(level == 0, leaf, (moved[1] << tree.levels) | moved[0]))
