"""What mechanisms of counts over time have in common: cells that stay the same, and counts on them."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from pydantic import Field, SerializeAsAny, model_validator

from geodp.curator.household_counts import HouseholdCounts
from geodp.curator.mechanisms import Mechanism, Snapshot
from geodp.curator.series import Series
from geodp.geometry import Array, Grid
from geodp.public.release import Cells
from geodp.registry import PublicFacts, Slot


def _cells() -> Any:
    return Slot("mechanism").build("uniform_grid")


class ContinualCounts(HouseholdCounts):
    """Counts on fixed cells, release after release."""

    releases: ClassVar[frozenset[str]] = frozenset({"cells"})
    counts_anyone: ClassVar[bool] = False

    epsilon: float = Field(default=1.0, gt=0)
    """ε of the promise."""
    cells: Annotated[SerializeAsAny[Mechanism], Slot("mechanism", "uniform_grid", only="fixed_cells")] = Field(
        default_factory=_cells
    )
    """How counts are published: a mechanism whose cells are the same in every release. Its own ε is not used."""

    @model_validator(mode="after")
    def _same_cells(self) -> Self:
        if getattr(self.cells, "count_share", 0.0) > 0:
            raise ValueError("cells.count_share must be 0: cells sized by a noisy count change with every release")
        stated = getattr(self.cells, "epsilon", self.epsilon)
        if stated not in (self.epsilon, type(self.cells).model_fields["epsilon"].default):
            raise ValueError(f"cells.epsilon has no effect: counts have the epsilon of {self.kind}")
        if getattr(self.cells, "noise", "laplace") != "laplace":
            raise ValueError(f"cells.noise has no effect: counts have the noise of {self.kind}")
        if getattr(self.cells, "household", 1) not in (1, self.household):
            raise ValueError(f"cells.household has no effect: state household of {self.kind}")
        return self

    def count_epsilon(self, releases: int) -> float:  # noqa: ARG002 - subclasses read it
        """Return ε of one count of a series of so many releases, roughly: the size of the cells follows from it."""
        return self.epsilon

    def fewest_releases(self) -> int:
        """Return how many releases a series needs to have for these settings."""
        return 1

    def resolve(self, facts: PublicFacts) -> Self:
        """Write out the cells; their own ε stays what it was, so that another one of the series can be tried."""
        own = getattr(self.cells, "epsilon", self.epsilon)
        cells = self.shape_cells(self.count_epsilon(facts.releases)).resolve(facts)
        return self.model_copy(update={"cells": cells.with_epsilon(own)})

    def shape_cells(self, epsilon: float) -> Mechanism:
        """Return the mechanism of the cells at an ε of counts, with noise for as many people together."""
        together = {"household": self.household} if isinstance(self.cells, HouseholdCounts) else {}
        return self.cells.with_epsilon(epsilon).model_copy(update=together)

    def with_epsilon(self, epsilon: float) -> Self:
        """Return the same mechanism at another ε."""
        return self.model_copy(update={"epsilon": epsilon, "cells": self.cells.with_epsilon(epsilon)})


class CountSeries(Series):
    """A series of counts on the same grid."""

    def __init__(self, mechanism: ContinualCounts, length: int | None) -> None:
        super().__init__(mechanism, length)
        self._shown = mechanism.shape_cells(mechanism.count_epsilon(length or 1))
        self._grid: Grid | None = None
        self._first: Cells | None = None

    def fit_grid(self, snapshot: Snapshot) -> Grid:
        """Return the public grid of the series."""
        if self._grid is None:
            self._grid = self._shown.fit_grid(snapshot)
        return self._grid

    def show(
        self, snapshot: Snapshot, count: Array, *, scale: Array | float, terms: Array | float, measured: bool = True
    ) -> Cells:
        """Return noisy counts as they are published, with the law of their noise.

        Parameters
        ----------
        snapshot
            When, and the public settings.
        count
            The noisy counts.
        scale, terms
            The law of their noise, as in `Cells`: one for all, or one each.
        measured
            Whether people were counted for it.
        """
        grid = self.fit_grid(snapshot)
        wide, parts = (np.broadcast_to(np.asarray(value, dtype=np.float64), grid.size) for value in (scale, terms))
        if self._first is None:
            made = self._shown.show_counts(snapshot, grid, count, wide, parts)
            self._first = made = replace(made, mechanism=self.mechanism.kind)
        else:  # the edges of cells are the same, and kept once
            made = self._shown.with_counts(self._first, count, wide, parts)
        guarantee = self.mechanism.guarantee(snapshot.neighbours, snapshot.counts)
        return replace(made, time_s=snapshot.time_s, guarantee=guarantee, measured=measured)
