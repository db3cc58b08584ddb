"""A finished sweep in Python: tables, plots, LaTeX, the best cell, and its page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from geodp.errors import UsageError
from geodp.model import problems_of
from geodp.sweeps.sweep_folder import SweepFolder

if TYPE_CHECKING:
    import pandas as pd

    from geodp.sweeps.paper_figure import PaperFigure
    from geodp.sweeps.significance import BestCell, Test


class SweepResult:
    """A finished sweep: tables, plots, LaTeX, the best cell, figures and report. Shows itself in a notebook.

    Parameters
    ----------
    path
        The sweep folder.

    Examples
    --------
    >>> import geodp
    >>> from pathlib import Path
    >>> _ = Path("three.yaml").write_text(
    ...     "{geodp: 1, name: three, base: scenarios/quickstart.yaml, seeds: [0, 1],"
    ...     " grids: [{curator.mechanism.epsilon: [0.1, 0.3, 2.0]}]}"
    ... )
    >>> small = {"duration_s": 600, "workers.source.count": 200}
    >>> found = geodp.sweep("three.yaml", "three", workers=1, overrides=small, draw=False)
    >>> len(found.table), found.cells.query("metric == 'success_rate'")["n"].tolist()
    (6, [2, 2, 2])
    >>> found.best("epsilon_spent").values
    {'curator.mechanism.epsilon': 0.1}
    >>> figure = found.plot(x="notified_workers", y="success_rate", size="column", save="price.pdf")
    >>> "tabular" in found.to_latex(["success_rate", "notified_workers"])
    True
    """

    def __init__(self, path: str | Path) -> None:
        self.folder = SweepFolder(Path(path))

    @property
    def path(self) -> Path:
        """The sweep folder."""
        return self.folder.path

    @property
    def report(self) -> Path:
        """The page that the sweep leaves; it opens with no network."""
        return self.path / "report.html"

    @property
    def runs(self) -> Any:
        """One row per run as stored: cell, run_id, seed, status, error, the varied paths, the metrics."""
        return self.folder.table("runs.parquet")

    @property
    def table(self) -> pd.DataFrame:
        """One row per run, with types: words are categories, yes and no booleans; varied paths and metrics are columns.

        Runs that failed have no numbers; `status` says so.
        """
        from geodp.sweeps.tables import type_runs

        return type_runs(self.runs, self.varied)

    @property
    def cells(self) -> pd.DataFrame:
        """One row per cell and metric: words and unit, mean with 95 % interval, paired difference to the baseline."""
        from geodp.pages.labels import find_label
        from geodp.sweeps.tables import name_cells, summarise_cells

        runs, varied = self.runs, self.varied
        found = summarise_cells(runs, varied, self.baseline)
        labels = {key: find_label(key) for key in found["metric"].unique()}
        found.insert(1, "cell_words", found["cell"].map(name_cells(runs, varied)))
        place = list(found.columns).index("metric") + 1
        found.insert(place, "label", [labels[key].words for key in found["metric"]])
        found.insert(place + 1, "unit", [labels[key].unit for key in found["metric"]])
        found.insert(place + 2, "better", [labels[key].better for key in found["metric"]])
        return found.astype(dict.fromkeys(("cell", "metric", "label", "unit", "better"), "category"))

    @property
    def summary(self) -> Any:
        """One row per cell and metric, as stored in `summary.csv`."""
        return self.folder.table("summary.csv")

    @property
    def varied(self) -> list[str]:
        """The varied paths."""
        from geodp.sweeps.tables import list_varied

        return list_varied(self.runs, self.folder.manifest())

    @property
    def metrics(self) -> list[str]:
        """The metrics that runs have."""
        from geodp.sweeps.tables import list_metrics

        return list_metrics(self.runs, self.varied)

    @property
    def baseline(self) -> str:
        """The cell that others are compared with."""
        stated = self.folder.manifest().get("baseline")
        return str(stated) if stated is not None else str(self.runs["cell"].min())

    @property
    def failures(self) -> str:
        """What failed, with the commands that repeat it ('' when nothing did)."""
        path = self.path / "failures.txt"
        return path.read_text(encoding="utf-8") if path.is_file() else ""

    def plot(
        self,
        x: str | None = None,
        y: str | None = None,
        lines: str | Sequence[str] | None = None,
        *,
        along: str | None = None,
        where: Mapping[str, Any] | None = None,
        title: str = "",
        x_label: str = "",
        y_label: str = "",
        log_x: bool = False,
        log_y: bool = False,
        size: Literal["screen", "column", "page"] = "screen",
        font: Literal["sans", "serif"] = "sans",
        save: str | Path | None = None,
    ) -> PaperFigure:
        """Draw a metric against a varied path, or against another metric; means with 95 % intervals over the seeds.

        Parameters
        ----------
        x
            A varied path, or a metric: every cell is then a point, with intervals in both directions, which is how
            mechanisms with unlike epsilons share an axis. Default: the first varied number.
        y
            A metric (or a varied number). A name that is given alone is y.
        lines
            The varied path that makes the lines, or several; default: the first other one. What is neither axis nor
            line makes panels.
        along
            With a metric as x: the varied number that orders the points of a line and is written beside them.
        where
            Only cells with these values: varied path → value.
        title, x_label, y_label
            Texts; default: words and units.
        log_x, log_y
            Logarithmic axes.
        size
            `screen`, or a `column` (86 mm) or `page` (180 mm) of a two-column paper, with letters of 8 points.
        font
            `sans` or `serif`.
        save
            A file that ends in .png, .svg or .pdf; without an ending: all three.

        Returns
        -------
        matplotlib.figure.Figure
            The figure; notebooks show it, and its `savefig` keeps its letters.

        Raises
        ------
        UsageError
            If the sweep has no such metric or path, or nothing to draw.
        """
        from pydantic import ValidationError

        from geodp.sweeps.line_plots import draw_plot, save_as
        from geodp.sweeps.sweep_file import Plot
        from geodp.sweeps.tables import require_column

        runs, varied = self.runs, self.varied
        if y is None:
            if x is None:
                raise UsageError(f"name what to draw: plot(x, y), with metrics such as {', '.join(self.metrics[:4])}")
            x, y = None, x
        for name in (y, *(() if x is None else (x,))):
            require_column(runs, varied, name)
        runs = _select_cells(runs, varied, where or {})
        try:
            plot = Plot(
                y=y,
                x=x,
                lines=lines if lines is None or isinstance(lines, str) else tuple(lines),
                along=along,
                title=title,
                x_label=x_label,
                y_label=y_label,
                log_x=log_x,
                log_y=log_y,
                size=size,
                font=font,
            )
        except ValidationError as error:
            place, text = problems_of(error)[0]
            raise UsageError(f"plot: {place}: {text}") from None
        figure: PaperFigure = draw_plot(runs, plot, varied)
        if save is not None:
            save_as(figure, save)
        return figure

    def to_latex(
        self,
        metrics: str | Sequence[str] | None = None,
        *,
        baseline: str | Mapping[str, Any] | None = None,
        test: Test = "t",
        caption: str | None = None,
        label: str | None = None,
        bold_best: bool = True,
    ) -> str:
        """Return a table of cells and metrics for LaTeX, with intervals and significance; it needs no package.

        Parameters
        ----------
        metrics
            The columns; default: success and what it costs.
        baseline
            The cell that others are tested against: its short name, or some of its varied values; default: that of the
            sweep.
        test
            Paired on the seeds that cells share: `t` (Student's) or `wilcoxon` (signed ranks); p-values are
            Holm-corrected over all entries of the table.
        caption, label
            What the table is called; the caption goes on to say what intervals, stars and bold numbers mean.
        bold_best
            Whether the best mean of each column is bold.

        Returns
        -------
        str
            A `table` environment.

        Raises
        ------
        UsageError
            If a metric, the baseline or the test does not exist.
        """
        from geodp.sweeps.latex import write_latex

        runs, varied = self.runs, self.varied
        name = str(self.folder.manifest().get("name") or "sweep")
        return write_latex(
            runs,
            varied,
            metrics=metrics,
            baseline=self._find_baseline(runs, varied, baseline),
            test=test,
            caption=caption,
            label=label or f"tab:{name}",
            bold_best=bold_best,
        )

    def _find_baseline(self, runs: pd.DataFrame, varied: list[str], given: str | Mapping[str, Any] | None) -> str:
        if given is None:
            return self.baseline
        if isinstance(given, str):
            if given not in set(runs["cell"]):
                raise UsageError(f"no cell called '{given}' in this sweep: c0000, c0001, …, or {{path: value}}")
            return given
        return str(_select_cells(runs, varied, given)["cell"].iloc[0])

    def best(
        self, metric: str, *, better: Literal["higher", "lower"] | None = None, subject_to: str | Sequence[str] = ()
    ) -> BestCell:
        """Return the best cell, its interval, and whether the others are significantly worse.

        Parameters
        ----------
        metric
            What is compared: the mean over the seeds.
        better
            `higher` or `lower`; default: what is better for the metric.
        subject_to
            Bounds such as `success_rate>=0.85`, one or several: a cell meets one when the whole 95 % interval of its
            mean does.

        Returns
        -------
        BestCell
            `values`, `mean` with interval, `runner_up` (with `difference` and corrected `p_value`), `tied` (all that
            are not significantly worse), `decided`; print it to read it.

        Raises
        ------
        UsageError
            If there is no such metric, or neither way is better and none is said.
        GeodpError
            If no cell meets the bounds with confidence.
        """
        from geodp.sweeps.significance import find_best

        return find_best(self.runs, self.varied, metric, better=better, subject_to=subject_to)

    def __repr__(self) -> str:
        return f"SweepResult({str(self.path)!r})"

    def _repr_html_(self) -> str:
        from geodp.sweeps.report import build_cells_table

        return str(build_cells_table(self.runs, self.varied, self.baseline))


def _select_cells(runs: pd.DataFrame, varied: Sequence[str], where: Mapping[str, Any]) -> pd.DataFrame:
    """Return the runs of cells with these values; a table of runs holds numbers, or the text of anything else."""
    from pandas.api.types import is_numeric_dtype

    from geodp.model import did_you_mean
    from geodp.sweeps.sweep_file import as_text

    chosen = runs
    for path, value in where.items():
        if path not in varied:
            raise UsageError(f"'{path}' is not varied by this sweep.{did_you_mean(path, varied)}")
        wanted = value if is_numeric_dtype(runs[path]) else as_text(value)
        chosen = chosen[chosen[path] == wanted]
    if chosen.empty:
        raise UsageError(f"no run of this sweep has {dict(where)}")
    return chosen


def open_sweep(path: str | Path) -> SweepResult:
    """Open the folder of a sweep.

    Parameters
    ----------
    path
        The folder.

    Returns
    -------
    SweepResult
        Its tables of runs and cells, plots, LaTeX and best cell.

    Raises
    ------
    DataError
        If the folder is not that of a sweep.

    Examples
    --------
    >>> import geodp
    >>> geodp.open_sweep("nothing")
    Traceback (most recent call last):
        ...
    geodp.errors.DataError: ...
    """
    result = SweepResult(path)
    _ = result.runs
    return result
