"""The commands about scenario files: `geodp new`, `geodp check` and `geodp schema`."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from geodp.cli.console import (
    JSON,
    Json,
    Plugins,
    ScenarioFile,
    Settings,
    TrustPlugins,
    flags,
    overrides,
    print_json,
    say,
    suggest,
    warn,
    warn_left_out,
)


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the scenario; NAME.yaml is written here.")],
) -> None:
    """Write a commented scenario to start from."""
    from geodp.scenario.template import write_template

    path = write_template(name)
    say(f"wrote {path}")
    shown = shlex.quote(str(path))
    suggest(f"change it, then: geodp check {shown}   and   geodp run {shown}")


def check(
    file: ScenarioFile,
    settings: Settings = None,
    trust_plugins: TrustPlugins = False,
    _json: Json = False,
    _plugins: Plugins = None,
) -> None:
    """Check a scenario: all its problems, or its privacy promise, budget, noise and size."""
    from geodp.scenario.file import find_left_out, locate_scenario
    from geodp.scenario.report import describe_scenario, describe_values
    from geodp.scenario.schema import load_scenario
    from geodp.tables.notices import gather_notices

    with gather_notices() as noticed:
        scenario = load_scenario(file, overrides(settings), trust_plugins=trust_plugins)
        found = describe_scenario(scenario, trust_plugins=trust_plugins)
        values = describe_values(found, scenario, str(file)) if JSON in flags else {}
    for line in noticed:
        warn(line)
    print_json(values | {"notices": noticed})
    say(found.text(str(file)))
    if not trust_plugins:
        warn_left_out(file, find_left_out(scenario.plugins, locate_scenario(file).resolve().parent))
    suggest(f"geodp run {shlex.quote(str(file))}")


def schema(_plugins: Plugins = None) -> None:
    """Print the JSON Schema of scenario files, for editors."""
    from geodp.scenario.editor_schema import schema_text

    typer.echo(schema_text())
    suggest("geodp schema > geodp.schema.json   saves it; 'geodp new' writes files that name theirs", err=True)
