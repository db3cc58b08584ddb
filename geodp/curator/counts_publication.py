"""What the publications of venue counts have in common: the cap, the promise, the accuracy that is paid for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import ClassVar

import numpy as np
from pydantic import Field

from geodp.curator.accuracy import (
    ACCURACY_SHARE,
    PaidCounts,
    accuracy_facts,
    other_errors,
    pay_for_accuracy,
    state_accuracy,
)
from geodp.curator.publications import Publication, Published, Records
from geodp.errors import NotReleasable
from geodp.geometry import Array
from geodp.privacy.keyed_choice import draw_key
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit
from geodp.tables.notices import notice_cap
from geodp.tables.visits.histories import Integers, VenueCounts
from geodp.tables.visits.space_order import space_order
from geodp.tables.visits.visit_sets import VisitSets, VisitTable, sets_of

OBSERVED = "the noise follows the largest number of venues that any user visited, which is private itself"


class CountsPublication(Publication):
    """Publications of how many users visited each venue of a public list."""

    reads: ClassVar[frozenset[str]] = frozenset({"visits"})
    releases: ClassVar[frozenset[str]] = frozenset({"counts"})

    @abstractmethod
    def release(self, visits: VisitTable, noise: Noise, order: Integers | None = None) -> VenueCounts:
        """Publish the counts, with noise from `noise` alone.

        `order` is a public order of the venues in which neighbours are near each other (used by `grouping: space`).
        """

    def publish(self, records: Records, noise: Noise) -> Published:
        """Publish the counts of everyone's visits: one row per public venue; the exact counts stay behind."""
        import pandas as pd

        histories, venues = records.visits()
        sets = sets_of(histories, venues.size)
        notice_cap(self.kind, sets.size, getattr(self, "cap", None), "venues that people visited")
        order = space_order(*venues.places_m()) if self.uses_places else None
        released = self.release(sets, noise, order)
        published = pd.DataFrame({"venue": venues.name, "count": released.count, "lon": venues.lon, "lat": venues.lat})
        truth = {
            "counts": pd.DataFrame({"venue": venues.name, "count": sets.counts()}),
            "users": pd.DataFrame({"users": [sets.users]}),
        }
        return Published(published, truth, released.facts)

    @property
    def uses_places(self) -> bool:
        """Whether the places of the venues are needed."""
        return False

    def accuracy(self, released: VenueCounts) -> tuple[str, dict[str, float]]:  # noqa: ARG002
        """Say how large the error will be, from public facts and what was paid for, in words and numbers."""
        return "How far the counts are off is not known beforehand.", {}


class NoisyCounts(CountsPublication):
    """Publications with an epsilon for all visits of one user, a part of which pays for a stated accuracy."""

    states_always: ClassVar[bool] = False
    """Whether the error is stated even where it is known roughly only, because the noise says most of it."""

    epsilon: float = Field(default=0.69, gt=0)
    """ε of the release, for all visits of one user."""
    accuracy_share: float = Field(default=ACCURACY_SHARE, ge=0, le=0.5)
    """Part of ε that pays for knowing how far the counts are off; 0: it is not known."""

    @abstractmethod
    def count_venues(self, visits: VisitTable, noise: Noise, order: Integers | None = None) -> PaidCounts:
        """Count, with noise from `noise` alone, at `counting_epsilon`."""

    @property
    def counting_epsilon(self) -> float:
        """What is left of ε for the counts."""
        return self.epsilon - self.accuracy_epsilon

    @property
    def accuracy_epsilon(self) -> float:
        """What the stated accuracy costs."""
        return self.accuracy_share * self.epsilon

    def release(self, visits: VisitTable, noise: Noise, order: Integers | None = None) -> VenueCounts:
        """Count, and measure how far the counts are off."""
        self.require_sound(noise)
        counted = self.count_venues(visits, noise, order)
        facts = counted.facts
        if self.accuracy_share:
            paid = pay_for_accuracy(counted, visits, noise, self.accuracy_epsilon)
            facts = facts | accuracy_facts(paid.error, always=self.states_always)
            facts |= other_errors(paid, visits.venues, self.epsilon, getattr(self, "cap", None))
        return VenueCounts(counted.count, self.kind, self.guarantee(), facts)

    def accuracy(self, released: VenueCounts) -> tuple[str, dict[str, float]]:
        """Say how far the counts are off, as far as that was paid for, and which method would be nearer."""
        return state_accuracy(self.kind, self.how(released.facts), released.facts), dict(released.facts)

    @abstractmethod
    def how(self, facts: Mapping[str, float]) -> str:
        """Say how the counts came about, and what their noise is."""

    def flaw(self) -> str:
        """Say why the promise does not hold ('' when it does)."""
        return ""

    def guarantee(self) -> Guarantee:
        """Promise ε for one user, added or removed."""
        flaw = self.flaw()
        return Guarantee(self.epsilon, Unit.USER, Neighbours.ADD_REMOVE, Trust.CENTRAL, holds=not flaw, why_not=flaw)

    def require_sound(self, noise: Noise) -> None:
        """Refuse to release what is not private."""
        if self.flaw() and noise.releasable:
            raise NotReleasable(f"{self.kind}, as it is set, is not private: {self.flaw()}. It must not be released.")


class CappedCounts(NoisyCounts):
    """Publications whose noise follows a public cap on the venues of one user."""

    cap: int = Field(default=20, ge=1)
    """Everyone counts at no more than so many venues (Δ), drawn at random from their own: a public number."""
    nonnegative: bool = False
    """Raise counts below 0 to 0 (post-processing, free)."""

    @property
    def literal(self) -> bool:
        """Whether the cap is read off the data, as a paper does: not private."""
        return getattr(self, "variant", "") == "literal"

    def idle_fields(self) -> dict[str, str]:
        """Return the cap where the data give it."""
        return {"cap": "with variant: literal, which reads it off the data"} if self.literal else {}

    def flaw(self) -> str:
        """Say why the promise does not hold ('' when it does)."""
        return OBSERVED if self.literal else ""

    def cap_and_key(self, visits: VisitTable, noise: Noise) -> tuple[int, bytes]:
        """Return Δ and the key by which everyone's venues beyond it are left out."""
        return observe_cap(visits) if self.literal else min(self.cap, visits.venues), draw_key(noise)

    def finish_counts(self, count: Array) -> Array:
        """Apply the post-processing that is asked for."""
        return np.maximum(count, 0.0) if self.nonnegative else count


def count_capped(piece: VisitSets, *, cap: int, key: bytes) -> Integers:
    """Count the users of each venue, everyone at no more than `cap` venues."""
    return piece.keep_at_most(cap, key).counts()


def observe_cap(visits: VisitTable) -> int:
    """Return the largest number of venues of a user: private, used by literal variants alone."""
    sizes = visits.sum_pieces(partial(VisitSets.sizes_up_to, most=visits.venues))
    return max(int(np.flatnonzero(sizes).max(initial=1)), 1)
