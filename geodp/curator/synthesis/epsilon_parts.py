"""Noise for the parts of one release: every part is paid from its own share of ε, and every draw leaves a receipt."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.errors import GeodpError
from geodp.geometry import Array
from geodp.privacy.noise import Noise
from geodp.privacy.primitives import laplace_counts
from geodp.privacy.release_noise import lattice_step
from geodp.public.guarantee import plus

_SLACK = 1e-9


@dataclass(frozen=True)
class Receipt:
    """One paid part."""

    part: str
    epsilon: float
    sensitivity: float
    """Most that all trajectories of one protected unit change the counts of this part (L1)."""
    size: int
    """Number of counts that got noise."""

    @property
    def scale(self) -> float:
        """Scale of the Laplace noise on each count."""
        return self.sensitivity / self.epsilon


@dataclass
class EpsilonParts:
    """Holds ε of one release, split into named parts beforehand; a part can be paid out once."""

    noise: Noise
    epsilons: Mapping[str, float]
    """ε of each part."""
    crowd: int = 1
    """Trajectories of one protected unit: the public cap for a person, 1 for a trajectory."""
    receipts: list[Receipt] = field(default_factory=list)

    def scale(self, part: str, sensitivity: float = 1.0) -> float:
        """Return the scale of the noise on a part to which one trajectory adds at most `sensitivity`."""
        return self.crowd * sensitivity / self.epsilons[part]

    def add_noise(self, part: str, values: npt.NDArray[Any], sensitivity: float = 1.0) -> Array:
        """Return the counts of a part with Laplace noise; one trajectory adds at most `sensitivity` to their sum."""
        if part not in self.epsilons or any(receipt.part == part for receipt in self.receipts):
            raise GeodpError(f"'{part}' has no share of the budget left: nothing was drawn for it")
        epsilon = self.epsilons[part]
        self.receipts.append(Receipt(part, epsilon, self.crowd * sensitivity, int(values.size)))
        if not values.size:
            return np.empty(values.shape)
        return laplace_counts(values, epsilon=epsilon, sensitivity=self.crowd * sensitivity, noise=self.noise)

    def sum_spent(self) -> float:
        """Return ε paid out so far: parts are about the same people, so their costs add up."""
        return plus(*(receipt.epsilon for receipt in self.receipts))

    def require_within(self, epsilon: float) -> None:
        """Refuse to let anything out that cost more than was promised."""
        if self.sum_spent() > epsilon + _SLACK:
            raise GeodpError(
                f"the parts of the release cost ε = {self.sum_spent():g}, more than the promised {epsilon:g}"
            )

    def generator(self) -> np.random.Generator:
        """Return a generator for what follows from noisy counts alone: it costs nothing."""
        words = np.floor(self.noise.uniform(4) * 2.0**32).astype(np.uint64)
        return np.random.default_rng(words.tolist())


def split(epsilon: float, shares: Mapping[str, float]) -> dict[str, float]:
    """Split ε by shares that need not add up to 1; the parts together never exceed ε."""
    total = math.fsum(shares.values())
    parts = {part: epsilon * share / total for part, share in shares.items()}
    while math.fsum(parts.values()) > epsilon or plus(*parts.values()) > epsilon:
        parts = {part: math.nextafter(value, 0.0) for part, value in parts.items()}
    return parts


def round_down(weights: Array, scale: float) -> Array:
    """Round weights down to the lattice of the noise, so that sums are exact and bounds still hold."""
    step = max(lattice_step(scale), 2.0**-12)
    return np.floor(weights / step) * step
