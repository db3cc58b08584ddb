"""Whole releases that cannot be followed, as a pair to sample: better than nothing, and far less than following."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array
from geodp.privacy.audit_case import AuditCase, TranscriptCase
from geodp.privacy.noise import Noise

_PILOT = 40
_DRAWN = 2000
"""Releases that are drawn at most: each is a whole one."""


def sampled_release(case: TranscriptCase, noise: Noise) -> AuditCase:
    """Return the pair with one number to look at: the one that tells the inputs apart best in a few releases.

    A few releases on either input choose the number and the side that speaks for the person; the audit draws new ones.
    """
    pilot = [_released(case, noise, present, _PILOT) for present in (True, False)]
    size = min(table.shape[1] for table in pilot)
    with_, without = (table[:, :size] for table in pilot)
    apart = with_.mean(axis=0) - without.mean(axis=0)
    spread = np.sqrt(with_.var(axis=0) + without.var(axis=0)) + 1e-12
    best = int(np.argmax(np.abs(apart) / spread)) if size else 0
    sign = 1.0 if not size or apart[best] >= 0 else -1.0

    def draw(noise: Noise, present: bool, samples: int) -> Array:
        return _released(case, noise, present, samples, column=best)[:, 0]

    middle = float((with_[:, best].mean() + without[:, best].mean()) / 2) if size else 0.0
    return AuditCase(
        f"sampled: {case.name}", case.claimed, draw, lambda told: sign * told, threshold=sign * middle, most=_DRAWN
    )


def _released(case: TranscriptCase, noise: Noise, present: bool, times: int, column: int | None = None) -> Array:
    """Return releases as rows of numbers, as long as the shortest; texts are left out."""
    rows = [_numbers(case.release(noise, present)) for _ in range(times)]
    if column is not None:
        return np.array([[row[column] if column < row.size else np.inf] for row in rows])
    size = min(row.size for row in rows)
    return np.array([row[:size] for row in rows])


def _numbers(told: object) -> npt.NDArray[np.float64]:
    parts = [np.asarray(part) for part in told] if isinstance(told, list | tuple) else [np.asarray(told)]
    return np.concatenate(
        [
            np.empty(0),
            *(np.nan_to_num(part.astype(np.float64)).reshape(-1) for part in parts if part.dtype.kind in "biuf"),
        ]
    )
