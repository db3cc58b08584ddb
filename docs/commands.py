"""Writes the page of commands, straight from the command line itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docs.fields import escape_cell

_INTRODUCTION = """# Commands

Every command answers `--help`. Anywhere on the line: `--debug` shows the traceback of an error, `--quiet` prints errors
only. Exit codes: 0 everything asked for was done, 1 refuted or failed, 2 bad input, 130 interrupted.
"""


def write_page(path: Path) -> None:
    """Write the page."""
    parts = [_INTRODUCTION]
    for words, command in list_commands():
        parts.append(_describe(words, command))
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def list_commands() -> Iterator[tuple[str, Any]]:
    """Yield the words of every command, and the command."""
    import typer

    from geodp.cli.main import app

    def walk(group: Any, above: str) -> Iterator[tuple[str, Any]]:
        for name, command in group.commands.items():
            if getattr(command, "hidden", False):
                continue
            yield f"{above} {name}", command
            if hasattr(command, "commands"):
                yield from walk(command, f"{above} {name}")

    yield from walk(typer.main.get_command(app), "geodp")


def _describe(words: str, command: Any) -> str:
    level = "##" if words.count(" ") == 1 else "###"
    about = " ".join((command.help or "").split())
    parts = [f"{level} {words}", escape_cell(about)]
    if hasattr(command, "commands"):
        return "\n\n".join(parts)
    arguments = [one for one in command.params if not one.opts[0].startswith("-")]
    options = [one for one in command.params if one.opts[0].startswith("-") and not getattr(one, "hidden", False)]
    usage = [words, *(_argument(one) for one in arguments), *(["[OPTIONS]"] if options else [])]
    parts.append(f"```text\n{' '.join(usage)}\n```")
    rows = ["| argument or option | meaning | default |", "|---|---|---|"]
    rows += [f"| `{_argument(one)}` | {_help(one)} | {_default(one)} |" for one in arguments]
    rows += [f"| `{_option(one)}` | {_help(one)} | {_default(one)} |" for one in options]
    return "\n\n".join([*parts, "\n".join(rows)])


def _argument(one: Any) -> str:
    name = (one.metavar or one.name.upper()).strip("[]")
    return name if one.required else f"[{name}]"


def _option(one: Any) -> str:
    names = ", ".join([*one.opts, *one.secondary_opts])
    value = "" if getattr(one, "is_flag", False) else f" {one.metavar or 'N'}"
    return names + value


def _help(one: Any) -> str:
    text = re.sub(r"\s*\[default: [^\]]*\]", "", one.help or "")
    return escape_cell(text + (" May be given again." if getattr(one, "multiple", False) else ""))


def _default(one: Any) -> str:
    said = re.search(r"\[default: ([^\]]*)\]", one.help or "")
    if said:
        return escape_cell(said.group(1))
    if one.required:
        return "required"
    value = one.default
    return "" if value in (None, False, ()) or callable(value) else f"`{value}`"
