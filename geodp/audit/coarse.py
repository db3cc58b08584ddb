"""Outputs without their last bits: what a claim about real numbers can be tested on.

In simulation a mechanism stands for its law in real numbers. The last bits of doubles betray the input all the same (a
score that saturates at 1 comes out as 1 - 2^-53 more often on one input than on the other), so every test but those on
raw bits looks at values rounded to about nine digits.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
_BITS = 30


def coarse(*parts: Array) -> list[Array]:
    """Round all parts, column by column, to one step: a power of two, 2^-30 of how far the values spread."""
    pooled = np.concatenate([part.reshape(len(part), -1) for part in parts])
    steps = np.array([_step(column) for column in pooled.T])
    with np.errstate(invalid="ignore"):
        return [(np.round(part.reshape(len(part), -1) / steps) * steps).reshape(part.shape) for part in parts]


def _step(column: Array) -> float:
    finite = column[np.isfinite(column)]
    if finite.size == 0:
        return 1.0
    spread = float(np.quantile(np.abs(finite), 0.999))
    return 2.0 ** (np.ceil(np.log2(spread)) - _BITS) if spread > 0 else 2.0**-_BITS
