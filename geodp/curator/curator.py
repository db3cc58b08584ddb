"""The cellular provider: takes a snapshot, asks the ledger, publishes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from geodp.curator.mechanisms import Mechanism, Snapshot
from geodp.errors import BudgetSpent
from geodp.privacy.ledger import Ledger
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Unit
from geodp.public.release import Cells


@dataclass
class Curator:
    """Trusted with true positions; whatever leaves it passes through `publish`."""

    mechanism: Mechanism
    ledger: Ledger
    when_spent: Literal["stop", "reuse_last", "fail"]
    current: Cells | None = field(default=None, init=False)
    """What the server can see now: the newest release, or None."""

    def publish(self, snapshot: Snapshot, noise: Noise, *, number: int = 0) -> Cells | None:
        """Publish release `number`, or None when the ledger refuses (then `current` follows `when_spent`).

        The ledger is asked before any noise is drawn. A mechanism that promises nothing is not charged: there
        is no epsilon to add up, and its guarantee says so. Nor is a release that is worked out from earlier ones.
        """
        promise = self.mechanism.guarantee(snapshot.neighbours, snapshot.counts)
        measured = self.mechanism.measures(number)
        if not measured and self.current is None:
            return None  # nothing to work it out from
        if measured and promise.unit is not Unit.NOTHING:
            try:
                self.ledger.charge(promise, time_s=snapshot.time_s, mechanism=self.mechanism.kind)
            except BudgetSpent:
                if self.when_spent == "fail":
                    raise
                if self.when_spent == "stop":
                    self.current = None
                return None
        self.current = self.mechanism.following(self.current, snapshot, noise, number=number)
        return self.current
