"""The rule of a least number: counts below it are hidden."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from geodp.curator.ruled_counts import RuledCounts


class SuppressBelow(RuledCounts):
    """Exact counts per cell, with 0 in place of those below k (and, if asked, rounding on top).

    Guarantee
    ---------
    None. Who knows the others tells from most counts whether somebody is in, and differences of areas and times give
    back much of what the rule hides: `scenarios/rules_of_thumb.yaml` shows how much.
    """

    kind: ClassVar[str] = "suppress_below"

    k: int = Field(default=10, ge=1)
    """Counts below it are published as 0."""
    base: int = Field(default=1, ge=1)
    """What is left is rounded to multiples of it (1: not at all)."""

    @property
    def rule(self) -> dict[str, int]:
        """Return the rule."""
        return {"suppress_below": self.k, "round_to": self.base}
