"""What the error of told numbers per category is at most, in expectation."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from geodp.metrics import Measured, Metric
from geodp.metrics._histories import scored_histories

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder


class CategoryMaeBound(Metric):
    """Bound on the expected `category_mae`, from public facts: (‖z‖₁ + √(2c)·‖z‖₂)/c + √c/2.

    z are the noise scales of the c perturbed categories: the noise itself, the distance from noisy counts to the
    nearest possible ones (at most that to the true ones, which are possible), and the rounding of at most c items. Mean
    over people, whose choices differ. The paper's own bound has a last step without proof and leaves the rounding out.
    Undefined (null) where nothing is told with noise.
    """

    kind: ClassVar[str] = "category_mae_bound"
    unit: ClassVar[str] = "items"
    topic: ClassVar[str] = "published"
    public: ClassVar[bool] = True

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Average the bound over people."""
        found = scored_histories(run)
        if found is None:
            return {}
        bound = getattr(found.report.device, "error_bound", None)
        if bound is None or getattr(found.report.device, "method", "") == "nothing":
            return {self.kind: Measured(None)}
        member = found.catalogue.membership
        protected = found.protected()
        choices, counts = np.unique(found.level, axis=0, return_counts=True)
        total, people = 0.0, 0
        for levels, number in zip(choices, counts, strict=True):
            person = int(np.flatnonzero((found.level == levels).all(axis=1))[0])
            reached = member[protected[person]][:, levels == "perturbed"]
            if reached.size:
                total, people = total + number * float(bound(reached)), people + int(number)
        return {self.kind: Measured(total / people if people else None)}
