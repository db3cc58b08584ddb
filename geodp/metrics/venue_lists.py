"""How much of the exact lists of other venues is on the published ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from geodp.metrics import Measured, PublicationMetric
from geodp.metrics.intervals import mean

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder
    from geodp.run_folder.published import PublishedRun


class ListRecall(PublicationMetric):
    """Share of the venues on the exact list of a venue that are on its published list. Interval: t, over venues."""

    kind: ClassVar[str] = "list_recall"
    unit: ClassVar[str] = "share"
    better: ClassVar[str] = "higher"
    published: ClassVar[str] = "venue_lists"

    def score(self, run: RunFolder, item: PublishedRun) -> dict[str, Measured]:  # noqa: ARG002
        """Return the mean over all venues."""
        exact, released = (set(zip(table["venue"], table["also"], strict=True))
                           for table in (item.truth("venue_lists"), item.released))  # fmt: skip
        venues, place = np.unique([venue for venue, _ in sorted(exact)], return_inverse=True)
        found = np.array([pair in released for pair in sorted(exact)], dtype=np.float64)
        shares = np.bincount(place, weights=found, minlength=venues.size) / np.bincount(place, minlength=venues.size)
        return {self.kind: mean(shares)}
