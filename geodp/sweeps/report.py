"""The report of a sweep: one page that holds the question, the figures, the table, and how to repeat it."""

from __future__ import annotations

import html
import math
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodp._version import __version__
from geodp.sweeps.sweep_file import LoadedSweep

if TYPE_CHECKING:
    import pandas as pd

_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}
table{border-collapse:collapse;font-size:.85rem}td,th{padding:.2rem .6rem;border-bottom:1px solid #ddd;text-align:right}
th:first-child,td:first-child{text-align:left}svg{max-width:100%;height:auto}pre{background:#f4f4f4;padding:.6rem;overflow:auto}
.scroll{overflow-x:auto}.warn{color:#a33c00}
"""
_POLICY = (
    '<meta http-equiv="Content-Security-Policy" '
    "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">"
)
"""The page runs no script and loads nothing, whatever stands in it."""
_SHOWN = ("success_rate", "planned_success", "notified_workers", "travel_distance_m", "distance_error_m")


def report_html(
    sweep: LoadedSweep, runs: pd.DataFrame, summary: pd.DataFrame, figures: list[Path], notices: list[str]
) -> str:
    """Return the page; it needs no other file and no network. `notices` say what runs dropped, guessed or clipped."""
    failed = int((runs["status"] != "ok").sum())
    seeds = len(sweep.sweep.seed_list())
    expected = len(sweep.cells) * seeds
    parts = [
        f"<h1>{html.escape(sweep.sweep.name)}</h1>",
        f"<p>{html.escape(sweep.sweep.about)}</p>" if sweep.sweep.about else "",
        f"<p>{len(sweep.cells)} cells × {seeds} seeds; {len(runs) - failed} of {expected} runs finished well. Every "
        "cell has the same seeds, so the same worlds and the same luck. Intervals are 95 %, over the seeds.</p>",
        f'<p class="warn">{failed} runs failed; see failures.txt.</p>' if failed else "",
        *(_inline(path) for path in figures),
        *(
            ["<h2>Take care</h2>", "<ul>", *(f"<li>{html.escape(text)}</li>" for text in notices), "</ul>"]
            if notices
            else []
        ),
        "<h2>Cells</h2>",
        _table(summary, sweep),
        "<p><em>Simulated noise: not releasable.</em></p>",
        "<h2>Again</h2>",
        f"<pre>geodp sweep {html.escape(shlex.quote(sweep.path.as_posix()))} --out DIR</pre>",
        f"<p>Made with geodp {__version__}. All numbers: summary.csv and runs.parquet beside this page.</p>",
    ]
    body = "\n".join(part for part in parts if part)
    title = html.escape(sweep.sweep.name)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">{_POLICY}<title>{title}</title>'
        f"<style>{_STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def _inline(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    return f'<figure role="img" aria-label="{html.escape(path.stem)}">{text[text.index("<svg") :]}</figure>'


def _table(summary: pd.DataFrame, sweep: LoadedSweep) -> str:
    wanted = list(dict.fromkeys([*(plot.y for plot in sweep.sweep.plot), *_SHOWN]))
    wanted = [key for key in wanted if key in set(summary["metric"])]
    head = "".join(f"<th>{html.escape(word)}</th>" for word in ["cell", *wanted])
    baseline = sweep.baseline().name
    rows = []
    for cell in sweep.cells:
        own = summary[summary["cell"] == cell.name].set_index("metric")
        values = [_entry(own.loc[key]) if key in own.index else "–" for key in wanted]
        label = html.escape(cell.label()) + (" <em>(baseline)</em>" if cell.name == baseline else "")
        rows.append(f"<tr><td>{label}</td>{''.join(f'<td>{value}</td>' for value in values)}</tr>")
        if cell.name != baseline:
            gaps = [_gap(own.loc[key]) if key in own.index else "" for key in wanted]
            rows.append(f"<tr><td>… against the baseline</td>{''.join(f'<td>{gap}</td>' for gap in gaps)}</tr>")
    return f'<div class="scroll"><table><tr>{head}</tr>{"".join(rows)}</table></div>'


def _entry(row: Any) -> str:
    if math.isnan(row["mean"]):
        return "–"
    interval = "" if math.isnan(row["low"]) else f" ({row['low']:.4g} to {row['high']:.4g})"
    return f"{row['mean']:.4g}{interval}"


def _gap(row: Any) -> str:
    if math.isnan(row["difference"]):
        return "–"
    low, high = row["difference_low"], row["difference_high"]
    interval = "" if math.isnan(low) else f" ({low:+.3g} to {high:+.3g})"
    return f"{row['difference']:+.3g}{interval}"
