"""A run at a glance, in a notebook or on a terminal: its numbers and its promise."""

from __future__ import annotations

import re
import sys
from html import escape, unescape
from typing import TYPE_CHECKING

from geodp.metrics import Measured
from geodp.pages.quantity import UNDEFINED, with_interval
from geodp.runs.measure import measurements
from geodp.runs.promise import promise_lines
from geodp.storage.markdown import as_words, printable

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder

HEADLINES = {
    "tasks_arrived": "tasks that arrived",
    "success_rate": "tasks taken by a worker",
    "planned_success": "tasks that the server expected to be taken",
    "notified_workers": "workers asked per task",
    "travel_distance_m": "way of a worker to a task",
    "waiting_time_s": "time until a task was done",
    "reward_spent": "reward spent",
    "epsilon_spent": "ε spent per person",
    "attack_error_m": "error of an adversary, from one moment",
    "interaction_leakage_mean": "disclosed by answering offers, per worker",
}
"""The numbers that are shown first, with their words."""
_NOT_RELEASABLE = "Simulated noise: not releasable."


def is_notebook() -> bool:
    """Tell whether this runs in a notebook, where things show themselves."""
    shell = sys.modules.get("IPython")
    running = None if shell is None else shell.get_ipython()
    return running is not None and hasattr(running, "kernel")


def describe_in_html(run: RunFolder) -> str:
    """Return title, numbers and promise as HTML; every word of a run is escaped."""
    name, about = escape(run.scenario.name), escape(run.scenario.about)
    heads, rows = _tabulate(run)
    head = "".join(f"<th>{escape(one)}</th>" for one in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    promises = "".join(f"<li>{_style(line)}</li>" for line in _list_promises(run))
    return (
        f"<h3>{name}</h3><p>{about}</p><p><em>{_NOT_RELEASABLE}</em></p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        f"<h4>What is promised</h4><ul>{promises}</ul>"
    )


def describe_in_text(run: RunFolder) -> str:
    """Return title, numbers and promise as plain text."""
    heads, rows = _tabulate(run)
    wide = [max(len(row[column]) for row in (heads, *rows)) for column in range(len(heads))]
    lines = ["  ".join(map(str.ljust, row, wide)).rstrip() for row in (heads, *rows)]
    promises = [f"- {_style(line, plain=True)}" for line in _list_promises(run)]
    return "\n".join(
        [
            printable(run.scenario.name),
            printable(run.scenario.about.strip()),
            _NOT_RELEASABLE,
            "",
            *lines,
            "",
            "What is promised",
            *promises,
            "",
            "The map: run.map().save('map.html'). All numbers: run.metrics, run.summary().",
        ]
    )


def _tabulate(run: RunFolder) -> tuple[list[str], list[list[str]]]:
    """Return the heads and the rows of the table of numbers: a column per arm."""
    runs = run.arms or {"value": run}
    found = [{key: (metric.unit_of(key), value) for metric, key, value in measurements(one)} for one in runs.values()]
    rows = []
    for key, words in HEADLINES.items():
        measured = [one.get(key, ("", Measured(None))) for one in found]
        cells = [with_interval(value, unit) for unit, value in measured]
        if any(cell != UNDEFINED for cell in cells):
            rows.append([words, *cells])
    return ["", *runs], rows


def _list_promises(run: RunFolder) -> list[str]:
    if not run.arms:
        return [line for line in promise_lines(run) if line]
    return [f"**{as_words(name)}**: {line}" for name, arm in run.arms.items() for line in promise_lines(arm) if line]


def _style(text: str, *, plain: bool = False) -> str:
    """Return a promise, which is Markdown, as HTML or plain text: bold and code are all the markup that it has."""
    parts, inside = [], {"**": False, "`": False}
    for part in re.split(r"(?<!\\)(\*\*|`)", text):
        if part in inside:
            inside[part] = not inside[part]
            tag = "b" if part == "**" else "code"
            parts.append("" if plain else f"<{tag}>" if inside[part] else f"</{tag}>")
        else:
            words = unescape(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", part))
            parts.append(words if plain else escape(words))
    return "".join(parts)
