"""The summary of a comparison: what differs between the arms, and by how much beyond chance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from geodp.metrics import Measured
from geodp.runs.adversary import adversary_lines
from geodp.runs.compare import compare_runs, same_world
from geodp.runs.measure import measurements
from geodp.runs.promise import promise_lines
from geodp.runs.quantity import with_interval
from geodp.runs.remarks import remarks
from geodp.storage.markdown import as_code, as_words

if TYPE_CHECKING:
    import pandas as pd

    from geodp.run_folder.folder import RunFolder

_TOLD = {
    "success_rate": "tasks taken",
    "success_gap": "realised minus planned success",
    "notified_workers": "workers asked per task",
    "travel_distance_m": "distance travelled",
    "execution_cost_m": "total distance of all who were asked",
    "distance_error_m": "error about distances",
    "rejection_ratio": "tasks out of reach",
    "reward_spent": "reward spent",
    "waiting_time_s": "time until a task is done",
    "prilocation_distance_error": "distance of published visits from the true ones",
    "mae": "mean error of published venue counts",
    "topk_mae": "mean error of the most visited venues' counts",
    "visit_count_error": "error of published numbers of visits",
}
"""Metrics told in words, in this order; the tables have all."""


def comparison_summary(run: RunFolder) -> str:
    """Return the summary of a comparison as Markdown."""
    from geodp.runs.summary import STAMP, repeat_lines

    arms = run.arms
    table = compare_runs(arms)
    parts = [
        f"# {as_words(run.scenario.name)}",
        as_words(run.scenario.about),
        STAMP,
        "## What is compared",
        _arms_list(run),
        "## What differs",
        comparison_text(table, arms),
        "## What is promised",
        *_promises(arms),
        "## What the protocol gives away",
        _disclosures(table, list(arms)),
        *adversary_lines(arms),
        *_careful(arms),
        "## Numbers",
        values_table(table, list(arms)),
        "## Differences",
        differences_table(table, list(arms)),
        "## Again",
        repeat_lines(run),
        "## Files",
        _files(run),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def comparison_text(table: pd.DataFrame, runs: dict[str, RunFolder]) -> str:
    """Read the table out: for every run, what is clearly more or less than in the first, and what is not."""
    baseline, *others = runs
    rows = table.set_index("metric")
    paragraphs = []
    for name in others:
        gaps = {str(key): _measured(rows.loc[key], f"{name} - {baseline}") for key in rows.index}
        units = {str(key): str(unit) for key, unit in rows["unit"].items()}
        head = f"**{as_code(name)} against {as_code(baseline)}**"
        paragraphs.append("\n\n".join(_read_out(head, gaps, units)))
    return "\n\n".join([*paragraphs, _how_to_read(runs)])


def _read_out(head: str, gaps: dict[str, Measured], units: dict[str, str]) -> list[str]:
    """Tell the differences between two runs: all metrics have their place in one of the sentences."""
    judged = {key: gap for key, gap in gaps.items() if gap.low is not None and gap.high is not None}
    clear = [key for key, gap in judged.items() if (gap.low or 0) > 0 or (gap.high or 0) < 0]
    open_ = [key for key, gap in gaps.items() if gap.value and key not in judged]
    told = [
        f"- {words}: {with_interval(gaps[key], units[key], signed=True)}"
        for key, words in _TOLD.items()
        if key in clear
    ]
    further = [key for key in clear if key not in _TOLD]
    if further:
        told.append(f"- further: {_keys(further)} (see the table)")
    parts = [f"{head}:", "\n".join(told)] if told else [f"{head}: {_no_difference(len(judged))}"]
    unclear = [words for key, words in _TOLD.items() if key in judged and key not in clear]
    if unclear and told:
        parts.append(f"No clear difference: {', '.join(unclear)}.")
    if open_:
        parts.append(f"Different, but without an interval that says whether by chance: {_keys(open_)}.")
    return parts


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
        values = [_measured(row, name) for name in names]
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
            pairs = row[f"{head} pairs"]
            cells += [with_interval(_measured(row, head), row["unit"], signed=True), _count(pairs)]
        lines.append(f"| {as_code(row['metric'])} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _measured(row: Any, name: str) -> Measured:
    return Measured(_number(row[name]), _number(row[f"{name} low"]), _number(row[f"{name} high"]))


def _number(value: Any) -> float | None:
    import pandas as pd

    return None if pd.isna(value) else float(value)


def _count(value: Any) -> str:
    import pandas as pd

    return "" if pd.isna(value) else f"{int(value):,}"


def _promises(arms: dict[str, RunFolder]) -> list[str]:
    """Return each promise once, with the arms that make it."""
    makers: dict[str, list[str]] = {}
    for name, arm in arms.items():
        makers.setdefault(" ".join(line for line in promise_lines(arm) if line), []).append(as_code(name))
    return [f"{', '.join(names)}: {promise}" for promise, names in makers.items()]


def _disclosures(table: pd.DataFrame, names: list[str]) -> str:
    rows = table.set_index("metric")
    lines = ["**No ε is claimed for all that the server sees.** Declining offers disclosed:", ""]
    for name in names:
        mean, largest = (
            with_interval(_measured(rows.loc[f"interaction_leakage_{which}"], name), "nats")
            for which in ("mean", "max")
        )
        lines.append(f"- {as_code(name)}: {mean} on average, {largest} for the worst-off worker")
    return "\n".join(lines)


def _careful(arms: dict[str, RunFolder]) -> list[str]:
    """Return each remark once, with the arms it concerns."""
    concerned: dict[str, list[str]] = {}
    for name, arm in arms.items():
        for remark in remarks(arm, {key: value for _, key, value in measurements(arm)}):
            concerned.setdefault(remark, []).append(as_code(name))
    if not concerned:
        return []
    return ["## Take care", "\n".join(f"- {', '.join(names)}: {text}" for text, names in concerned.items())]


def _arms_list(run: RunFolder) -> str:
    lines = []
    for number, (name, changes) in enumerate(run.scenario.compare.items()):
        changed = ", ".join(as_code(f"{path}: {_as_written(value)}") for path, value in (changes or {}).items())
        role = " (baseline)" if number == 0 else ""
        lines.append(f"- {as_code(name)}{role}: {changed or 'the scenario as it stands'}")
    return "\n".join(lines)


def _as_written(value: Any) -> str:
    """Return a value as a scenario has it."""
    import yaml

    text = str(yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=1000))
    return text.removesuffix("...\n").strip()


def _files(run: RunFolder) -> str:
    own = [
        "- `map.html`: the map, with a group of layers per arm",
        "- `comparison.csv`: the tables of this page, unrounded",
    ]
    return "\n".join(own + [f"- `arms/{name}/summary.md`: the arm `{name}` by itself" for name in run.arms])
