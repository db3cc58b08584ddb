"""How often an adversary who links a person's reports is near the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics._attacks import per_person
from geodp.metrics.intervals import mean

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder


class TrackingHitRate(Metric):
    """Share of the guesses of `tracking` (forward-backward) that lie within its `hit_radius_m` of the truth.

    Mean over each person's moments and then over people. Undefined (null) without that attack, and where nothing can
    be linked. Interval: t, over people.
    """

    kind: ClassVar[str] = "tracking_hit_rate"
    unit: ClassVar[str] = "share"
    better: ClassVar[str] = "lower"
    topic: ClassVar[str] = "privacy"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Average the hits."""
        return {self.kind: mean(per_person(run, "tracking", "hit", "smoothed"))}
