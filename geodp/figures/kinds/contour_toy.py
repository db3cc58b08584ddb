"""From counts to a contour plot, in four steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from geodp.figures.drawing import title_figure
from geodp.figures.kinds import FigureKind, Making, points_table
from geodp.geometry import Region
from geodp.privacy.noise import noise_source
from geodp.streams import Streams

if TYPE_CHECKING:
    import pandas as pd

    from geodp.figures.figure_file import FigureFile
    from geodp.public.release import Contours

NOISE = "mean absolute noise of a cell"
EQUAL = "pairs of cells with the same noisy count"
EXACT, NOISY = "exact count", "noisy count"


class ContourToy(FigureKind):
    """A small grid as exact counts, noisy counts, contour lines and contour plot.

    Reference
    ---------
    Zhu et al. 2017, Differential Privacy and Applications, section 13.3.2, figs. 13.3 and 13.4.
    """

    kind: ClassVar[str] = "contour_toy"

    side: int = Field(default=6, ge=2, le=40)
    """Cells per side."""
    epsilon: float = Field(default=0.3, gt=0)
    """ε of the release."""
    people: int = Field(default=1500, gt=0)
    """Workers of the toy town (without a file)."""
    path: str = ""
    """A csv or Parquet file of positions to use instead: columns lon and lat, and `worker_column`."""
    worker_column: str | None = "worker"
    """Column that says whose a row is; the first row of each counts."""
    region: tuple[float, float, float, float] = (10.0, 50.0, 10.05, 50.03)
    """West, south, east, north of the area (degrees)."""
    repeats: int = Field(default=20, ge=1)
    """How many releases are drawn to measure their noise; the first is the one that is shown."""

    def points(self, making: Making) -> pd.DataFrame:  # noqa: ARG002 - everything is in the fields
        """Draw releases; what is measured is their noise, and how many cells have equal noisy counts."""
        rows: list[tuple[str, str, float, int, float]] = []
        for repeat in range(self.repeats):
            release, exact = self.release(repeat)
            noise = np.abs(release.count - exact)
            rows.append((NOISE, "", 0.0, repeat, float(noise.mean())))
            equal = release.count.size - np.unique(release.count).size
            rows.append((EQUAL, "", 0.0, repeat, float(equal)))
            if repeat == 0:
                rows += [(EXACT, "", float(n), 0, float(value)) for n, value in enumerate(exact)]
                rows += [(NOISY, "", float(n), 0, float(value)) for n, value in enumerate(release.count)]
        return points_table(rows)

    def release(self, seed: int) -> tuple[Contours, Any]:
        """Return one release of the contour mechanism, and the exact counts of its cells."""
        from geodp.curator.mechanisms import Snapshot
        from geodp.curator.mechanisms.contour import Contour
        from geodp.world.sources.synthetic_city import SyntheticCity
        from geodp.world.sources.table import Table

        region = Region(*self.region)
        source: SyntheticCity | Table = SyntheticCity(count=self.people)
        if self.path:
            source = Table(path=self.path, worker_column=self.worker_column, time_column=None, keep="first")
        people = source.load(region, Streams(0).generator("figure.people"))
        cell_m = max(region.width_m, region.height_m) / self.side
        mechanism = Contour(epsilon=self.epsilon, cell_m=cell_m, sigma_cells=0.0, levels=5)
        release = mechanism.release(
            Snapshot(0.0, people.x_m, people.y_m, region, float(self.people)), noise_source("simulate", seed=seed)
        )
        return release, np.asarray(release.grid.count(people.x_m, people.y_m), dtype=np.float64)

    def draw(self, file: FigureFile, points: Mapping[str, pd.DataFrame]) -> Any:
        """Draw the four steps of each panel in a row."""
        from geodp.sweeps.line_plots import empty_axes

        figure, grid = empty_axes(len(points), 4, (14.5, 4.0 * len(points) + 0.4))
        title_figure(figure, file)
        for row, name in enumerate(points):
            panel = file.section.panels[name]
            release, exact = self.with_settings(panel.fill_paths(panel.files() or {})).release(0)
            self._steps(grid[row], release, exact, panel.title or name)
        return figure

    def _steps(self, axes: Any, release: Contours, exact: Any, title: str) -> None:
        cells = release.grid
        shape = (cells.rows, cells.columns)
        west, south = cells.west_m, cells.south_m
        east, north = west + cells.cell_x_m * cells.columns, south + cells.cell_y_m * cells.rows
        titles = (f"{title}: exact counts", f"noisy counts, ε = {self.epsilon:g}", "contour lines", "contour plot")
        for own, text in zip(axes, titles, strict=True):
            own.set_title(text, loc="left", fontsize=11)
            own.set(xlim=(west, east), ylim=(south, north), xticks=[], yticks=[], aspect="equal")
        for own, values, form in ((axes[0], exact, "{:.0f}"), (axes[1], release.count, "{:.1f}")):
            own.set_xticks([west + n * cells.cell_x_m for n in range(cells.columns + 1)], minor=True)
            own.set_yticks([south + n * cells.cell_y_m for n in range(cells.rows + 1)], minor=True)
            own.grid(visible=True, which="minor", color="#999999", linestyle="--", linewidth=0.6)
            own.tick_params(which="minor", length=0)
            for number, value in enumerate(values):
                line, place = divmod(number, shape[1])
                at = (west + (place + 0.5) * cells.cell_x_m, south + (line + 0.5) * cells.cell_y_m)
                own.annotate(form.format(value), at, ha="center", va="center", fontsize=9 if shape[1] <= 8 else 6)
        for level, lines in release.lines():
            for path in lines:
                axes[2].plot(path[:, 0], path[:, 1], color="#0072B2", linewidth=1.2)
            if lines:
                longest = max(lines, key=len)
                middle = longest[len(longest) // 2]
                axes[2].annotate(f"{level:.0f}", middle, fontsize=8, ha="center", va="center",
                                 bbox={"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none"})  # fmt: skip
        across = [west + (n + 0.5) * cells.cell_x_m for n in range(shape[1])]
        along = [south + (n + 0.5) * cells.cell_y_m for n in range(shape[0])]
        levels = [float(release.surface.min()) - 1, *map(float, release.levels), float(release.surface.max()) + 1]
        axes[3].contourf(across, along, release.surface, levels=sorted(set(levels)), cmap="viridis")
