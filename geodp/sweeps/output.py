"""What a sweep leaves: a tidy table of runs, a summary with intervals, failures, figures and a report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from geodp._version import __version__
from geodp.metrics.intervals import mean
from geodp.storage.csv_cells import guarded_csv
from geodp.storage.files import digest, write_text_whole, write_whole
from geodp.storage.stamp import COLUMN, METADATA, SIMULATED, write_simulated
from geodp.sweeps.job import Job
from geodp.sweeps.sweep import all_checksums, failure_message
from geodp.sweeps.sweep_file import LoadedSweep, as_text
from geodp.sweeps.sweep_folder import OUTPUT, SweepFolder

OWN_COLUMNS = ["cell", "run_id", "seed", "status", "error"]


def write_output(sweep: LoadedSweep, jobs: list[Job], store: SweepFolder, *, complete: bool, draw: bool = True) -> None:
    """Write every table and figure anew from the results on disk."""
    runs = runs_table(sweep, jobs, store)
    _write_parquet(runs, store.path / "runs.parquet")
    summary = summary_table(runs, sweep)
    write_text_whole(store.path / "summary.csv", guarded_csv(summary.assign(**{COLUMN: False})))
    _write_failures(sweep, runs, store.path / "failures.txt")
    _write_timings(jobs, store)
    drawn = []
    if draw and (runs["status"] == "ok").any():
        from geodp.sweeps.figures import write_figures

        drawn = write_figures(sweep, runs, store.path / "figures")
    from geodp.sweeps.report import report_html

    write_text_whole(store.path / "report.html", report_html(sweep, runs, summary, drawn, store.notices()))
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
    written = [*OUTPUT, *(f"figures/{path.with_suffix(end).name}" for path in drawn for end in (".png", ".svg"))]
    store.write_manifest(facts | {"files": {name: digest(store.path / name) for name in written}})


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
        row: dict[str, Any] = {"cell": job["cell"], "run_id": job["run_id"], "seed": job["seed"]}
        row |= {"status": outcome["status"], "error": outcome["error"]}
        row |= cells[job["cell"]].values
        rows.append(row | {key: outcome["metrics"].get(key) for key in metrics})
    frame = pd.DataFrame(rows, columns=[*OWN_COLUMNS, *sweep.varied, *metrics])
    for path in sweep.varied:
        frame[path] = _column(frame[path])
    return frame.astype(dict.fromkeys(metrics, "float64"))


def _column(values: pd.Series[Any]) -> pd.Series[Any]:
    """Make a varied path one type: numbers where all are numbers, else text."""
    plain = [value for value in values if value is not None]
    if plain and all(isinstance(value, int | float) and not isinstance(value, bool) for value in plain):
        return values.astype("float64")
    return values.map(as_text).astype("object")


def summary_table(runs: pd.DataFrame, sweep: LoadedSweep) -> pd.DataFrame:
    """Return mean, 95 % interval and n of every metric in every cell, and paired differences against the baseline.

    Cells share their seeds, so a difference is taken seed by seed: its interval is that of the mean difference.
    """
    metrics = metric_columns(runs, sweep.varied)
    good = runs[runs["status"] == "ok"]
    base = good[good["cell"] == sweep.baseline().name].set_index("seed")
    rows = []
    for cell, own in good.groupby("cell", sort=True):
        by_seed = own.set_index("seed")
        for key in metrics:
            average = mean(by_seed[key].dropna())
            gaps = (by_seed[key] - base[key]).dropna()
            gap = mean(gaps)
            row: dict[str, Any] = {"cell": cell} | {path: own[path].iloc[0] for path in sweep.varied}
            row |= {"metric": key, "mean": average.value, "low": average.low, "high": average.high}
            row |= {"n": int(by_seed[key].notna().sum())}
            row |= {"difference": gap.value, "difference_low": gap.low, "difference_high": gap.high}
            rows.append(row | {"pairs": len(gaps)})
    numbers = ["mean", "low", "high", "difference", "difference_low", "difference_high"]
    columns = ["cell", *sweep.varied, "metric", *numbers[:3], "n", *numbers[3:], "pairs"]
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(numbers, "float64"))


def metric_columns(runs: pd.DataFrame, varied: list[str]) -> list[str]:
    """Return the metrics of a runs table, without the intervals that single runs carry."""
    others = {*OWN_COLUMNS, *varied}
    return [key for key in runs.columns if key not in others and not key.endswith(("_low", "_high"))]


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
    frame = pd.DataFrame({key: [outcome[key] for outcome in made] for key in ("run_id", "cell", "seed", "seconds")})
    frame["seconds"] = frame["seconds"].astype(np.float64)
    write_whole(store.path / "timings.parquet", lambda partial: write_simulated(frame, partial))
