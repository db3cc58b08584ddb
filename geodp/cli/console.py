"""What all commands share: flags that may stand anywhere, printing that respects them, and common options.

Texts for people go to standard output, warnings and problems to standard error. With `--json` one JSON document goes to
standard output and nothing else.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from geodp.cli.completion import complete_scenario

ANYWHERE = {"--debug", "--quiet"}
"""Flags that may stand before or after the command."""
flags: set[str] = set()
"""Those that were given to this call."""


JSON = "--json"
"""In `flags`: one JSON document is printed, and no text."""
STDOUT = Path("-")
"""What stands for standard output where a file may be named."""
WITH_JSON_FILE = ("audit", "advise", "describe")
"""Commands whose `--json` may name a file; without one it prints."""


def silent() -> bool:
    """Tell whether nobody wants to read texts: errors only, or JSON."""
    return not flags.isdisjoint({"--quiet", JSON})


def say(*lines: str) -> None:
    """Print for people, unless only errors or JSON were asked for."""
    if not silent():
        for line in lines:
            typer.echo(line)


@contextmanager
def tell_log() -> Iterator[None]:
    """Print what the library has to say before it acts, unless only errors or JSON were asked for."""
    log, handler = logging.getLogger("geodp"), _Sayer()
    before = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)


class _Sayer(logging.Handler):
    """Says what is logged, warnings on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.WARNING:
            typer.echo(record.getMessage(), err=True)
        else:
            say(record.getMessage())


def suggest(*steps: str, err: bool = False) -> None:
    """End a command by saying what to do next; `err` where standard output holds data."""
    if not silent():
        for number, step in enumerate(steps):
            typer.echo(f"{'' if number else 'next:':<6}{step}", err=err)


def print_json(values: Any) -> None:
    """Print one JSON document, where one was asked for; what is undefined is null."""
    if JSON in flags:
        typer.echo(json.dumps(plain_values(values), indent=2, ensure_ascii=False, allow_nan=False))


def plain_values(value: Any) -> Any:
    """Return values as JSON knows them: paths as text, numbers that are none as null."""
    if isinstance(value, Mapping):
        return {str(key): plain_values(part) for key, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain_values(part) for part in value]
    if hasattr(value, "item") and not hasattr(value, "__len__"):  # a number of numpy
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int | bool):
        return value
    return None if str(value) in ("<NA>", "NaT") else str(value)


def add_json_file(words: list[str]) -> list[str]:
    """Give `--json` the sign of standard output where a command takes a file with it, and none is named."""
    if not any(word in WITH_JSON_FILE for word in words[:2]):
        return words
    full = []
    for word, following in zip(words, [*words[1:], "--"], strict=True):
        full.append(word)
        if word == JSON and following.startswith("-") and following != str(STDOUT):
            full.append(str(STDOUT))
    return full


def warn(text: str) -> None:
    """Print a warning where errors go, unless only errors were asked for."""
    if "--quiet" not in flags:
        typer.echo(f"warning: {text}", err=True)


def overrides(settings: list[str] | None) -> dict[str, Any]:
    """Return what `--set PATH=VALUE …` states."""
    from geodp.scenario.file import parse_override

    return dict(parse_override(text) for text in settings or [])


def write_json(path: Path | None, values: Any) -> None:
    """Write what was said as JSON, too, where a file was named for it; or print it instead."""
    print_json(values)
    if path is not None and path != STDOUT:
        from geodp.run_folder.folder import write_text

        text = json.dumps(plain_values(values), indent=2, ensure_ascii=False, allow_nan=False)
        write_text(path, text + "\n")


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


def _note_json(wanted: Any) -> Any:
    """Note that JSON is wanted on standard output before anything else is looked at."""
    if wanted is True or (isinstance(wanted, Path) and wanted == STDOUT):
        flags.add(JSON)
    return wanted


Plugins = Annotated[
    list[Path] | None,
    typer.Option(
        "--plugin", metavar="FILE", callback=_load, is_eager=True, help="Load your own plug-ins from a Python file."
    ),
]
"""Files with plug-ins; they are loaded while the command line is read, so that no command has to."""
ScenarioFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="Scenario file (YAML), or the name of a shipped one.", autocompletion=complete_scenario
    ),
]
RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A finished run folder.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Override a dotted path, e.g. curator.mechanism.epsilon=0.5."),
]
TrustPlugins = Annotated[
    bool, typer.Option("--trust-plugins", help="Load the plug-in files it names: programs of whoever made it.")
]
Processes = Annotated[int | None, typer.Option("--workers", min=1, help="Processes [default: all cores].")]
Json = Annotated[
    bool,
    typer.Option(JSON, callback=_note_json, is_eager=True, help="Print one JSON document instead of text."),
]
JsonFile = Annotated[
    Path | None,
    typer.Option(
        JSON,
        metavar="[FILE]",
        callback=_note_json,
        is_eager=True,
        help="Write the result to FILE as JSON, too; without FILE print it instead of text.",
    ),
]
