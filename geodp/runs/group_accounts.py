"""What groups of people with levels of their own get, spend and lose to an attacker, as a table of the summary."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from geodp.metrics import Measured
from geodp.metrics.attacks import attack_scores
from geodp.pages.quantity import quantity, with_interval
from geodp.public.guarantee import Unit, short_decimal
from geodp.public.levels import GROUP
from geodp.runs.measure import measurements
from geodp.storage.markdown import as_code, as_words

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder


def group_lines(runs: dict[str, RunFolder]) -> list[str]:
    """Return a section on what each group with a level of its own gets, spends and loses ([] where all are alike)."""
    found = [(name, _describe_groups(run)) for name, run in runs.items()]
    parts = [f"**{as_words(name)}**. {text}" if name else text for name, text in found if text]
    return ["## What each group gets, spends and loses", *parts] if parts else []


def _describe_groups(run: RunFolder) -> str:
    """Return words and a table about the groups of one run ('' where all are alike)."""
    charges = run.charges(Unit.SNAPSHOT, Unit.USER, Unit.POINT)
    if charges.empty or not run.charged_apart:
        return ""
    measured = {key: value for _, key, value in measurements(run)}
    phones = run.scenario.curator is None
    sizes = run.groups.groupby("group").size()
    names = [str(name) for name in sizes.index] or [""]
    heads, rows = _group_columns(run, measured), []
    for name in names:
        own = (
            charges[charges["scope"].astype(str).str.contains(f"^{GROUP} {re.escape(name)}(?:,|$)")]
            if name
            else charges
        )
        cells = [as_words(name) or "everyone", f"{int(sizes.get(name, run.workers)):,}"]
        cells += [short_decimal(float(own["epsilon"].max())), short_decimal(float(own["total"].max()))]
        cells += [] if phones else [quantity(math.tanh(float(own["total"].max()) / 2), "share")]
        ending = f"_{name}" if name else ""
        cells += [with_interval(measured.get(key + ending, Measured(None)), unit) for key, _, unit in heads]
        rows.append("| " + " | ".join(cells) + " |")
    per = "ε per metre" if phones else "ε"
    head = ["group", "people", f"{per} of one {'report' if phones else 'release'}", f"{per} over the run"]
    head += [] if phones else ["most that presence shows"]
    head += [words for _, words, _ in heads]
    table = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|", *rows]
    return _explain_groups(run) + "\n\n" + "\n".join(table)


def _group_columns(run: RunFolder, measured: Mapping[str, Measured]) -> list[tuple[str, str, str]]:
    """Return keys, words and units of what is measured for each group."""
    heads = [] if run.counted is None else [("counted_share", "share of them counted (private)", "share")]
    for one in attack_scores(run) if run.scenario.curator is None else []:
        if measured.get(one.error_key, Measured(None)).value is not None:
            method = "" if one.hit_key else f", {as_code(one.method)}"
            heads.append((one.error_key, f"error of {as_code(one.kind)}{method}", "m"))
        if one.hit_key is not None and measured.get(one.hit_key, Measured(None)).value is not None:
            heads.append((one.hit_key, f"hits of {as_code(one.kind)}", "share"))
    return heads


def _explain_groups(run: RunFolder) -> str:
    text = "Who is in which group is public and was drawn by lot. "
    if run.scenario.curator is None:
        return text + (
            "Every report is read by the law of its own noise: by the server that plans, and by those who attack. "
            "Fewer hits and larger errors are what the more careful levels buy."
        )
    text += (
        "*Most that presence shows*: an attacker who knows everyone else tells whether somebody was there with an "
        "advantage (true less false alarms) of at most tanh(ε/2), whatever she looks at."
    )
    if run.counted is not None:
        text += (
            " Everyone pays for the releases that count her, out of a budget of her own; who has spent it is no longer "
            "counted. What share of the people was counted is truth, and never published."
        )
    return text
