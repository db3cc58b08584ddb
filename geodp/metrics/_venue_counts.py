"""Released and true counts of venues, as the metrics read them from a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from geodp.runs.published import PublishedRun

Counts = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CountPair:
    """What was published about venues, and the truth."""

    released: Counts
    true: Counts
    users: int


def count_pair(item: PublishedRun) -> CountPair:
    """Read the counts of one publication."""
    return CountPair(
        item.released["count"].to_numpy(dtype=np.float64),
        item.truth("counts")["count"].to_numpy(dtype=np.float64),
        int(item.truth("users")["users"].iloc[0]),
    )
