"""Counts on a line under a policy: a range of cells as a sum of counts, or a difference of running totals."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from geodp.figures.kinds import FigureKind, Making, points_table
from geodp.geometry import Array
from geodp.privacy.noise import Noise, SimulatedNoise
from geodp.privacy.primitives import laplace_counts
from geodp.streams import Streams

if TYPE_CHECKING:
    import pandas as pd

ERROR = "variance of a range"
TOTALS, CELLS = "running totals", "a count for each cell"


class PolicyRanges(FigureKind):
    """Variance of the number of people in a range of cells on a line (a corridor, the hours of a day).

    The policy hides which of two cells somebody is in that are at most `reach` cells apart. Then a move changes at most
    `reach` running totals by one each, but two counts of a histogram, as under replacement: edges of a policy do not
    make histograms cheaper. A range is a sum of its cells' counts, or the difference of two running totals.

    Reference
    ---------
    [recalled] He, Machanavajjhala, Ding 2014, Blowfish privacy (SIGMOD): distance thresholds on a line.
    """

    kind: ClassVar[str] = "policy_ranges"

    lines: tuple[str, ...] = (TOTALS, CELLS)
    """The lines."""
    ranges: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    """How many cells a range has."""
    reach: int = Field(default=4, ge=1)
    """θ: cells so far apart must stay alike."""
    cells: int = Field(default=64, ge=2)
    """Cells on the line."""
    epsilon: float = Field(default=1.0, gt=0)
    """ε of the release."""
    draws: int = Field(default=2000, ge=2)
    """Releases per repetition."""
    repeats: int = Field(default=4, ge=2)
    """Repetitions."""

    def points(self, making: Making) -> pd.DataFrame:
        """Release lines of people, and look at ranges of them."""
        rows = []
        for repeat in range(self.repeats):
            noise = SimulatedNoise(Streams(repeat).generator(f"figure.policy_ranges.{making.panel}"))
            truth = noise.rng.integers(0, 20, self.cells)
            released = {TOTALS: [], CELLS: []}  # type: dict[str, list[Array]]
            for _ in range(self.draws):
                totals = release_totals(truth, reach=self.reach, epsilon=self.epsilon, noise=noise)
                released[TOTALS].append(totals)
                counts = laplace_counts(truth, epsilon=self.epsilon, sensitivity=2, noise=noise)
                released[CELLS].append(np.cumsum(counts))
            below = np.concatenate([[0.0], np.cumsum(truth)])
            start = self.cells // 4
            for wide in self.ranges:
                true = below[start + wide] - below[start]
                for line, made in released.items():
                    table = np.array(made)
                    error = table[:, start + wide - 1] - table[:, start - 1] - true
                    rows.append((ERROR, line, float(wide), repeat, float(np.mean(error**2))))
        return points_table(rows)


def release_totals(counts: npt.NDArray[np.int64], *, reach: int, epsilon: float, noise: Noise) -> Array:
    """Return noisy running totals along a line: cells at most `reach` apart change the odds by at most e^ε.

    Parameters
    ----------
    counts
        People in each cell, in their order on the line.
    reach
        θ, in cells.
    epsilon
        ε of all totals together.
    noise
        Where the noise comes from.

    Returns
    -------
    Array
        How many are in each cell and all before it, noisy.
    """
    return laplace_counts(np.cumsum(counts), epsilon=epsilon, sensitivity=reach, noise=noise)
