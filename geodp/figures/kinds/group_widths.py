"""Grouping and smoothing: the error that tuning expects of every group width, and the real one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from geodp.figures.kinds import POINT_COLUMNS, Making
from geodp.figures.kinds._count_tables import CountFigure

if TYPE_CHECKING:
    import pandas as pd

    from geodp.tables.visits.generated_visits import ModelledVisits
    from geodp.tables.visits.visit_sets import VisitSets

SCALES = ("literal", "corrected")


class GroupWidths(CountFigure):
    """L1 error of groups against their width: expected by tuning (with either scale of the sample), and real.

    Quantities: `l1` over widths at one ε; or, with `loss: true`, `loss_percent` over `epsilons`: how much larger the
    real error at the chosen width is than at the best one.
    """

    kind: ClassVar[str] = "group_widths"

    epsilons: tuple[float, ...] = Field(default=(0.693,), min_length=1)
    """Values of ε; `l1` uses the first."""
    loss: bool = False
    """Return the loss of the chosen width instead of the curves."""
    most_widths: int = Field(default=28, ge=2)
    """Widths at which the real error is measured."""

    def points(self, making: Making) -> pd.DataFrame:  # noqa: ARG002 - everything is in the fields
        """Order the venues by the noisy sample, then measure every width."""
        import pandas as pd

        table, rows = self.table(), []
        for epsilon in self.epsilons if self.loss else self.epsilons[:1]:
            for repeat in range(self.repeats):
                rows += self._repeat(table, epsilon, repeat)
        return pd.DataFrame(rows, columns=list(POINT_COLUMNS))

    def _repeat(self, table: VisitSets | ModelledVisits, epsilon: float, repeat: int) -> list[tuple[Any, ...]]:
        from geodp.curator.publications._grouping import best_width, estimated_errors
        from geodp.curator.publications.grouping_smoothing import GroupingSmoothing
        from geodp.privacy.noise import SimulatedNoise

        cap = int(table.size.max())
        tried = np.unique(np.rint(np.geomspace(1, table.venues, self.most_widths)).astype(np.int64))
        method = {scale: GroupingSmoothing(epsilon=epsilon, cap=cap, scale=scale, accuracy_share=0) for scale in SCALES}
        groups = method["literal"].budgets().groups
        noise = SimulatedNoise(np.random.default_rng([1, repeat]))
        sample = method["literal"].sample(table, cap, b"all", noise)
        order = np.argsort(-sample, kind="stable")
        factors = {scale: method[scale].factor(table, cap, noise) for scale in SCALES}
        counts = table.counts()

        def real(width: int) -> float:
            told = method["literal"].smoothed(
                counts, order, width, cap, SimulatedNoise(np.random.default_rng([2, repeat]))
            )
            return float(np.abs(told - counts).mean())

        curve = {int(width): real(int(width)) for width in tried}
        if not self.loss:
            rows = [("l1", "real", width, repeat, value) for width, value in curve.items()]
            for scale, factor in factors.items():
                expected = estimated_errors(factor * sample[order], tried, cap / groups) / counts.size
                rows += [
                    ("l1", f"expected, {scale} scale", int(w), repeat, float(v))
                    for w, v in zip(tried, expected, strict=True)
                ]
            return rows
        best = min(curve.values())
        chosen = {scale: best_width(factor * sample[order], cap / groups) for scale, factor in factors.items()}
        return [
            ("loss_percent", f"{scale} scale", epsilon, repeat, max(100 * (real(width) / best - 1), 0.0))
            for scale, width in chosen.items()
        ] + [("chosen_width", f"{scale} scale", epsilon, repeat, float(width)) for scale, width in chosen.items()]

    def line_names(self) -> tuple[str, ...]:
        """Return the names of the lines."""
        if self.loss:
            return tuple(f"{scale} scale" for scale in SCALES)
        return ("real", *(f"expected, {scale} scale" for scale in SCALES))
