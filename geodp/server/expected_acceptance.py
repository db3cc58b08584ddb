"""Willingness of a worker whose place is known through noise only: θ averaged over where she may be.

Given a report z under the public law f and no other knowledge (a flat prior), the true place has density f(z - x).
Both θ and f look at distances alone, so the mean of θ(w, |task - x|) depends on the reported distance alone: a table
with one entry per distance serves every worker and every task.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array
from geodp.public.acceptance import Acceptance
from geodp.public.channels import Channel

_DISTANCES = 240  # entries of the table
_RADII = 160  # quantiles of the displacement
_ANGLES = 48  # over half a turn; the other half mirrors it
_FURTHEST = 9.23  # in 1/ε: 99.9 % of displacements are shorter


@dataclass(frozen=True, eq=False)
class BlurredWillingness:
    """Mean probability of acceptance against reported distance, for one reward."""

    distance_m: Array
    probability: Array

    def at(self, distance_m: npt.ArrayLike) -> Array:
        """Return the mean probability at reported distances; beyond the table it is zero."""
        return np.interp(np.asarray(distance_m, dtype=np.float64), self.distance_m, self.probability, right=0.0)


@lru_cache(maxsize=256)
def blurred_willingness(acceptance: Acceptance, reward: float, channel: Any) -> BlurredWillingness:
    """Tabulate the mean willingness for a reward under a `Channel`; None: reports are believed as they are."""
    if channel is None:
        distance = np.linspace(0.0, acceptance.max_travel_m, 10 * _DISTANCES)
        return BlurredWillingness(distance, acceptance.probability(reward, distance))
    radius = _displacements(channel)
    distance = np.linspace(0.0, acceptance.max_travel_m + _FURTHEST / channel.epsilon_per_m, _DISTANCES)
    turn = np.cos((np.arange(_ANGLES) + 0.5) * np.pi / _ANGLES)
    probability = np.empty(_DISTANCES)
    for place, reported in enumerate(distance):
        square = reported**2 + radius[:, None] ** 2 - 2 * reported * radius[:, None] * turn  # law of cosines
        probability[place] = acceptance.probability(reward, np.sqrt(np.maximum(square, 0.0))).mean()
    # θ falls with distance and f is symmetric about its peak, so the mean falls too: only the sum's steps do not
    return BlurredWillingness(distance, np.minimum.accumulate(probability))


def _displacements(channel: Channel) -> Array:
    """Return evenly weighted radii of the planar Laplace law, whose radius is Gamma(2, 1/ε)."""
    from scipy.special import gammaincinv

    level = (np.arange(_RADII) + 0.5) / _RADII
    return np.asarray(gammaincinv(2.0, level) / channel.epsilon_per_m)
