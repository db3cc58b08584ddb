"""How true what phones report about their owners' histories is: the last report, person by person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from geodp.metrics import Measured, Metric
from geodp.metrics.intervals import mean
from geodp.run_folder.history_scores import read_scored_histories

if TYPE_CHECKING:
    import pandas as pd

    from geodp.run_folder.folder import RunFolder


class CategoryMae(Metric):
    """Mean absolute error of the number of items per category in the history reported, over perturbed categories.

    Per person |Cᵀ(reported) - Cᵀ(true)| over the categories reported with noise and the items that are protected, mean
    over categories, then over people: what noise and fitting cost, which `category_mae_bound` bounds in expectation.
    `category_mae_all` is over all categories and all items: what a reader of the reports gets wrong about them,
    no-release categories included. The last report counts. Interval: t, over people. Only where phones report about
    histories.

    Reference
    ---------
    Shen and Jin 2016, EpicRec, sections 4.3 and 6 (mean absolute error of category aggregates).
    """

    kind: ClassVar[str] = "category_mae"
    label: ClassVar[str] = "error of items per category"
    unit: ClassVar[str] = "items"
    better: ClassVar[str] = "lower"
    topic: ClassVar[str] = "published"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Compare numbers per category person by person."""
        found = read_scored_histories(run)
        if found is None:
            return {}
        errors = found.measure_protected_errors()
        everything = np.abs(found.reported @ found.catalogue.membership - found.true_counts).mean(axis=1)
        return {self.kind: mean(errors[np.isfinite(errors)]), "category_mae_all": mean(everything)}

    def per_task(self, run: RunFolder) -> pd.Series | None:
        """Return the error of every person, to pair people with themselves."""
        import pandas as pd

        found = read_scored_histories(run)
        return None if found is None else pd.Series(found.measure_protected_errors())


class CategoryMaeBound(Metric):
    """Bound on the expected `category_mae`, from public facts: (‖z‖₁ + √(2c)·‖z‖₂)/c + √c/2.

    z are the noise scales of the c perturbed categories: the noise itself, the distance from noisy counts to the
    nearest possible ones (at most that to the true ones, which are possible), and the rounding of at most c items. Mean
    over people, whose choices differ. The paper's own bound has a last step without proof and leaves the rounding out.
    Undefined (null) where nothing is reported with noise.
    """

    kind: ClassVar[str] = "category_mae_bound"
    label: ClassVar[str] = "bound on the error per category"
    unit: ClassVar[str] = "items"
    topic: ClassVar[str] = "published"
    public: ClassVar[bool] = True

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Average the bound over people."""
        found = read_scored_histories(run)
        if found is None:
            return {}
        bound = getattr(found.report.device, "error_bound", None)
        if bound is None or getattr(found.report.device, "method", "") == "nothing":
            return {self.kind: Measured(None)}
        member, protected = found.catalogue.membership, found.find_protected()
        choices, first, counts = np.unique(found.level, axis=0, return_index=True, return_counts=True)
        total, people = 0.0, 0
        for levels, person, number in zip(choices, first, counts, strict=True):
            reached = member[protected[person]][:, levels == "perturbed"]
            if reached.size:
                total, people = total + number * float(bound(reached)), people + int(number)
        return {self.kind: Measured(total / people if people else None)}


class ItemsKept(Metric):
    """Share of a person's true items that the phone reported, mean over people with any; the last report counts.

    `items_made_up` is the share of reported items that are not true, mean over people who reported any. Interval: t,
    over people. Only where phones report about histories.
    """

    kind: ClassVar[str] = "items_kept"
    label: ClassVar[str] = "true items reported"
    labels: ClassVar[Mapping[str, str]] = {"items_made_up": "items made up"}
    unit: ClassVar[str] = "share"
    units: ClassVar[Mapping[str, str]] = {"items_made_up": "share"}
    topic: ClassVar[str] = "published"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Compare reported items with true ones."""
        found = read_scored_histories(run)
        if found is None:
            return {}
        true, reported = found.owned.sum(axis=1), found.reported.sum(axis=1)
        both = np.count_nonzero(found.owned & found.reported, axis=1)
        return {
            self.kind: mean(both[true > 0] / true[true > 0]),
            "items_made_up": mean(1 - both[reported > 0] / reported[reported > 0]),
        }
