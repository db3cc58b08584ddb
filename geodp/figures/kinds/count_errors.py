"""Errors of publications of counts against epsilon, on one table of visits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from geodp.figures.kinds import POINT_COLUMNS, Making
from geodp.figures.kinds._count_tables import CountFigure

if TYPE_CHECKING:
    import pandas as pd

    from geodp.tables.visits.generated_visits import ModelledVisits
    from geodp.tables.visits.histories import Integers
    from geodp.tables.visits.visit_sets import VisitSets


class CountErrors(CountFigure):
    """Errors of publications of counts against ε; every line is a publication, all with the same noise seeds.

    `cap: longest` in a line stands for the longest row of the table, the Δ of the paper: the same number for all
    lines, taken as public.
    """

    kind: ClassVar[str] = "count_errors"

    epsilons: tuple[float, ...] = (0.1, 0.693, 1.099)
    """Values of ε (ln 2 is 0.693, ln 3 is 1.099)."""
    y: tuple[str, ...] = ("mae", "mre_percent")
    """Quantities: `mae` (users), `mre_percent` (of the count, or of 0.1 % of the users), `topk_mae` (users, at the 50
    venues with the most)."""
    lines: dict[str, dict[str, Any]] = Field(default_factory=lambda: {"LPA": {"kind": "laplace_counts", "cap": 20}})
    """Name of a line → the publication, with its fields."""

    def points(self, making: Making) -> pd.DataFrame:  # noqa: ARG002 - everything is in the fields
        """Publish with every line at every ε."""
        import pandas as pd

        table, order = self.table(), self.order()
        rows = [
            row
            for name, fields in self.lines.items()
            for epsilon in self.epsilons
            for row in self._rows(table, order, name, fields, epsilon)
        ]
        frame = pd.DataFrame(rows, columns=list(POINT_COLUMNS))
        return frame[frame["y_name"].isin(self.y)]

    def _rows(
        self,
        table: VisitSets | ModelledVisits,
        order: Integers | None,
        name: str,
        fields: dict[str, Any],
        epsilon: float,
    ) -> list[tuple[Any, ...]]:
        from geodp.privacy.noise import SimulatedNoise
        from geodp.registry import plugin
        from geodp.tables.visits.visit_scores import absolute_errors, relative_errors, top_venues

        settings = {key: value for key, value in fields.items() if key != "kind"}
        if settings.get("cap") == "longest":
            settings["cap"] = int(table.size.max())
        if fields["kind"] != "zeros":
            # The papers state no accuracy and pay for none: all of ε is for the counts.
            settings = {"accuracy_share": 0.0, **settings, "epsilon": epsilon}
        method = plugin(fields["kind"], "publication", **settings)
        true, rows = table.counts(), []
        top = top_venues(true)
        for repeat in range(self.repeats):
            noise = SimulatedNoise(np.random.default_rng([1, repeat]))
            told = method.release(table, noise, order).count
            errors = absolute_errors(told, true)
            mre = 100 * float(relative_errors(told, true, table.users).mean())
            rows += [
                ("mae", name, epsilon, repeat, float(errors.mean())),
                ("mre_percent", name, epsilon, repeat, mre),
                ("topk_mae", name, epsilon, repeat, float(errors[top].mean())),
            ]
        return rows

    def line_names(self) -> tuple[str, ...]:
        """Return the names of the lines."""
        return tuple(self.lines)
