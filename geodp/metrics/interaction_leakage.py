"""What taking part in the protocol discloses."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics._interval import mean

if TYPE_CHECKING:
    from geodp.runs.run_folder import RunFolder


class InteractionLeakage(Metric):
    """What offers declined disclose about a person, in nats: mean over all workers, and the worst-off worker.

    Releases are differentially private; the protocol is not. Who accepts depends on where people truly are:
    a worker who declines changes the likelihood of what the server sees by the product of (1 - acceptance
    probability) over the offers declined, and -ln of that product is what is counted here. Whoever accepts
    discloses by consent, outside this account. It is no epsilon and is never added to one. A worker who
    declined an offer that the model accepts with certainty discloses without bound: the value is then
    undefined (null).

    `interaction_leakage_mean` is over all workers, those never asked included; `interaction_leakage_max` is
    the largest of any worker.
    """

    kind: ClassVar[str] = "interaction_leakage"
    unit: ClassVar[str] = "nats"
    better: ClassVar[str] = "lower"
    topic: ClassVar[str] = "privacy"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Add up each worker's disclosures, zero for those who made none."""
        import numpy as np

        from geodp.runs.run_folder import number

        disclosed = run.interaction.groupby("worker")["epsilon"].sum().to_numpy(dtype=np.float64)
        everyone = np.zeros(max(run.workers, disclosed.size))
        everyone[: disclosed.size] = disclosed
        largest = float(everyone.max()) if everyone.size else None
        return {
            "interaction_leakage_mean": mean(everyone),
            "interaction_leakage_max": Measured(number(largest)),
        }
