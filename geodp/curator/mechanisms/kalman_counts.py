"""Counts followed over time: a few releases are measured, the others predicted."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from pydantic import Field, SerializeAsAny, model_validator

from geodp.curator.decomposition import equal_noise
from geodp.curator.mechanisms import Mechanism, Snapshot
from geodp.curator.tree_mechanism import Estimates
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Guarantee, Neighbours
from geodp.public.release import Cells
from geodp.registry import PublicFacts, Slot


def _cells() -> Any:
    return Slot("mechanism").build("uniform_grid")


class KalmanCounts(Mechanism):
    """Counts on fixed cells that are measured now and then and predicted in between by a Kalman filter.

    Guarantee
    ---------
    ε-differential privacy for one worker's position in each measured release (snapshot), against everyone but the
    curator. Which releases are measured is a public schedule; n measured ones cost n ε. Filtering and predicting read
    earlier releases alone: post-processing, which costs nothing. A prediction says nothing about where anyone is now.

    Reference
    ---------
    Fan and Xiong 2014, An adaptive approach to real-time aggregate monitoring with differential privacy (FAST), with
    sampling at a fixed rate. How far counts wander is not given by hand: in a cell with n people of whom each stays for
    a time τ, the count changes within t by a variance of 2 n (1 - exp(-t/τ)). That knows no rush hours: while many
    people move the same way, predictions are further off than they say.
    """

    kind: ClassVar[str] = "kalman_counts"
    releases: ClassVar[frozenset[str]] = frozenset({"cells"})

    epsilon: float = Field(default=0.4, gt=0)
    """ε of one measured release; predicted ones cost nothing."""
    cells: Annotated[SerializeAsAny[Mechanism], Slot("mechanism", "uniform_grid", only="fixed_cells")] = Field(
        default_factory=_cells
    )
    """How measured releases count: a mechanism whose cells are the same in every release. Its own ε is not used."""
    measure_every: int = Field(default=4, ge=1)
    """Every so many releases one is measured, the first included; 1 = all."""
    stay_s: float = Field(default=3600.0, gt=0)
    """How long a worker stays in a cell, seconds: a public guess. The shorter, the less earlier counts are trusted."""

    @model_validator(mode="after")
    def _same_cells(self) -> Self:
        if getattr(self.cells, "count_share", 0.0) > 0:
            raise ValueError("cells.count_share must be 0: cells sized by a noisy count change with every release")
        stated = getattr(self.cells, "epsilon", self.epsilon)
        if stated not in (self.epsilon, type(self.cells).model_fields["epsilon"].default):
            raise ValueError("cells.epsilon has no effect: measured releases have the epsilon of kalman_counts")
        return self

    def resolve(self, facts: PublicFacts) -> Self:
        """Write out the cells; their own ε stays what it was, so that another one of the filter can be tried."""
        cells, own = self._measuring().resolve(facts), getattr(self.cells, "epsilon", self.epsilon)
        return self.model_copy(update={"cells": cells.with_epsilon(own)})

    def with_epsilon(self, epsilon: float) -> Self:
        """Return the same filter at another ε per measured release."""
        return self.model_copy(update={"epsilon": epsilon, "cells": self.cells.with_epsilon(epsilon)})

    def _measuring(self) -> Mechanism:
        return self.cells.with_epsilon(self.epsilon)

    def measures(self, number: int) -> bool:
        """Measure every so many releases, beginning with the first."""
        return number % self.measure_every == 0

    def release(self, snapshot: Snapshot, noise: Noise) -> Cells:
        """Measure; there is nothing earlier to filter with."""
        return replace(self._measuring().release(snapshot, noise), **self._named(snapshot))

    def following(self, earlier: Cells | None, snapshot: Snapshot, noise: Noise, *, number: int) -> Cells:
        """Let the counts of the earlier release wander up to now and, where this one is measured, correct them."""
        measured = self.measures(number) or earlier is None
        if earlier is None:
            return self.release(snapshot, noise)
        found, fresh = self._predict(earlier, snapshot.time_s), earlier
        if measured:
            fresh = self.release(snapshot, noise)
            second = fresh.noise_scale**2
            found = found.average(Estimates(fresh.count, second, second**2 / _terms(fresh)))
        scale, terms = equal_noise(found.second, found.fourth)
        made = self._measuring().with_counts(fresh, found.value, scale, terms)
        return replace(made, measured=measured, **self._named(snapshot))

    def _predict(self, earlier: Cells, time_s: float) -> Estimates:
        """Return the earlier counts as estimates of those now: as large, and less certain.

        The change of a count over time adds to the variance; being a sum of many small steps it has no kurtosis.
        """
        people = np.maximum(earlier.count, earlier.floor_per_m2 * earlier.area_m2)
        wandered = 2 * people * -np.expm1(-(time_s - earlier.time_s) / self.stay_s)
        second = earlier.noise_scale**2
        return Estimates(earlier.count, second + wandered / 2, second**2 / _terms(earlier))

    def _named(self, snapshot: Snapshot) -> dict[str, Any]:
        guarantee = self.guarantee(snapshot.neighbours, snapshot.counts)
        return {"time_s": snapshot.time_s, "mechanism": self.kind, "guarantee": guarantee}

    def guarantee(self, neighbours: Neighbours = Neighbours.ADD_REMOVE, counts: str = "all") -> Guarantee:
        """Promise what a measured release promises."""
        return self._measuring().guarantee(neighbours, counts)

    def expected_noise(self, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> float | None:
        """Return the noise of a measured count; filtering lowers it, predicting raises it."""
        return self._measuring().expected_noise(neighbours)


def _terms(release: Cells) -> Any:
    return 1.0 if release.noise_terms is None else release.noise_terms
