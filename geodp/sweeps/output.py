"""What a sweep leaves: a tidy table of runs, a summary with intervals, failures, figures and a report."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from geodp._version import __version__
from geodp.storage.csv_cells import make_guarded_csv
from geodp.storage.files import digest, write_text_whole, write_whole
from geodp.storage.manifest import write_manifest
from geodp.storage.stamp import COLUMN, METADATA, SIMULATED, write_simulated
from geodp.sweeps.executors import Job
from geodp.sweeps.report import build_report
from geodp.sweeps.sweep import all_checksums, failure_message
from geodp.sweeps.sweep_file import LoadedSweep, as_text
from geodp.sweeps.sweep_folder import OUTPUT, SweepFolder
from geodp.sweeps.tables import OWN_COLUMNS, summarise_cells

if TYPE_CHECKING:
    from geodp.sweeps.line_plots import DrawnPlot


def write_output(sweep: LoadedSweep, jobs: list[Job], store: SweepFolder, *, complete: bool, draw: bool = True) -> None:
    """Write every table and figure anew from the results on disk."""
    runs = runs_table(sweep, jobs, store)
    _write_parquet(runs, store.path / "runs.parquet")
    summary = summarise_cells(runs, sweep.varied, sweep.baseline().name)
    write_text_whole(store.path / "summary.csv", make_guarded_csv(summary.assign(**{COLUMN: False})))
    _write_failures(sweep, runs, store.path / "failures.txt")
    _write_timings(jobs, store)
    plots: list[DrawnPlot] = []
    if draw and (runs["status"] == "ok").any():
        from geodp.sweeps.line_plots import write_plots

        plots = write_plots(sweep, runs, store.path / "figures")
    page = build_report(sweep, runs, folder=store.path, plots=plots, notices=store.notices())
    write_text_whole(store.path / "report.html", page)
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
    written = [*OUTPUT, *(f"figures/{path.name}" for plot in plots for path in plot.files)]
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
