"""Correcting the target by outcomes: too few tasks are taken, so more people are asked, and the other way round."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

_GAIN = 0.6
_SETTLING = 100.0  # after so many tasks the gain has fallen to 1/√2 of the first
_LEAST, _MOST = 0.2, 6.0  # of -ln(1 - aim): success between 0.18 and 0.9975


@dataclass
class Feedback:
    """Moves z = ln(-ln(1 - aim)) by g·(E - share taken) after each batch of outcomes, g = 0.6/√(1 + n/100).

    Success changes by (1 - E)(-ln(1 - E)) = 0.23 per unit of z at E = 0.9; answers that come d batches late leave the
    loop stable while g times that is below 2·sin(π/(4d + 2)), which 0.6 keeps far from. It reads what the server sees
    anyway and costs nothing.
    """

    target: float
    taken: int = 0
    """Tasks taken since the last correction, of those decided since then."""
    decided: int = 0
    tasks: int = 0
    """Tasks decided before that."""
    z: float = field(init=False)
    _own: float = field(init=False)
    """z of the target itself: bounds never keep the aim from it."""

    def __post_init__(self) -> None:
        self.z = self._own = math.log(-math.log1p(-self.target))

    def hear(self, *, taken: bool) -> None:
        """Learn the final outcome of one task."""
        self.decided += 1
        self.taken += taken

    def next_aim(self) -> float:
        """Correct by what was heard since the last time, and return the success to plan for."""
        if self.decided:
            self.tasks += self.decided
            gain = _GAIN / math.sqrt(1 + self.tasks / _SETTLING)
            self.z += gain * (self.target - self.taken / self.decided)
            least, most = min(math.log(_LEAST), self._own), max(math.log(_MOST), self._own)
            self.z = min(max(self.z, least), most)
            self.taken = self.decided = 0
        return -math.expm1(-math.exp(self.z))
