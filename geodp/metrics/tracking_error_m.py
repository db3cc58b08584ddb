"""How far an adversary who links a person's reports is from the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics._attacks import per_person
from geodp.metrics.intervals import mean

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder


class TrackingError(Metric):
    """Expected error of guesses from all reports of the same person, by the attack `tracking`, in metres.

    `tracking_error_m`: least expected distance under the forward-backward belief. `tracking_error_viterbi_m`: the most
    likely path. Mean over each person's moments and then over people; hold it against `attack_error_m`, which looks at
    one report alone. Undefined (null) without that attack, and where nothing can be linked. Interval: t, over people.

    Reference
    ---------
    Shokri, Theodorakopoulos, Le Boudec, Hubaux 2011, "Quantifying Location Privacy" (tracking attack).
    """

    kind: ClassVar[str] = "tracking_error_m"
    unit: ClassVar[str] = "m"
    better: ClassVar[str] = "higher"
    topic: ClassVar[str] = "privacy"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Average the errors of both methods."""
        return {
            "tracking_error_m": mean(per_person(run, "tracking", "error_m", "smoothed")),
            "tracking_error_viterbi_m": mean(per_person(run, "tracking", "error_m", "viterbi")),
        }
