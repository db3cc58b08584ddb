"""The ledger: every release asks it before any noise is drawn, and is refused what is not left.

Accounts are kept per protected person and never mixed: a central account (unit USER over the run or window: each
SNAPSHOT release costs everyone present its epsilon), a metric account (POINT, epsilon per metre), an item account
(what phones tell about their owners' histories, epsilon per item), accounts per visit and per trip (promises about
one of them where nobody's number is bounded, so that they cost no person anything finite), a local account (what phones
tell under a promise about the whole person), and the interaction account (what taking part in the protocol discloses).
A charge counts in every window and day that its data touch. Whether a release is refused depends on public schedules
and totals only: charge `everyone`, or groups whose members are public; a phone may keep a ledger of its own. Sums are
exact decimals: three charges of 0.1 fit a budget of 0.3.

Beside the epsilons of the central account stands what its charges cost as ρ, by the days of their data
(`data_days.py`): on a person's day, week, and altogether. A concentrated charge is counted there alone, because its ε
does not add up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from geodp.errors import BudgetSpent, UsageError
from geodp.privacy.data_days import (
    BOUNDED_UNITS,
    DAY_UNITS,
    ConcentratedBudget,
    DataDays,
    Days,
    state_spent,
)
from geodp.privacy.people_filter import PeopleFilter
from geodp.privacy.spending import (
    ALWAYS,
    Ids,
    Period,
    Spending,
    Window,
    as_float,
    distinct_people,
    floats,
    limbs,
    split_epsilon,
    units,
)
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit
from geodp.public.levels import GROUP, IF_COUNTED
from geodp.public.zcdp import epsilon_of_rho

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "time_s",
    "scope",
    "unit",
    "neighbours",
    "mechanism",
    "epsilon",
    "delta",
    "total",
    "begin_s",
    "end_s",
    "rho",
    "delta_t",
    "first_day",
    "last_day",
)
"""Columns of a ledger as a table."""

ANY_TIME: Period = (-math.inf, math.inf)
"""The period of data whose time is not known: what they cost counts in every window and day."""


class Account(StrEnum):
    """Accounts whose charges must never be added to one another."""

    CENTRAL = "central"
    METRIC = "metric"
    ITEM = "item"
    """What phones tell about single items of their owners' histories."""
    EVENT = "event"
    """Promises about one visit, per visit: where there is no cap on a person's visits."""
    TRAJECTORY = "trajectory"
    """Promises about one trip, per trip: where there is no cap on a person's trips."""
    LOCAL = "local"
    """What phones tell under a local promise, epsilon per person."""
    INTERACTION = "interaction"


_PER_UNIT = {Unit.ITEM: Account.ITEM, Unit.EVENT: Account.EVENT, Unit.TRAJECTORY: Account.TRAJECTORY}


@dataclass(frozen=True)
class Allowance:
    """A budget and how long it must last."""

    epsilon: float | None = None
    """What each person may be charged (None: no limit); per metre in the metric account."""
    per: Literal["run", "day"] = "run"
    """`run`: it must last for ever; `day`: it is there anew every calendar day."""
    window_s: float | None = None
    """Instead: at most epsilon in any window of so many seconds (w-event privacy)."""
    midnight_s: float = 0.0
    """Some midnight on the clock of the charges."""

    def __post_init__(self) -> None:
        if self.epsilon is not None and not (math.isfinite(self.epsilon) and self.epsilon > 0):
            raise UsageError(f"a budget must be a finite epsilon greater than 0, got {self.epsilon}")
        if self.per not in ("run", "day"):
            raise UsageError(f"a budget lasts per 'run' or per 'day', got {self.per!r}")
        if self.window_s is not None and self.per == "day":
            raise UsageError("a budget is per day or per window, not both")
        if self.window_s is not None and not (math.isfinite(self.window_s) and self.window_s > 0):
            raise UsageError(f"a window must be a finite number of seconds greater than 0, got {self.window_s}")

    @property
    def window(self) -> Window:
        """The stretch of time over which it must last."""
        return Window(self.per == "day", self.window_s, self.midnight_s)


@dataclass(frozen=True)
class Charge:
    """One row of the ledger."""

    time_s: float
    scope: str
    """About whom; and for which step, where those of one release were paid for one by one: `everyone: density`."""
    unit: Unit
    neighbours: str
    mechanism: str
    epsilon: float
    """What was charged."""
    delta: float
    total: float
    """Spent in this account after this charge by the person who spent most: of what adds up as ε. (What concentrated
    charges come to is in `Ledger.state_spent`.)"""
    account: Account = Account.CENTRAL
    begin_s: float = -math.inf
    """First moment of the data it is about (infinite: not known)."""
    end_s: float = math.inf
    """Last moment of the data it is about: the charge counts in every window and day that they touch."""
    rho: float | None = None
    """ρ of a concentrated charge, of which epsilon and delta are what it is stated at (None: it has none)."""
    delta_t: float = 0.0
    """The part of delta that is of thresholds."""
    first_day: date | None = None
    """First day of the data, where they are counted by days."""
    last_day: date | None = None
    """Last day of the data."""

    @property
    def adds_epsilon(self) -> bool:
        """Whether its epsilon adds up in the account: not that of a concentrated charge, nor that of a day."""
        return self.rho is None and self.unit not in DAY_UNITS

    @property
    def days(self) -> Days | None:
        """First and last day of its data."""
        return None if self.first_day is None or self.last_day is None else (self.first_day, self.last_day)

    @property
    def period(self) -> Period:
        """First and last moment of the data."""
        return (self.begin_s, self.end_s)


@dataclass
class Ledger:
    """Charges so far and the budget they may not exceed (None = unlimited, charges are still recorded).

    Parameters
    ----------
    budget_epsilon
        What may be charged in each account by itself but the interaction account: per person (epsilon, or epsilon per
        metre), per item, per visit or per trip. Accounts are never added up, so it bounds none of them together.
    charges
        Rows to start from (those of a ledger file); they are not asked for again.
    per, window_s, midnight_s
        How long that budget must last, as in `Allowance`.
    budgets
        Budgets of single accounts that differ from it: an epsilon for ever, or an `Allowance`.
    budget_delta
        The most that all deltas may add up to.
    concentrated
        Instead of an epsilon for the central account: what concentrated and pure charges together may cost a person's
        day, week, or a person.
    """

    budget_epsilon: float | None = None
    charges: list[Charge] = field(default_factory=list)
    per: Literal["run", "day"] = "run"
    window_s: float | None = None
    midnight_s: float = 0.0
    budgets: Mapping[Account, float | Allowance] = field(default_factory=dict)
    budget_delta: float | None = None
    concentrated: ConcentratedBudget | None = None

    def __post_init__(self) -> None:
        common = Allowance(self.budget_epsilon, self.per, self.window_s, self.midnight_s)
        stated = {**dict.fromkeys(Account, common), Account.INTERACTION: Allowance(), **self.budgets}
        if self.concentrated is not None:
            if Account.CENTRAL in self.budgets or self.budget_delta is not None:
                raise UsageError("the central account has one budget: an epsilon that adds up, or a concentrated one")
            stated[Account.CENTRAL] = Allowance()
        self._accounts = {account: _make_spending(stated[account]) for account in Account}
        self._neighbours: dict[Account, str] = {}
        self._delta = 0.0
        self.days = DataDays()
        self._filters: dict[tuple[Account, str | None], PeopleFilter] = {}
        for row in self.charges:
            if row.adds_epsilon:
                self._accounts[row.account].everyone.add(row.period, units(row.epsilon))
                self._delta += row.delta
            self._neighbours.setdefault(row.account, row.neighbours)
            if row.account is Account.CENTRAL:
                self.days = self.days.with_charge(_as_promise(row), row.days)

    def charge(
        self,
        guarantee: Guarantee,
        *,
        time_s: float,
        mechanism: str,
        scope: str = "everyone",
        who: npt.ArrayLike | None = None,
        cap: int | None = None,
        account: Account | None = None,
        parts: Mapping[str, float] | None = None,
        period: Period | None = None,
        group: str | None = None,
        days: Days | None = None,
    ) -> Charge:
        """Record one charge (in a row, or in a row per part), or raise `BudgetSpent` and record nothing.

        Parameters
        ----------
        guarantee
            What is about to be released. It is charged to the account of its unit.
        time_s, mechanism, scope
            When, by what, and about whom (a word for the table).
        who
            Numbers of the people it costs, from 0 (as often as they occur); default everyone. Groups without a person
            in common cost each of them only their own: parallel composition over people.
        cap
            Public cap on one person's visits or trips: a promise about one of them costs epsilon × cap. What a
            phone promises about one item is charged per item, to an account of its own, when no cap is given.
        account
            Another account than that of the unit: the interaction account; or, for a promise about one visit or trip
            of people whose number of them is not bounded, the account per visit or per trip.
        parts
            The steps of the release by name, with epsilons that it divides its own into (a concentrated one: with
            shares of its ρ): there is a row for each, and together they come to what is charged.
        period
            First and last moment of the data it tells about (infinite where not known), by public settings; default:
            the time of the charge. It counts in every window and day that they touch.
        group
            Name of the public group that `who` are all the members of: what they paid is then a public row. (What
            single people paid never is.)
        days
            First and last day of the data of a release that is made day by day, each with noise of its own: every day
            costs what is promised about it, a seventh of what is promised about a week, or its share of what is
            promised about a person. Without them it counts whole in every day and week.
        """
        per_unit = account is not None and account is _PER_UNIT.get(guarantee.unit)
        promise = guarantee if per_unit else _per_person(guarantee, cap)
        account = account or Account(promise.account)
        if parts and who is not None:
            raise UsageError("a charge in parts is a charge to everyone")
        if not math.isfinite(time_s):
            raise UsageError(f"the time of a charge must be a finite number, got {time_s}")
        if period is not None and (who is not None or not _possible(period)):
            raise UsageError(f"a charge over a period is to everyone, and ends after it begins, got {period}")
        period = period or (float(time_s), float(time_s))
        self._require_like(account, promise)
        by_days = promise.rho is not None or promise.unit in DAY_UNITS
        if by_days or days is not None or self.concentrated is not None:
            self._require_by_days(promise, account, who)
        whole = self.days.with_charge(promise, days) if account is Account.CENTRAL and who is None else self.days
        self._require_fit(whole, promise, days)
        delta = self._delta if by_days else self._delta_with(promise, time_s)
        epsilon, spending = promise.epsilon, self._accounts[account]
        cut = epsilon if promise.rho is None else promise.rho
        pieces = split_epsilon(cut, list(parts.values())) if parts else [cut]
        if by_days:
            totals = [as_float(spending.total(ALWAYS))] * len(pieces)
        elif who is None:
            totals = self._charge_everyone(spending, pieces, time_s, period)
        else:
            ids = self._charge_people(spending, who, epsilon, time_s)
            totals = [as_float(spending.total(ALWAYS, ids))]
        self._delta, self.days = delta, whole
        self._neighbours.setdefault(account, str(promise.neighbours))
        row = Charge(
            time_s=float(time_s),
            scope=scope,
            unit=promise.unit,
            neighbours=str(promise.neighbours),
            mechanism=mechanism,
            epsilon=epsilon,
            delta=promise.delta,
            total=totals[-1],
            account=account,
            begin_s=period[0],
            end_s=period[1],
            rho=promise.rho,
            delta_t=promise.delta_t,
            first_day=None if days is None else days[0],
            last_day=None if days is None else days[1],
        )
        if who is None:  # what single people paid is theirs: it is in `people_frame`, not among the public rows
            self.charges.extend(_rows(row, pieces, totals, parts))
        elif group is not None:
            self.charges.append(replace(row, scope=f"{GROUP} {group}"))
        return row

    def admit(
        self,
        guarantee: Guarantee,
        who: Ids,
        *,
        time_s: float,
        mechanism: str,
        budget: float,
        people: int,
        group: str | None = None,
    ) -> npt.NDArray[np.bool_]:
        """Charge whoever can still be charged out of a budget of her own, and tell who that is: private.

        The public row says what a release costs those whom it counts, and what somebody has spent who was always
        there: it is the same whoever came, and whoever dropped out. Nothing is ever refused.

        Parameters
        ----------
        guarantee
            What is about to be released.
        who
            Numbers of the people present, each once.
        time_s, mechanism
            When, and by what.
        budget
            The most that each of them may spend over the run, ε.
        people
            How many there are in all, numbered from 0.
        group
            Name of the public group that they are of (None: everyone is alike).

        Returns
        -------
        NDArray[bool]
            Whether each is counted.
        """
        account = Account(guarantee.account)
        self._require_like(account, guarantee)
        if self.concentrated is not None:
            raise UsageError(
                "a concentrated budget bounds what everyone is charged: give the people no budgets of theirs"
            )
        if guarantee.delta:
            raise UsageError("a filter of people adds up epsilons: what has a delta cannot be charged to it")
        kept = self._filters.setdefault((account, group), PeopleFilter(people, budget))
        kept.set_apart(self._accounts[account].everyone.total)
        fits = kept.admit(who, guarantee.epsilon)
        self._neighbours.setdefault(account, str(guarantee.neighbours))
        scope = ("everyone" if group is None else f"{GROUP} {group}") + IF_COUNTED
        before = sum(row.scope == scope for row in self.charges)
        row = Charge(
            time_s=float(time_s),
            scope=scope,
            unit=guarantee.unit,
            neighbours=str(guarantee.neighbours),
            mechanism=mechanism,
            epsilon=guarantee.epsilon,
            delta=0.0,
            total=as_float(self._accounts[account].everyone.total) + kept.find_most(before + 1, guarantee.epsilon),
            account=account,
            begin_s=float(time_s),
            end_s=float(time_s),
        )
        self.charges.append(row)
        return fits

    def sum_filtered(self, account: Account = Account.CENTRAL) -> npt.NDArray[np.float64]:
        """Return what each person has spent by being counted, where a filter decides: private (empty: none does)."""
        spent = [kept.sum_spent() for (of, _), kept in self._filters.items() if of is account]
        return np.asarray(sum(spent)) if spent else np.empty(0)

    def sum_spent(
        self, account: Account = Account.CENTRAL, *, person: int | None = None, time_s: float | None = None
    ) -> float:
        """Return epsilon spent by one person, or by the person who spent most, on data that begin by a time."""
        span = ALWAYS if time_s is None else (-math.inf, time_s)
        return as_float(self._accounts[account].total(span, _only(person)))

    def find_remaining(
        self,
        account: Account = Account.CENTRAL,
        *,
        person: int | None = None,
        time_s: float | None = None,
        period: Period | None = None,
    ) -> float:
        """Return what one person, or everyone, can still be charged at a time or for a period.

        It is infinite without a budget. Without a time, at the time of the latest charge. Of a concentrated budget it
        is the pure epsilon of a charge whose days are not known (`find_rho` tells the ρ of one that has days).
        """
        spending = self._accounts[account]
        if account is Account.CENTRAL and self.concentrated is not None:
            return _find_pure(self.concentrated, self.days)
        if spending.budget is None:
            return math.inf
        when = self._latest(spending) if time_s is None else time_s
        return as_float(spending.room(period or (when, when), _only(person)))

    def find_rho(self, days: Days | None = None) -> float:
        """Return the ρ that can still be spent: on each of some days and weeks, or of all.

        Parameters
        ----------
        days
            First and last day of the data. (None: any day.)

        Returns
        -------
        float
            ρ; infinite without a budget, and 0 where that is of a pure epsilon.
        """
        if self.concentrated is None:
            return math.inf if self._accounts[Account.CENTRAL].budget is None else 0.0
        budget = self.concentrated
        return min(budget.find_rho(costs) for costs in self.days.sums(budget.unit, days))

    def state_spent(self, delta: float) -> dict[str, dict[str, Any]]:
        """Return what was spent on a person's day, week and altogether, as ρ and as ε at a δ."""
        return state_spent(self.days, delta)

    def affordable(
        self, guarantee: Guarantee, who: npt.ArrayLike, *, time_s: float, cap: int | None = None
    ) -> npt.NDArray[np.bool_]:
        """Tell which people could still be charged (once each) at a time; nothing is recorded."""
        promise = _per_person(guarantee, cap)
        spending = self._accounts[Account(promise.account)]
        distinct_people(who)
        return spending.affordable(time_s, np.asarray(who, dtype=np.int64), limbs(units(promise.epsilon))[:, None])

    def per_person(self, account: Account = Account.CENTRAL) -> npt.NDArray[np.float64]:
        """Return the total of every person up to the highest number charged; everyone beyond has `sum_spent` by all."""
        return self._accounts[account].per_person()

    def summary(self) -> str:
        """Say what was spent in every account."""
        spent = {account: self.sum_spent(account) for account in Account}
        if any(row.rho is not None or row.unit in DAY_UNITS for row in self.charges):
            told = self._summarise_days()
            others = ", ".join(
                f"{account} {epsilon:g}"
                for account, epsilon in spent.items()
                if epsilon and account is not Account.CENTRAL
            )
            return ", ".join(filter(None, [told, others]))
        return ", ".join(f"{account} {epsilon:g}" for account, epsilon in spent.items() if epsilon) or "nothing"

    def _summarise_days(self) -> str:
        delta = self._find_delta()
        stated = self.state_spent(delta)
        amounts = [
            f"{unit} "
            + ", ".join(
                f"{sign} {value:.6g}" for sign, value in (("ρ", of["rho"]), ("ε", of["epsilon"])) if value is not None
            )
            for unit, of in ((unit, stated[str(unit)]) for unit in BOUNDED_UNITS)
        ]
        return f"central, at δ = {delta:g}: " + "; ".join(amounts)

    def _find_delta(self) -> float:
        """Return the δ to state totals at: the budget's, or the largest of the charges."""
        if self.concentrated is not None and self.concentrated.delta is not None:
            return self.concentrated.delta
        return max((row.delta for row in self.charges if row.rho is not None), default=0.0)

    @property
    def charged_people(self) -> bool:
        """Whether single people were charged, which the public rows do not show."""
        return any(spending.people.times for spending in self._accounts.values())

    def to_frame(self) -> pd.DataFrame:
        """Return the public rows as a table."""
        import pandas as pd

        rows = [[getattr(row, name) for name in COLUMNS] for row in self.charges]
        rows = [[value.isoformat() if isinstance(value, date) else value for value in row] for row in rows]
        types: dict[str, Any] = {"time_s": float, "unit": str, "epsilon": float, "delta": float, "total": float}
        types |= {
            "begin_s": float,
            "end_s": float,
            "rho": float,
            "delta_t": float,
            "first_day": "str",
            "last_day": "str",
        }
        return pd.DataFrame(rows, columns=list(COLUMNS)).astype(types)

    def people_frame(self) -> pd.DataFrame:
        """Return what single people were charged, a row per person and time: private, for `truth/` only."""
        import pandas as pd

        parts = [
            pd.DataFrame({"time_s": time_s, "worker": ids, "account": str(account), "epsilon": floats(amount)})
            for account, spending in self._accounts.items()
            for time_s, (ids, amount) in zip(spending.people.times, spending.people.batches, strict=True)
        ]
        empty = pd.DataFrame({"time_s": [], "worker": [], "account": [], "epsilon": []})
        return pd.concat(parts, ignore_index=True) if parts else empty.astype({"worker": "int64", "account": "str"})

    def _charge_everyone(
        self, spending: Spending, pieces: Sequence[float], time_s: float, period: Period
    ) -> list[float]:
        """Charge all pieces or none; return the total after each."""
        whole = sum(units(piece) for piece in pieces)
        if spending.limit is not None and spending.peak(period) + whole > spending.limit:
            raise BudgetSpent(as_float(whole), as_float(spending.room(period)), time_s)
        totals = []
        for piece in pieces:
            spending.everyone.add(period, units(piece))
            totals.append(as_float(spending.total(ALWAYS)))
        return totals

    def _charge_people(self, spending: Spending, who: npt.ArrayLike, epsilon: float, time_s: float) -> Ids:
        ids, counts = distinct_people(who)
        amount = limbs(units(epsilon))[:, None] * counts
        fits = spending.affordable(time_s, ids, amount)
        if not fits.all():
            first = np.flatnonzero(~fits)[:1]
            requested = units(epsilon) * int(counts[first[0]])
            raise BudgetSpent(as_float(requested), as_float(spending.room((time_s, time_s), ids[first])), time_s)
        spending.people.add(time_s, ids, amount)
        return ids

    def _require_like(self, account: Account, promise: Guarantee) -> None:
        if promise.unit is Unit.NOTHING:
            raise UsageError(f"what promises nothing cannot be charged: {promise.why_not}")
        known = self._neighbours.get(account)
        if known is not None and known != promise.neighbours:
            raise UsageError(
                f"the {account} account counts '{known}' charges; '{promise.neighbours}' cannot be added to them. "
                "Convert one of them (an add/remove promise of ε is a replace promise of 2ε)."
            )

    def _require_by_days(self, promise: Guarantee, account: Account, who: npt.ArrayLike | None) -> None:
        """Refuse what days and rho cannot be counted for."""
        if account is not Account.CENTRAL:
            if promise.rho is not None or promise.unit in DAY_UNITS:
                raise UsageError(f"the {account} account counts no rho and no days: give the public cap per person")
            return
        if who is not None:
            raise UsageError("rho and days of the data are charged to everyone, not to single people")
        pure = self._accounts[Account.CENTRAL].budget is not None or self.budget_delta is not None
        if pure and (promise.rho is not None or promise.unit in DAY_UNITS):
            what = "rho" if promise.rho is not None else f"a '{promise.unit}'"
            raise UsageError(
                f"this ledger has a budget of pure epsilon per person, and a promise of {what} does not add up to one. "
                "Begin another with a budget of rho, or of epsilon with a delta (--budget-rho R, or --budget E "
                "--budget-delta D), or publish with delta 0 about a person. Nothing was charged."
            )

    def _require_fit(self, whole: DataDays, promise: Guarantee, days: Days | None) -> None:
        """Refuse what a concentrated budget has no room for."""
        budget = self.concentrated
        if budget is None or whole is self.days:
            return
        if promise.spent_rho is None and budget.rho is not None:
            raise UsageError(
                f"a promise about '{promise.unit}' of epsilon and delta without a rho cannot be counted against a "
                "budget of rho. Nothing was charged."
            )
        after = whole.measure(budget, days)
        if after <= budget.amount * (1 + 1e-12):
            return
        before = self.days.measure(budget, days)
        raise BudgetSpent(
            after - before if math.isfinite(after) else math.inf,
            max(budget.amount - before, 0.0),
            what=budget.currency,
            advice=f"The budget is {budget}. Ask for less, publish other days, or wait for a new budget.",
        )

    def _delta_with(self, promise: Guarantee, time_s: float) -> float:
        total = self._delta + promise.delta
        if self.budget_delta is not None and total > self.budget_delta * (1 + 1e-12):
            raise BudgetSpent(promise.delta, self.budget_delta - self._delta, time_s, what="δ")
        return total

    def _latest(self, spending: Spending) -> float:
        times = [*spending.everyone.begun.times[-1:], *spending.everyone.ended.times[-1:], *spending.people.times[-1:]]
        return max((time_s for time_s in times if math.isfinite(time_s)), default=0.0)


def chargeable(guarantee: Guarantee, per_person: Guarantee) -> tuple[Guarantee, Account] | None:
    """Return what to ask a ledger for, and in which account (None: nothing is promised, so there is nothing to charge).

    That is what a release costs each person; where nothing bounds it, what it promises about one visit or one trip.
    """
    if per_person.unit is not Unit.NOTHING:
        return per_person, Account(per_person.account)
    return (guarantee, _PER_UNIT[guarantee.unit]) if guarantee.unit in _PER_UNIT else None


def _rows(
    row: Charge, pieces: Sequence[float], totals: Sequence[float], parts: Mapping[str, float] | None
) -> list[Charge]:
    """Return a row per part; what is charged once (delta) stands in the first."""
    if not parts:
        return [row]
    if row.rho is not None:
        left = row.delta - row.delta_t
        split = [
            replace(row, scope=f"{row.scope}: {part}", rho=piece, epsilon=epsilon_of_rho(piece, left), delta_t=0.0)
            for part, piece in zip(parts, pieces, strict=True)
        ]
        worth = epsilon_of_rho(pieces[0], left)
        return [replace(split[0], delta_t=row.delta_t, epsilon=worth), *split[1:]]
    rows = [
        replace(row, scope=f"{row.scope}: {part}", epsilon=piece, delta=0.0, total=total)
        for part, piece, total in zip(parts, pieces, totals, strict=True)
    ]
    return [replace(rows[0], delta=row.delta), *rows[1:]]


def _as_promise(row: Charge) -> Guarantee:
    """Return a row as the promise that was charged."""
    neighbours = Neighbours(row.neighbours)
    return Guarantee(
        row.epsilon, row.unit, neighbours, Trust.CENTRAL, delta=row.delta, rho=row.rho, delta_t=row.delta_t
    )


def _find_pure(budget: ConcentratedBudget, days: DataDays) -> float:
    """Return the pure ε that still fits on top of everything."""
    spent = days.measure(budget)
    left = max(budget.amount - spent, 0.0)
    return math.sqrt(2 * left) if budget.rho is not None else left


def _possible(period: Period) -> bool:
    """Tell whether a period has a moment in it."""
    begin, end = period
    return begin <= end and begin < math.inf and end > -math.inf


def _only(person: int | None) -> Ids | None:
    return None if person is None else distinct_people([person])[0]


def _per_person(guarantee: Guarantee, cap: int | None) -> Guarantee:
    """Return what a promise costs each person."""
    if guarantee.account == Account.ITEM and cap is None:
        return guarantee
    if guarantee.unit in (Unit.EVENT, Unit.TRAJECTORY, Unit.ITEM):
        if cap is None:
            raise UsageError(
                f"a promise about one {guarantee.unit} costs each person epsilon × the public cap on their number: "
                "give the cap"
            )
        return guarantee.for_users(cap)
    return guarantee


def _make_spending(allowed: float | Allowance) -> Spending:
    allowance = allowed if isinstance(allowed, Allowance) else Allowance(allowed)
    return Spending(allowance.epsilon, allowance.window)
