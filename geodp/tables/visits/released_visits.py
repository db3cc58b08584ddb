"""What a publication of visits lets out, and the private trace of how it came about."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array
from geodp.public.guarantee import Guarantee
from geodp.tables.visits.histories import Integers, Names


@dataclass(frozen=True, eq=False)
class ReleasedVisits:
    """Visits as published: per person an unordered multiset of places, here sorted by person, then place."""

    people: Names
    person: Integers
    venue: Integers
    """Venue of each published visit by number in the public list; -1 where a place is no venue (a centroid)."""
    x_m: Array
    y_m: Array
    mechanism: str
    guarantee: Guarantee
    cluster: Integers | None = None
    """Public cluster of every venue of the list, where there are clusters."""


@dataclass(frozen=True, eq=False)
class Replacements:
    """Truth: which place took the place of which. Never published."""

    person: Integers
    true_venue: Integers
    """The visit behind a published one; for added visits the place that pads."""
    released_venue: Integers
    survived: npt.NDArray[np.bool_]
    """False for visits that were added to reach the noisy number."""
    x_m: Array
    y_m: Array
    """Published places."""
