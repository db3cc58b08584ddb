"""Levels of privacy that groups of people get in a curator's counts, and what is asked of them."""

from __future__ import annotations

import math
from collections.abc import Mapping

from pydantic import Field

from geodp.errors import UsageError
from geodp.model import Model
from geodp.public.levels import complete_shares
from geodp.storage.names import require_name


class CountLevel(Model):
    """What one group of people gets in each release."""

    epsilon: float = Field(default=1.0, gt=0)
    """ε of each person of the group in one release."""
    share: float = Field(default=0.5, ge=0, le=1)
    """Share of the people, by lot."""


def default_levels() -> dict[str, CountLevel]:
    """Return two groups of one half each: the careful at ε = 0.1, the relaxed at 1."""
    return {"careful": CountLevel(epsilon=0.1, share=0.5), "relaxed": CountLevel(epsilon=1.0, share=0.5)}


def require_levels(levels: Mapping[str, CountLevel]) -> None:
    """Refuse levels that nobody has, and shares that do not add up to 1."""
    for name in levels:
        require_name(name, "the name of a level")
    try:
        shares = complete_shares({name: level.share for name, level in levels.items()})
    except UsageError as error:
        raise ValueError(f"levels: {error}") from None
    if len(shares) > len(levels):
        missing = 1 - math.fsum(level.share for level in levels.values())
        raise ValueError(
            f"levels: the shares leave {missing:g} of the people without a level, and a count needs one for each: add "
            "a group for them"
        )
