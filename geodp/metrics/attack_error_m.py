"""How far an adversary who sees one release is from the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics._attacks import per_person
from geodp.metrics.intervals import mean

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder


class AttackError(Metric):
    """Expected error of the best guess at a position from what the server got at that moment, in metres.

    Distance between the guess of `bayes_location` and the true place, mean over each person's moments and then over
    people. Epsilon per metre and a curator's epsilon cannot be compared; this can. It is an error of this adversary,
    with this prior: no bound on what others may find. Undefined (null) without that attack. Interval: t, over people.

    Reference
    ---------
    Shokri, Theodorakopoulos, Le Boudec, Hubaux 2011, "Quantifying Location Privacy" (expected inference error).
    """

    kind: ClassVar[str] = "attack_error_m"
    unit: ClassVar[str] = "m"
    better: ClassVar[str] = "higher"
    topic: ClassVar[str] = "privacy"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Average the errors."""
        return {self.kind: mean(per_person(run, "bayes_location", "error_m"))}
