"""One account of the ledger: who spent how much when, in exact sums, and the most that any window of time has seen.

Epsilons are the decimals they are written as, in units of 1e-27. A double has at most 17 significant digits, so every
epsilon of 1e-10 or more is a whole number of units; smaller ones are rounded up. Single sums are Python integers; sums
per person are three int64 limbs in base 1e9, which add exactly and fast for billions of charges.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from geodp.errors import UsageError

Ids = npt.NDArray[np.int64]
Span = tuple[float, float]
"""Times t with low < t <= high."""
Period = tuple[float, float]
"""First and last moment of the data that a charge is about, both included; infinite where it is not known."""
ALWAYS: Span = (-math.inf, math.inf)
DAY_S = 86_400.0
MOST_PEOPLE = 2**28
Limbs = npt.NDArray[np.int64]
"""Three rows: units of 1e-9, 1e-18 and 1e-27; the last two lie in [0, 1e9) once carried."""
_DIGITS = 27
_ONE: int = 10**_DIGITS
_BASE = 10**9
_HELD_DIGITS = 15  # decimals of so many digits are told apart by doubles
_TRIES = 1000


@dataclass(frozen=True)
class Window:
    """The stretch of time over which a budget must last: everything, each calendar day, or any `length_s` seconds.

    Sliding windows are half open: two charges exactly `length_s` apart share none.
    """

    per_day: bool = False
    length_s: float | None = None
    midnight_s: float = 0.0
    """Some midnight on the clock of the charges (days start there)."""

    def spans(self, period: Period, begins: Iterable[float]) -> list[Span]:
        """Return the windows that touch a period and could be the fullest, given when the data of other charges begin.

        What a window holds grows only where data begin, so those at the period's begin and at later begins suffice.
        """
        begin, end = period
        if self.length_s is not None:
            length = self.length_s
            highs = {other for other in begins if begin < other < end + length and other - length < end}
            return [_end_window_at(high, length) for high in sorted({begin, *highs})]
        if self.per_day:
            days = {self._day(begin), *(self._day(other) for other in begins if other > begin)}
            return sorted(day for day in days if day[0] < end)
        return [ALWAYS]

    def _day(self, time_s: float) -> Span:
        if math.isinf(time_s):
            return (time_s, time_s)  # before all days: what has always been going on
        start = self.midnight_s + math.floor((time_s - self.midnight_s) / DAY_S) * DAY_S
        return (math.nextafter(start, -math.inf), math.nextafter(start + DAY_S, -math.inf))


def _end_window_at(high: float, length_s: float) -> Span:
    """Return the window up to a time; it holds that time, however short it is."""
    return (min(high - length_s, math.nextafter(high, -math.inf)), high)


def touches(period: Period, span: Span) -> bool:
    """Tell whether data of a period lie in a window."""
    return period[0] <= span[1] and period[1] > span[0]


@dataclass
class _Running:
    """Amounts in order of time, with running sums."""

    times: list[float] = field(default_factory=list)
    amounts: list[int] = field(default_factory=list)
    sums: list[int] = field(default_factory=lambda: [0])

    def add(self, time_s: float, value: int) -> None:
        """Insert an amount; in order of time this is a single addition."""
        place = bisect_right(self.times, time_s)
        self.times.insert(place, time_s)
        self.amounts.insert(place, value)
        del self.sums[place + 1 :]
        for amount in self.amounts[place:]:
            self.sums.append(self.sums[-1] + amount)

    def until(self, time_s: float) -> int:
        """Return the sum of the amounts up to a time (included)."""
        return self.sums[bisect_right(self.times, time_s)]


@dataclass
class PublicCharges:
    """Charges to everyone, by when their data begin and by when they end."""

    begun: _Running = field(default_factory=_Running)
    ended: _Running = field(default_factory=_Running)

    @property
    def total(self) -> int:
        """The sum of all charges."""
        return self.begun.sums[-1]

    def add(self, period: Period, value: int) -> None:
        """Insert a charge about a period."""
        self.begun.add(period[0], value)
        self.ended.add(period[1], value)

    def within(self, span: Span) -> int:
        """Return the sum of the charges whose data touch a span: begun by its end, and not over before it."""
        return self.begun.until(span[1]) - self.ended.until(span[0])


@dataclass
class PeopleCharges:
    """Charges to some people, by person; people are numbered from 0."""

    times: list[float] = field(default_factory=list)
    batches: list[tuple[Ids, Limbs]] = field(default_factory=list)
    """For every time the people charged, and how much each (three limbs)."""
    totals: Limbs = field(default_factory=lambda: np.zeros((3, 0), dtype=np.int64))
    _recent: Limbs = field(default_factory=lambda: np.zeros((3, 0), dtype=np.int64))
    _recent_range: tuple[int, int] = (0, 0)

    @property
    def size(self) -> int:
        """One more than the highest person number."""
        return int(self.totals.shape[1])

    def add(self, time_s: float, ids: Ids, amount: Limbs) -> None:
        """Insert a batch of charges at one time; ids are distinct."""
        if ids.size == 0:
            return
        self._grow(int(ids.max()) + 1)
        place = bisect_right(self.times, time_s)
        if place < self._recent_range[1]:
            self._recent[:] = 0
            self._recent_range = (0, 0)
        self.times.insert(place, time_s)
        self.batches.insert(place, (ids, amount))
        self.totals[:, ids] += amount

    def within(self, span: Span) -> Limbs:
        """Return everyone's sum over a span (not to be written to); moving forward in time costs only what changes."""
        if span == ALWAYS:
            return self.totals
        first, last = bisect_right(self.times, span[0]), bisect_right(self.times, span[1])
        begun, ended = self._recent_range
        if not begun <= first <= ended <= last:
            self._recent[:] = 0
            begun = ended = first
        for ids, amount in self.batches[ended:last]:
            self._recent[:, ids] += amount
        for ids, amount in self.batches[begun:first]:
            self._recent[:, ids] -= amount
        self._recent_range = (first, last)
        return self._recent

    def _grow(self, size: int) -> None:
        if size > self.size:
            wider = max(size, min(2 * self.size, MOST_PEOPLE)) if self.size else size
            more = ((0, 0), (0, wider - self.size))
            self.totals, self._recent = np.pad(self.totals, more), np.pad(self._recent, more)


@dataclass
class Spending:
    """One account: its budget (None = no limit), its window, and all charges, in exact units."""

    budget: float | None = None
    window: Window = field(default_factory=Window)
    everyone: PublicCharges = field(default_factory=PublicCharges)
    people: PeopleCharges = field(default_factory=PeopleCharges)

    @cached_property
    def limit(self) -> int | None:
        """The most that may be spent in a window."""
        return None if self.budget is None else limit_units(self.budget)

    def room(self, period: Period, ids: Ids | None = None) -> int:
        """Return what everyone (or all of `ids`) could still be charged for a period."""
        if self.budget is None:
            return 0
        peak = self.peak(period, ids)
        return 0 if as_float(peak) >= self.budget else budget_units(self.budget) - peak

    def peak(self, period: Period, ids: Ids | None = None) -> int:
        """Return the most that anyone (or any of `ids`) has spent in a window that touches a period."""
        return max(self.everyone.within(span) + largest(self._of(span, ids)) for span in self._spans(period))

    def total(self, span: Span, ids: Ids | None = None) -> int:
        """Return what the person charged most, of everyone or of some, has spent in a span."""
        return self.everyone.within(span) + largest(self._of(span, ids))

    def affordable(self, time_s: float, ids: Ids, amount: Limbs) -> npt.NDArray[np.bool_]:
        """Tell which people could still be charged an amount at a time."""
        fits = np.ones(ids.size, dtype=np.bool_)
        if self.limit is None:
            return fits
        for span in self._spans((time_s, time_s)):
            room = self.limit - self.everyone.within(span)
            fits &= _at_most(self._of(span, ids) + amount, room)
        return fits

    def per_person(self) -> npt.NDArray[np.float64]:
        """Return everyone's total, by person number, in epsilon."""
        return floats(self.people.totals + limbs(self.everyone.total)[:, None])

    def _spans(self, period: Period) -> list[Span]:
        if self.window.length_s is None and not self.window.per_day:
            return [ALWAYS]
        later = [times[bisect_right(times, period[0]) :] for times in (self.everyone.begun.times, self.people.times)]
        return self.window.spans(period, later[0] + later[1])

    def _of(self, span: Span, ids: Ids | None) -> Limbs:
        """Return the sums of everyone ever charged alone, or of some people; those never charged have none."""
        sums = self.people.within(span)
        if ids is None:
            return sums
        if ids.size == 0 or ids.max() < self.people.size:
            return sums[:, ids]
        found = np.zeros((3, ids.size), dtype=np.int64)
        known = ids < self.people.size
        found[:, known] = sums[:, ids[known]]
        return found


def _at_most(sums: Limbs, room: int) -> npt.NDArray[np.bool_]:
    """Compare many sums with one number of units, exactly."""
    if room < 0:
        return np.zeros(sums.shape[1], dtype=np.bool_)
    higher, middle, low = carry(sums)
    bound = limbs(room)
    return np.asarray(
        (higher < bound[0])
        | ((higher == bound[0]) & ((middle < bound[1]) | ((middle == bound[1]) & (low <= bound[2]))))
    )


def distinct_people(who: npt.ArrayLike) -> tuple[Ids, npt.NDArray[np.int64]]:
    """Return the distinct person numbers and how often each occurs, or refuse what is no person number."""
    ids = np.asarray(who)
    if ids.size == 0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    if not np.issubdtype(ids.dtype, np.integer) or ids.min() < 0 or ids.max() >= MOST_PEOPLE:
        raise UsageError(f"people are numbered from 0 to {MOST_PEOPLE - 1:,}: give whole numbers, such as row numbers")
    found, counts = np.unique(ids.astype(np.int64).ravel(), return_counts=True)
    return found, counts.astype(np.int64)


def units(epsilon: float, *, rounding: str = ROUND_CEILING) -> int:
    """Return an epsilon as a whole number of units, rounded up: what is charged is never less than what is spent."""
    return int(Decimal(repr(float(epsilon))).scaleb(_DIGITS).to_integral_value(rounding))


def budget_units(epsilon: float) -> int:
    """Return a budget as a whole number of units, rounded down."""
    return units(epsilon, rounding=ROUND_FLOOR)


def limit_units(epsilon: float) -> int:
    """Return the largest sum that, as a double, is not more than a budget.

    A budget of n charges is itself a rounded double: six times ln 4/200 must fit the double nearest to it.
    """
    beyond = (Fraction(epsilon) + Fraction(math.ulp(epsilon)) / 2) * _ONE
    whole: int = math.ceil(beyond)
    return whole - 1


def as_float(value: int) -> float:
    """Return units as an epsilon, correctly rounded."""
    return value / _ONE  # dividing whole numbers is correctly rounded, however large they are


def split_epsilon(epsilon: float, shares: Sequence[float]) -> list[float]:
    """Split an epsilon by shares into parts that, as the decimals they are written as, add up to it exactly.

    All parts but the smallest are rounded to 15 digits below the epsilon's first, which a double holds. The smallest
    takes what they leave; where it would need more digits than a double has, the largest one gives it a few more of
    its last digit until it does not.
    """
    whole, exact = units(epsilon), [units(share) for share in shares]
    step = 10 ** max(len(str(whole)) - _HELD_DIGITS, 0)
    order = sorted(range(len(exact)), key=exact.__getitem__)
    smallest, largest_one = order[0], order[-1]  # two different ones, also where all are equal
    parts = [(whole * share // sum(exact) + step // 2) // step * step for share in exact]
    parts[smallest] = 0
    parts[smallest] = left = whole - sum(parts)
    for more in range(0, _TRIES * step, step):
        if left + more > 0 and units(as_float(left + more)) == left + more:
            parts[largest_one] -= more if largest_one != smallest else 0
            parts[smallest] += more
            break
    return [as_float(part) for part in parts]


def limbs(value: int) -> Limbs:
    """Split units into limbs."""
    high, low = divmod(value, _BASE)
    higher, middle = divmod(high, _BASE)
    return np.array([higher, middle, low], dtype=np.int64)


def carry(sums: Limbs) -> Limbs:
    """Carry overflow (and borrows) of the lower limbs into the higher ones."""
    over, low = np.divmod(sums[2], _BASE)
    over, middle = np.divmod(sums[1] + over, _BASE)
    return np.stack([sums[0] + over, middle, low])


def largest(sums: Limbs) -> int:
    """Return the largest of many sums in units (0 of none)."""
    if sums.shape[1] == 0:
        return 0
    full = carry(sums)
    for limb in range(3):  # the largest is among those with the largest leading limb, and so on
        full = full[:, full[limb] == full[limb].max()]
    higher, middle, low = (int(limb) for limb in full[:, 0])
    return (higher * _BASE + middle) * _BASE + low


def floats(sums: Limbs) -> npt.NDArray[np.float64]:
    """Return many sums as epsilons, to the last bit or nearly."""
    full = carry(sums).astype(np.float64)
    return np.asarray((full[0] * 1e18 + full[1] * 1e9 + full[2]) / 1e27)
