"""What rules without a promise share: exact counts on a grid, or of venues, with a public rule applied to each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from geodp.curator.counts_publication import CountsPublication
from geodp.curator.mechanisms import Mechanism, Snapshot
from geodp.errors import NotReleasable
from geodp.geometry import Array, Grid
from geodp.privacy.noise import Noise
from geodp.public.count_laws import CountLaw
from geodp.public.guarantee import Guarantee, Neighbours
from geodp.public.release import GridCells
from geodp.tables.visits.histories import Integers, VenueCounts
from geodp.tables.visits.visit_sets import VisitTable

WHY_NOT = "counts are exact but for a rule that everybody knows: who knows the others knows each person's part in them"


def refuse_release(noise: Noise, kind: str) -> None:
    """Refuse to publish real data by a rule that promises nothing."""
    if noise.releasable:
        raise NotReleasable(f"'{kind}' is for simulation only: {WHY_NOT}.")


class RuledCounts(Mechanism):
    """The half that mechanisms with a rule share; a subclass names the rule (`rule`)."""

    releases: ClassVar[frozenset[str]] = frozenset({"cells"})
    absent: ClassVar[Mapping[str, str]] = {"noise": "a rule adds none, and promises nothing"}

    cell_m: float = Field(default=1000.0, gt=0)
    """Side of a cell, metres."""

    @property
    def rule(self) -> dict[str, int]:
        """Return the rule, which is public: `suppress_below` and `round_to`."""
        raise NotImplementedError

    @property
    def law(self) -> CountLaw:
        """What a released count says about the true one."""
        return CountLaw.of_rule(self.rule)

    def release(self, snapshot: Snapshot, noise: Noise) -> GridCells:
        """Count exactly, and apply the rule."""
        refuse_release(noise, self.kind)
        grid = Grid.fit(snapshot.region, self.cell_m)
        counts = self.law.apply_rule(grid.count(snapshot.x_m, snapshot.y_m))
        return GridCells(
            count=counts,
            noise_scale=np.zeros(grid.size),
            grid=grid,
            **self.release_fields(snapshot, grid.edges()),
        )

    def guarantee(
        self,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,  # noqa: ARG002
        counts: str = "all",  # noqa: ARG002
    ) -> Guarantee:
        """Promise nothing."""
        return Guarantee.none(WHY_NOT)


class RuledVisits(CountsPublication):
    """The half that publications with a rule share."""

    @property
    def rule(self) -> dict[str, int]:
        """Return the rule, which is public."""
        raise NotImplementedError

    def guarantee(self) -> Guarantee:
        """Promise nothing."""
        return Guarantee.none(WHY_NOT)

    def release(self, visits: VisitTable, noise: Noise, order: Integers | None = None) -> VenueCounts:  # noqa: ARG002
        """Count exactly, and apply the rule."""
        refuse_release(noise, self.kind)
        counts: Array = np.asarray(self._count(visits), dtype=np.float64)
        return VenueCounts(CountLaw.of_rule(self.rule).apply_rule(counts), self.kind, self.guarantee())

    @staticmethod
    def _count(visits: VisitTable) -> npt.NDArray[np.int64]:
        return np.asarray(visits.sum_pieces(lambda piece: piece.counts()), dtype=np.int64)
