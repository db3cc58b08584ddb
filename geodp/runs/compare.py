"""Compare runs metric by metric, and task by task where they share a world.

Arms of a comparison meet the same tasks with the same luck, so what differs between two of them is the
method and not the draw: the difference is taken per task first, and the interval is that of the mean paired
difference (of their sum, for a metric that is a sum). Pairs are the tasks for which the metric is defined in
both runs: travel distance, for one, compares the tasks that somebody took in both. The difference is the one
over the pairs, so it may differ from the difference of the two values, which are over different tasks.

Runs of different worlds (another seed, another demand) have no pairs. Their differences are those of
independent runs, with the interval recovered from the two runs' own intervals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from geodp.errors import UsageError
from geodp.metrics import Measured, Metric
from geodp.metrics.intervals import difference, mean, total
from geodp.runs.measure import measurements
from geodp.storage.csv_cells import guarded_csv
from geodp.storage.stamp import COLUMN

if TYPE_CHECKING:
    import pandas as pd

    from geodp.run_folder.folder import RunFolder

_OWN_COLUMNS = ("metric", "unit", "better", "paired", COLUMN)


def compare_runs(runs: dict[str, RunFolder]) -> pd.DataFrame:
    """Put runs side by side; the first is the baseline.

    Returns
    -------
    pandas.DataFrame
        One row per metric: `metric, unit, better, paired`; for every run `<name>`, `<name> low`, `<name>
        high`; and for every run but the first `<name> - <first>` with ` low`, ` high` and ` pairs` (how many
        tasks the difference is taken over; missing where it is not taken task by task). `paired` is true
        where every difference of the row is.
    """
    import pandas as pd

    _check(runs)
    baseline, *others = runs
    metrics: dict[str, Metric] = {}
    values: dict[str, dict[str, Measured]] = {}
    for name, run in runs.items():
        for metric, key, measured in measurements(run):
            metrics.setdefault(key, metric)
            values.setdefault(key, {})[name] = measured
    twins = {name: same_world(runs[baseline], runs[name]) for name in others}
    rows = []
    for key, metric in metrics.items():
        found = {name: values[key].get(name, Measured(None)) for name in runs}
        row: dict[str, Any] = {
            "metric": key,
            "unit": metric.unit_of(key),
            "better": metric.better,
            "paired": True,
        }
        for name in runs:
            row |= _spread(name, found[name])
        for name in others:
            gap, pairs = None, None
            if twins[name] and key == metric.kind:
                gap, pairs = _paired(metric, runs[name], runs[baseline])
            if gap is None:
                gap = _unpaired(found[name], found[baseline], independent=not twins[name])
            row |= _spread(f"{name} - {baseline}", gap) | {f"{name} - {baseline} pairs": pairs}
            row["paired"] = row["paired"] and pairs is not None
        rows.append(row)
    frame = pd.DataFrame(rows)
    counts = [f"{name} - {baseline} pairs" for name in others]
    numbers = [column for column in frame.columns if column not in _OWN_COLUMNS and column not in counts]
    return frame.astype(dict.fromkeys(numbers, "Float64") | dict.fromkeys(counts, "Int64"))


def comparison_csv(table: pd.DataFrame) -> str:
    """Return a comparison as csv, stamped like everything that comes of a simulation."""
    return guarded_csv(table.assign(**{COLUMN: False}))


def same_world(first: RunFolder, second: RunFolder) -> bool:
    """Tell whether two runs met the same tasks: same ids, arrival times and places."""
    columns = ["arrived_s", "x_m", "y_m"]
    return bool(first.tasks[columns].equals(second.tasks[columns]))


def _paired(metric: Metric, run: RunFolder, base: RunFolder) -> tuple[Measured | None, int | None]:
    """Return the difference over the tasks defined in both runs, and their number."""
    here, there = metric.per_task(run), metric.per_task(base)
    if here is None or there is None:
        return None, None
    gaps = (here - there).dropna()
    return (total(gaps) if metric.summed and len(gaps) else mean(gaps)), len(gaps)


def _unpaired(first: Measured, second: Measured, *, independent: bool) -> Measured:
    """Return the difference of two values; runs on the same luck that have no pairs get no interval."""
    gap = difference(first, second)
    return gap if independent else Measured(gap.value)


def _spread(name: str, measured: Measured) -> dict[str, float | None]:
    return {name: measured.value, f"{name} low": measured.low, f"{name} high": measured.high}


def _check(runs: dict[str, RunFolder]) -> None:
    if len(runs) < 2:
        raise UsageError("a comparison needs at least two runs")
    for run in runs.values():
        if run.arms:
            arms = ", ".join(str(arm.path) for arm in run.arms.values())
            raise UsageError(f"{run.path} is itself a comparison. Name the arms you mean: {arms}")
    taken = [name for name in runs if name in _OWN_COLUMNS]
    if taken:
        raise UsageError(f"a run in a comparison cannot be called '{taken[0]}': that is a column of the table")
