"""Z-order: one number for a square of a lattice, so that every square of a quadtree is an unbroken run of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Whole = npt.NDArray[np.int64]
MOST_BITS = 31
"""Maximum number of bits of a column or row: together they fit into 64, with a sign."""
_STEPS = (
    (16, 0x0000FFFF0000FFFF),
    (8, 0x00FF00FF00FF00FF),
    (4, 0x0F0F0F0F0F0F0F0F),
    (2, 0x3333333333333333),
    (1, 0x5555555555555555),
)


def interleave_bits(column: Whole, row: Whole) -> Whole:
    """Return the number of each square: the bits of its column and row in turn, those of the row first.

    Squares of a quadtree d levels above the lattice are runs of 4^d numbers: south-west, south-east, north-west and
    north-east quarter follow one another.

    Parameters
    ----------
    column, row
        Of each square, from 0.

    Returns
    -------
    Whole
        Its number.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.public.z_order import interleave_bits
    >>> interleave_bits(np.array([0, 1, 0, 1, 2]), np.array([0, 0, 1, 1, 0])).tolist()
    [0, 1, 2, 3, 4]
    """
    return _spread(column) | (_spread(row) << 1)


def separate_bits(number: Whole) -> tuple[Whole, Whole]:
    """Return column and row of squares, given their numbers.

    Parameters
    ----------
    number
        Of each square.

    Returns
    -------
    tuple
        Its column, and its row.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.public.z_order import separate_bits
    >>> [part.tolist() for part in separate_bits(np.array([3, 4]))]
    [[1, 2], [1, 0]]
    """
    return _gather(number), _gather(number >> 1)


def _spread(bits: Whole) -> Whole:
    """Put a zero before every bit, by halves: 16 bits apart, then 8, 4, 2 and 1."""
    spread = np.array(bits, dtype=np.int64)
    for shift, mask in _STEPS:
        spread = (spread | (spread << shift)) & mask
    return spread


def _gather(bits: Whole) -> Whole:
    """Take every other bit, from the last."""
    gathered = np.array(bits, dtype=np.int64) & _STEPS[-1][1]
    masks = [mask for _, mask in _STEPS[-2::-1]] + [0x00000000FFFFFFFF]
    for (shift, _), mask in zip(_STEPS[::-1], masks, strict=True):
        gathered = (gathered | (gathered >> shift)) & mask
    return gathered
