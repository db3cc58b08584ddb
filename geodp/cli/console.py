"""What all commands share: flags that may stand anywhere, printing that respects them, and `--set`."""

from __future__ import annotations

from typing import Any

import typer

ANYWHERE = {"--debug", "--quiet"}
"""Flags that may stand before or after the command."""
flags: set[str] = set()
"""Those that were given to this call."""


def say(text: str) -> None:
    """Print, unless only errors were asked for."""
    if "--quiet" not in flags:
        typer.echo(text)


def warn(text: str) -> None:
    """Print a warning where errors go, unless only errors were asked for."""
    if "--quiet" not in flags:
        typer.echo(f"warning: {text}", err=True)


def overrides(settings: list[str] | None) -> dict[str, Any]:
    """Return what `--set PATH=VALUE …` states."""
    from geodp.scenario.file import parse_override

    return dict(parse_override(text) for text in settings or [])
