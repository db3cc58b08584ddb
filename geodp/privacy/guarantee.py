"""What a release promises: to whom, about what, at which budget, and whether the promise holds."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Unit(StrEnum):
    """The thing whose presence or value is hidden."""

    SNAPSHOT = "snapshot"
    """One worker's position at one instant."""
    USER = "user"
    """One person's whole record."""
    EVENT = "event"
    """One visit."""
    ITEM = "item"
    """One entry of one person's vector."""
    POINT = "point"
    """One reported place, in a metric (geo-indistinguishability): epsilon is per metre."""
    NOTHING = "nothing"
    """No promise."""


class Neighbours(StrEnum):
    """The change that must stay hidden."""

    ADD_REMOVE = "add_remove"
    REPLACE = "replace"
    METRIC = "metric"
    NONE = "none"


class Trust(StrEnum):
    """Who has to be trusted with the raw data."""

    CENTRAL = "central"
    LOCAL = "local"
    NOBODY_PROTECTED = "none"


_HIDDEN = {
    Unit.SNAPSHOT: "one worker's position at one instant",
    Unit.USER: "one person's whole record",
    Unit.EVENT: "one visit",
    Unit.ITEM: "one item of one person's history",
    Unit.POINT: "one reported place",
}


@dataclass(frozen=True)
class Guarantee:
    """A promise with its unit and neighbour relation; epsilon alone says nothing."""

    epsilon: float
    unit: Unit
    neighbours: Neighbours
    trust: Trust
    delta: float = 0.0
    counts: str = "all"
    """Whom the release counts: `all` workers, or `idle` ones."""
    holds: bool = True
    why_not: str = ""

    def __post_init__(self) -> None:
        if self.unit is not Unit.NOTHING and not (math.isfinite(self.epsilon) and self.epsilon > 0):
            raise ValueError(f"a guarantee needs a finite epsilon greater than 0, got {self.epsilon}")

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

    def sentence(self) -> str:
        """Say the promise in one sentence that a lawyer could read."""
        if self.unit is Unit.NOTHING:
            return f"No privacy guarantee: {self.why_not}."
        budget = f"ε = {self.epsilon:g}" + (f", δ = {self.delta:g}" if self.delta else "")
        if self.unit is Unit.POINT:
            text = (
                f"Hides {_HIDDEN[self.unit]} from everyone, with no trusted party: places d metres apart change "
                f"the odds of any output by a factor of at most exp({self.epsilon:g}·d)"
            )
        else:
            change = "adding or removing it" if self.neighbours is Neighbours.ADD_REMOVE else "replacing it"
            whom = "a trusted curator" if self.trust is Trust.CENTRAL else "nobody"
            text = (
                f"Hides {_HIDDEN[self.unit]} from everyone but {whom}: {change} changes the odds of any output "
                f"by a factor of at most e^ε, {budget}"
            )
            if self.counts == "idle":
                text += " (idle workers only are counted)"
        return text + "." if self.holds else f"{text}; BUT THIS DOES NOT HOLD: {self.why_not}."

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; an infinite epsilon is null."""
        values = asdict(self)
        values["epsilon"] = self.epsilon if math.isfinite(self.epsilon) else None
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
            }
        )
