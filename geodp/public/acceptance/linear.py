"""Willingness that falls linearly with distance."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from geodp.public.acceptance import Acceptance, Array


class Linear(Acceptance):
    """Probability mar · (1 - distance / max_travel_m), whatever the reward above the minimum.

    Reference
    ---------
    To, Ghinita and Shahabi 2014, A Framework for Protecting Worker Location Privacy in Spatial Crowdsourcing.
    """

    kind: ClassVar[str] = "linear"

    mar: float = Field(0.1, gt=0, le=1)
    """Maximum acceptance rate: the probability at distance 0."""
    max_travel_m: float = Field(3600.0, gt=0)
    """Distance beyond which nobody accepts, in metres."""
    minimum_reward: float | None = Field(None, ge=0)
    """Reward below which nobody accepts. Default: the scenario's `tasks.reward.minimum`."""

    def probability(self, reward: npt.ArrayLike, distance_m: npt.ArrayLike, eagerness: npt.ArrayLike = 1.0) -> Array:
        """Return the probability that a worker at that distance accepts; eagerness plays no part."""
        share = 1 - np.asarray(distance_m, dtype=np.float64) / self.max_travel_m
        willing, share, _ = np.broadcast_arrays(self.pays_enough(reward), share, eagerness)
        return np.where(willing, self.mar * np.clip(share, 0.0, 1.0), 0.0)

    def curve(self, reward: float) -> Callable[[float], float]:
        """Return mar · max(0, 1 - distance/max_travel_m) as a plain function of the distance."""
        mar, reach_m = (self.mar if bool(self.pays_enough(reward)) else 0.0), self.max_travel_m

        def probability(distance_m: float) -> float:
            return mar * (1.0 - distance_m / reach_m) if distance_m < reach_m else 0.0

        return probability

    def reach_m2(self, reward: npt.ArrayLike, radius_m: npt.ArrayLike) -> Array:
        """Return 2π·mar·(r²/2 - r³/(3·max_travel_m)), the integral of the probability over a circle."""
        radius = np.minimum(np.asarray(radius_m, dtype=np.float64), self.max_travel_m)
        reach = 2 * np.pi * self.mar * radius**2 * (0.5 - radius / (3 * self.max_travel_m))
        return np.where(self.pays_enough(reward), reach, 0.0)

    def radius_for(self, reward: npt.ArrayLike, reach_m2: npt.ArrayLike) -> Array:
        """Return the radius that gives a reach; infinite where the whole disc does not suffice.

        With y = r/max_travel_m and q = reach/(2π·mar·max_travel_m²) the cubic y²/2 - y³/3 = q has the root
        y = 1/2 + cos(2π/3 - β), β = (2/3)·arcsin √(6q); it is written below without cancellation for small q.
        """
        willing, reach = np.broadcast_arrays(self.pays_enough(reward), np.asarray(reach_m2, dtype=np.float64))
        q = reach / (2 * np.pi * self.mar * self.max_travel_m**2)
        beta = 2 / 3 * np.arcsin(np.sqrt(np.clip(6 * q, 0.0, 1.0)))
        radius = self.max_travel_m * (np.sin(beta / 2) ** 2 + np.sqrt(0.75) * np.sin(beta))
        return np.where(willing & (6 * q <= 1), radius, np.where(reach > 0, np.inf, 0.0))
