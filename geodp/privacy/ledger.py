"""The ledger: every release asks it before any noise is drawn, and is refused what is not left.

Accounts are kept per protected person and never mixed: a central account (unit USER over the run: each
SNAPSHOT release costs everyone present its epsilon), a metric account (POINT), and the interaction
account (what taking part in the protocol discloses). Whether a release is refused depends on
public schedules and totals only. Sums are exact decimals: three charges of 0.1 fit a budget of 0.3.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum

from geodp.errors import BudgetSpent
from geodp.privacy.guarantee import Guarantee, Unit


class Account(StrEnum):
    """Accounts whose charges must never be added to one another."""

    CENTRAL = "central"
    METRIC = "metric"
    INTERACTION = "interaction"


@dataclass(frozen=True)
class Charge:
    """One row of the ledger."""

    time_s: float
    scope: str
    unit: Unit
    neighbours: str
    mechanism: str
    epsilon: float
    delta: float
    total: float
    """Spent in this account after this charge, per person."""


@dataclass
class Ledger:
    """Charges so far and the budget they may not exceed (None = unlimited, charges are still recorded)."""

    budget_epsilon: float | None = None
    charges: list[Charge] = field(default_factory=list)

    def charge(self, guarantee: Guarantee, *, time_s: float, mechanism: str, scope: str = "everyone") -> Charge:
        """Record one charge, or raise `BudgetSpent` and record nothing."""
        total = self._sum(_account(guarantee.unit)) + Decimal(repr(guarantee.epsilon))
        if self.budget_epsilon is not None and total > Decimal(repr(self.budget_epsilon)):
            raise BudgetSpent(guarantee.epsilon, self.remaining(), time_s)
        row = Charge(
            time_s=time_s,
            scope=scope,
            unit=guarantee.unit,
            neighbours=str(guarantee.neighbours),
            mechanism=mechanism,
            epsilon=guarantee.epsilon,
            delta=guarantee.delta,
            total=float(total),
        )
        self.charges.append(row)
        return row

    def spent(self, account: Account = Account.CENTRAL) -> float:
        """Return epsilon spent so far, per person."""
        return float(self._sum(account))

    def remaining(self, account: Account = Account.CENTRAL) -> float:
        """Return epsilon left, per person (infinite without a budget)."""
        if self.budget_epsilon is None:
            return float("inf")
        return float(Decimal(repr(self.budget_epsilon)) - self._sum(account))

    def _sum(self, account: Account) -> Decimal:
        return sum(
            (Decimal(repr(row.epsilon)) for row in self.charges if _account(row.unit) is account),
            start=Decimal(0),
        )


def _account(unit: Unit) -> Account:
    return Account.METRIC if unit is Unit.POINT else Account.CENTRAL
