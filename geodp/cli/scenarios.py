"""The commands about scenario files: `geodp new`, `geodp check` and `geodp schema`."""

from __future__ import annotations

from typing import Annotated

import typer

from geodp.cli.console import Plugins, ScenarioFile, Settings, TrustPlugins, overrides, say, warn, warn_left_out


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the scenario; NAME.yaml is written here.")],
) -> None:
    """Write a commented scenario to start from."""
    from geodp.scenario.template import write_template

    path = write_template(name)
    say(f"wrote {path}\nRun it:  geodp run {path}")


def check(
    file: ScenarioFile, settings: Settings = None, trust_plugins: TrustPlugins = False, _plugins: Plugins = None
) -> None:
    """Check a scenario: all its problems, or its privacy promise, budget, noise and size."""
    from geodp.scenario.file import find_left_out
    from geodp.scenario.report import report
    from geodp.scenario.schema import load_scenario
    from geodp.tables.notices import gather_notices

    with gather_notices() as noticed:
        scenario = load_scenario(file, overrides(settings), trust_plugins=trust_plugins)
        text = report(scenario, str(file), trust_plugins=trust_plugins)
    for line in noticed:
        warn(line)
    say(text)
    if not trust_plugins:
        warn_left_out(file, find_left_out(scenario.plugins, file.parent))


def schema(_plugins: Plugins = None) -> None:
    """Print the JSON Schema of scenario files, for editors."""
    import json

    from geodp.scenario.schema import Scenario

    typer.echo(json.dumps(Scenario.model_json_schema(), indent=2))
