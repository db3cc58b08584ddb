"""Choices that follow from a secret key and a name alone: the same in every process, whatever else is in the data.

Whose record is bounded by such a choice, nobody else's data play a part in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.privacy.noise import Noise

Words = npt.NDArray[np.uint64]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2^64 / golden ratio: a multiplier that spreads consecutive numbers."""
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)  # the two multipliers of the SplitMix64 finaliser
_MIX_2 = np.uint64(0x94D049BB133111EB)


def user_words(names: Sequence[object] | npt.NDArray[Any]) -> Words:
    """Return a 64-bit number for each name, the same in every process and on every machine."""
    listed = names.tolist() if isinstance(names, np.ndarray) else names  # as an array all would be as long as one is
    digests = b"".join(hashlib.blake2b(str(name).encode(), digest_size=8).digest() for name in listed)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def draw_key(noise: Noise) -> bytes:
    """Draw a secret key of 256 bits from the noise source."""
    words = (noise.uniform(8) * 2.0**32).astype("<u4")
    return words.tobytes()


def keyed(user: Words, key: bytes) -> Words:
    """Return 64 bits per user that follow from the key and the user (keyed BLAKE2b: unpredictable without the key)."""
    text = np.ascontiguousarray(user, dtype="<u8").tobytes()
    digests = b"".join(
        hashlib.blake2b(text[at : at + 8], digest_size=8, key=key).digest() for at in range(0, len(text), 8)
    )
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def uniforms(words: Words) -> npt.NDArray[np.float64]:
    """Return numbers from 0 to 1 (without 1) that follow from 64-bit words, in steps of 2^-53."""
    return np.asarray((words >> np.uint64(11)).astype(np.float64) * 2.0**-53)


def mixed(state: Words) -> Words:
    """Spread 64-bit words evenly (the finaliser of SplitMix64)."""
    state = (state ^ (state >> np.uint64(30))) * _MIX_1
    state = (state ^ (state >> np.uint64(27))) * _MIX_2
    return state ^ (state >> np.uint64(31))
