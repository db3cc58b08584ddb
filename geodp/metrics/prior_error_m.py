"""How far an adversary who has seen nothing is from the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics._attacks import per_person
from geodp.metrics.intervals import mean

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder


class PriorError(Metric):
    """Error of the best guess from the public prior alone, before anything is released, in metres.

    The same guess for everyone: what `attack_error_m` and `tracking_error_m` have to be held against. Mean over the
    people and moments that `bayes_location` (or else `tracking`) guessed at. Undefined (null) without either. Interval:
    t, over people.
    """

    kind: ClassVar[str] = "prior_error_m"
    unit: ClassVar[str] = "m"
    topic: ClassVar[str] = "privacy"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Average the errors."""
        errors = per_person(run, "bayes_location", "prior_error_m")
        return {self.kind: mean(errors if len(errors) else per_person(run, "tracking", "prior_error_m"))}
