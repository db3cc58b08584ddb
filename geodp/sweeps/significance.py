"""Which cell is best, and how sure that is: paired tests on the seeds that cells share, corrected for their number."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from geodp.errors import GeodpError, UsageError
from geodp.metrics.intervals import Measured, mean
from geodp.pages.labels import AT_SUCCESS, find_label
from geodp.sweeps.tables import find_better, name_cells, pair_gaps, require_column

if TYPE_CHECKING:
    import pandas as pd

Test = Literal["t", "wilcoxon"]
TESTS: Mapping[str, str] = {"t": "paired t-test", "wilcoxon": "Wilcoxon signed-rank test"}
ERROR = 0.05
_ROUNDING = 1e-12  # of the size of the numbers: differences so small are none


def compare_pairs(gaps: Sequence[float], size: float, test: Test = "t") -> float | None:
    """Return the two-sided p-value that paired differences have mean (t) or median (wilcoxon) zero.

    Parameters
    ----------
    gaps
        The differences, one per shared seed.
    size
        How large the numbers are whose differences these are: for what counts as rounding.
    test
        `t` or `wilcoxon`.

    Returns
    -------
    float or None
        The p-value; None where there are fewer than two pairs, or not all are finite.

    Raises
    ------
    UsageError
        If there is no such test.
    """
    if test not in TESTS:
        raise UsageError(f"no test called {test!r}: use 't' or 'wilcoxon'")
    values = np.asarray(gaps, dtype=np.float64)
    if values.size < 2 or not np.isfinite(values).all():
        return None
    values = np.where(np.abs(values) <= _ROUNDING * max(size, 1e-300), 0.0, values)
    if not values.any():
        return 1.0
    if test == "wilcoxon":
        from scipy.stats import wilcoxon

        return float(wilcoxon(values).pvalue)
    spread = float(values.std(ddof=1)) / math.sqrt(values.size)
    if spread <= _ROUNDING * abs(float(values.mean())):
        return 0.0
    from scipy.special import stdtr  # scipy.stats would take seconds to import

    return float(2 * stdtr(values.size - 1, -abs(float(values.mean())) / spread))


def correct_holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return p-values corrected for their number (Holm 1979); undefined ones stay so and do not count."""
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    found: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, place) in enumerate(known):
        highest = max(highest, min(1.0, p * (len(known) - rank)))
        found[place] = highest
    return found


@dataclass(frozen=True)
class RankedCell:
    """A cell of a sweep beside the best one."""

    cell: str
    """Its short name."""
    words: str
    """Its values in words."""
    values: dict[str, Any]
    """Varied path → value."""
    mean: Measured
    """Mean of the metric over the seeds, with its 95 % interval."""
    difference: Measured
    """This minus the best, seed by seed, with its 95 % interval (0 for the best itself)."""
    p_value: float | None
    """Of that difference, corrected (None: it cannot be tested)."""


@dataclass(frozen=True)
class BestCell:
    """The best cell of a sweep, and how sure that is.

    Examples
    --------
    >>> from geodp.sweeps.significance import BestCell
    >>> BestCell.__name__
    'BestCell'
    """

    metric: str
    better: str
    """`higher` or `lower`."""
    subject_to: tuple[str, ...]
    """Bounds that it meets with confidence: the whole 95 % interval of the mean does."""
    best: RankedCell
    others: tuple[RankedCell, ...]
    """All other cells that meet the bounds, the better first."""
    left_out: tuple[str, ...]
    """Cells that do not meet the bounds with confidence, or have no finite mean, in words."""

    @property
    def cell(self) -> str:
        """Its short name."""
        return self.best.cell

    @property
    def values(self) -> dict[str, Any]:
        """Varied path → value."""
        return self.best.values

    @property
    def mean(self) -> Measured:
        """Mean with its 95 % interval."""
        return self.best.mean

    @property
    def runner_up(self) -> RankedCell | None:
        """The next best cell (None: there is no other)."""
        return self.others[0] if self.others else None

    @property
    def tied(self) -> tuple[RankedCell, ...]:
        """The cells that are not significantly worse."""
        return tuple(one for one in self.others if one.p_value is None or one.p_value >= ERROR)

    @property
    def decided(self) -> bool:
        """Whether every other cell is significantly worse."""
        return bool(self.others) and not self.tied

    def __str__(self) -> str:
        label = find_label(self.metric)
        bounds = f", subject to {' and '.join(self.subject_to)}" if self.subject_to else ""
        lines = [f"best {label.words}{bounds}: {self.best.words}, {label.value(self.mean)}"]
        second = self.runner_up
        if second is None:
            lines.append("no other cell to compare it with")
        else:
            p = "cannot be tested" if second.p_value is None else f"p {say_p(second.p_value)}"
            sure = "significantly worse" if second not in self.tied else "not significantly worse"
            lines.append(
                f"runner-up: {second.words}, {label.value(second.mean)}; {sure} (difference "
                f"{label.value(second.difference, signed=True)}, {p})"
            )
            if len(self.tied) > 1:
                lines.append(f"{len(self.tied)} cells are not significantly worse")
            lines.append(TEST_NOTE)
        return "\n".join(lines)


TEST_NOTE = (
    "Paired t-tests on shared seeds at 5 %, Bonferroni-corrected for all pairs of cells, since the best was chosen by "
    "the same numbers."
)


def say_p(p: float) -> str:
    """Say a p-value: `= 0.03`, `< 0.001`."""
    return "< 0.001" if p < 0.001 else f"= {p:.3f}" if p < 0.1 else f"= {p:.2f}"


def find_best(
    runs: pd.DataFrame,
    varied: Sequence[str],
    metric: str,
    *,
    better: str | None = None,
    subject_to: str | Sequence[str] = (),
) -> BestCell:
    """Find the best cell among those that meet some bounds with confidence; `SweepResult.best` says more."""
    from geodp.sweeps.advise import Target, parse_target

    require_column(runs, varied, metric, what="metric")
    if metric in varied:
        raise UsageError(f"'{metric}' is varied, not measured: name a metric")
    way = find_better(metric, better)
    texts = (subject_to,) if isinstance(subject_to, str) else tuple(subject_to)
    targets: list[Target] = [parse_target(text, "subject_to", AT_SUCCESS) for text in texts]
    for target in targets:
        require_column(runs, varied, target.metric, what="metric")
    good = runs[runs["status"] == "ok"]
    names, means, kept, left_out = name_cells(runs, varied), {}, [], []
    for cell, own in good.groupby("cell", sort=True, observed=True):
        means[str(cell)] = mean(own[metric].dropna())
        met = all(target.is_met(mean(own[target.metric].dropna())) for target in targets)
        if met and means[str(cell)].value is not None:
            kept.append(str(cell))
        else:
            left_out.append(names[str(cell)])
    if not kept:
        bounds = " and ".join(str(target) for target in targets) or f"a finite mean of {metric}"
        raise GeodpError(
            f"no cell of this sweep has {bounds} with confidence (the whole 95 % interval of the mean over the seeds): "
            "ask for less, or give it more seeds"
        )
    sign = -1.0 if way == "higher" else 1.0
    order = sorted(kept, key=lambda cell: (sign * float(means[cell].value or 0.0), cell))
    series = {str(cell): own.set_index("seed")[metric] for cell, own in good.groupby("cell", observed=True)}
    pairs = len(order) * (len(order) - 1) / 2
    rows = runs.drop_duplicates("cell").astype({"cell": "str"}).set_index("cell")

    def rank(cell: str) -> RankedCell:
        gaps = pair_gaps(series[cell], series[order[0]])
        p = compare_pairs(gaps.tolist(), _find_size(series[cell], series[order[0]])) if cell != order[0] else None
        return RankedCell(
            cell=cell,
            words=names[cell],
            values={path: _as_python(rows.loc[cell, path]) for path in varied},
            mean=means[cell],
            difference=Measured(0.0) if cell == order[0] else mean(gaps),
            p_value=None if p is None else min(1.0, p * pairs),
        )

    ranked = [rank(cell) for cell in order]
    return BestCell(
        metric=metric,
        better=way,
        subject_to=tuple(str(target) for target in targets),
        best=ranked[0],
        others=tuple(ranked[1:]),
        left_out=tuple(left_out),
    )


def _as_python(value: Any) -> Any:
    """Return a number of a table as Python prints and compares it."""
    return value.item() if isinstance(value, np.generic) else value


def _find_size(*series: pd.Series[Any]) -> float:
    known = [abs(value) for own in series for value in own.dropna() if math.isfinite(value)]
    return float(max(known, default=0.0))


def compare_cells(
    runs: pd.DataFrame, metrics: Sequence[str], cells: Sequence[str], baseline: str, test: Test = "t"
) -> dict[tuple[str, str], float | None]:
    """Return the p-values of (cell, metric) against a baseline, Holm-corrected over all of them."""
    good = runs[runs["status"] == "ok"]
    by_cell = {str(cell): own.set_index("seed") for cell, own in good.groupby("cell", observed=True)}
    keys, found = [], []
    for cell in cells:
        for metric in metrics:
            if cell == baseline or cell not in by_cell or baseline not in by_cell:
                continue
            own, base = by_cell[cell][metric], by_cell[baseline][metric]
            keys.append((cell, metric))
            found.append(compare_pairs(pair_gaps(own, base).tolist(), _find_size(own, base), test))
    return dict(zip(keys, correct_holm(found), strict=True))
