"""EpicRec's budget quantification: error against budget, and where three rules stop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from geodp.figures.kinds import POINT_COLUMNS, FigureKind, Making

if TYPE_CHECKING:
    import pandas as pd

    from geodp.figures.figure_file import FigureFile
    from geodp.tables.visits.catalogue import Catalogue

ERROR = "error of a random public history"
STOP = "budget at which the search stops"
RULES = {"as printed": "literal", "as its prose says": "prose", "ours (5 %)": "relative"}
CURVE = "mean of the searches"


class EpicRecBudget(FigureKind):
    """Error against budget of S-PBQ on random public histories, and the budget that each stopping rule returns.

    Points: err(ε) of every search, and per rule the ε where that very search stops.
    """

    kind: ClassVar[str] = "epicrec_budget"

    items: int = Field(default=400, ge=2)
    """Items of the public catalogue."""
    categories: int = Field(default=18, ge=2)
    """Its categories; every item has one to three."""
    typical_items: float = Field(default=17.0, gt=0)
    """Public average length of a history."""
    step: float = Field(default=0.02, gt=0)
    """δ: budgets tried are δ, 2δ, …"""
    searches: int = Field(default=10, ge=1)
    """N: how many random public histories."""

    def points(self, making: Making) -> pd.DataFrame:  # noqa: ARG002
        """Search, and stop by each rule on the same curve."""
        import numpy as np
        import pandas as pd

        from geodp.device.category_counts import Search, calibrate_scales, error_curve, stops
        from geodp.privacy.noise import SimulatedNoise
        from geodp.streams import Streams

        catalogue = self._catalogue()
        scales = calibrate_scales(catalogue.membership, 1.0)
        rows: list[tuple[str, str, float, int, float]] = []
        for repeat in range(self.searches):
            noise = SimulatedNoise(Streams(repeat).generator("figure.budget"))
            curve = error_curve(catalogue, scales, noise, Search(step=self.step))
            rows += [(ERROR, CURVE, round((n + 1) * self.step, 10), repeat, err) for n, err in enumerate(curve)]
            for number, (line, rule) in enumerate(RULES.items()):
                ended = [n for n in range(1, len(curve) + 1) if stops(curve[:n], rule)]  # type: ignore[arg-type]
                chosen = (ended[0] - 1) * self.step if ended else len(curve) * self.step
                rows.append((STOP, line, float(number), repeat, float(np.round(chosen, 10))))
        return pd.DataFrame(rows, columns=list(POINT_COLUMNS))

    def draw(self, file: FigureFile, points: Mapping[str, pd.DataFrame]) -> Any:
        """Draw every search, and where each rule stops on average."""
        from geodp.figures.drawing import panel_axes
        from geodp.sweeps.figures import COLOURS

        drawn, grid = panel_axes(file, 1, list(points))
        for column, own in enumerate(points.values()):
            axes = grid[0][column]
            for _, search in own[own["y_name"] == ERROR].groupby("repeat"):
                axes.plot(search["x"], search["y"], color="#7a7a7a", linewidth=0.9, alpha=0.7)
            for number, line in enumerate(RULES):
                stop = own.loc[(own["y_name"] == STOP) & (own["line"] == line), "y"]
                colour = COLOURS[number % len(COLOURS)]
                axes.axvline(stop.mean(), color=colour, label=f"{line}: ε = {stop.mean():.2f}")
                axes.axvspan(stop.min(), stop.max(), color=colour, alpha=0.15)
            axes.set_yscale("log")
            axes.set_xlabel("budget ε")
            axes.set_ylabel("error of a random public history, err(ε)")
            axes.legend(title="where the search stops", frameon=False)
        return drawn

    def _catalogue(self) -> Catalogue:
        import numpy as np

        from geodp.tables.visits.catalogue import Catalogue

        rng = np.random.default_rng(9)
        table = np.zeros((self.items, self.categories))
        for item in range(self.items):
            table[item, rng.choice(self.categories, rng.integers(1, 4), replace=False)] = 1.0
        return Catalogue(table, typical_items=self.typical_items)
