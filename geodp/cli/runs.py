"""The commands that make runs and look at them: `geodp run`, `map`, `metrics` and `compare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from geodp.cli.console import (
    Plugins,
    RunArgument,
    ScenarioFile,
    Settings,
    TrustPlugins,
    flags,
    overrides,
    say,
    warn,
    warn_left_out,
)

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder


def run(
    file: ScenarioFile,
    seed: Annotated[int | None, typer.Option(min=0, help="Replace the scenario's seed.")] = None,
    out: Annotated[Path | None, typer.Option(help="The run folder [default: runs/NAME-sSEED].")] = None,
    settings: Settings = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing run folder.")] = False,
    _plugins: Plugins = None,
) -> None:
    """Run a scenario into a run folder."""
    from geodp.cli.progress import show_progress
    from geodp.tables.notices import gather_notices

    # What is noticed on the way is in the run's own notices, too: checks read the files before the run does.
    with show_progress(quiet="--quiet" in flags) as progress, gather_notices():
        from geodp.runs.run import run as run_scenario

        result = run_scenario(file, out, seed=seed, overrides=overrides(settings), force=force, progress=progress)
    for text in result.notices:
        warn(text)
    say(_headline(result.metrics))
    say(f"summary: {result.path / 'summary.md'}", f"map:     {result.path / 'map.html'}")


def _headline(metrics: dict[str, float | None]) -> str:
    success, planned = metrics.get("success_rate"), metrics.get("planned_success")
    if success is None:
        return "done"
    text = f"success rate {success:.3f}"
    if planned is not None:
        text += f" (planned {planned:.3f})"
    spent = metrics.get("epsilon_spent")
    return text + (f", epsilon spent {spent:g} per person" if spent is not None else "")


def map_(
    run: RunArgument,
    public: Annotated[
        bool,
        typer.Option("--public", help="Embed released layers only (their noise is simulated: not for publication)."),
    ] = False,
    out: Annotated[Path | None, typer.Option(help="The page [default: RUN/map.html or RUN/map-public.html].")] = None,
    trust_plugins: TrustPlugins = False,
    _plugins: Plugins = None,
) -> None:
    """Draw the map of a run as one page that opens with no network."""
    from geodp.display.caption import PUBLIC, TRUTH
    from geodp.display.map import require_page, write_map

    path = require_page(out or run / ("map-public.html" if public else "map.html"))
    opened = _open_run(run, trust_plugins=trust_plugins)
    say(f"wrote {write_map(opened, path, public=public)}\n{PUBLIC if public else TRUTH}")


def metrics(run: RunArgument, trust_plugins: TrustPlugins = False, _plugins: Plugins = None) -> None:
    """Compute the metrics of a run again and print them."""
    import json

    from geodp.runs.measure import write_metrics

    values = write_metrics(_open_run(run, trust_plugins=trust_plugins))
    say(json.dumps(values, indent=2))


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN RUN…", help="Two or more run folders.")],
    out: Annotated[Path | None, typer.Option(help="Write the table as csv, too.")] = None,
    trust_plugins: TrustPlugins = False,
    _plugins: Plugins = None,
) -> None:
    """Compare runs: metrics side by side, with paired differences where they share their tasks."""
    from geodp.run_folder.folder import write_text
    from geodp.runs.compare import compare_runs, comparison_csv, comparison_text, differences_table, values_table

    opened = {_run_name(path, runs): _open_run(path, trust_plugins=trust_plugins) for path in runs}
    table = compare_runs(opened)
    if out is not None:
        write_text(out, comparison_csv(table))
    names = list(opened)
    parts = [values_table(table, names), differences_table(table, names), comparison_text(table, opened)]
    typer.echo("\n\n".join(parts))


def _open_run(path: Path, *, trust_plugins: bool) -> RunFolder:
    """Open a run folder, and say which of its plug-ins were not loaded."""
    from geodp.run_folder.folder import RunFolder

    run = RunFolder(path, trust_plugins=trust_plugins)
    warn_left_out(path, run.plugins_left_out)
    return run


def _run_name(path: Path, among: list[Path]) -> str:
    """Name a run after its folder, or after its whole path when another folder has the same name."""
    same = [other for other in among if other.resolve().name == path.resolve().name]
    return path.resolve().name if len(same) == 1 else str(path)
