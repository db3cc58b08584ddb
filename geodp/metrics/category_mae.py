"""How wrong the numbers per category are that follow from what phones told."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from geodp.metrics import Measured, Metric
from geodp.metrics._histories import ScoredHistories, scored_histories
from geodp.metrics.intervals import mean

if TYPE_CHECKING:
    import pandas as pd

    from geodp.geometry import Array
    from geodp.run_folder.folder import RunFolder


class CategoryMae(Metric):
    """Mean absolute error of the number of items per category in the history told, over perturbed categories.

    Per person |Cᵀ(told) - Cᵀ(true)| over the categories told with noise and the items that are protected, mean over
    categories, then over people: what the noise and the fitting cost, which `category_mae_bound` bounds in expectation.
    `category_mae_all` is over all categories and all items: what a reader of the told histories gets wrong about them,
    no-release categories included. The last report counts. Interval: t, over people. Only where phones tell about
    histories.

    Reference
    ---------
    Shen and Jin 2016, EpicRec, sections 4.3 and 6 (mean absolute error of category aggregates).
    """

    kind: ClassVar[str] = "category_mae"
    unit: ClassVar[str] = "items"
    better: ClassVar[str] = "lower"
    topic: ClassVar[str] = "published"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Compare numbers per category person by person."""
        found = scored_histories(run)
        if found is None:
            return {}
        errors = _protected_errors(found)
        everything = np.abs(found.told @ found.catalogue.membership - found.true_counts).mean(axis=1)
        return {self.kind: mean(errors[np.isfinite(errors)]), "category_mae_all": mean(everything)}

    def per_task(self, run: RunFolder) -> pd.Series | None:
        """Return the error of every person, to pair people with themselves."""
        import pandas as pd

        found = scored_histories(run)
        return None if found is None else pd.Series(_protected_errors(found))


def _protected_errors(found: ScoredHistories) -> Array:
    """Return each person's error over perturbed categories (NaN: none is perturbed)."""
    protected, member = found.protected(), found.catalogue.membership
    gap = np.abs((found.told & protected) @ member - (found.owned & protected) @ member)
    perturbed = found.level == "perturbed"
    number = perturbed.sum(axis=1)
    total = (gap * perturbed).sum(axis=1)
    return np.asarray(np.divide(total, number, out=np.full(len(total), np.nan), where=number > 0))
