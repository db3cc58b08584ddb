"""How far the average worker asked would have to travel, task by task."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from geodp.figures.drawing import each_panel
from geodp.figures.kinds import FigureKind, Making, points_table

if TYPE_CHECKING:
    import pandas as pd

    from geodp.figures.figure_file import FigureFile
    from geodp.geometry import Array

DISTANCE = "mean distance 2r/3"
SPREAD = "interquartile range of 2r/3"
BEYOND = "share beyond the uniform method's own 90 % quantile"
MODELS = {"printed": "printed", "corrected": "poisson"}


class RadiusBoxplot(FigureKind):
    """Box plots of 2r/3 over the tasks of a run, for both models and both ways of rewarding.

    Points: the distances themselves (one repetition per task), their interquartile range per seed, and the share of
    tasks beyond the 90 % quantile of the uniform method's own distances, which the book takes for the distance that
    workers are willing to travel.

    Reference
    ---------
    Zhu et al. 2017, Differential Privacy and Applications, section 13.3.4.2, fig. 13.9a.
    """

    kind: ClassVar[str] = "radius_boxplot"

    base: str = "base/city.yaml"
    """The scenario, relative to the figure file."""
    seeds: int = Field(default=4, ge=1)
    """How many runs of each method."""
    changes: dict[str, Any] = Field(default_factory=dict)
    """Dotted path → value, applied to the scenario."""

    def points(self, making: Making) -> pd.DataFrame:
        """Run both models with both rewards on the same worlds."""
        rows: list[tuple[str, str, str, int, float]] = []
        for model in MODELS:
            tasks = dict.fromkeys(("uniform", "optimised"), 0)
            for seed in range(self.seeds):
                found = {reward: self._distances_m(making, model, reward, seed) for reward in tasks}
                limit_m = float(np.quantile(found["uniform"], 0.9))
                for reward, own in found.items():
                    line = f"{model} {reward}"
                    low, high = np.quantile(own, (0.25, 0.75))
                    rows.append((SPREAD, line, "all", seed, float(high - low)))
                    rows.append((BEYOND, line, "all", seed, float((own > limit_m).mean())))
                    first = tasks[reward]
                    rows += [(DISTANCE, line, "all", first + n, float(value)) for n, value in enumerate(own)]
                    tasks[reward] += own.size
        return points_table(rows)

    def _distances_m(self, making: Making, model: str, reward: str, seed: int) -> Array:
        """Return 2r/3 of every planned task; an infinite radius counts as the largest finite one."""
        from geodp.metrics.protocol import first_plans
        from geodp.runs.run import run
        from geodp.scenario.schema import load_scenario

        method = {"server.assignment.model": MODELS[model], "server.assignment.reward": reward}
        scenario = load_scenario(making.file.path.parent / self.base, {**self.changes, **method}, trust_plugins=True)
        with tempfile.TemporaryDirectory(prefix="geodp-") as folder:
            made = run(scenario, Path(folder) / "run", seed=seed, draw_map=False, summarise=False)
            plans = first_plans(made.folder)
        radius_m = plans["uncapped_radius_m"].astype("float64").to_numpy()
        planned = radius_m[~(plans["unreachable"] == "reward_exhausted").to_numpy() & ~(radius_m <= 0)]
        # a run folder keeps an infinite radius as null
        return np.where(np.isnan(planned), np.nanmax(planned), planned) * 2 / 3

    def draw(self, file: FigureFile, points: Mapping[str, pd.DataFrame]) -> Any:
        """Draw a box per method, whiskers from 5 % to 95 %, and the quantile that the book calls MTD."""
        from geodp.sweeps.line_plots import COLOURS

        figure, panels = each_panel(file, points)
        for axes, own in panels:
            part = own[own["y_name"] == DISTANCE]
            lines = list(dict.fromkeys(part["line"]))
            values = [part.loc[part["line"] == line, "y"].to_numpy() for line in lines]
            boxes = axes.boxplot(values, whis=(5, 95), showfliers=False, patch_artist=True, widths=0.55)
            for number, (box, middle) in enumerate(zip(boxes["boxes"], boxes["medians"], strict=True)):
                box.set(facecolor=COLOURS[number % len(COLOURS)], alpha=0.75)
                middle.set(color="black")
            for number, line in enumerate(lines):
                if line.endswith("uniform"):
                    limit_m = np.quantile(values[number], 0.9)
                    axes.plot([number + 0.6, number + 2.4], [limit_m, limit_m], color="black", linestyle=":")
                    axes.annotate("90 % of uniform", (number + 2.4, limit_m), ha="right", va="bottom", fontsize=9)
            axes.set_xticks(range(1, len(lines) + 1), [line.replace(" ", "\n") for line in lines])
            axes.set_yscale("log")
            axes.grid(visible=True, axis="y", color="#dddddd", linewidth=0.6)
            axes.set_axisbelow(True)
            if axes.get_subplotspec().is_first_col():
                axes.set_ylabel("2r/3 of a task (m)")
            axes.set_xlabel("boxes hold half of the tasks, whiskers 90 % of them")
        return figure
