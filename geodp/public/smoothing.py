"""Gaussian smoothing of a grid along one axis, and what it does to noise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array


@dataclass(frozen=True)
class Smoothing:
    """Gaussian smoothing along one axis as a banded matrix, with what interpolation does to noise.

    At the border the weights are cut and scaled to sum to 1, so a constant stays a constant.
    """

    matrix: Any
    powers: dict[tuple[int, int], Array]
    """`powers[i, j][k]` = Σ a^i b^j over row k (a) and the row after it (b); the last row is its own successor."""

    @classmethod
    @cache  # the same grid is smoothed for every release of a run
    def gaussian(cls, size: int, sigma_cells: float) -> Smoothing:
        """Build the matrix for `size` cells; sigma 0 leaves everything as it is."""
        from scipy import sparse

        reach = min(int(np.ceil(4 * sigma_cells)), size - 1)
        shifts = np.arange(-reach, reach + 1)
        weight = np.exp(-0.5 * (shifts / sigma_cells) ** 2) if sigma_cells > 0 else np.ones(1)
        bands: Any = [np.full(size - abs(shift), w) for shift, w in zip(shifts, weight, strict=True)]
        matrix: Any = sparse.diags_array(bands, offsets=shifts, shape=(size, size)).tocsr()
        matrix = sparse.diags_array(1 / matrix.sum(axis=1)) @ matrix
        following = matrix[np.minimum(np.arange(size) + 1, size - 1)]
        pairs = [(2, 0), (1, 1), (0, 2), (4, 0), (3, 1), (2, 2), (1, 3), (0, 4)]
        powers = {
            (i, j): np.asarray(
                (matrix.power(i) * following.power(j) if i and j else matrix.power(i) if i else following.power(j)).sum(
                    axis=1
                )
            ).ravel()
            for i, j in pairs
        }
        return cls(matrix, powers)

    def square_sum(self, index: npt.NDArray[np.int64], share: Array) -> Array:
        """Return Σ ((1-f) a + f b)² over the weights of an interpolated value."""
        rest, p = 1 - share, self.powers
        return rest**2 * p[2, 0][index] + 2 * rest * share * p[1, 1][index] + share**2 * p[0, 2][index]

    def fourth_sum(self, index: npt.NDArray[np.int64], share: Array) -> Array:
        """Return Σ ((1-f) a + f b)⁴ over the weights of an interpolated value."""
        rest, p = 1 - share, self.powers
        return (
            rest**4 * p[4, 0][index]
            + 4 * rest**3 * share * p[3, 1][index]
            + 6 * rest**2 * share**2 * p[2, 2][index]
            + 4 * rest * share**3 * p[1, 3][index]
            + share**4 * p[0, 4][index]
        )
