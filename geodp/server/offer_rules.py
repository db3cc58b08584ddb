"""Rules that limit what a malicious server could ask: no small circles, and no crowd of tasks at one place."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from geodp.geometry import Array
from geodp.public.acceptance import Acceptance
from geodp.public.events import Reason
from geodp.public.messages import Circle, Offer, Task
from geodp.public.release import Cells, Points

_POINTS = 400
_HALVES = 30
_CELL_M = 1000.0
_HOUR_S = 3600.0
_TURN = math.pi * (3 - math.sqrt(5))


@dataclass
class OfferRules:
    """What an offer must keep to; the platform refuses others, so an honest server plans within them.

    Parameters
    ----------
    acceptance
        Willingness that the server assumes.
    least_people
        Expected number of people in a circle, at least, by the released map (None: any).
    per_km2_hour
        New tasks in each square kilometre and hour at most (None: any number).
    """

    acceptance: Acceptance
    least_people: float | None = None
    per_km2_hour: float | None = None
    _seen: Counter[tuple[int, ...]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        number = np.arange(_POINTS)
        self._radius, self._angle = np.sqrt((number + 0.5) / _POINTS), number * _TURN

    def keep(
        self, tasks: Sequence[Task], offers: Sequence[Offer], release: Cells | Points | None, *, number: int
    ) -> list[Offer]:
        """Return the offers as the rules allow them; `number` counts how often these tasks were offered before."""
        found = list(offers)
        if self.per_km2_hour is not None and number == 0:
            found = [self._limit(task, offer) for task, offer in zip(tasks, found, strict=True)]
        if self.least_people is not None and isinstance(release, Cells):
            found = [self._grow(task, offer, release) for task, offer in zip(tasks, found, strict=True)]
        return found

    def _limit(self, task: Task, offer: Offer) -> Offer:
        assert self.per_km2_hour is not None  # noqa: S101 - asked for
        if offer.unreachable:
            return offer
        window_s = _HOUR_S * max(1.0, 1 / self.per_km2_hour)  # of less than one an hour: one in so many hours
        key = tuple(math.floor(each) for each in (task.x_m / _CELL_M, task.y_m / _CELL_M, task.arrived_s / window_s))
        if self._seen[key] + 1 > max(self.per_km2_hour, 1.0):
            return Offer.refuse(task, Reason.CROWDED)
        self._seen[key] += 1
        return offer

    def _grow(self, task: Task, offer: Offer, release: Cells) -> Offer:
        """Widen a circle until enough people are expected in it, and ask as many more as keep its plan."""
        assert self.least_people is not None  # noqa: S101 - asked for
        if not isinstance(offer.target, Circle):
            return offer
        radius, longest = offer.target.radius_m, self.acceptance.max_travel_m
        if self._people(task, radius, release)[0] >= self.least_people:
            return offer
        if self._people(task, longest, release)[0] < self.least_people:
            return Offer.refuse(task, Reason.FEW_PEOPLE)
        low, high = radius, longest
        for _ in range(_HALVES):
            middle = (low + high) / 2
            low, high = (low, middle) if self._people(task, middle, release)[0] >= self.least_people else (middle, high)
        people, density, far = self._people(task, high, release)
        theta = float(np.average(self.acceptance.probability(offer.reward, far), weights=density))
        caps = offer.caps
        if caps and 0 < theta < 1 and 0 < offer.planned_success < 1:
            wanted = math.ceil(math.log1p(-offer.planned_success) / math.log1p(-theta) - 1e-9)
            more = max(1.0, wanted / caps[-1])
            caps = tuple(math.ceil(each * more) for each in caps)
        success = offer.planned_success
        if theta < 1:
            asked = min(people, caps[-1]) if caps else people
            success = -math.expm1(asked * math.log1p(-theta))
        return replace(offer, target=Circle(high), expected_workers=people, caps=caps, planned_success=success)

    def _people(self, task: Task, radius_m: float, release: Cells) -> tuple[float, Array, Array]:
        """Return how many people the map says are inside, the density at points of the disc, and their distances."""
        far = self._radius * radius_m
        x, y = task.x_m + far * np.cos(self._angle), task.y_m + far * np.sin(self._angle)
        inside = release.locate(x, y) >= 0
        density = np.where(inside, np.maximum(release.density(x, y), 0.0), 0.0) + 1e-300
        return float(density.mean()) * math.pi * radius_m**2, density, far
