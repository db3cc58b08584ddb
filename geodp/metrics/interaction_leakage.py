"""What taking part in the protocol discloses."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics.intervals import mean

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder


class InteractionLeakage(Metric):
    """What outcomes of offers disclose about those asked and not named, in nats: mean over workers, and the worst-off.

    Releases are differentially private; the protocol is not. Who accepts depends on where people truly are. Of each
    task the server sees that nobody took it, or who did. A worker who was asked, and accepts with probability θ, makes
    "nobody" less likely by a factor of 1 - θ, and "somebody else" by 1 - θ(1 - κ), where κ is how likely that one is
    still picked when she accepts, too. -ln of these, added up over the tasks, is what is counted here, for everyone
    who could have come and is not named, those who accepted included: it is what is seen, not what she did. Whoever is
    named discloses by consent, outside this account. It is no epsilon and is never added to one. Where the model
    accepts with certainty and nobody came, that discloses without bound: the value is then undefined (null).

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

        from geodp.run_folder.folder import number

        disclosed = run.interaction.groupby("worker")["epsilon"].sum().to_numpy(dtype=np.float64)
        everyone = np.zeros(max(run.workers, disclosed.size))
        everyone[: disclosed.size] = disclosed
        largest = float(everyone.max()) if everyone.size else None
        return {
            "interaction_leakage_mean": mean(everyone),
            "interaction_leakage_max": Measured(number(largest)),
        }
