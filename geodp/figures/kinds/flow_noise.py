"""Noise of counts that are published hour after hour, Gaussian against Laplace."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from geodp.figures.kinds import FigureKind, Making, points_table
from geodp.privacy.noise import SimulatedNoise
from geodp.privacy.zcdp import gaussian_scale, largest_rho

if TYPE_CHECKING:
    import pandas as pd

GAUSSIAN, LAPLACE = "Gaussian", "Laplace"


class FlowNoise(FigureKind):
    """Standard deviation of every one of many counts in which a person is counted once each, at equal promise.

    `stated`: what follows from the promise; `drawn`: that of noise as it is drawn.

    Reference
    ---------
    Bun and Steinke 2016, Concentrated differential privacy; tight conversion: Canonne, Kamath and Steinke 2020.
    """

    kind: ClassVar[str] = "flow_noise"

    counts: int = Field(default=720, ge=1)
    """In how many counts a person is: the hours of a month."""
    delta: float = Field(default=1e-6, gt=0, lt=1)
    """δ at which ε is stated for Gaussian noise (Laplace noise has none)."""
    epsilons: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0, 8.0)
    """ε of all counts together, for a person."""
    draws: int = Field(default=100_000, ge=100)
    """Numbers drawn for every value."""

    def points(self, making: Making) -> pd.DataFrame:  # noqa: ARG002 - nothing is read
        """Work both out, and draw."""
        rows: list[tuple[str, str, float, int, float]] = []
        noise = SimulatedNoise(np.random.default_rng(0))
        for epsilon in self.epsilons:
            for line, sd in self.find_deviations(epsilon).items():
                rows.append(("stated", line, epsilon, 0, sd))
                drawn = (
                    noise.discrete_gaussian(sd, self.draws)
                    if line == GAUSSIAN
                    else noise.geometric(sd / np.sqrt(2), self.draws)
                )
                rows.append(("drawn", line, epsilon, 0, float(drawn.std())))
        return points_table(rows)

    def find_deviations(self, epsilon: float) -> dict[str, float]:
        """Return the standard deviation of a count by noise.

        Parameters
        ----------
        epsilon
            ε of all counts together.

        Examples
        --------
        >>> from geodp.figures.kinds.flow_noise import FlowNoise
        >>> {line: round(sd, 3) for line, sd in FlowNoise().find_deviations(1.0).items()}
        {'Gaussian': 121.576, 'Laplace': 1018.234}
        """
        gaussian = gaussian_scale(largest_rho(epsilon, self.delta), float(np.sqrt(self.counts)))
        return {GAUSSIAN: gaussian, LAPLACE: float(np.sqrt(2)) * self.counts / epsilon}
