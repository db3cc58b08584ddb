"""A part-by-part account of ε that shows what is counted, for tests."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.curator.synthesis.epsilon_parts import EpsilonParts
from geodp.geometry import Array

_EVERYTHING_STANDS_OUT = 1e9


@dataclass
class Witness(EpsilonParts):
    """Notes the true counts and lets everything stand out, so that all that is ever counted is seen."""

    seen: dict[str, Array] = field(default_factory=dict)
    scales: dict[str, float] = field(default_factory=dict)

    def add_noise(self, part: str, values: npt.NDArray[Any], sensitivity: float = 1.0) -> Array:
        self.seen[part] = np.asarray(values, dtype=np.float64).ravel()
        self.scales[part] = self.scale(part, sensitivity)
        return np.full(np.shape(values), _EVERYTHING_STANDS_OUT)
