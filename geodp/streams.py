"""Randomness: one named generator per decision, and answers drawn by key.

Two runs that differ in one mechanism share every other draw (common random numbers), because each
decision has a stream of its own, seeded from the run's seed and the decision's name. A worker's answer
to a task is not drawn from a stream at all but by key (worker, task): it does not matter who else was
asked, or in which order.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2^64 / golden ratio: a multiplier that spreads consecutive numbers."""
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)  # the two multipliers of the SplitMix64 finaliser
_MIX_2 = np.uint64(0x94D049BB133111EB)


@dataclass(frozen=True)
class Streams:
    """The random numbers of one run."""

    seed: int

    def generator(self, name: str) -> np.random.Generator:
        """Return a new generator for one named decision; the same name gives the same numbers."""
        return np.random.default_rng([self.seed, *_words(name)])

    def uniform(self, name: str, first: npt.ArrayLike, second: npt.ArrayLike = 0) -> npt.NDArray[np.float64]:
        """Return uniforms on [0, 1) that depend on (seed, name, first, second) alone."""
        salt = np.uint64(_words(f"{self.seed}:{name}")[0])
        with np.errstate(over="ignore"):
            state = mix_bits(np.asarray(first, dtype=np.uint64) * GOLDEN + salt)
            state = mix_bits((state ^ np.asarray(second, dtype=np.uint64)) * GOLDEN + salt)
        return uniforms(state)


@lru_cache(maxsize=256)
def _words(name: str) -> tuple[int, int]:
    """Hash a name to two 64-bit words, the same in every process and on every machine."""
    digest = hashlib.blake2b(name.encode(), digest_size=16).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")


def uniforms(words: Words) -> npt.NDArray[np.float64]:
    """Return numbers from 0 to 1 (without 1) that follow from 64-bit words, in steps of 2^-53."""
    return np.asarray((words >> np.uint64(11)).astype(np.float64) * 2.0**-53)


def mix_bits(state: Words) -> Words:
    """Spread 64-bit words evenly (the finaliser of SplitMix64)."""
    state = (state ^ (state >> np.uint64(30))) * _MIX_1
    state = (state ^ (state >> np.uint64(27))) * _MIX_2
    return state ^ (state >> np.uint64(31))
