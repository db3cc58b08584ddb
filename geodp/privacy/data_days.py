"""What was spent on the days of the data: by one day, by any seven in a row, and by one person altogether.

A release that is made day by day costs every day of its data a share of its own; whose days are not known counts whole
in all of them. Sums are of what adds up: pure epsilons, rho, the delta of thresholds, and promises without a rho.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.errors import UsageError
from geodp.privacy.zcdp import rho_within, total_epsilon
from geodp.public.guarantee import Guarantee, Unit

Days = tuple[date, date]
"""First and last day of the data, both included."""
Costs = npt.NDArray[np.float64]
"""Sums of Σε and Σε²/2 of the pure charges, ρ, δ_t, and Σε and Σδ of promises without a ρ."""
DAY_UNITS = (Unit.PERSON_DAY, Unit.PERSON_WEEK)
"""Units that are about days of the data: they are charged with them."""
BOUNDED_UNITS = (*DAY_UNITS, Unit.USER)
_KINDS = 6
_WEEK = 7
_MOST_DAYS = 36_525
_SLACK = 1 + 1e-12
"""Three times 0.1 fit a budget of 0.3 of doubles."""
_NAMES = {Unit.PERSON_DAY: "a person's day", Unit.PERSON_WEEK: "a person's week", Unit.USER: "a person"}


@dataclass(frozen=True)
class ConcentratedBudget:
    """The most that may be spent on a person's day, week, or altogether: a ρ, or an (ε, δ) that totals stay within.

    Parameters
    ----------
    rho
        ρ; or instead:
    epsilon, delta
        ε of the total, stated at this δ (0: pure charges only).
    unit
        What it bounds: `Unit.PERSON_DAY`, `Unit.PERSON_WEEK`, or `Unit.USER`, a person for ever.

    Examples
    --------
    >>> from geodp.privacy.data_days import ConcentratedBudget
    >>> print(ConcentratedBudget(epsilon=3.0, delta=1e-6))
    ε = 3 at δ = 1e-06 for a person
    """

    rho: float | None = None
    epsilon: float | None = None
    delta: float | None = None
    unit: Unit = Unit.USER

    def __post_init__(self) -> None:
        object.__setattr__(self, "unit", Unit(self.unit))
        if self.unit not in BOUNDED_UNITS:
            raise UsageError(f"a budget bounds {', '.join(BOUNDED_UNITS)}, not '{self.unit}'")
        if (self.rho is None) == (self.epsilon is None):
            raise UsageError("a budget is a rho, or an epsilon with the delta that its total is stated at")
        if (self.epsilon is None) != (self.delta is None):
            raise UsageError("a budget in epsilon needs the delta that its total is stated at (0: pure charges only)")
        for name, value in (("rho", self.rho), ("epsilon", self.epsilon)):
            if value is not None and not (math.isfinite(value) and value > 0):
                raise UsageError(f"a budget must be a finite {name} greater than 0, got {value}")
        if self.delta is not None and not 0 <= self.delta < 1:
            raise UsageError(f"the delta of a budget must be at least 0 and below 1, got {self.delta}")

    def __str__(self) -> str:
        amount = f"ρ = {self.rho:g}" if self.rho is not None else f"ε = {self.epsilon:g} at δ = {self.delta:g}"
        return f"{amount} for {_NAMES[self.unit]}"

    def measure(self, costs: Costs) -> float:
        """Return what such a sum comes to in the budget's own currency (infinite: it does not fit any)."""
        pure, squares, rho, delta_t, plain, plain_delta = (float(cost) for cost in costs)
        if self.rho is not None:
            return math.inf if plain or plain_delta else rho + squares
        delta = self.delta or 0.0
        left = delta - delta_t - plain_delta
        if left < -1e-12 * delta or (left <= 0 and rho > 0):
            return math.inf
        return plain + total_epsilon(pure, squares, rho, left)

    @property
    def amount(self) -> float:
        """The budget in its own currency."""
        return self.rho if self.rho is not None else self.epsilon or 0.0

    @property
    def currency(self) -> str:
        """What it is counted in."""
        return "ρ" if self.rho is not None else f"ε at δ = {self.delta:g}"

    def find_rho(self, costs: Costs) -> float:
        """Return the ρ that still fits on top of a sum."""
        if not self.measure(costs) <= self.amount * _SLACK:
            return 0.0
        if self.rho is not None:
            return max(self.rho - self.measure(costs), 0.0)
        epsilon, delta = self.epsilon or 0.0, self.delta or 0.0
        left = delta - costs[3] - costs[5]
        if left <= 0:
            return 0.0
        split = rho_within(epsilon - costs[4] - costs[0], left) - costs[2]
        whole = rho_within(epsilon - costs[4], left) - costs[2] - costs[1]
        return float(max(split, whole, 0.0))


@dataclass
class DataDays:
    """Charges by the days of their data."""

    always: Costs = field(default_factory=lambda: np.zeros(_KINDS))
    """Of charges whose days are not known."""
    spans: list[tuple[int, int, Costs]] = field(default_factory=list)
    """First and last day (as whole numbers), and what each day between costs."""

    def with_charge(self, promise: Guarantee, days: Days | None) -> DataDays:
        """Return these charges and one more."""
        costs = cost_a_day(promise, days)
        if days is None:
            return DataDays(self.always + costs, self.spans)
        return DataDays(self.always, [*self.spans, (days[0].toordinal(), days[1].toordinal(), costs)])

    def sums(self, unit: Unit, days: Days | None = None) -> list[Costs]:
        """Return what is spent on every day, week or person that has data (or touches some days), each sum once.

        Parameters
        ----------
        unit
            `Unit.PERSON_DAY`, `Unit.PERSON_WEEK` or `Unit.USER`.
        days
            Only of those that have one of these days.
        """
        numbers, table = self._by_day()
        if unit is Unit.USER or not numbers.size:
            return [self.always + table.sum(axis=0)]
        if unit is Unit.PERSON_WEEK:
            ends = np.unique(np.concatenate([numbers + back for back in range(_WEEK)]))
            table = sum((_look_up(numbers, table, ends - back) for back in range(_WEEK)), np.zeros((ends.size, _KINDS)))
        else:
            ends = numbers
        if days is not None:
            reach = _WEEK - 1 if unit is Unit.PERSON_WEEK else 0
            near = (ends >= days[0].toordinal()) & (ends <= days[1].toordinal() + reach)
            table = np.vstack([table[near], np.zeros((1, _KINDS))])
        return [self.always + row for row in np.unique(table, axis=0)]

    def measure(self, budget: ConcentratedBudget, days: Days | None = None) -> float:
        """Return the most that is spent on anything the budget bounds (and that has one of some days)."""
        return max(budget.measure(costs) for costs in self.sums(budget.unit, days))

    def _by_day(self) -> tuple[npt.NDArray[np.int64], Costs]:
        """Return the days that have data, and what each costs."""
        if not self.spans:
            return np.empty(0, dtype=np.int64), np.zeros((0, _KINDS))
        numbers = np.unique(np.concatenate([np.arange(first, last + 1) for first, last, _ in self.spans]))
        table = np.zeros((numbers.size, _KINDS))
        for first, last, costs in self.spans:
            table[np.searchsorted(numbers, first) : np.searchsorted(numbers, last, side="right")] += costs
        return numbers, table


def cost_a_day(promise: Guarantee, days: Days | None) -> Costs:
    """Return what a promise costs each of its days; one whose days are not known costs all of it any day.

    A promise about a week gives each day a seventh, one about a person the same share of each of its days.

    Parameters
    ----------
    promise
        What is charged.
    days
        First and last day of its data.

    Raises
    ------
    UsageError
        If the unit needs days, or these are none.
    """
    if days is None:
        if promise.unit in DAY_UNITS:
            raise UsageError(f"a promise about a '{promise.unit}' is charged with the first and last day of its data")
        share = 1.0
    else:
        count = (days[1] - days[0]).days + 1
        if not 1 <= count <= _MOST_DAYS:
            raise UsageError(f"data end on the day they begin or later, within a century, got {days[0]} to {days[1]}")
        share = {Unit.PERSON_DAY: 1.0, Unit.PERSON_WEEK: 1 / _WEEK}.get(promise.unit, 1 / count)
    if promise.rho is not None:
        return np.array([0.0, 0.0, promise.rho * share, promise.delta_t * share, 0.0, 0.0])
    epsilon = promise.epsilon * share
    if promise.spent_rho is None:
        return np.array([0.0, 0.0, 0.0, 0.0, epsilon, promise.delta * share])
    return np.array([epsilon, epsilon**2 / 2, 0.0, promise.delta_t * share, 0.0, 0.0])


def _look_up(numbers: npt.NDArray[np.int64], table: Costs, wanted: npt.NDArray[np.int64]) -> Costs:
    """Return the rows of some days; those without data cost nothing."""
    place = np.minimum(np.searchsorted(numbers, wanted), numbers.size - 1)
    return np.where((numbers[place] == wanted)[:, None], table[place], 0.0)


def state_spent(days: DataDays, delta: float) -> dict[str, dict[str, Any]]:
    """Return what was spent on a day, a week and a person: ρ (pure charges by ε²/2), δ_t, and ε of all at a δ.

    Parameters
    ----------
    days
        The charges.
    delta
        δ at which the totals are stated (0: where all are pure).

    Returns
    -------
    dict[str, dict[str, Any]]
        `rho` (null: there is a promise without one), `delta_t` and `epsilon` (null: δ is too small), by unit.

    Examples
    --------
    >>> from geodp.privacy.data_days import DataDays, state_spent
    >>> state_spent(DataDays(), 1e-6)["person_day"]
    {'rho': 0.0, 'delta_t': 0.0, 'epsilon': 0.0}
    """
    told = {}
    for unit in BOUNDED_UNITS:
        sums = days.sums(unit)
        total = max(ConcentratedBudget(epsilon=1.0, delta=delta).measure(costs) for costs in sums)
        rho = max(ConcentratedBudget(rho=1.0).measure(costs) for costs in sums)
        told[str(unit)] = {
            "rho": rho if math.isfinite(rho) else None,
            "delta_t": max(float(costs[3]) for costs in sums),
            "epsilon": total if math.isfinite(total) else None,
        }
    return told


def describe_spent(days: DataDays, delta: float) -> str:
    """Say what was spent on a person's day, on any week, and altogether.

    Parameters
    ----------
    days
        The charges.
    delta
        δ at which the totals are stated.

    Examples
    --------
    >>> from geodp.privacy.data_days import DataDays, describe_spent
    >>> describe_spent(DataDays(), 1e-6)
    'at δ = 1e-06: a day ε 0, any 7 days ε 0, a person over the run ε 0'
    """
    words = {Unit.PERSON_DAY: "a day", Unit.PERSON_WEEK: f"any {_WEEK} days", Unit.USER: "a person over the run"}
    told = state_spent(days, delta)
    parts = []
    for unit, name in words.items():
        epsilon, rho = told[str(unit)]["epsilon"], told[str(unit)]["rho"]
        amount = "more than this δ can state" if epsilon is None else f"ε {epsilon:.4g}"
        parts.append(f"{name} {amount}" + (f" (ρ {rho:.4g})" if rho else ""))
    return f"at δ = {delta:g}: {', '.join(parts)}"
