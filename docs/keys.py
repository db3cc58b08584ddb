"""Writes the page of keys: what may stand in a scenario, in a sweep and in a figure, with units and defaults."""

from __future__ import annotations

from pathlib import Path

from docs.fields import describe, escape_cell
from geodp.model import Model

_INTRODUCTION = """# Scenario and sweep keys

A scenario is one YAML file. `geodp new NAME` writes one with comments, `geodp check FILE` lists all its mistakes at
once, and `geodp schema` prints this page for editors. A key that is not here is an error that names the nearest one.
Where a *plug-in* stands, write its `kind` and its keys beside it: `{kind: contour, epsilon: 0.3}`, or the kind alone.

Any key can be set from outside by its dotted path: `geodp run FILE --set curator.mechanism.epsilon=0.5`.
"""


def write_page(path: Path) -> None:
    """Write the page."""
    from geodp.curator.personal_levels import CountLevel
    from geodp.device.history_reports.epicrec import ConsentGroup
    from geodp.device.planar import PlanarLevel
    from geodp.scenario.schema import Scenario
    from geodp.sweeps.sweep_file import Sweep

    parts = [_INTRODUCTION, *_sections(Scenario, "Scenario", "", 2)]
    for group, where in ((PlanarLevel, "device"), (CountLevel, "mechanism"), (ConsentGroup, "history_report")):
        parts += _sections(group, f"A group of people, by its name, under the levels of a {where}", "", 3)
    parts.append("A sweep is a file of its own: many runs of one scenario, resumable (`geodp sweep FILE --out DIR`).")
    sweep = _sections(Sweep, "Sweep", "", 2)
    path.write_text("\n\n".join([*parts[:-1], sweep[0], parts[-1], *sweep[1:]]) + "\n", encoding="utf-8")


def _sections(cls: type[Model], title: str, above: str, level: int) -> list[str]:
    """Return a heading, a table of the keys of a section, and the sections below it."""
    fields = describe(cls)
    rows = ["| key | what may stand there | unit | default | meaning |", "|---|---|---|---|---|"]
    rows += [
        f"| `{one.name}` | {_what(one.type_name, one.family, one.below, above + one.name)} | {one.unit} | "
        f"{escape_cell(one.default)} | {escape_cell(one.about)} |"
        for one in fields
    ]
    heading = f"{'#' * level} {title}"
    parts = [heading, "\n".join(rows)]
    for one in fields:
        if one.below is not None:
            parts += _sections(one.below, f"`{above}{one.name}`", f"{above}{one.name}.", 3)
    return parts


def _what(words: str, family: str, below: type[Model] | None, path: str) -> str:
    if family:
        return f"[{family}](plugins/{family}.md)"
    if below is not None:
        return f"[section](#{path.replace('.', '')})"
    return escape_cell(words)
