"""What the command line shows of a sweep."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from geodp.sweeps.sweep import Progress, SweepResult, plan_sweep, sweep
from geodp.sweeps.sweep_file import load_sweep

_NOTICES = 10  # that are printed; runs of other seeds say the same with other numbers


def dry_run_text(file: Path, out: Path | None, workers: int | None) -> str:
    """Say cells, runs and expected time."""
    target = out or Path("runs") / load_sweep(file).sweep.name
    plan = plan_sweep(file, target)
    left = plan.runs - plan.finished
    text = f"{plan.cells} cells, {plan.runs} runs, {plan.finished} of them finished in {target}"
    if plan.problem:
        return f"{text}\nexpected time: unknown, for the first run fails: {plan.problem}"
    lanes = min(workers or os.cpu_count() or 1, max(left, 1))
    basis = f", by a trial of the first run ({duration(plan.seconds_per_run)})" if plan.tried else ""
    return f"{text}\nexpected time: {duration(plan.seconds_per_run * left / lanes)} on {lanes} processes{basis}"


def watched_sweep(
    file: Path, out: Path | None, *, quiet: bool, overrides: Mapping[str, Any], **options: Any
) -> SweepResult:
    """Run a sweep with a progress line on a terminal; failures are printed as they happen."""
    if quiet or not sys.stderr.isatty():
        return sweep(file, out, overrides=overrides, on_failure=_print_failure, **options)
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bars

    console = Console(stderr=True)
    columns = (TextColumn("sweep"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Bars(*columns, console=console, transient=True) as bars:
        bar = bars.add_task("starting")

        def show(progress: Progress) -> None:
            left = progress.seconds_left()
            words = f"{progress.failed} failed" + (f", {duration(left)} left" if left is not None else "")
            bars.update(bar, total=progress.total, completed=progress.done + progress.failed, description=words)

        def tell(message: str) -> None:
            console.print(f"FAILED {message}", markup=False, highlight=False)

        return sweep(file, out, overrides=overrides, on_progress=show, on_failure=tell, **options)


def _print_failure(message: str) -> None:
    sys.stderr.write(f"FAILED {message}\n")
    sys.stderr.flush()


def finished_text(result: SweepResult) -> str:
    """Say what came out and where it is."""
    runs = result.runs
    failed = int((runs["status"] != "ok").sum())
    text = f"{len(runs) - failed} runs finished well, {failed} failed\nreport:  {result.path / 'report.html'}\n"
    text += f"tables:  {result.path / 'runs.parquet'}, {result.path / 'summary.csv'}"
    notices = result.folder.notices()
    told = [f"take care: {notice}" for notice in notices[:_NOTICES]]
    more = (
        [f"take care: {len(notices) - _NOTICES:,} more of these are in the report"] if len(notices) > _NOTICES else []
    )
    return "\n".join([text, *told, *more])


def duration(seconds: float) -> str:
    """Say a duration in the unit a person would use."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
