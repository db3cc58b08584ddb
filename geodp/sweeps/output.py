"""What a sweep leaves: a tidy table of runs, a summary with intervals, failures, figures and a report.

The report is one page that holds the question, the figures, the table, and how to repeat it.
"""

from __future__ import annotations

import html
import math
import shlex
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from geodp._version import __version__
from geodp.metrics.intervals import mean
from geodp.storage.csv_cells import make_guarded_csv
from geodp.storage.files import digest, write_text_whole, write_whole
from geodp.storage.manifest import write_manifest
from geodp.storage.stamp import COLUMN, METADATA, SIMULATED, write_simulated
from geodp.sweeps.executors import Job
from geodp.sweeps.sweep import all_checksums, failure_message
from geodp.sweeps.sweep_file import LoadedSweep, as_text
from geodp.sweeps.sweep_folder import OUTPUT, SweepFolder

OWN_COLUMNS = ["cell", "run_id", "seed", "status", "error"]
_VALUE, _GAP = ["mean", "low", "high"], ["difference", "difference_low", "difference_high"]


def write_output(sweep: LoadedSweep, jobs: list[Job], store: SweepFolder, *, complete: bool, draw: bool = True) -> None:
    """Write every table and figure anew from the results on disk."""
    runs = runs_table(sweep, jobs, store)
    _write_parquet(runs, store.path / "runs.parquet")
    summary = summary_table(runs, sweep)
    write_text_whole(store.path / "summary.csv", make_guarded_csv(summary.assign(**{COLUMN: False})))
    _write_failures(sweep, runs, store.path / "failures.txt")
    _write_timings(jobs, store)
    plots: list[Path] = []
    if draw and (runs["status"] == "ok").any():
        from geodp.sweeps.line_plots import write_plots

        plots = write_plots(sweep, runs, store.path / "figures")
    write_text_whole(store.path / "report.html", report_html(sweep, runs, summary, plots, store.notices()))
    facts = {
        "kind": "sweep",
        **SIMULATED,
        "geodp": __version__,
        "name": sweep.sweep.name,
        "sweep": str(sweep.path),
        "varied": sweep.varied,
        "cells": {cell.name: cell.label() for cell in sweep.cells},
        "baseline": sweep.baseline().name,
        "checksums": all_checksums(sweep),
        "finished": complete,
        "output": store.output_identity(sweep, jobs, draw=draw),
    }
    written = [*OUTPUT, *(f"figures/{path.with_suffix(end).name}" for path in plots for end in (".png", ".svg"))]
    write_manifest(store.path, facts | {"files": {name: digest(store.path / name) for name in written}})


def runs_table(sweep: LoadedSweep, jobs: list[Job], store: SweepFolder) -> pd.DataFrame:
    """Return one row per run of the sweep, sorted by cell and seed; runs not yet made are left out."""
    outcomes = store.outcomes()
    cells = {cell.name: cell for cell in sweep.cells}
    metrics = list(dict.fromkeys(key for outcome in outcomes.values() for key in outcome["metrics"]))
    rows = []
    for job in sorted(jobs, key=lambda job: (job["cell"], job["seed"])):
        outcome = outcomes.get(job["run_id"])
        if outcome is None:
            continue
        own = {"cell": job["cell"], "seed": job["seed"]} | cells[job["cell"]].values
        rows.append(outcome | own | {key: outcome["metrics"].get(key) for key in metrics})
    frame = pd.DataFrame(rows, columns=[*OWN_COLUMNS, *sweep.varied, *metrics])
    for path in sweep.varied:
        frame[path] = _column(frame[path])
    return with_infinite_costs(frame.astype(dict.fromkeys(metrics, "float64")))


def with_infinite_costs(runs: pd.DataFrame) -> pd.DataFrame:
    """Return runs whose cost is infinite, not missing, where no target reached the success at which they are priced."""
    if "cost_at_success" not in runs:
        return runs
    never = runs["cost_at_success"].isna() & runs["expected_at_success"].notna()
    return runs.assign(cost_at_success=runs["cost_at_success"].mask(never, math.inf))


def _column(values: pd.Series[Any]) -> pd.Series[Any]:
    """Make a varied path one type: numbers where all are numbers, else text."""
    plain = [value for value in values if value is not None]
    if plain and all(isinstance(value, int | float) and not isinstance(value, bool) for value in plain):
        return values.astype("float64")
    known = [None if isinstance(value, float) and math.isnan(value) else value for value in values]  # null is no number
    return pd.Series([as_text(value) for value in known], index=values.index, dtype="object")


def summary_table(runs: pd.DataFrame, sweep: LoadedSweep) -> pd.DataFrame:
    """Return mean, 95 % interval and n of every metric in every cell, and paired differences against the baseline.

    Cells share their seeds, so a difference is taken seed by seed: its interval is that of the mean difference.
    """
    others = {*OWN_COLUMNS, *sweep.varied}  # and the intervals that single runs carry are left out
    metrics = [key for key in runs.columns if key not in others and not key.endswith(("_low", "_high"))]
    good = runs[runs["status"] == "ok"]
    base = good[good["cell"] == sweep.baseline().name].set_index("seed")
    rows = []
    for cell, own in good.groupby("cell", sort=True):
        by_seed = own.set_index("seed")
        for key in metrics:
            values, gaps = by_seed[key].dropna(), paired_gaps(by_seed[key], base[key])
            average, gap = mean(values), mean(gaps)
            row: dict[str, Any] = {"cell": cell, "metric": key} | {path: own[path].iloc[0] for path in sweep.varied}
            row |= dict(zip(_VALUE, (average.value, average.low, average.high), strict=True))
            row |= dict(zip(_GAP, (gap.value, gap.low, gap.high), strict=True))
            rows.append(row | {"n": len(values), "pairs": len(gaps)})
    columns = ["cell", *sweep.varied, "metric", *_VALUE, "n", *_GAP, "pairs"]
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys([*_VALUE, *_GAP], "float64"))


def paired_gaps(own: pd.Series[Any], base: pd.Series[Any]) -> pd.Series[Any]:
    """Return the differences seed by seed; two infinite ones differ by nobody knows what, and not by nothing."""
    both = pd.concat([own, base], axis=1, keys=["own", "base"]).dropna()
    gaps: pd.Series[Any] = both["own"] - both["base"]
    return gaps.fillna(math.inf)


def _write_parquet(frame: pd.DataFrame, path: Path) -> None:
    """Write a table that is the same, byte for byte, wherever and in whatever order its rows were computed."""
    table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(METADATA)
    write_whole(path, lambda partial: pq.write_table(table, partial, compression="zstd"))


def _write_failures(sweep: LoadedSweep, runs: pd.DataFrame, path: Path) -> None:
    values = {cell.name: cell.values for cell in sweep.cells}
    bad = runs[runs["status"] != "ok"]
    messages = [
        failure_message({"cell": cell, "seed": seed, "error": error}, sweep, values[cell])
        for cell, seed, error in zip(bad["cell"], bad["seed"], bad["error"], strict=True)
    ]
    write_text_whole(path, "\n".join([*messages, ""]) if messages else "")


def _write_timings(jobs: list[Job], store: SweepFolder) -> None:
    outcomes = store.outcomes()
    made = [outcomes[job["run_id"]] for job in jobs if job["run_id"] in outcomes]
    frame = pd.DataFrame(made, columns=["run_id", "cell", "seed", "seconds"]).astype({"seconds": "float64"})
    write_whole(store.path / "timings.parquet", lambda partial: write_simulated(frame, partial))


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
        "<h2>Take care</h2>\n<ul>" if notices else "",
        *(f"<li>{html.escape(text)}</li>" for text in notices),
        "</ul>" if notices else "",
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
        values = [_entry(*own.loc[key, _VALUE]) if key in own.index else "–" for key in wanted]
        label = html.escape(cell.label()) + (" <em>(baseline)</em>" if cell.name == baseline else "")
        rows.append(f"<tr><td>{label}</td>{''.join(f'<td>{value}</td>' for value in values)}</tr>")
        if cell.name != baseline:
            gaps = [_entry(*own.loc[key, _GAP], form="+.3g") if key in own.index else "" for key in wanted]
            rows.append(f"<tr><td>… against the baseline</td>{''.join(f'<td>{gap}</td>' for gap in gaps)}</tr>")
    return f'<div class="scroll"><table><tr>{head}</tr>{"".join(rows)}</table></div>'


def _entry(value: float, low: float, high: float, *, form: str = ".4g") -> str:
    if math.isnan(value):
        return "–"
    return f"{value:{form}}" + ("" if math.isnan(low) else f" ({low:{form}} to {high:{form}})")
