"""How much of the told histories is true."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from geodp.metrics import Measured, Metric
from geodp.metrics._histories import scored_histories
from geodp.metrics.intervals import mean

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder


class ItemsKept(Metric):
    """Share of a person's true items that the phone told, mean over people with any; the last report counts.

    `items_made_up` is the share of told items that are not true, mean over people who told any. Interval: t, over
    people. Only where phones tell about histories.
    """

    kind: ClassVar[str] = "items_kept"
    unit: ClassVar[str] = "share"
    units: ClassVar[Mapping[str, str]] = {"items_made_up": "share"}
    topic: ClassVar[str] = "published"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Compare told items with true ones."""
        found = scored_histories(run)
        if found is None:
            return {}
        true, told = found.owned.sum(axis=1), found.told.sum(axis=1)
        both = np.count_nonzero(found.owned & found.told, axis=1)
        return {
            self.kind: mean(both[true > 0] / true[true > 0]),
            "items_made_up": mean(1 - both[told > 0] / told[told > 0]),
        }
