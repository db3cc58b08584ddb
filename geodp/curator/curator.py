"""The cellular provider: takes a snapshot, asks the ledger, publishes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Literal

import numpy as np
import numpy.typing as npt

from geodp.curator.mechanisms import Mechanism, Snapshot
from geodp.curator.series import Pay, Series, charge_nobody, looks_at_people
from geodp.errors import BudgetSpent, UsageError
from geodp.privacy.ledger import Ledger
from geodp.privacy.noise import Noise
from geodp.privacy.spending import Period
from geodp.public.guarantee import Guarantee, Unit
from geodp.public.release import Cells, Points


@dataclass(frozen=True)
class PeopleBudgets:
    """What single people may spend over a run."""

    size: int
    """How many people there are."""
    epsilon: float
    """Budget of each, ε."""
    by_group: Mapping[str, float] = field(default_factory=dict)
    """Budgets of the members of single groups, where they differ."""

    def of(self, group: str) -> float:
        """Return the budget of a member of a group."""
        return self.by_group.get(group, self.epsilon)


def _list_groups(promise: Guarantee, snapshot: Snapshot) -> Iterator[tuple[str, Guarantee, npt.NDArray[np.int64]]]:
    """Yield each group present with its own promise and its rows; '' where everyone gets the same."""
    if not promise.by_group or snapshot.group is None:
        yield "", promise, np.arange(snapshot.x_m.size)
        return
    for name, _ in promise.by_group:
        yield name, promise.for_one(name), np.flatnonzero(snapshot.group == name)


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
    find_day: Callable[[float], date] | None = None
    """Returns the day of the data of a moment, where charges are counted by days (None: they are not)."""
    groups: npt.NDArray[np.str_] | None = None
    """Public group of every worker, by number, where groups get promises of their own (None: all get the same)."""
    people: PeopleBudgets | None = None
    """Budgets of single people, where whoever has spent hers is no longer counted (None: all are always counted)."""
    current: Cells | Points | None = field(default=None, init=False)
    """What the server can see now: the newest release, or None."""
    _series: Series | None = field(default=None, init=False)
    _refused: bool = field(default=False, init=False)
    counted: list[tuple[float, str, int, int]] = field(default_factory=list, init=False)
    """Time, group, how many were there, and how many of them were counted, where a filter decides: private."""

    def publish(self, snapshot: Snapshot, noise: Noise, *, number: int = 0) -> Cells | Points | None:
        """Publish release `number`, or None when the ledger refuses (then `current` follows `when_spent`).

        The ledger is asked before any noise is drawn: once before the first release where the promise is about the
        whole series, otherwise for every step that looks at people. A mechanism that promises nothing is not charged:
        there is no epsilon to add up, and its guarantee says so. Nor is a release that is worked out from earlier ones.
        """
        try:
            series, pay = self._begin(snapshot), self._charge_now(snapshot.time_s)
            if series is not None and self.people is not None:
                snapshot, pay = self._leave_out(series, snapshot, number, self.people), charge_nobody
            made: Cells | Points | None = (
                None if series is None else series.release(snapshot, noise, number=number, pay=pay)
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

    def _leave_out(self, series: Series, snapshot: Snapshot, number: int, people: PeopleBudgets) -> Snapshot:
        """Return the snapshot without those whose budgets do not bear it, and charge all others their own."""
        promise = self.mechanism.guarantee(snapshot.neighbours, snapshot.counts)
        if promise.unit is Unit.NOTHING or not looks_at_people(self.mechanism, number, series.releases):
            return snapshot
        if snapshot.who is None:
            raise UsageError("people's budgets need to know who is who (Snapshot.who). Nothing was released.")
        counted = np.zeros(snapshot.who.size, dtype=np.bool_)
        for name, own, rows in _list_groups(promise, snapshot):
            counted[rows] = self.ledger.admit(
                own,
                snapshot.who[rows],
                time_s=snapshot.time_s,
                mechanism=self.mechanism.kind,
                budget=people.of(name),
                people=people.size,
                group=name or None,
            )
            self.counted.append((snapshot.time_s, name, rows.size, int(np.count_nonzero(counted[rows]))))
        return snapshot.take(counted)

    def _charge_now(self, time_s: float) -> Pay:
        return lambda promise: self._charge(promise, time_s)

    def _charge(
        self, promise: Guarantee, time_s: float, *, cap: int | None = None, period: Period | None = None
    ) -> None:
        """Charge everyone; nobody makes more stays than there are releases."""
        cost = promise if cap is None else promise.for_users(cap)
        if cost.by_group and self.groups is not None and period is None:
            for name, _ in sorted(cost.by_group, key=lambda item: -item[1]):  # who pays most is refused first, if any
                self.ledger.charge(
                    cost.for_one(name),
                    time_s=time_s,
                    mechanism=self.mechanism.kind,
                    who=np.flatnonzero(self.groups == name),
                    group=name,
                )
            return
        day = None if self.find_day is None or period is not None else self.find_day(time_s)
        days = None if day is None else (day, day)
        self.ledger.charge(cost, time_s=time_s, mechanism=self.mechanism.kind, period=period, days=days)
