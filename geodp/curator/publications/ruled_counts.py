"""Visitors of venues by rules of thumb, which promise nothing."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from geodp.curator.ruled_counts import RuledVisits


class SuppressedCounts(RuledVisits):
    """Exact numbers of visitors per venue, with 0 in place of those below k.

    Guarantee
    ---------
    None: see the mechanism `suppress_below`.
    """

    kind: ClassVar[str] = "suppressed_counts"

    k: int = Field(default=10, ge=1)
    """Counts below it are published as 0."""
    base: int = Field(default=1, ge=1)
    """What is left is rounded to multiples of it (1: not at all)."""

    @property
    def rule(self) -> dict[str, int]:
        """Return the rule."""
        return {"suppress_below": self.k, "round_to": self.base}


class RoundedCounts(RuledVisits):
    """Exact numbers of visitors per venue, rounded to multiples of a base (halves upwards).

    Guarantee
    ---------
    None: see the mechanism `round_to`.
    """

    kind: ClassVar[str] = "rounded_counts"

    base: int = Field(default=5, ge=2)
    """Counts are rounded to multiples of it."""

    @property
    def rule(self) -> dict[str, int]:
        """Return the rule."""
        return {"round_to": self.base}
