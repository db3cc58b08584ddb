"""Synthetic trips from a noisy prefix tree with consistent counts: a baseline (Chen et al. 2012)."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from geodp.curator.synthesis.epsilon_parts import EpsilonParts, split
from geodp.curator.synthesis.sequence_tree import SequenceModel, fit_sequence_model, level_part
from geodp.curator.synthesis.trip_shapes import DEPARTURES, PACES
from geodp.curator.trips_publication import TripModelPublication
from geodp.geometry import Region
from geodp.tables.trajectories.table import Trajectories


class PrefixTree(TripModelPublication):
    """Synthetic trips from a noisy tree of how they begin, cell by cell, with consistent counts: a baseline.

    The tree counts how many trips begin with each sequence of up to `height` cells of one grid; trips that go on are
    cut. Sequences that stand out of the noise are followed. From the root down, children that are more than their
    parent together lose what is too much in equal parts (constrained inference: 7 and 5 below 10 become 6 and 4).

    Guarantee
    ---------
    As of `dpt`: ε-differential privacy for everything one person did (`unit: person`, at most `trajectories_per_person`
    trips of hers count), or for one trip. A trip is one node of each level, so levels share ε; departures and paces are
    paid for, too. Consistency and drawing come after the noise and cost nothing.

    Reference
    ---------
    [recalled] Chen, Fung, Desai, Sossou 2012, Differentially private transit data publication: a case study on the
    Montreal transportation system. Theirs hides one trip, and follows whatever is above two standard deviations; among
    many cells that follows more noise than trips, so ours asks for as much as one of all empty siblings reaches, too.
    """

    kind: ClassVar[str] = "prefix_tree"

    cells: int = Field(default=8, ge=2, le=40)
    """Cells along the longer side of the region."""
    height: int = Field(default=5, ge=1, le=20)
    """Longest sequence of cells that is counted: longer trips are cut."""
    times_share: float = Field(default=0.1, gt=0, lt=1)
    """Part of ε for departures and paces."""

    def parts(self) -> dict[str, float]:
        """Return ε of every part of the release; together they are the ε of the guarantee."""
        shares = {level_part(level): (1 - self.times_share) / self.height for level in range(self.height)}
        return split(self.epsilon, shares | {DEPARTURES: self.times_share / 2, PACES: self.times_share / 2})

    def fit(self, trajectories: Trajectories, region: Region, parts: EpsilonParts) -> SequenceModel:
        """Count sequences of cells, with noise from the parts of ε alone."""
        return fit_sequence_model(
            trajectories, region, parts, cells=self.cells, height=self.height, period_s=self.period_s
        )

    def _number_part(self) -> tuple[str, int]:
        return level_part(0), self.cells**2

    def _bound_counts_per_trip(self) -> dict[str, float]:
        return {}
