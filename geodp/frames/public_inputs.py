"""Public inputs: what a release may know without paying. They are given; reading one off the data is a leak."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from geodp.errors import UsageError
from geodp.geometry import Region
from geodp.public.guarantee import Guarantee, Unit
from geodp.tables.regions import format_region

T = TypeVar("T")


@dataclass
class StatedInputs:
    """The public inputs of one release, and which of them were read off the private data after all."""

    releasing: bool
    values: dict[str, Any] = field(default_factory=dict)
    """Plain values, for the guarantee file."""
    derived: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def settle(self, name: str, option: str, given: T | None, derive: Callable[[], T]) -> T:
        """Return what was given; otherwise derive it with a warning when simulating, and refuse when releasing."""
        if given is None and self.releasing:
            raise UsageError(
                f"{name}: must be public and given in release mode: use {option}. Reading it off the private data "
                f"would disclose something about them."
            )
        value = derive() if given is None else given
        if given is None:
            self.derived.append(name)
            self.warnings.append(
                f"{name}: read off the private data ({format_value(value)}), so no privacy guarantee holds. "
                f"A release needs {option}."
            )
        self.values[name.replace(" ", "_")] = plain_value(value)
        return value

    def honest(self, guarantee: Guarantee) -> Guarantee:
        """Return a promise that does not hold where public inputs were derived."""
        if not self.derived or guarantee.unit is Unit.NOTHING:
            return guarantee
        why = f"read off the private data: {', '.join(self.derived)}"
        return replace(guarantee, holds=False, why_not="; ".join(filter(None, [guarantee.why_not, why])))


def plain_value(value: Any) -> Any:
    """Return a value as the guarantee file shows it."""
    if isinstance(value, Region):
        box = [value.west, value.south, value.east, value.north]
        return box if value.polygon is None else {"box": box, "polygon": value.polygon.wkt}
    return value


def format_value(value: Any) -> str:
    """Return a value as messages show it."""
    if isinstance(value, Region):
        return format_region(value)
    return f"{value:,.10g}" if isinstance(value, int | float) else str(value)
