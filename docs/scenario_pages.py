"""Writes the page of the shipped scenarios: what each asks, and its file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml

from docs.fields import escape_cell


@dataclass(frozen=True)
class Shipped:
    """A shipped scenario."""

    name: str
    about: str
    text: str
    question: str
    """What it asks: the first line of the file, up to its question mark."""
    more: str
    """The rest of that line."""


def read_shipped(folder: Path) -> list[Shipped]:
    """Read the scenarios of a folder; the first is `quickstart`."""
    found = []
    for path in sorted(folder.glob("*.yaml"), key=lambda path: (path.stem != "quickstart", path.stem)):
        text = path.read_text(encoding="utf-8")
        about = " ".join(yaml.safe_load(text).get("about", "").split())
        found.append(Shipped(path.stem, about, text, *_split_question(text, about)))
    return found


def _split_question(text: str, about: str) -> tuple[str, str]:
    """Return the question of a file and what its first line adds; where it asks nothing, the line itself."""
    first = text.partition("\n")[0]
    line = first.removeprefix("#").strip() if first.startswith("#") else about
    asked, mark, more = line.partition("?")
    return (asked + mark, more.strip()) if mark else (line, "")


def write_page(folder: Path, path: Path) -> list[Shipped]:
    """Write the page, and return the scenarios."""
    shown = read_shipped(folder)
    parts = [
        "# Shipped scenarios",
        "Each is one YAML file to start from; its map is in the [gallery](../gallery/index.md).",
    ]
    for one in shown:
        parts += [
            f"## {one.name}",
            f"**{one.question}** {one.more}".strip(),
            one.about,
            f'??? note "the file"\n\n    ```yaml\n{_indent(one.text)}\n    ```',
        ]
    parts += [
        "## Figures of papers",
        "`geodp figures ID` makes one; [Reproduction](../reproduction.md) has the numbers.",
    ]
    parts.append("\n".join(_list_figures(folder / "figures")))
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return shown


def _list_figures(folder: Path) -> list[str]:
    rows = ["| id | what it shows | source |", "|---|---|---|"]
    for path in sorted(folder.glob("*.yaml")):
        figure = yaml.safe_load(path.read_text(encoding="utf-8"))["figure"]
        rows.append(f"| `{path.stem}` | {escape_cell(figure['title'])} | {escape_cell(figure.get('source', ''))} |")
    return rows


def _indent(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.strip().splitlines())
