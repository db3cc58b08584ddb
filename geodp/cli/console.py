"""What all commands share: flags that may stand anywhere, printing that respects them, and common options."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

ANYWHERE = {"--debug", "--quiet"}
"""Flags that may stand before or after the command."""
flags: set[str] = set()
"""Those that were given to this call."""


def say(*lines: str) -> None:
    """Print, unless only errors were asked for."""
    if "--quiet" not in flags:
        for line in lines:
            typer.echo(line)


def warn(text: str) -> None:
    """Print a warning where errors go, unless only errors were asked for."""
    if "--quiet" not in flags:
        typer.echo(f"warning: {text}", err=True)


def overrides(settings: list[str] | None) -> dict[str, Any]:
    """Return what `--set PATH=VALUE …` states."""
    from geodp.scenario.file import parse_override

    return dict(parse_override(text) for text in settings or [])


def write_json(path: Path | None, values: Any) -> None:
    """Write what was printed as JSON, too, where a file was named for it."""
    if path is not None:
        from geodp.run_folder.folder import write_text

        write_text(path, json.dumps(values, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def warn_left_out(name: object, plugins: Iterable[str]) -> None:
    """Say which plug-in files of a scenario or run were not loaded, where there are any."""
    if files := list(plugins):
        from geodp.scenario.stand_ins import not_loaded

        warn(f"{name}: {not_loaded(files)}")


def _load(files: list[Path] | None) -> list[Path] | None:
    """Load plug-in files before anything else is looked at."""
    from geodp.registry import load_given

    load_given(files or [])
    return files


Plugins = Annotated[
    list[Path] | None,
    typer.Option(
        "--plugin", metavar="FILE", callback=_load, is_eager=True, help="Load your own plug-ins from a Python file."
    ),
]
"""Files with plug-ins; they are loaded while the command line is read, so that no command has to."""
ScenarioFile = Annotated[Path, typer.Argument(metavar="FILE", help="Scenario file (YAML).")]
RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A finished run folder.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Override a dotted path, e.g. curator.mechanism.epsilon=0.5."),
]
TrustPlugins = Annotated[
    bool, typer.Option("--trust-plugins", help="Load the plug-in files it names: programs of whoever made it.")
]
Processes = Annotated[int | None, typer.Option("--workers", min=1, help="Processes [default: all cores].")]
JsonFile = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the result as JSON, too.")]
