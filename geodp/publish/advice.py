"""Which budget a publication needs: from public settings and a public (or paid) size, not from the private file.

The noise of every table follows from the settings alone. So does the relative error of a count of so many people: its
median is that of |noise| over the count. Only how many places have so many people is in the data, and nobody asks it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from geodp.errors import UsageError
from geodp.flows.calendar import Days
from geodp.flows.design import USUAL_DELTA, FlowDesign
from geodp.flows.release import stand_out
from geodp.geometry import Array
from geodp.public.zcdp import guess_risk

MEDIAN_GAUSSIAN = NormalDist().inv_cdf(0.75)
"""Median of |N(0, 1)|."""
MEDIAN_LAPLACE = math.log(2)
"""Median of |Lap(1)|."""
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
"""What is shown beside the answer."""
CAPS = (1, 2, 4, 8, 16)
_LEAST, _MOST = 1e-4, 1e4
TABLES = ("zone-hour", "zone-day", "zone-all", "od-day", "od-all")
"""Tables of flows about which can be asked."""


@dataclass(frozen=True)
class BudgetQuestion:
    """What is asked, all of it public.

    Parameters
    ----------
    error
        The median relative error that is wanted at most.
    above
        For places with more people than this (at an hour; of flows: trips a day).
    table
        Which numbers: of a zone in an hour, on a day, in all; of a flow on a day, in all.
    """

    error: float = 0.1
    above: float = 500.0
    table: str = "zone-hour"
    zones: int = 100
    districts: int = 10
    days: int = 30
    unit: str = "person-day"
    trips: int = 8
    delta: float = USUAL_DELTA
    pure: bool = False
    """Whether ε alone is to be promised, with Laplace noise."""
    people: float | None = None
    """How many people there are, about: public, or paid for."""
    area_km2: float | None = None
    """How large all zones are together."""
    paid: float = 0.0
    """ε that the number of people was paid with."""
    publication: Literal["flows", "counts"] = "flows"
    cap: int = 5
    """Visits of a person that are used, of `counts`."""

    def __post_init__(self) -> None:
        for name, value in (("--error", self.error), ("--above", self.above)):
            if not (math.isfinite(value) and value > 0):
                raise UsageError(f"{name} must be a finite number greater than 0, got {value:g}.")
        if self.table not in TABLES:
            raise UsageError(f"--table {self.table}: use one of {', '.join(TABLES)}.")
        if self.publication == "counts" and self.unit != "person":
            raise UsageError("counts of visits hide a person's whole record: --unit person, or leave it out.")
        if not 1 <= self.days <= 3660 or not 2 <= self.zones <= 1000:
            raise UsageError("--days lies between 1 and 3,660, --zones between 2 and 1,000.")

    def make_design(self, epsilon: float) -> FlowDesign:
        """Return how a report divides that ε."""
        first = date(2024, 3, 4)
        days = Days(first, first + timedelta(days=self.days - 1))
        delta = None if self.pure else self.delta
        return FlowDesign(
            days, self.zones, self.districts, trips=self.trips, unit=self.unit, epsilon=epsilon, delta=delta
        )

    def find_deviation(self, epsilon: float) -> float:
        """Return the standard deviation of the numbers that are asked about."""
        if self.publication == "counts":
            return math.sqrt(2) * self.cap / epsilon
        design = self.make_design(epsilon)
        if self.table.startswith("od"):
            return design.spread(design.od_scale) * math.sqrt(self.days if self.table == "od-all" else 1)
        hours = {"zone-hour": 1, "zone-day": 24, "zone-all": 24 * self.days}[self.table]
        return design.spread(design.footfall_scale("zone", 0)) * math.sqrt(hours)

    @property
    def size(self) -> float:
        """The number that a place or flow just large enough has in that table."""
        if self.publication == "counts" or self.table in ("zone-hour", "od-day"):
            return self.above
        return self.above * {"zone-day": 24, "zone-all": 24 * self.days, "od-all": self.days}[self.table]

    def find_error(self, epsilon: float) -> float:
        """Return the median relative error of such a number; of a flow that does not stand out: 1."""
        deviation = self.find_deviation(epsilon)
        plain = self.publication == "counts" or (self.pure and self.table in ("zone-hour", "od-day"))
        median = MEDIAN_LAPLACE / math.sqrt(2) if plain else MEDIAN_GAUSSIAN  # sums of many are about Gaussian
        if self.publication == "flows" and self.table.startswith("od"):
            cells = self.zones * (self.zones - 1)
            if self.size < stand_out(cells) * deviation:
                return 1.0
        return median * deviation / self.size


@dataclass(frozen=True)
class Price:
    """What an ε gives, and what it costs."""

    epsilon: float
    rho: float
    deviation: float
    error: float
    risk_day: float
    """In what share of cases a guess is right whether someone was there that day, at most."""
    risk_week: float
    risk_all: float

    @property
    def advantage(self) -> float:
        """By how much more often than by a coin an attacker is right about a whole person, times two."""
        return 2 * self.risk_all - 1


@dataclass(frozen=True)
class PublicationAdvice:
    """The answer, and what lies around it."""

    question: BudgetQuestion
    answer: Price | None
    """The least ε that is enough (None: none up to 10,000)."""
    prices: tuple[Price, ...]
    """The same for other ε."""
    caps: tuple[tuple[int, float | None], ...]
    """ε that would be needed with other caps."""
    sizes: tuple[dict[str, float], ...] = ()
    """Sides of square zones, people in a zone on average, and its error at the answer."""
    private: bool = False
    """Whether the private file decided."""
    measured: dict[str, Any] = field(default_factory=dict)
    """What was found in the private file."""


def answer_question(question: BudgetQuestion) -> PublicationAdvice:
    """Return the least ε whose noise is small enough, with prices and alternatives; no data are read.

    Parameters
    ----------
    question
        What is asked.

    Examples
    --------
    >>> from geodp.publish.advice import BudgetQuestion, answer_question
    >>> advice = answer_question(BudgetQuestion(error=0.05, above=500))
    >>> round(advice.answer.epsilon, 3), round(advice.answer.error, 3)
    (0.945, 0.05)
    """
    least = find_least(question.find_error, question.error)
    answer = None if least is None else price_epsilon(question, least)
    shown = sorted({*EPSILONS, *([] if least is None else [least])})
    return PublicationAdvice(
        question,
        answer,
        tuple(price_epsilon(question, epsilon) for epsilon in shown),
        _try_caps(question),
        _try_sizes(question, answer),
    )


def find_least(measure: Callable[[float], float], most: float) -> float | None:
    """Return the least ε whose error is small enough (None: there is none).

    Parameters
    ----------
    measure
        Returns the error at an ε, which falls as it grows.
    most
        The error that is wanted at most.
    """
    low, high = _LEAST, _MOST
    if measure(high) > most:
        return None
    if measure(low) <= most:
        return low
    while high / low > 1 + 1e-9:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if measure(middle) <= most else (middle, high)
    return high


def price_epsilon(question: BudgetQuestion, epsilon: float) -> Price:
    """Return what an ε gives and costs.

    Parameters
    ----------
    question
        What is asked.
    epsilon
        ε of the unit.
    """
    deviation, error = question.find_deviation(epsilon), question.find_error(epsilon)
    if question.publication == "counts":
        risk = guess_risk(epsilon + question.paid)
        return Price(epsilon, epsilon**2 / 2, deviation, error, risk_day=risk, risk_week=risk, risk_all=risk)
    design = question.make_design(epsilon)
    risks = [design.spend(days)["risk"] for days in (1, 7, question.days)]
    if question.paid:  # a pure ε beside the report: of everybody's whole record
        risks = [min(0.5 + risk - 0.5 + math.tanh(question.paid / 2) / 2, 1.0) for risk in risks]
    rho = epsilon**2 / 2 if question.pure else design.whole_rho
    day, week, every = risks
    return Price(epsilon, rho, deviation, error, risk_day=day, risk_week=week, risk_all=every)


def _try_caps(question: BudgetQuestion) -> tuple[tuple[int, float | None], ...]:
    """Return ε for other caps, where the cap decides about the numbers that are asked about."""
    if question.publication == "counts":
        return tuple((cap, find_least(replace(question, cap=cap).find_error, question.error)) for cap in CAPS)
    if not question.table.startswith("od"):
        return ()
    return tuple((cap, find_least(replace(question, trips=cap).find_error, question.error)) for cap in CAPS)


def _try_sizes(question: BudgetQuestion, answer: Price | None) -> tuple[dict[str, float], ...]:
    """Return sizes of square zones: how many people each has on average, and how wrong its count is then."""
    if question.people is None or question.area_km2 is None or answer is None or question.table.startswith("od"):
        return ()
    found = []
    fitting = math.sqrt(question.area_km2 * question.above / question.people)
    for side_km in sorted({0.25, 0.5, 1.0, 2.0, 4.0, round(fitting, 3)}):
        zones = max(int(question.area_km2 / side_km**2), 1)
        mean = question.people / zones
        error = replace(question, above=max(mean, 1e-9)).find_error(answer.epsilon)
        found.append({"side_km": side_km, "zones": float(zones), "people": mean, "error": error})
    return tuple(found)


def choose_on_counts(question: BudgetQuestion, counts: Sequence[float] | Array) -> PublicationAdvice:
    """Return the same chosen on true counts: what fits best, and must not be released, because it tells of the data.

    Parameters
    ----------
    question
        What is asked.
    counts
        True counts of the numbers that are asked about.
    """
    large = np.asarray(counts, dtype=np.float64)
    large = large[large >= question.size]
    if not large.size:
        raise UsageError(f"the file has no {question.table} with {question.size:,.0f} or more.")
    draws = np.abs(np.random.default_rng(0).standard_normal((64, large.size)))

    def measure(epsilon: float) -> float:
        return float(np.median(draws * question.find_deviation(epsilon) / large))

    least = find_least(measure, question.error)
    advice = answer_question(question)
    answer = None if least is None else replace(price_epsilon(question, least), error=measure(least))
    measured = {"numbers": int(large.size), "of": int(np.size(counts)), "median": float(np.median(large))}
    return replace(advice, answer=answer, private=True, measured=measured)
