"""EpicRec: noise scales on the five items of its figure 4, and where the search for a budget stops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from geodp.figures.drawing import each_panel
from geodp.figures.kinds import FigureKind, Making, points_table
from geodp.privacy.noise import SimulatedNoise
from geodp.streams import Streams
from geodp.tables.visits.catalogue import Catalogue, golden_catalogue

if TYPE_CHECKING:
    import pandas as pd

    from geodp.figures.figure_file import FigureFile

SCALE = "noise scale z of a category"
MEAN = "mean noise scale"
LOAD = "largest epsilon of an item"
LINES = ("calibrated", "global sensitivity")


class EpicRecNoise(FigureKind):
    """Noise scale of each category, calibrated and with one sensitivity for all, on the matrix of EpicRec's figure 4.

    The figure prints the scales but not its matrix; ours is one of 105 that give all five of them.
    """

    kind: ClassVar[str] = "epicrec_noise"
    lines: ClassVar[tuple[str, ...]] = LINES

    epsilon: float = Field(default=1.0, gt=0)
    """ε of one report."""

    def points(self, making: Making) -> pd.DataFrame:  # noqa: ARG002
        """Work the scales out; nothing is random, so there is one repetition."""
        from geodp.device.category_counts import load
        from geodp.device.history_reports.epicrec import EpicRec

        member = golden_catalogue().membership
        rows: list[tuple[str, str, float, int, float]] = []
        for line, method in zip(LINES, ("calibrated", "global_sensitivity"), strict=True):
            scales = EpicRec.model_validate({"epsilon": self.epsilon, "method": method}).noise_scales(member)
            rows += [(SCALE, line, float(number + 1), 0, float(value)) for number, value in enumerate(scales)]
            rows.append((MEAN, line, 0.0, 0, float(scales.mean())))
            rows.append((LOAD, line, 0.0, 0, float(load(member, scales).max())))
        return points_table(rows)

    def draw(self, file: FigureFile, points: Mapping[str, pd.DataFrame]) -> Any:
        """Draw two bars per category with their values, and the means as lines."""
        from geodp.sweeps.line_plots import COLOURS

        figure, panels = each_panel(file, points)
        for axes, own in panels:
            for number, line in enumerate(LINES):
                part = own[(own["line"] == line) & (own["y_name"] == SCALE)]
                mean = own.loc[(own["line"] == line) & (own["y_name"] == MEAN), "y"].iloc[0]
                colour = COLOURS[number]
                bars = axes.bar(part["x"] + 0.36 * number - 0.18, part["y"], 0.34, color=colour)
                axes.bar_label(bars, fmt="%.2f", fontsize=9)
                axes.axhline(mean, color=colour, linestyle=":", label=f"{line}, mean {mean:.3f}")
            axes.set_xticks(range(1, 6))
            axes.set_xlabel("category")
            axes.set_ylabel("noise scale z (items)")
            axes.legend(loc="upper right", frameon=False)
            axes.set_ylim(0, 4.6)
        return figure


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
        from geodp.device.category_counts import EpsilonSearch, calibrate_scales, error_curve, stops

        catalogue = self._catalogue()
        scales = calibrate_scales(catalogue.membership, 1.0)
        rows: list[tuple[str, str, float, int, float]] = []
        for repeat in range(self.searches):
            noise = SimulatedNoise(Streams(repeat).generator("figure.budget"))
            curve = list(error_curve(catalogue, scales, noise, EpsilonSearch(step=self.step)))
            rows += [(ERROR, CURVE, round((n + 1) * self.step, 10), repeat, err) for n, err in enumerate(curve)]
            for number, (line, rule) in enumerate(RULES.items()):
                ended = [n for n in range(1, len(curve) + 1) if stops(curve[:n], rule)]  # type: ignore[arg-type]
                chosen = (ended[0] - 1) * self.step if ended else len(curve) * self.step
                rows.append((STOP, line, float(number), repeat, float(np.round(chosen, 10))))
        return points_table(rows)

    def draw(self, file: FigureFile, points: Mapping[str, pd.DataFrame]) -> Any:
        """Draw every search, and where each rule stops on average."""
        from geodp.sweeps.line_plots import COLOURS

        figure, panels = each_panel(file, points)
        for axes, own in panels:
            for _, search in own[own["y_name"] == ERROR].groupby("repeat"):
                axes.plot(search["x"], search["y"], color="#7a7a7a", linewidth=0.9, alpha=0.7)
            for number, line in enumerate(RULES):
                stop = own.loc[(own["y_name"] == STOP) & (own["line"] == line), "y"]
                colour = COLOURS[number]
                axes.axvline(stop.mean(), color=colour, label=f"{line}: ε = {stop.mean():.2f}")
                axes.axvspan(stop.min(), stop.max(), color=colour, alpha=0.15)
            axes.set_yscale("log")
            axes.set_xlabel("budget ε")
            axes.set_ylabel("error of a random public history, err(ε)")
            axes.legend(title="where the search stops", frameon=False)
        return figure

    def _catalogue(self) -> Catalogue:

        rng = np.random.default_rng(9)
        table = np.zeros((self.items, self.categories))
        for item in range(self.items):
            table[item, rng.choice(self.categories, rng.integers(1, 4), replace=False)] = 1.0
        return Catalogue(table, typical_items=self.typical_items)
