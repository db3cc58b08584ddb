"""Willingness that falls with distance in steps, like the ranks of Zipf's law."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from geodp.public.acceptance import Acceptance, Array


class Zipf(Acceptance):
    """Probability mar · rank^-exponent / Σ j^-exponent, where the rank grows with distance in steps.

    The rank is ⌊steps · distance / max_travel_m⌋, at least 1 and at most `steps`.

    Reference
    ---------
    To, Ghinita and Shahabi 2014, A Framework for Protecting Worker Location Privacy in Spatial Crowdsourcing;
    the lower clip of the rank is ours (rank 0 would divide by zero).
    """

    kind: ClassVar[str] = "zipf"

    mar: float = Field(0.1, gt=0, le=1)
    """Maximum acceptance rate, shared out over the ranks."""
    exponent: float = Field(1.0, ge=0)
    """Exponent of Zipf's law."""
    steps: int = Field(5, ge=1, le=1000)
    """Number of ranks."""
    max_travel_m: float = Field(3600.0, gt=0)
    """Distance beyond which nobody accepts, in metres."""
    minimum_reward: float | None = Field(None, ge=0)
    """Reward below which nobody accepts. Default: the scenario's `tasks.reward.minimum`."""

    def _by_rank(self) -> Array:
        """Return the probability of each rank, 1 first."""
        weights = np.arange(1, self.steps + 1, dtype=np.float64) ** -self.exponent
        return np.asarray(self.mar * weights / weights.sum(), dtype=np.float64)

    def probability(self, reward: npt.ArrayLike, distance_m: npt.ArrayLike, eagerness: npt.ArrayLike = 1.0) -> Array:
        """Return the probability that a worker at that distance accepts; eagerness plays no part."""
        willing, distance, _ = np.broadcast_arrays(
            self.pays_enough(reward), np.asarray(distance_m, dtype=np.float64), eagerness
        )
        within = distance <= self.max_travel_m
        position = np.where(within, distance, 0.0) * (self.steps / self.max_travel_m)
        rank = np.clip(np.floor(position).astype(np.int64), 1, self.steps)
        return np.where(willing & within, self._by_rank()[rank - 1], 0.0)

    def curve(self, reward: float) -> Callable[[float], float]:
        """Return the probability by distance as a plain function."""
        steps, reach_m, by_rank = self.steps, self.max_travel_m, self._by_rank().tolist()
        per_m = steps / reach_m
        willing = bool(self.pays_enough(reward))

        def probability(distance_m: float) -> float:
            if distance_m > reach_m or not willing:
                return 0.0
            rank = int(distance_m * per_m)
            return float(by_rank[min(max(rank, 1), steps) - 1])

        return probability

    def _rings(self) -> tuple[Array, Array]:
        """Return the squared radii at which the rank changes and the reach up to each."""
        edges: Array = np.arange(self.steps + 1, dtype=np.float64) * (self.max_travel_m / self.steps)
        ranks = np.maximum(np.arange(self.steps), 1)  # ring j lies between edges j and j+1
        ring_m2 = np.pi * np.diff(edges**2) * self._by_rank()[ranks - 1]
        return edges**2, np.concatenate([[0.0], np.cumsum(ring_m2)])

    def reach_m2(self, reward: npt.ArrayLike, radius_m: npt.ArrayLike) -> Array:
        """Return the integral of the probability over a circle: linear in r² within each ring."""
        squares, reaches = self._rings()
        reach = np.interp(np.asarray(radius_m, dtype=np.float64) ** 2, squares, reaches)
        return np.where(self.pays_enough(reward), reach, 0.0)

    def radius_for(self, reward: npt.ArrayLike, reach_m2: npt.ArrayLike) -> Array:
        """Return the radius that gives a reach; infinite where the whole disc does not suffice."""
        squares, reaches = self._rings()
        willing, reach = np.broadcast_arrays(self.pays_enough(reward), np.asarray(reach_m2, dtype=np.float64))
        radius = np.sqrt(np.interp(reach, reaches, squares))
        return np.where(willing & (reach <= reaches[-1]), radius, np.where(reach > 0, np.inf, 0.0))
