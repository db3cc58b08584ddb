"""Figures whose every value is the metric of a run: the file is a sweep, too."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from geodp.errors import GeodpError
from geodp.figures.kinds import POINT_COLUMNS, FigureKind, Making

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from geodp.figures.figure_file import FigureFile
    from geodp.sweeps.sweep import Progress


class SweepFigure(FigureKind):
    """Metrics of runs against a varied path: the figure file is also a sweep file (`base`, `seeds`, `grids`)."""

    kind: ClassVar[str] = "sweep"

    y: tuple[str, ...] = Field(default=("success_rate",), min_length=1)
    """The metrics on the vertical axis; several make a row of axes each."""
    x: str = "curator.mechanism.epsilon"
    """The varied path on the horizontal axis."""
    lines: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Name of a line → the values of other varied paths that make it; default: one line of all runs."""
    y_factor: float = Field(default=1.0, gt=0)
    """Factor on every value, for a change of unit (0.001: kilometres instead of metres)."""
    x_factor: float = Field(default=1.0, gt=0)
    """Factor on every number on the horizontal axis (for shares of a total)."""

    def points(self, making: Making) -> pd.DataFrame:
        """Run the sweep, or go on with it, and pick the lines out of its runs."""
        from geodp.sweeps.sweep import sweep

        result = sweep(
            making.file.path,
            making.folder,
            workers=making.workers,
            fresh=making.fresh,
            overrides=making.settings.fill_paths(making.data),
            draw=False,
            on_progress=None if making.on_share is None else partial(_tell_share, making.on_share),
        )
        if result.failures:
            raise GeodpError(f"{making.file.id}: runs of panel '{making.panel}' failed\n{result.failures.strip()}")
        return self._pick_metrics(result.runs)

    def _pick_metrics(self, runs: pd.DataFrame) -> pd.DataFrame:
        import pandas as pd

        parts = []
        for name in self.y:
            if name not in runs:
                raise GeodpError(f"no run of this sweep has a metric called '{name}'")
            for line, values in (self.lines or {"": {}}).items():
                own = runs[_match_runs(runs, values)]
                x = own[self.x] * self.x_factor if pd.api.types.is_numeric_dtype(own[self.x]) else own[self.x]
                columns = {"y_name": name, "line": line, "x": x, "repeat": own["seed"], "y": own[name] * self.y_factor}
                parts.append(pd.DataFrame(columns, columns=list(POINT_COLUMNS)))
        return pd.concat(parts, ignore_index=True)

    def line_names(self) -> tuple[str, ...]:
        """Return the names of the lines."""
        return tuple(self.lines) or ("",)

    def problems(self, file: FigureFile) -> list[tuple[str, str]]:
        """Check that x and the lines name what the grids vary; the sweep itself is checked before it runs."""
        from geodp.model import did_you_mean

        grids = file.raw.get("grids")
        grids = grids if isinstance(grids, list) else []
        varied = [path for grid in grids if isinstance(grid, dict) for path in grid]
        named = [("x", self.x), *((f"lines.{line}", path) for line, values in self.lines.items() for path in values)]
        return [
            (f"figure.make.{place}", f"'{path}' is not varied by the grids.{did_you_mean(path, varied)}")
            for place, path in named
            if path not in varied
        ]


def _tell_share(on_share: Callable[[float], None], progress: Progress) -> None:
    on_share((progress.done + progress.failed) / max(progress.total, 1))


def _match_runs(runs: pd.DataFrame, values: dict[str, Any]) -> Any:
    """Tell which runs have these values; a runs table holds numbers, or the text of anything else."""
    from pandas.api.types import is_numeric_dtype

    from geodp.sweeps.sweep_file import as_text

    chosen = runs["status"] == "ok"
    for path, value in values.items():
        chosen &= runs[path] == (value if is_numeric_dtype(runs[path]) else as_text(value))
    return chosen
