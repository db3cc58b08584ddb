"""The Jensen-Shannon divergence between two sets of things, counted."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.integer] | npt.NDArray[np.floating]


def jsd(one: npt.ArrayLike, other: npt.ArrayLike) -> float | None:
    """Return the divergence of two histograms over the same bins: natural logarithm, no root, 0 to ln 2.

    None when one of them is empty: it has no distribution.
    """
    p, q = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    if p.sum() <= 0 or q.sum() <= 0:
        return None
    p, q = p / p.sum(), q / q.sum()
    middle = (p + q) / 2
    return max(0.0, (_relative_entropy(p, middle) + _relative_entropy(q, middle)) / 2)


def jsd_of_codes(one: npt.NDArray[np.int64], other: npt.NDArray[np.int64]) -> float | None:
    """Return the divergence of two samples of codes, each code a bin of its own."""
    codes, place = np.unique(np.concatenate([one, other]), return_inverse=True)
    return jsd(
        np.bincount(place[: one.size], minlength=codes.size), np.bincount(place[one.size :], minlength=codes.size)
    )


def _relative_entropy(p: npt.NDArray[np.float64], q: npt.NDArray[np.float64]) -> float:
    there = p > 0
    return float(np.sum(p[there] * np.log(p[there] / q[there])))
