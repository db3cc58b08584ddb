"""The cellular provider: takes a snapshot, asks the ledger, publishes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from geodp.curator.mechanisms import Mechanism, Snapshot
from geodp.curator.series import Series
from geodp.errors import BudgetSpent
from geodp.privacy.ledger import Ledger
from geodp.privacy.noise import Noise
from geodp.privacy.spending import Period
from geodp.public.guarantee import Guarantee, Unit
from geodp.public.release import Cells, Points


@dataclass
class Curator:
    """Trusted with true positions; whatever leaves it passes through `publish`."""

    mechanism: Mechanism
    ledger: Ledger
    when_spent: Literal["stop", "reuse_last", "fail"]
    releases: int | None = None
    """How many releases there will be, by the public schedule (None: not known)."""
    period: Period | None = None
    """First and last moment of the run, which a promise about the whole series is charged for."""
    current: Cells | Points | None = field(default=None, init=False)
    """What the server can see now: the newest release, or None."""
    _series: Series | None = field(default=None, init=False)
    _refused: bool = field(default=False, init=False)

    def publish(self, snapshot: Snapshot, noise: Noise, *, number: int = 0) -> Cells | Points | None:
        """Publish release `number`, or None when the ledger refuses (then `current` follows `when_spent`).

        The ledger is asked before any noise is drawn: once before the first release where the promise is about the
        whole series, otherwise for every step that looks at people. A mechanism that promises nothing is not charged:
        there is no epsilon to add up, and its guarantee says so. Nor is a release that is worked out from earlier ones.
        """
        try:
            series = self._begin(snapshot)
            made: Cells | Points | None = (
                None
                if series is None
                else series.release(
                    snapshot, noise, number=number, pay=lambda promise: self._charge(promise, snapshot.time_s)
                )
            )
        except BudgetSpent:
            if self.when_spent == "fail":
                raise
            if self.when_spent == "stop":
                self.current = None
                if self._series is not None:
                    self._series.last = None
            return None
        if made is not None:
            self.current = made
        return made

    def _begin(self, snapshot: Snapshot) -> Series | None:
        """Return the series; a new one is charged for what it promises as a whole (None: that was refused)."""
        if self._series is None and not self._refused:
            begun = self.mechanism.begin_series(self.releases)
            promise = None
            if begun.length is not None:
                promise = self.mechanism.series_guarantee(begun.length, snapshot.neighbours, snapshot.counts)
            if promise is not None and promise.unit is not Unit.NOTHING:
                self._refused = True  # unless the ledger accepts it
                self._charge(promise, snapshot.time_s, cap=begun.length, period=self.period)
                self._refused = False
            self._series = begun
        return self._series

    def _charge(
        self, promise: Guarantee, time_s: float, *, cap: int | None = None, period: Period | None = None
    ) -> None:
        """Charge everyone; nobody makes more stays than there are releases."""
        cost = promise if cap is None else promise.for_users(cap)
        self.ledger.charge(cost, time_s=time_s, mechanism=self.mechanism.kind, period=period)
