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
from geodp.pages.labels import find_label
from geodp.pages.quantity import ROUNDING, with_interval
from geodp.runs.measure import measurements
from geodp.storage.csv_cells import make_guarded_csv
from geodp.storage.markdown import as_code
from geodp.storage.stamp import COLUMN

if TYPE_CHECKING:
    import pandas as pd

    from geodp.run_folder.folder import RunFolder

SAID = (
    "success_rate",
    "success_gap",
    "notified_workers",
    "travel_distance_m",
    "execution_cost_m",
    "distance_error_m",
    "rejection_ratio",
    "reward_spent",
    "waiting_time_s",
    "prilocation_distance_error",
    "mae",
    "topk_mae",
    "visit_count_error",
)
"""Metrics read out in words, in this order; the tables have all."""
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
                gap, pairs = _pair_tasks(metric, runs[name], runs[baseline])
            if gap is None:
                gap = difference(found[name], found[baseline])
                gap = Measured(gap.value) if twins[name] else gap  # the same luck, and no pairs: no interval
            row |= _spread(f"{name} - {baseline}", gap) | {f"{name} - {baseline} pairs": pairs}
            row["paired"] = row["paired"] and pairs is not None
        rows.append(row)
    frame = pd.DataFrame(rows)
    counts = [f"{name} - {baseline} pairs" for name in others]
    numbers = [column for column in frame.columns if column not in _OWN_COLUMNS and column not in counts]
    return frame.astype(dict.fromkeys(numbers, "Float64") | dict.fromkeys(counts, "Int64"))


def comparison_csv(table: pd.DataFrame) -> str:
    """Return a comparison as csv, stamped like everything that comes of a simulation."""
    return make_guarded_csv(table.assign(**{COLUMN: False}))


def same_world(first: RunFolder, second: RunFolder) -> bool:
    """Tell whether two runs met the same tasks: same ids, arrival times and places."""
    columns = ["arrived_s", "x_m", "y_m"]
    return bool(first.tasks[columns].equals(second.tasks[columns]))


def _pair_tasks(metric: Metric, run: RunFolder, base: RunFolder) -> tuple[Measured | None, int | None]:
    """Return the difference over the tasks defined in both runs, and their number."""
    here, there = metric.per_task(run), metric.per_task(base)
    if here is None or there is None:
        return None, None
    gaps = (here - there).dropna()
    return (total(gaps) if metric.summed and len(gaps) else mean(gaps)), len(gaps)


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


def comparison_text(table: pd.DataFrame, runs: dict[str, RunFolder]) -> str:
    """Read the table out: for every run, what is clearly more or less than in the first, and what is not."""
    baseline, *others = runs
    rows = table.set_index("metric")
    paragraphs = []
    for name in others:
        gaps = {str(key): read_measured(rows.loc[key], f"{name} - {baseline}") for key in rows.index}
        units = {str(key): str(unit) for key, unit in rows["unit"].items()}
        head = f"**{as_code(name)} against {as_code(baseline)}**"
        paragraphs.append("\n\n".join(_read_out(head, gaps, units)))
    return "\n\n".join([*paragraphs, _how_to_read(runs)])


def _read_out(head: str, gaps: dict[str, Measured], units: dict[str, str]) -> list[str]:
    """Read out the differences between two runs: all metrics have their place in one of the sentences."""
    judged = {key: gap for key, gap in gaps.items() if gap.low is not None and gap.high is not None}
    clear = [key for key, gap in judged.items() if is_clear(gap)]
    open_ = [key for key, gap in gaps.items() if gap.value and key not in judged]
    said = [
        f"- {find_label(key).words}: {with_interval(gaps[key], units[key], signed=True)}"
        for key in SAID
        if key in clear
    ]
    further = [key for key in clear if key not in SAID]
    if further:
        said.append(f"- further: {_keys(further)} (see the table)")
    parts = [f"{head}:", "\n".join(said)] if said else [f"{head}: {_no_difference(len(judged))}"]
    unclear = [find_label(key).words for key in SAID if key in judged and key not in clear]
    if unclear and said:
        parts.append(f"No clear difference: {', '.join(unclear)}.")
    if open_:
        parts.append(f"Different, but without an interval that says whether by chance: {_keys(open_)}.")
    return parts


def is_clear(gap: Measured) -> bool:
    """Tell whether the interval of a difference leaves out zero, and what arithmetic leaves of zero."""
    return gap.low is not None and gap.high is not None and (gap.low > ROUNDING or gap.high < -ROUNDING)


def _no_difference(judged: int) -> str:
    if not judged:
        return "no metric has a difference with an interval, so nothing can be said about chance."
    return f"nothing differs by more than chance, in any of the {judged} metrics whose difference has an interval."


def _keys(keys: list[str]) -> str:
    return ", ".join(as_code(key) for key in keys)


def _how_to_read(runs: dict[str, RunFolder]) -> str:
    first, *others = runs.values()
    if all(same_world(first, other) for other in others):
        return (
            "Differences are per task, on the same tasks with the same luck, over the tasks for which both "
            "have a value (distances, for one, over tasks taken in both), or per person or venue for what is "
            "published; intervals are 95 %. Among many "
            "such differences, one in twenty looks clear by chance alone."
        )
    return (
        "**These runs met different tasks** (another seed, or another world), so nothing can be paired: the "
        "intervals are those of independent runs, and wider. Use `compare:` in one scenario, or the same "
        "seed and world, to compare methods on the same luck."
    )


def values_table(table: pd.DataFrame, names: list[str]) -> str:
    """Return every metric that at least one run has, side by side."""
    lines = ["| | " + " | ".join(as_code(name) for name in names) + " |", "|---" * (len(names) + 1) + "|"]
    for row in table.to_dict("records"):
        values = [read_measured(row, name) for name in names]
        if all(measured.value is None for measured in values):
            continue
        cells = [with_interval(measured, row["unit"]) for measured in values]
        lines.append(f"| {as_code(row['metric'])} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def differences_table(table: pd.DataFrame, names: list[str]) -> str:
    """Return every difference to the first run that there is, with its interval and the number of pairs."""
    baseline, *others = names
    heads = [f"{name} - {baseline}" for name in others]
    lines = [
        "| | " + " | ".join(f"{as_code(head)} | pairs" for head in heads) + " |",
        "|---" * (2 * len(heads) + 1) + "|",
    ]
    for row in table.to_dict("records"):
        if all(_number(row[head]) is None for head in heads):
            continue
        cells = []
        for head in heads:
            pairs = _number(row[f"{head} pairs"])
            cells += [
                with_interval(read_measured(row, head), row["unit"], signed=True),
                f"{pairs:,.0f}" if pairs else "",
            ]
        lines.append(f"| {as_code(row['metric'])} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def read_measured(row: Any, name: str) -> Measured:
    """Return what a row of a comparison says about one run, or one difference."""
    return Measured(_number(row[name]), _number(row[f"{name} low"]), _number(row[f"{name} high"]))


def _number(value: Any) -> float | None:
    import pandas as pd

    return None if pd.isna(value) else float(value)
