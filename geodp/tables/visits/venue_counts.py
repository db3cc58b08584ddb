"""What a publication of counts lets out: one number per public venue, with the public facts of how it was made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from geodp.geometry import Array
from geodp.public.guarantee import Guarantee


@dataclass(frozen=True, eq=False)
class VenueCounts:
    """Noisy numbers of users per venue."""

    count: Array
    """One number per venue of the public list, in its order."""
    mechanism: str
    guarantee: Guarantee
    facts: Mapping[str, float] = field(default_factory=dict)
    """What was settled on the way and paid for (group width, threshold, noise scale): as public as the counts."""
