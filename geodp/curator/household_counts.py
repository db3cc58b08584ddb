"""The shared part of mechanisms that count people: for how many together their noise is made."""

from __future__ import annotations

from pydantic import Field

from geodp.curator.mechanisms import Mechanism
from geodp.public.guarantee import Neighbours
from geodp.world.bounds import MOST_TOGETHER


class HouseholdCounts(Mechanism):
    """Counts whose noise hides any so many people together: they may live together, or travel as one.

    One person changes counts by the sensitivity S at most, any k people by k·S: all noise is k times as wide, and the
    promise is ε for the k together. Nobody has to know who they are.
    """

    household: int = Field(default=1, ge=1, le=MOST_TOGETHER)
    """How many people together ε hides, at most (k): a public cap, such as the largest household or convoy. All noise
    is k times as wide. 1: single people, and k who move together are hidden at k·ε only."""

    def change(self, neighbours: Neighbours) -> float:
        """Return by how much disjoint counts change in all when a household does: k times as much as for one person."""
        return self.household * sensitivity(neighbours)


def sensitivity(neighbours: Neighbours) -> float:
    """Return by how much disjoint counts change in all: whoever is replaced leaves one cell and enters another."""
    return 2.0 if neighbours is Neighbours.REPLACE else 1.0
