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
from geodp.streams import Words


def user_words(names: Sequence[object] | npt.NDArray[Any]) -> Words:
    """Return a 64-bit number for each name, the same in every process and on every machine."""
    listed = names.tolist() if isinstance(names, np.ndarray) else names  # as an array all would be as long as one is
    digests = b"".join(hashlib.blake2b(str(name).encode(), digest_size=8).digest() for name in listed)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def draw_key(noise: Noise) -> bytes:
    """Draw a secret key of 256 bits from the noise source."""
    words = (noise.uniform(8) * 2.0**32).astype("<u4")
    return words.tobytes()


def hash_users(user: Words, key: bytes) -> Words:
    """Return 64 bits per user that follow from the key and the user (keyed BLAKE2b: unpredictable without the key)."""
    text = np.ascontiguousarray(user, dtype="<u8").tobytes()
    digests = b"".join(
        hashlib.blake2b(text[at : at + 8], digest_size=8, key=key).digest() for at in range(0, len(text), 8)
    )
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)
