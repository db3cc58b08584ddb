"""Choosing with probability ∝ exp(logit), exactly and fast: uniform proposals, accepted by exact coin flips."""

from __future__ import annotations

import os

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]

BITS = 52
"""Gaps between logits are rounded to multiples of 2^-52, as doubles around 1 are anyway."""
WORTH = 0.02
"""Below this share of accepted proposals another way to choose is faster."""


def acceptance(logits: Array) -> float:
    """Return the share of uniform proposals that are accepted."""
    return float(np.exp(logits - logits.max()).mean())


def exact_choice(logits: Array, size: int) -> Integers:
    """Choose `size` indices with probability ∝ exp(logit).

    A place drawn uniformly is kept with probability exp(-gap), gap = largest logit - logit: what is kept has the law
    wanted. Both steps are exact: whole numbers below a bound by rejection of random words, and the coin by the method
    of Canonne, Kamath and Steinke (2020, The discrete Gaussian for differential privacy, algorithm 1).
    """
    distance = logits.max() - logits
    whole = np.floor(distance)
    rest = np.round((distance - whole) * 2.0**BITS)
    chosen = np.empty(size, dtype=np.int64)
    waiting = np.arange(size)
    while waiting.size:
        proposed = below(np.full(waiting.size, logits.size, dtype=np.uint64)).astype(np.int64)
        kept = coins(whole[proposed].astype(np.int64), rest[proposed].astype(np.uint64))
        chosen[waiting[kept]] = proposed[kept]
        waiting = waiting[~kept]
    return chosen


def coins(whole: Integers, rest: Words) -> Mask:
    """Flip a coin that shows heads with probability exp(-(whole + rest/2^52)), per entry."""
    heads = _fractional(rest)
    left = whole.copy()
    while True:
        going = np.flatnonzero(heads & (left > 0))
        if not going.size:
            return heads
        heads[going] = _fractional(np.full(going.size, 1 << BITS, dtype=np.uint64))  # exp(-1), once per whole unit
        left[going] -= 1


def _fractional(part: Words) -> Mask:
    """Flip coins with probability exp(-g), g = part/2^52 ≤ 1: the first k with tails of g/k is odd with that chance."""
    length = np.ones(part.size, dtype=np.uint64)
    going = np.arange(part.size)
    while going.size:
        again = below(length[going] << np.uint64(BITS)) < part[going]
        going = going[again]
        length[going] += np.uint64(1)
    return np.asarray(length % np.uint64(2) == 1)


def below(bound: Words) -> Words:
    """Draw whole numbers below each bound, exactly uniform: words from the last, incomplete round are drawn again."""
    drawn = np.empty(bound.size, dtype=np.uint64)
    waiting = np.arange(bound.size)
    while waiting.size:
        word = np.frombuffer(os.urandom(8 * waiting.size), dtype=np.uint64)
        limit = bound[waiting]
        spare = (np.uint64(2**64 - 1) % limit + np.uint64(1)) % limit  # 2^64 mod bound
        good = word <= np.uint64(2**64 - 1) - spare
        drawn[waiting[good]] = word[good] % limit[good]
        waiting = waiting[~good]
    return drawn
