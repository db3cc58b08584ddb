"""The rule of round numbers: counts are rounded to multiples of a base."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from geodp.curator.ruled_counts import RuledCounts


class RoundTo(RuledCounts):
    """Exact counts per cell, rounded to the nearest multiple of a base (halves upwards).

    Guarantee
    ---------
    None. Where one person more crosses a half, the count tells for certain whether she is in, and many counts together
    tell it of nearly everybody: `scenarios/rules_of_thumb.yaml` shows how much.
    """

    kind: ClassVar[str] = "round_to"

    base: int = Field(default=5, ge=2)
    """Counts are rounded to multiples of it."""

    @property
    def rule(self) -> dict[str, int]:
        """Return the rule."""
        return {"round_to": self.base}
