"""Released and true counts of venues, as the metrics read them from a run."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from geodp.metrics import Measured, Metric
from geodp.metrics._publications import measured_by, of_topic
from geodp.metrics.intervals import mean

if TYPE_CHECKING:
    import pandas as pd

    from geodp.run_folder.folder import RunFolder
    from geodp.run_folder.published import PublishedRun

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


class VenueError(Metric):
    """Metrics that are a mean over venues; intervals: t, over venues."""

    topic: ClassVar[str] = "published"
    better: ClassVar[str] = "lower"

    @abstractmethod
    def errors(self, pair: CountPair) -> Counts:
        """Return the error of every venue that is looked at."""

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Score every publication of counts."""
        return measured_by(run, "counts", lambda item: {self.kind: mean(self.errors(count_pair(item)))})

    def per_task(self, run: RunFolder) -> pd.Series | None:
        """Return the error of every venue in the first publication, to pair venues with themselves."""
        import pandas as pd

        first = next(of_topic(run, "counts"), None)
        return None if first is None else pd.Series(self.errors(count_pair(first[1])))
