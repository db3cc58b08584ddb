"""EpicRec's noise calibration on the five items of its figure 4."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from geodp.figures.kinds import POINT_COLUMNS, FigureKind, Making

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

    epsilon: float = Field(default=1.0, gt=0)
    """ε of one report."""

    def line_names(self) -> tuple[str, ...]:
        """Return the two methods."""
        return LINES

    def points(self, making: Making) -> pd.DataFrame:  # noqa: ARG002
        """Work the scales out; nothing is random, so there is one repetition."""
        import pandas as pd

        from geodp.device.category_counts import load
        from geodp.device.history_reports.epicrec import EpicRec
        from geodp.tables.visits.catalogue import golden_catalogue

        member = golden_catalogue().membership
        rows: list[tuple[str, str, float, int, float]] = []
        for line, method in zip(LINES, ("calibrated", "global_sensitivity"), strict=True):
            scales = EpicRec.model_validate({"epsilon": self.epsilon, "method": method}).noise_scales(member)
            rows += [(SCALE, line, float(number + 1), 0, float(value)) for number, value in enumerate(scales)]
            rows.append((MEAN, line, 0.0, 0, float(scales.mean())))
            rows.append((LOAD, line, 0.0, 0, float(load(member, scales).max())))
        return pd.DataFrame(rows, columns=list(POINT_COLUMNS))

    def draw(self, file: FigureFile, points: Mapping[str, pd.DataFrame]) -> Any:
        """Draw two bars per category with their values, and the means as lines."""
        from geodp.figures.drawing import panel_axes
        from geodp.sweeps.figures import COLOURS

        drawn, grid = panel_axes(file, 1, list(points))
        for column, own in enumerate(points.values()):
            axes = grid[0][column]
            for number, line in enumerate(LINES):
                part = own[(own["line"] == line) & (own["y_name"] == SCALE)]
                mean = own.loc[(own["line"] == line) & (own["y_name"] == MEAN), "y"].iloc[0]
                colour = COLOURS[number % len(COLOURS)]
                bars = axes.bar(part["x"] + 0.36 * number - 0.18, part["y"], 0.34, color=colour)
                axes.bar_label(bars, fmt="%.2f", fontsize=9)
                axes.axhline(mean, color=colour, linestyle=":", label=f"{line}, mean {mean:.3f}")
            axes.set_xticks(range(1, 6))
            axes.set_xlabel("category")
            axes.set_ylabel("noise scale z (items)")
            axes.legend(loc="upper right", frameon=False)
            axes.set_ylim(0, 4.6)
        return drawn
