"""What a release promises: to whom, about what, at which budget, and whether the promise holds."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from enum import StrEnum
from typing import Any

from geodp.errors import OldMethod, UsageError
from geodp.public.zcdp import epsilon_of_rho, guess_risk


class Unit(StrEnum):
    """The thing whose presence or value is hidden.

    Examples
    --------
    >>> from geodp.public.guarantee import Unit
    >>> print(Unit.SNAPSHOT)
    snapshot
    """

    SNAPSHOT = "snapshot"
    """One worker's position at one instant."""
    USER = "user"
    """One person's whole record."""
    EVENT = "event"
    """One visit."""
    TRAJECTORY = "trajectory"
    """One trip."""
    PERSON_DAY = "person_day"
    """What belongs to one person and one local day of the data."""
    PERSON_WEEK = "person_week"
    """What belongs to one person and any 7 consecutive days of the data."""
    ITEM = "item"
    """One entry of one person's vector."""
    PAIR = "pair"
    """Whether one pair of people met."""
    ANSWER = "answer"
    """One person's answer, against those who believe a stated model of how people depend on each other."""
    POINT = "point"
    """One reported place, in a metric (geo-indistinguishability): epsilon is per metre."""
    NOTHING = "nothing"
    """No promise."""


class Neighbours(StrEnum):
    """The change that must stay hidden.

    Examples
    --------
    >>> from geodp.public.guarantee import Neighbours
    >>> print(Neighbours.REPLACE)
    replace
    """

    ADD_REMOVE = "add_remove"
    REPLACE = "replace"
    METRIC = "metric"
    MODEL = "model"
    NONE = "none"


class Trust(StrEnum):
    """Who has to be trusted with the raw data.

    Examples
    --------
    >>> from geodp.public.guarantee import Trust
    >>> print(Trust.CENTRAL)
    central
    """

    CENTRAL = "central"
    LOCAL = "local"
    NOBODY_PROTECTED = "none"


_CROW = "as the crow flies"
PLANE = "in the plane around the venues"
"""The metric of places on a map of venues: metres there are metres on the ground."""
_HIDDEN = {
    Unit.SNAPSHOT: "one worker's position at one instant",
    Unit.USER: "one person's whole record",
    Unit.EVENT: "one visit",
    Unit.TRAJECTORY: "one trip",
    Unit.PERSON_DAY: "one person's whole day (of the data)",
    Unit.PERSON_WEEK: "one person's whole week (any 7 consecutive days of the data)",
    Unit.ITEM: "one item of one person's history",
    Unit.PAIR: "whether one pair of people met",
    Unit.ANSWER: "one person's answer",
    Unit.POINT: "one reported place",
}


_CONCENTRATED = (
    Unit.SNAPSHOT,
    Unit.USER,
    Unit.EVENT,
    Unit.TRAJECTORY,
    Unit.PERSON_DAY,
    Unit.PERSON_WEEK,
)
"""Units that a rho can be about: the central account counts it."""


@dataclass(frozen=True)
class Guarantee:
    """A promise with its unit and neighbour relation; epsilon alone says nothing.

    Parameters
    ----------
    epsilon
        ε; per metre where the unit is a point.
    unit
        What is hidden.
    neighbours
        The change that stays hidden.
    trust
        Who has to be trusted.
    delta
        δ.
    holds, why_not
        Whether the promise holds, and if not why.
    rho, delta_t
        ρ of a concentrated promise (zCDP), of which ε and δ are then what it is stated at, and the probability with
        which a threshold fails beside it.

    Examples
    --------
    >>> from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit
    >>> Guarantee(0.5, Unit.USER, Neighbours.ADD_REMOVE, Trust.CENTRAL).for_replacement().epsilon
    1.0
    """

    epsilon: float
    unit: Unit
    neighbours: Neighbours
    trust: Trust
    delta: float = 0.0
    counts: str = "all"
    """Whom the release counts: `all` workers, or `idle` ones."""
    holds: bool = True
    why_not: str = ""
    metric: str = ""
    """How distance is measured when epsilon is per metre."""
    extra_m: float = 0.0
    """Added to every distance, metres: a place that is rounded before the noise may move by half of this."""
    memoised: bool = False
    """Whether a phone repeats its answer in a cell where it has reported before: returning then shows."""
    emptied: bool = False
    """Whether names show: the change is then a record that is emptied, not a person who is added or removed."""
    window: int = 1
    """Over how many consecutive releases a promise about positions holds together (w-event privacy)."""
    people: int = 1
    """How many people together it is about, at most: those who move together tell of each other."""
    by_group: tuple[tuple[str, float], ...] = ()
    """What each public group of people gets where they differ: its name and its own epsilon, of which `epsilon` is the
    largest."""
    rho: float | None = None
    """ρ of zero-concentrated differential privacy (None: ε and δ are all that is promised)."""
    delta_t: float = 0.0
    """The part of δ with which a threshold on noisy counts may tell somebody apart."""

    def __post_init__(self) -> None:
        if self.unit is not Unit.NOTHING and not (math.isfinite(self.epsilon) and self.epsilon >= 0):
            raise ValueError(f"a guarantee needs a finite epsilon of at least 0, got {self.epsilon}")
        if not 0 <= self.delta < 1:
            raise ValueError(f"a guarantee needs 0 <= delta < 1, got {self.delta}")
        if self.window < 1 or (self.window > 1 and self.unit is not Unit.SNAPSHOT):
            raise ValueError(f"a window is of one release or more, of positions, got {self.window} of '{self.unit}'")
        if self.people < 1:
            raise ValueError(f"a promise is about one person or more, got {self.people}")
        if not self.holds and not self.why_not:
            raise ValueError("a guarantee that does not hold must say why not")
        if self.by_group and max(own for _, own in self.by_group) > self.epsilon * (1 + 1e-12):
            raise ValueError(f"no group's epsilon may be larger than {self.epsilon:g}, got {dict(self.by_group)}")
        self._check_concentrated()
        if self.unit is Unit.POINT and not self.metric:
            object.__setattr__(self, "metric", _CROW)

    def _check_concentrated(self) -> None:
        """Refuse a rho that says less than what it is stated at, or that the unit cannot have."""
        if not 0 <= self.delta_t <= self.delta:
            raise ValueError(f"the delta of thresholds is a part of delta {self.delta:g}, got {self.delta_t:g}")
        if self.rho is None:
            return
        if not (math.isfinite(self.rho) and self.rho >= 0):
            raise ValueError(f"a rho must be a finite number of at least 0, got {self.rho}")
        if self.unit not in _CONCENTRATED or self.by_group:
            raise ValueError(f"a promise about '{self.unit}'{' by groups' if self.by_group else ''} has no rho")
        if self.delta <= self.delta_t:
            raise ValueError(f"a rho is stated at a delta above that of its thresholds, {self.delta_t:g}")
        stated = epsilon_of_rho(self.rho, self.delta - self.delta_t)
        if self.epsilon < stated * (1 - 1e-9):
            raise ValueError(f"rho {self.rho:g} is worth epsilon {stated:g} at this delta, not {self.epsilon:g}")

    @classmethod
    def from_rho(
        cls,
        rho: float,
        delta: float,
        unit: Unit,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
        trust: Trust = Trust.CENTRAL,
        **more: Any,
    ) -> Guarantee:
        """Return a ρ-zCDP promise, stated at the smallest ε that it is worth at δ.

        Parameters
        ----------
        rho, delta
            ρ, and the δ at which it is stated.
        unit, neighbours, trust
            What is hidden, which change, and who is trusted.
        **more
            Other fields, such as `delta_t`.

        Returns
        -------
        Guarantee
            The promise.

        Examples
        --------
        >>> from geodp.public.guarantee import Guarantee, Unit
        >>> round(Guarantee.from_rho(0.1, 1e-6, Unit.PERSON_DAY).epsilon, 6)
        2.141939
        """
        epsilon = epsilon_of_rho(rho, delta - more.get("delta_t", 0.0))
        return cls(epsilon, unit, neighbours, trust, delta=delta, rho=rho, **more)

    concentrated = from_rho
    """The same, by the name of the property that is promised."""

    @property
    def spent_rho(self) -> float | None:
        """The ρ that it costs beside other concentrated promises: ε²/2 of a pure one (None: it has none)."""
        if self.rho is not None:
            return self.rho
        return self.epsilon**2 / 2 if self.unit in _CONCENTRATED and self.delta == self.delta_t else None

    @property
    def risk(self) -> float:
        """In what share of cases a 50:50 guess whether the unit was there can be right, at most."""
        return guess_risk(self.epsilon, self.delta, self.rho, self.delta_t) if self.holds else 1.0

    @classmethod
    def none(cls, why: str) -> Guarantee:
        """Return the guarantee of something that promises nothing, with the reason."""
        return cls(
            epsilon=math.inf,
            unit=Unit.NOTHING,
            neighbours=Neighbours.NONE,
            trust=Trust.NOBODY_PROTECTED,
            holds=False,
            why_not=why,
        )

    @classmethod
    def per_metre(cls, epsilon_per_m: float, **more: Any) -> Guarantee:
        """Return geo-indistinguishability: no trusted party, epsilon per metre between true places."""
        return cls(epsilon_per_m, Unit.POINT, Neighbours.METRIC, Trust.LOCAL, **more)

    def at_distance(self, distance_m: float) -> float:
        """Return epsilon between two places a distance apart (a per-metre guarantee only)."""
        if self.unit is not Unit.POINT:
            raise UsageError(f"epsilon at a distance is for reported places, not for unit '{self.unit}'")
        return self.epsilon * (distance_m + self.extra_m) if distance_m > 0 else 0.0

    def for_users(self, cap: int) -> Guarantee:
        """Turn a promise about one visit (item, snapshot, day) into one about a person with at most `cap` of them.

        All are in one release, so a ρ costs cap²·ρ; `repeat` is for releases that hold one each. The cap must be public
        or enforced by truncation: a cap read off the data is itself a leak.
        """
        if isinstance(cap, bool) or not isinstance(cap, int) or cap < 1:
            raise UsageError(f"the public cap must be a whole number of at least 1, got {cap!r}")
        if self.unit is Unit.USER:
            return self
        if self.unit not in (
            Unit.EVENT,
            Unit.TRAJECTORY,
            Unit.ITEM,
            Unit.SNAPSHOT,
            Unit.PERSON_DAY,
            Unit.PERSON_WEEK,
        ):
            raise UsageError(f"a promise about '{self.unit}' does not become one about users by a cap")
        return self._weaker(unit=Unit.USER, window=1, **self._group_budget(cap))

    def for_group(self, people: int) -> Guarantee:
        """Return the promise about so many people together: what they have in common is told by each of them.

        Parameters
        ----------
        people
            How many there are at most, a public number.

        Returns
        -------
        Guarantee
            The same promise at `people` times the epsilon; where it is about groups already, at as many times as there
            are such groups in this one.

        Raises
        ------
        UsageError
            If the number is not a whole one of at least 1.

        Examples
        --------
        >>> from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit
        >>> one = Guarantee(0.1, Unit.USER, Neighbours.ADD_REMOVE, Trust.CENTRAL)
        >>> one.for_group(3).epsilon, one.for_group(3).people
        (0.3, 3)
        """
        if isinstance(people, bool) or not isinstance(people, int) or people < 1:
            raise UsageError(f"a group has a whole number of people, at least 1, got {people!r}")
        if self.unit is Unit.NOTHING or people <= self.people:
            return self
        return self._weaker(people=people, **self._group_budget(-(-people // self.people)))

    def _group_budget(self, steps: int) -> dict[str, Any]:
        """Return what so many changes cost, one after the other: later ones inflate earlier deltas."""
        if self.rho is not None and steps > 1:
            return self._restate_rho(self.rho * steps**2, f"{steps} of them at once")
        if steps == 1:
            return {}
        inflated = math.expm1(steps * self.epsilon) / math.expm1(self.epsilon) if self.delta else 0.0
        return {"epsilon": times(self.epsilon, steps), "delta": self.delta * inflated, "delta_t": 0.0}

    def _restate_rho(self, rho: float, what: str) -> dict[str, Any]:
        """Return a larger rho with what it is worth at the same delta."""
        if self.delta_t:
            raise UsageError(
                f"a promise with thresholds (delta_t = {self.delta_t:g}) does not become one about {what}: what a "
                "threshold lets through adds up otherwise than rho. Release without thresholds, or with another unit."
            )
        return {"rho": rho, "epsilon": epsilon_of_rho(rho, self.delta)}

    def restate(self, delta: float) -> Guarantee:
        """Return the same concentrated promise, stated at another δ.

        Parameters
        ----------
        delta
            δ.

        Returns
        -------
        Guarantee
            The promise, with the smallest ε that its ρ is worth there.

        Raises
        ------
        UsageError
            If it has no ρ.

        Examples
        --------
        >>> from geodp.public.guarantee import Guarantee, Unit
        >>> round(Guarantee.from_rho(0.1, 1e-6, Unit.USER).restate(1e-9).epsilon, 6)
        2.715482
        """
        if self.rho is None:
            raise UsageError("only a promise with a rho can be stated at another delta")
        return replace(self, delta=delta, epsilon=epsilon_of_rho(self.rho, delta - self.delta_t))

    def for_replacement(self, *, nonnegative: bool = False) -> Guarantee:
        """Return the promise when the change is a replacement: removing and adding, hence twice the epsilon.

        It is the honest figure for an observer who knows who takes part. A ρ becomes 4ρ; where contributions are of
        one sign only (`nonnegative`: counts are), two of them are at most √2 as far apart as the longest is long: 2ρ.
        """
        if self.neighbours is Neighbours.REPLACE:
            return self
        if self.neighbours is not Neighbours.ADD_REMOVE:
            raise UsageError(f"only an add/remove promise turns into a replace promise, not '{self.neighbours}'")
        if self.rho is not None:
            costs = self._restate_rho(self.rho * (2 if nonnegative else 4), "replacing")
            return self._weaker(neighbours=Neighbours.REPLACE, **costs)
        delta = self.delta * (1 + math.exp(self.epsilon)) if self.delta else 0.0
        return self._weaker(neighbours=Neighbours.REPLACE, epsilon=times(self.epsilon, 2), delta=delta, delta_t=0.0)

    def repeat(self, count: int) -> Guarantee:
        """Return the promise of `count` independent releases or reports together: costs add up.

        For reported places this is per metre of the largest distance between the two tracks at any one report. ρ and
        δ_t add up; the total is stated at the same δ, or with thresholds at `count` times that.
        """
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise UsageError(f"the number of releases must be a whole number of at least 1, got {count!r}")
        if self.unit is Unit.NOTHING:
            return self
        if self.rho is None:
            return self._weaker(
                epsilon=times(self.epsilon, count), delta=self.delta * count, delta_t=self.delta_t * count
            )
        rho, delta_t = times(self.rho, count), self.delta_t * count
        delta = self.delta * count if delta_t else self.delta
        if delta >= 1:
            return Guarantee.none("its delta reaches 1 together with what it is combined with")
        return replace(self, rho=rho, delta=delta, delta_t=delta_t, epsilon=epsilon_of_rho(rho, delta - delta_t))

    repeated = OldMethod("repeat")

    def _weaker(self, **changes: Any) -> Guarantee:
        if changes.get("delta", 0.0) >= 1:
            return Guarantee.none("its delta reaches 1 together with what it is combined with")
        if self.by_group and self.epsilon > 0 and "epsilon" in changes:
            steps = round(changes["epsilon"] / self.epsilon)  # whatever weakens a promise repeats it
            changes["by_group"] = tuple((name, times(own, steps)) for name, own in self.by_group)
        return replace(self, **changes)

    def for_one(self, group: str) -> Guarantee:
        """Return the promise to the people of one public group.

        Parameters
        ----------
        group
            Its name.

        Returns
        -------
        Guarantee
            The same promise at the group's own epsilon.

        Raises
        ------
        UsageError
            If there is no such group.

        Examples
        --------
        >>> from geodp.public.guarantee import Guarantee
        >>> both = Guarantee.per_metre(0.02, by_group=(("careful", 0.01), ("relaxed", 0.02)))
        >>> both.for_one("careful").epsilon
        0.01
        """
        own = dict(self.by_group)
        if group not in own:
            raise UsageError(f"no group called '{group}': {', '.join(own) or 'everyone gets the same promise'}")
        return replace(self, epsilon=own[group], by_group=())

    @property
    def account(self) -> str:
        """The account it is charged to; accounts are never added up with one another."""
        if self.unit is Unit.ITEM and self.trust is Trust.LOCAL:
            return "item"
        if self.unit in (Unit.SNAPSHOT, Unit.USER) and self.trust is Trust.LOCAL:
            return "local"
        return "metric" if self.unit is Unit.POINT else "central"

    @property
    def on_ground(self) -> bool:
        """Whether a promise per metre is about metres on the ground, and not along a tree or a graph."""
        return self.metric in (_CROW, PLANE)

    def together(self, count: int, whose: str) -> str:
        """Say what `count` reports (or rows) of one person promise together, in a sentence ('' where none is due).

        Parameters
        ----------
        count
            How many there are at most.
        whose
            What they are called: `All 12 reports of one phone`.
        """
        if self.account == "local" and self.unit is Unit.SNAPSHOT and self.holds:
            return (
                f"{whose} together cost ε = {self.repeat(count).epsilon:.6g}: steps add up, and where somebody was at "
                "all these instants is hidden by a factor of at most e^ε with that ε."
            )
        if self.unit is not Unit.POINT or not self.holds:
            return ""
        total = self.repeat(count)
        bound = f"change the odds by a factor of at most {total._metric_bound()}"
        apart = "d metres" if self.metric == _CROW else "d metres in that metric"
        cost = f"{whose} together cost ε = {total.epsilon:.6g} per metre"
        if self.memoised:
            return (
                f"{cost}. Answers are repeated in a cell, so returning shows: nothing is promised about tracks that "
                "return to their cells in different patterns; tracks that return alike, and are nowhere further "
                f"apart than {apart} at the first report in a cell, {bound}."
            )
        return f"{cost}: tracks that are nowhere further apart than {apart} {bound}."

    def sentence(self) -> str:
        """Say the promise in one sentence that a lawyer could read."""
        if self.unit is Unit.NOTHING:
            return f"No privacy guarantee: {self.why_not}."
        text = self._metric_sentence() if self.unit is Unit.POINT else self._central_sentence()
        text += self._groups_clause()
        return text + "." if self.holds else f"{text}; BUT THIS DOES NOT HOLD: {self.why_not}."

    def _groups_clause(self) -> str:
        """Say what each group gets."""
        if not self.by_group:
            return ""
        per = " per metre" if self.unit is Unit.POINT else ""
        groups = ", ".join(f"{name} ε = {own:.6g}{per}" for name, own in self.by_group)
        return f". That is what the least careful group gets; each has its own: {groups}"

    def _metric_bound(self) -> str:
        return f"exp({self.epsilon:.6g}·" + (f"(d + {self.extra_m:.4g}))" if self.extra_m else "d)")

    def _metric_sentence(self) -> str:
        hidden = "the first report of one phone in a cell" if self.memoised else _HIDDEN[self.unit]
        whom = " but a trusted curator" if self.trust is Trust.CENTRAL else ", with no trusted party"
        text = (
            f"Hides {hidden} from everyone{whom}: places d metres apart "
            f"({self.metric}) change the odds of any output by a factor of at most {self._metric_bound()}"
        )
        text += f", except with probability {self.delta:g}" if self.delta else ""
        return text + ("; later reports there repeat it, so returning to a cell is not hidden" if self.memoised else "")

    def _central_sentence(self) -> str:
        budget = f"ε = {self.epsilon:g}" + (f", δ = {self.delta:g}" if self.delta else "")
        if self.rho is not None:
            budget += f" (ρ = {self.rho:.7g} of zero-concentrated privacy, stated at this δ)"
        change = "adding or removing it" if self.neighbours is Neighbours.ADD_REMOVE else "replacing it"
        if self.emptied:
            change = f"{'emptying it' if self.unit is Unit.USER else change} (the person's name stays)"
        whom = " but a trusted curator" if self.trust is Trust.CENTRAL else ", with no trusted party"
        hidden = _HIDDEN[self.unit]
        if self.unit is Unit.ANSWER:
            return (
                f"Hides {hidden} from everyone{whom} who believes the stated model of how people depend on each other: "
                f"either answer changes the odds of any output by a factor of at most e^ε, {budget}; under another "
                "model it may change them more, and it adds up with nothing else (Pufferfish)"
            )
        if self.window > 1:
            hidden = f"one worker's positions in any {self.window} consecutive releases"
            change = change.replace("it", "them")
        if self.people > 1:
            own = hidden.replace("one worker's", "the").replace("one person's", "the")
            hidden = f"any {self.people} people or fewer together, of each {own},"
            change = change.replace(" them" if " them" in change else " it", " all of them", 1)
        text = (
            f"Hides {hidden} from everyone{whom}: {change} changes the odds of any output "
            f"by a factor of at most e^ε, {budget}"
        )
        if self.delta:
            text += " (δ: the probability with which more may be disclosed)"
        return text + (" (idle workers only are counted)" if self.counts == "idle" else "")

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; an infinite epsilon is null."""
        values = asdict(self)
        values["epsilon"] = self.epsilon if math.isfinite(self.epsilon) else None
        if self.by_group:
            values["by_group"] = dict(self.by_group)
        else:
            del values["by_group"]  # as nearly all are: only where groups differ they are told
        if self.rho is None:
            del values["rho"]
        if not self.delta_t:
            del values["delta_t"]
        return {key: str(value) if isinstance(value, StrEnum) else value for key, value in values.items()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Guarantee:
        """Read back what `as_dict` wrote."""
        return cls(
            **{
                **values,
                "epsilon": math.inf if values["epsilon"] is None else values["epsilon"],
                "unit": Unit(values["unit"]),
                "neighbours": Neighbours(values["neighbours"]),
                "trust": Trust(values["trust"]),
                "by_group": tuple(values.get("by_group", {}).items()),
            }
        )


def both_relations(epsilon: float, neighbours: str) -> str:
    """Print a central epsilon in both neighbour relations: `0.3 (add/remove), 0.6 (replace)`.

    Replacing a worker's position is removing it and adding another: twice the cost. A server that knows who takes part
    already knows that nobody was added, so for it the figure for replacing is the honest one.
    """
    if neighbours == Neighbours.ADD_REMOVE:
        return f"{short_decimal(epsilon)} (add/remove), {short_decimal(2 * epsilon)} (replace)"
    return f"{short_decimal(epsilon)} ({neighbours})"


STRONG_UP_TO, MODERATE_UP_TO = 1.0, 10.0
"""Largest ε that is called strong, and moderate: a convention, which docs/pages/explanation/guarantees.md states."""


def name_strength(epsilon: float) -> str:
    """Say in a word what an epsilon is worth to one person.

    Parameters
    ----------
    epsilon
        All that is spent on the person, not one release's share.

    Returns
    -------
    str
        `strong` (at most 1), `moderate` (at most 10), `weak` (above), `none` (infinite).

    Examples
    --------
    >>> from geodp.public.guarantee import name_strength
    >>> name_strength(0.9), name_strength(4), name_strength(31)
    ('strong', 'moderate', 'weak')
    """
    if not math.isfinite(epsilon):
        return "none"
    return "strong" if epsilon <= STRONG_UP_TO else "moderate" if epsilon <= MODERATE_UP_TO else "weak"


def short_decimal(value: float) -> str:
    """Return a short decimal without the noise of binary fractions."""
    return f"{Decimal(repr(round(value, 10))).normalize():f}"


def plus(*epsilons: float) -> float:
    """Add epsilons as the decimals they are written as: 0.1 + 0.2 is 0.3."""
    return float(sum((Decimal(repr(float(value))) for value in epsilons), start=Decimal(0)))


def times(epsilon: float, count: int) -> float:
    """Multiply an epsilon as the decimal it is written as: three times 0.1 is 0.3."""
    return float(Decimal(repr(float(epsilon))) * count)
