"""Writes a page per family of plug-ins: options with units and defaults, guarantee, formula and references."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from docs.fields import describe, escape_cell
from geodp.registry import PLACES, ROOMS, Plugin, plugins

TITLES = {
    "loader": ("Loaders", "Formats that are read: `geodp datasets convert --format KIND`."),
    "source": ("Sources of workers", "Where workers come from."),
    "mobility": ("Mobility", "How workers move."),
    "visit_source": ("Sources of visits", "Where workers have been, for what is published or told about visits."),
    "demand": ("Demand", "When and where tasks arise."),
    "acceptance": ("Acceptance", "How willing people are to take a task."),
    "device": ("Devices", "What a phone does to a place before it leaves: no trusted party is needed."),
    "history_report": ("History reports", "What phones tell about the places their owners have been to, by consent."),
    "mechanism": ("Mechanisms", "What the trusted curator releases about where workers are."),
    "publication": ("Publications", "What is published once: visits, counts of venues, trajectories."),
    "assignment": ("Assignments", "How the untrusted server turns releases into offers."),
    "attack": ("Attacks", "What an adversary guesses from what the server sees."),
    "metric": ("Metrics", "Numbers about a run. Values come with 95 % intervals as `KEY_low` and `KEY_high`."),
    "layer": ("Map layers", "What is drawn on a map."),
    "figure": ("Kinds of figures", "How the figures of papers are made (`geodp figures`)."),
}
_SECTION = re.compile(r"^([A-Z][\w ]*)\n-+\n", re.M)


def write_pages(folder: Path) -> list[dict[str, str]]:
    """Write the pages, and return their entries in the navigation."""
    folder.mkdir(parents=True)
    entries = []
    for family in ROOMS:
        title, about = TITLES.get(family, (family.replace("_", " ").capitalize(), ""))
        own = {kind: cls for kind, cls in plugins(family).items() if cls.__module__.startswith("geodp.")}
        place = f" A scenario names them under [`{PLACES[family]}`](../scenario.md)." if family in PLACES else ""
        parts = [f"# {title}", about + place, _overview(own)]
        parts += [_describe(cls) for cls in own.values()]
        (folder / f"{family}.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
        entries.append({title: f"reference/plugins/{family}.md"})
    return entries


def split_docstring(cls: type[Plugin]) -> tuple[str, dict[str, str]]:
    """Return the text of a docstring below its first line, and its titled sections."""
    text = (inspect.getdoc(cls) or "").partition("\n")[2].strip()
    head, *rest = _SECTION.split(text)
    return head.strip(), {title: body.strip() for title, body in zip(rest[::2], rest[1::2], strict=True)}


def _overview(own: dict[str, type[Plugin]]) -> str:
    rows = [f"- [`{kind}`](#{kind}): {_safe(cls.headline())}" for kind, cls in own.items()]
    return "\n".join(rows)


def _describe(cls: type[Plugin]) -> str:
    about, sections = split_docstring(cls)
    parts = [f"## `{cls.kind}` {{ #{cls.kind} }}", _safe(cls.headline())]
    if "Formula" in sections:
        parts.append(f"```text\n{sections['Formula']}\n```")
    parts += [_safe(about)] if about else []
    parts += [facts] if (facts := _facts(cls)) else []
    parts += [f"**Guarantee.** {_safe(sections['Guarantee'])}"] if "Guarantee" in sections else []
    parts += [f"**Reference.** {_safe(sections['Reference'])}"] if "Reference" in sections else []
    parts += [_options(cls)]
    return "\n\n".join(part for part in parts if part)


def _facts(cls: Any) -> str:
    """Say what a plug-in reads and releases; of a metric its unit and direction."""
    said = []
    if cls.family == "metric":
        units = [cls.unit or "none", *(f"`{key}`: {unit or 'none'}" for key, unit in cls.units.items())]
        better = {"higher": "higher is better", "lower": "lower is better"}.get(cls.better, "neither is better")
        said += [f"Unit: {', '.join(units)}", better]
        said += ["may be shown in public output"] if cls.public else []
    said += [f"reads {', '.join(sorted(cls.reads))}"] if cls.reads else []
    said += [f"releases {', '.join(sorted(cls.releases))}"] if cls.releases else []
    return f"*{'; '.join(said)}.*" if said else ""


def _options(cls: type[Plugin]) -> str:
    fields = describe(cls)
    if not fields:
        return ""
    rows = ["| key | what may stand there | unit | default | meaning |", "|---|---|---|---|---|"]
    rows += [
        f"| `{one.name}` | {' | '.join(map(escape_cell, (one.type_name, one.unit, one.default, one.about)))} |"
        for one in fields
    ]
    return "\n".join(rows)


def _safe(text: str) -> str:
    """Keep what docstrings say from being read as HTML or emphasis."""
    parts = re.split(r"(``?[^`]+``?)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([<*_|])", r"\\\1", part) for part in parts)
