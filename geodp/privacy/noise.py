"""Where noise comes from. Mechanisms are handed a `Noise`, never a seed.

`SimulatedNoise` draws from a seeded numpy generator: right for runs, sweeps, tests and audits, and never
for a real release (of the doubles that `1 + laplace` gives, only 39.7 % can come from `0 + laplace`, so one
output can refute any epsilon; Mironov 2012). Everything it touches is stamped not releasable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from geodp.errors import NotReleasable

Array = npt.NDArray[np.float64]


class Noise(Protocol):
    """A source of noise; `releasable` tells whether its output may leave the house."""

    @property
    def releasable(self) -> bool:
        """Whether outputs may be published as real releases."""
        ...

    def laplace(self, scale: npt.ArrayLike, size: int) -> Array:
        """Draw Laplace noise: density exp(-|x|/b)/(2b), mean |x| = b."""
        ...


@dataclass(frozen=True)
class SimulatedNoise:
    """Seeded noise for simulation; the same law as a release, but not releasable."""

    rng: np.random.Generator
    releasable: bool = False

    def laplace(self, scale: npt.ArrayLike, size: int) -> Array:
        """Draw Laplace noise from the seeded generator."""
        return self.rng.laplace(0.0, np.asarray(scale, dtype=np.float64), size)


def require_releasable(noise: Noise, what: str) -> None:
    """Refuse to let simulated noise leave as a release."""
    if not noise.releasable:
        raise NotReleasable(
            f"{what} was made with simulated noise, which is predictable from the seed and leaks through "
            "floating point: it must not be published as a release."
        )
