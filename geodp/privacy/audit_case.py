"""What a mechanism hands to the auditor: its worst neighbouring inputs and an event that tells them apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geodp.privacy.noise import Noise

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class AuditCase:
    """A pair of neighbouring inputs and a likelihood-ratio event.

    A claim of epsilon says: for every event S, P(S | with) <= e^epsilon P(S | without), and the reverse.
    """

    name: str
    claimed: float
    """Epsilon claimed for this pair (epsilon times distance for a metric guarantee)."""
    draw: Callable[[Noise, bool, int], Array]
    """`draw(noise, present, n)`: n independent outputs on the input with or without the person."""
    score: Callable[[Array], Array]
    """Larger where the output speaks more for the person being present."""
    threshold: float
    """The likelihood-ratio event is {score >= threshold}."""
