"""Personal privacy for counts: who wants more of it is left out more often, by a coin that nobody sees."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, SerializeAsAny, model_validator

from geodp.curator.mechanisms import Mechanism, Snapshot
from geodp.curator.personal_levels import CountLevel, default_levels, require_levels
from geodp.geometry import Array
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit
from geodp.public.release import AdaptiveCells, Cells, Contours
from geodp.registry import PublicFacts, Slot


def _cells() -> Any:
    return Slot("mechanism").build("uniform_grid")


class PdpSample(Mechanism):
    """Counts in which everyone gets an ε of her own: the careful are left out more often, by a fresh coin each time.

    Guarantee
    ---------
    Personal differential privacy for one worker's position in one release (snapshot), against everyone but the
    curator: person i gets her own ε_i, or the threshold t where that is less, when she is added or removed (replacing
    her costs twice that). She is kept with probability π_i = (e^ε_i - 1)/(e^t - 1), or 1 where ε_i ≥ t, and whoever is
    kept is counted by a mechanism that is t-differentially private: ln(1 + π_i(e^t - 1)) = ε_i. The coin is hidden, and
    drawn anew in every release. Levels are public; who has which is drawn by lot, never from places. Where nobody says
    who is in which group, everyone is taken to be in the most careful one. There is no `noise: gaussian`: how much
    smaller the coin makes a ρ follows from no such rule.

    Counts are divided by the public mean π̄ of all π, so that a cell of n people is right on average where levels do
    not depend on places; the noise of a count then has variance (n π̄(1 - π̄) + noise)/π̄². n is private: what is
    stated puts the noisy count in its place (0 where that is negative).

    Reference
    ---------
    [recalled] Jorgensen, Yu, Cormode 2015, Conservative or liberal? Personalized differential privacy (ICDE): the
    Sample mechanism; Zhu et al. 2017, section 15.2, which cites it.
    """

    kind: ClassVar[str] = "pdp_sample"
    absent: ClassVar[Mapping[str, str]] = {
        "noise": "pdp_sample makes everyone's own ε by a coin, which a ρ does not follow: `cells` have Laplace noise"
    }
    releases: ClassVar[frozenset[str]] = frozenset({"cells"})
    audited_by: ClassVar[str] = "enumeration"
    counts_anyone: ClassVar[bool] = False

    levels: dict[str, CountLevel] = Field(default_factory=default_levels, min_length=1, max_length=50)
    """Groups of people by name: `{careful: {epsilon: 0.1, share: 0.5}, …}`; shares add up to 1."""
    threshold: float | None = Field(default=None, gt=0)
    """t: ε of the counts of those who are kept; who would allow more gets no more than this. Default: the largest
    level. More than that would leave everyone out now and then, and serve nobody."""
    cells: Annotated[SerializeAsAny[Mechanism], Slot("mechanism", "uniform_grid", only="counts_anyone")] = Field(
        default_factory=_cells
    )
    """How those who are kept are counted: any mechanism of cells whose releases are charged one by one. Its own ε is
    not used."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        require_levels(self.levels)
        most = max(level.epsilon for level in self.levels.values())
        if self.threshold is not None and self.threshold > most * (1 + 1e-12):
            raise ValueError(f"threshold {self.threshold:g} is a level that no group has: the largest is {most:g}")
        promise = self.cells.guarantee()
        if promise.rho is not None:
            raise ValueError(
                "cells.noise: the coin makes an ε smaller, by how much no ρ is: those who are kept have Laplace noise"
            )
        by_itself = type(self.cells).release_next is Mechanism.release_next and self.cells.window_releases() is None
        single = by_itself and self.cells.series_guarantee(2) is None and not promise.by_group
        if promise.unit is not Unit.SNAPSHOT or not promise.holds or promise.delta or not single:
            raise ValueError(
                f"cells: '{self.cells.kind}' cannot count those who are kept: it must promise ε for every release by "
                "itself (uniform_grid, adaptive_grid, kd_tree, contour, …)"
            )
        if promise.people > 1:
            raise ValueError(
                "cells.household: here everyone has an ε of her own, and people together the sum of theirs"
            )
        stated = getattr(self.cells, "epsilon", None)
        if stated is not None and stated not in (self.bound, type(self.cells).model_fields["epsilon"].default):
            raise ValueError("cells.epsilon has no effect: counts have the threshold, or the largest level")
        return self

    @property
    def bound(self) -> float:
        """T: what those who are kept are counted with."""
        return self.threshold or max(level.epsilon for level in self.levels.values())

    @property
    def group_shares(self) -> dict[str, float]:
        """Share of the people in each group."""
        return {name: level.share for name, level in self.levels.items()}

    @property
    def kept_shares(self) -> dict[str, float]:
        """π: with which probability the people of each group are kept."""
        return {name: keep_probability(level.epsilon, self.bound) for name, level in self.levels.items()}

    def mean_kept(self) -> float:
        """Return π̄: which share of all is kept, on average over groups."""
        return sum(level.share * keep_probability(level.epsilon, self.bound) for level in self.levels.values())

    def resolve(self, facts: PublicFacts) -> Self:
        """Write out the cells, of a size for those who are kept; their own ε stays what it was."""
        own = getattr(self.cells, "epsilon", self.bound)
        kept = replace(facts, expected_workers=max(1.0, facts.expected_workers * self.mean_kept()))
        return self.model_copy(update={"cells": self._counts().resolve(kept).with_epsilon(own)})

    def with_epsilon(self, epsilon: float) -> Self:
        """Return the same mechanism with all levels scaled, so that the least careful group gets another ε."""
        factor = epsilon / self.guarantee().epsilon
        levels = {
            name: level.model_copy(update={"epsilon": level.epsilon * factor}) for name, level in self.levels.items()
        }
        threshold = None if self.threshold is None else self.threshold * factor
        return self.model_copy(update={"levels": levels, "threshold": threshold})

    def release(self, snapshot: Snapshot, noise: Noise) -> Cells:
        """Toss a coin for everyone, and count those who are kept."""
        share, kept_of = self.mean_kept(), self.kept_shares
        if snapshot.group is None:  # nobody says who is who: all are as careful as any
            share = min(kept_of.values())
            chance = np.full(snapshot.x_m.size, share)
        else:
            chance = _look_up(kept_of, snapshot.group)
        kept = noise.uniform(snapshot.x_m.size) < chance
        counted = replace(
            snapshot.take(kept),
            expected_workers=max(1.0, snapshot.expected_workers * share),
            neighbours=Neighbours.ADD_REMOVE,
        )
        made = self._counts().release(counted, noise)
        return self._correct(made, share, snapshot)

    def _correct(self, made: Cells, share: float, snapshot: Snapshot) -> Cells:
        """Return the counts of all, worked back from those of the kept, with the law of what stands between them."""
        noise = 2 * made.noise_scale**2
        coin = np.maximum(made.count, 0.0) * (1 - share)
        together = noise + coin
        own_terms = np.ones_like(noise) if made.noise_terms is None else made.noise_terms
        with np.errstate(divide="ignore", invalid="ignore"):  # the coin's part has no kurtosis to speak of
            terms = np.where(noise > 0, own_terms * (together / noise) ** 2, _MANY_TERMS)
        fields: dict[str, Any] = {
            "mechanism": self.kind,
            "guarantee": self.guarantee(snapshot.neighbours, snapshot.counts),
            "floor_per_m2": snapshot.floor_per_m2,
            "count": made.count / share,
            "noise_scale": np.sqrt(together / 2) / share,
            "noise_terms": np.minimum(terms, _MANY_TERMS),
        }
        if isinstance(made, Contours):
            fields["levels"] = made.levels / share
        if isinstance(made, AdaptiveCells):  # what was measured in two steps had the coin in both: not stated apart
            fields |= {"fine_scale": None, "coarse_scale": None, "coarse_count": None}
        return replace(made, **fields)

    def guarantee(self, neighbours: Neighbours = Neighbours.ADD_REMOVE, counts: str = "all") -> Guarantee:
        """Promise each group its own ε, and everyone the largest."""
        each = tuple((name, min(level.epsilon, self.bound)) for name, level in self.levels.items())
        promise = Guarantee(
            max(epsilon for _, epsilon in each),
            Unit.SNAPSHOT,
            Neighbours.ADD_REMOVE,
            Trust.CENTRAL,
            counts=counts,
            by_group=each,
        )
        return promise.for_replacement() if neighbours is Neighbours.REPLACE else promise

    def expected_noise(self, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> float | None:  # noqa: ARG002
        """Return the expected absolute noise per count, without what the coin adds: √(n(1 - π̄)/π̄) in a cell of n."""
        own = self._counts().expected_noise(Neighbours.ADD_REMOVE)
        return None if own is None else own / self.mean_kept()

    def _counts(self) -> Mechanism:
        return self.cells.with_epsilon(self.bound)


_MANY_TERMS = 1000.0


def keep_probability(epsilon: float, threshold: float) -> float:
    """Return π: with which probability a person of level ε is kept for counts of ε = t.

    Parameters
    ----------
    epsilon
        Her own ε.
    threshold
        t, the ε of the counts.

    Returns
    -------
    float
        (e^ε - 1)/(e^t - 1), or 1 where ε ≥ t.

    Examples
    --------
    >>> from geodp.curator.mechanisms.pdp_sample import keep_probability
    >>> round(keep_probability(0.1, 1.0), 6), round(keep_probability(0.5, 1.0), 6)
    (0.061207, 0.377541)
    """
    if epsilon >= threshold:
        return 1.0
    # e^ε would overflow for the ε at which audits look at releases almost without noise
    return math.exp(epsilon - threshold) * math.expm1(-epsilon) / math.expm1(-threshold)


def _look_up(of: Mapping[str, float], group: npt.NDArray[np.str_]) -> Array:
    """Return the value of each person's group; a name that no level has counts as the most careful."""
    names, place = np.unique(group, return_inverse=True)
    values = np.array([of.get(name, min(of.values())) for name in names.tolist()])
    return np.asarray(values[place], dtype=np.float64)
