"""The commands of `geodp scenarios`: what comes with geodp, and copies of it to change."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Annotated

import typer

from geodp.cli.completion import complete_copied
from geodp.cli.console import Json, print_json, say, suggest

app = typer.Typer(context_settings={"help_option_names": ["-h", "--help"]})
_WIDTH = 110


@app.callback(invoke_without_command=True)
def _scenarios(context: typer.Context) -> None:
    """List the scenarios that come with geodp, or copy one with all it names."""
    if context.invoked_subcommand is None:
        list_()


@app.command("list")
def list_(_json: Json = False) -> None:
    """List the scenarios and sweeps that come with geodp, each with its question."""
    from geodp.scenario.shipped import list_shipped

    files = list_shipped()
    names = ("name", "kind", "question", "about", "path")
    print_json([{name: getattr(file, name) for name in names} for file in files])
    width = max(len(file.name) for file in files)
    for kind in dict.fromkeys(file.kind for file in files):
        say(f"{kind}s")
        for file in files:
            if file.kind == kind:
                lead = f"  {file.name:<{width}}  "
                say(textwrap.fill(file.question, _WIDTH, initial_indent=lead, subsequent_indent=" " * len(lead)))
        say("")
    suggest(
        "geodp run NAME runs a scenario, geodp sweep NAME a sweep",
        "geodp scenarios copy NAME brings one here, to change it; geodp figures lists the papers' figures",
    )


@app.command("copy")
def copy(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="Scenario, sweep or figure, e.g. quickstart.", autocompletion=complete_copied
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where it goes.")] = Path(),
    _json: Json = False,
) -> None:
    """Copy a scenario, sweep or figure file here, with the files it names; nothing is ever replaced."""
    from geodp.scenario.shipped import copy_shipped

    written = copy_shipped(name, out)
    print_json({"written": written})
    say(*(f"wrote {path}" for path in written))
    command = {"sweeps": "sweep", "figures": "figures"}.get(written[0].parent.name, "run")
    suggest(f"change {written[0]}, then: geodp {command} {written[0]}")
