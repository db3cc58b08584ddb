r"""A sweep as a table for LaTeX: means with intervals, stars for significance; it needs no package."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from geodp.errors import UsageError
from geodp.metrics.intervals import Measured, mean
from geodp.pages.labels import Label, find_labels
from geodp.sweeps.significance import TESTS, Test, compare_cells
from geodp.sweeps.tables import describe_values, list_varying, name_cells, require_column

if TYPE_CHECKING:
    import pandas as pd

_SIGNS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    '"': "''",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "×": r"$\times$",
    "±": r"$\pm$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "∞": r"$\infty$",
    "²": "$^{2}$",
    "°": r"$^{\circ}$",
    "→": r"$\rightarrow$",
    "·": r"$\cdot$",
    "ε": r"$\varepsilon$",
    "δ": r"$\delta$",
    "τ": r"$\tau$",
    "σ": r"$\sigma$",
    "θ": r"$\theta$",
    "φ": r"$\varphi$",
    "η": r"$\eta$",
    "κ": r"$\kappa$",
    "λ": r"$\lambda$",
    "μ": r"$\mu$",
    "α": r"$\alpha$",
    "β": r"$\beta$",
    "γ": r"$\gamma$",
    "ρ": r"$\rho$",
    "Δ": r"$\Delta$",
    "√": r"$\surd$",
    "‖": r"$\|$",
}
STARS: Sequence[tuple[float, str]] = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
_FEWEST, _MOST_METRICS = 2, 12
_USUAL = ("success_rate", "notified_workers", "travel_distance_m", "cost_at_success", "attack_error_m")


def escape_latex(text: str) -> str:
    r"""Return a text as LaTeX shows it as written: no sign of it is a command, whoever wrote it.

    Examples
    --------
    >>> from geodp.sweeps.latex import escape_latex
    >>> escape_latex("50 % of a_b")
    '50 \\\\% of a\\\\_b'
    """
    line = " ".join(text.split())
    return "".join(_SIGNS.get(sign, sign if sign.isprintable() else "?") for sign in line)


def choose_metrics(runs: pd.DataFrame, varied: Sequence[str], wanted: str | Sequence[str] | None) -> list[str]:
    """Return the metrics to show: those named, or the usual ones that the sweep has."""
    if wanted is None:
        return [key for key in _USUAL if key in runs and runs[key].notna().any()]
    named = [wanted] if isinstance(wanted, str) else list(wanted)
    for key in named:
        require_column(runs, varied, key, what="metric")
        if key in varied:
            raise UsageError(f"'{key}' is varied, not measured: name metrics")
    if len(named) > _MOST_METRICS:
        raise UsageError(f"{len(named)} metrics do not fit beside each other: at most {_MOST_METRICS}")
    return named


def write_latex(
    runs: pd.DataFrame,
    varied: Sequence[str],
    *,
    metrics: str | Sequence[str] | None,
    baseline: str,
    test: Test,
    caption: str | None,
    label: str,
    bold_best: bool,
) -> str:
    """Return a sweep as a LaTeX table; `SweepResult.to_latex` says more."""
    keys = choose_metrics(runs, varied, metrics)
    if test not in TESTS:
        raise UsageError(f"no test called {test!r}: use 't' or 'wilcoxon'")
    good = runs[runs["status"] == "ok"]
    cells = [str(cell) for cell in sorted(good["cell"].unique())]
    paths = list_varying(good, varied) or list(varied)[:1]
    first = good.astype({"cell": "str"}).drop_duplicates("cell").set_index("cell")
    words, labels = describe_values(first, varied), find_labels([*paths, *keys])
    means = {
        (cell, key): mean(own[key].dropna())
        for cell, own in good.astype({"cell": "str"}).groupby("cell")
        for key in keys
    }
    p_values = compare_cells(runs, keys, cells, baseline, test)
    best = {key: _find_best([(cell, means[str(cell), key]) for cell in cells], labels[key]) for key in keys}
    head = [escape_latex(labels[path].words) for path in paths] + [_head(labels[key]) for key in keys]
    rows = []
    for cell in cells:
        shown = [escape_latex(str(words.loc[cell, path])) for path in paths]
        for key in keys:
            text = _entry(means[cell, key], labels[key], bold=bold_best and best[key] == cell)
            shown.append(text + _stars(p_values.get((cell, key))))
        rows.append(" & ".join(shown) + r" \\" + (" % baseline" if cell == baseline else ""))
    lines = [
        r"\begin{table}",
        r"  \centering",
        f"  \\caption{{{_caption(runs, varied, baseline, test, caption, bold_best=bold_best)}}}",
        f"  \\label{{{_reference(label)}}}",
        f"  \\begin{{tabular}}{{{'l' * len(paths)}{'r' * len(keys)}}}",
        r"    \hline",
        "    " + " & ".join(head) + r" \\",
        r"    \hline",
        *(f"    {row}" for row in rows),
        r"    \hline",
        r"  \end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _head(label: Label) -> str:
    unit = "\\%" if label.unit == "share" else escape_latex(label.unit)
    return escape_latex(label.words) + (f" ({unit})" if unit and label.unit not in label.words.split() else "")


def _find_best(means: Sequence[tuple[str, Measured]], label: Label) -> str | None:
    """Return the cell with the best mean (None where neither way is better)."""
    known = [(own.value, cell) for cell, own in means if own.value is not None]
    if not label.better or len(known) < _FEWEST:
        return None
    return (max if label.better == "higher" else min)(known, key=lambda one: one[0])[1]


def _entry(measured: Measured, label: Label, *, bold: bool) -> str:
    """Return a mean with half the width of its interval, in as many digits as that allows."""
    if measured.value is None:
        return "--"
    factor = 100.0 if label.unit == "share" else 1.0
    value = measured.value * factor
    half = None if measured.low is None else (measured.value - measured.low) * factor
    decimals = _decimals(half if half else abs(value))
    text = f"{value:.{decimals}f}"
    text = text.lstrip("-") if float(text) == 0 else text
    shown = f"\\mathbf{{{text}}}" if bold else text
    return f"${shown}$" if half is None else f"${shown} \\pm {half:.{decimals}f}$"


def _decimals(size: float) -> int:
    """Return how many decimals show two digits of a number."""
    return 0 if size == 0 or not math.isfinite(size) else max(0, min(6, 1 - math.floor(math.log10(size))))


def _stars(p: float | None) -> str:
    found = next((stars for bound, stars in STARS if p is not None and p < bound), "")
    return f"$^{{{found}}}$" if found else ""


def _reference(label: str) -> str:
    return "".join(sign if sign.isascii() and (sign.isalnum() or sign in ":-.") else "-" for sign in label)


def _caption(
    runs: pd.DataFrame, varied: Sequence[str], baseline: str, test: Test, given: str | None, *, bold_best: bool
) -> str:
    seeds = runs.loc[runs["status"] == "ok"].groupby("cell", observed=True)["seed"].nunique()
    few, many = int(seeds.min()), int(seeds.max())
    count = f"{many}" if few == many else f"{few} to {many}"
    names = name_cells(runs, varied)
    parts = [given or "Means over runs"]
    parts.append(f"mean ± half the width of its 95 % interval (Student's t) over {count} seeds")
    if many > 1:
        parts.append(
            f"stars: different from the baseline ({names.get(baseline, baseline)}) by a {TESTS[test]} on shared seeds, "
            "Holm-corrected over all entries (* p < 0.05, ** p < 0.01, *** p < 0.001)"
        )
    if bold_best:
        parts.append("bold: best mean of a column")
    return escape_latex(f"{parts[0].rstrip('.')}. {'; '.join(parts[1:])}.".replace(". m", ". M", 1))
