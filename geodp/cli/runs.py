"""The commands that make runs and look at them: `geodp run`, `map`, `metrics` and `compare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from geodp.cli.console import (
    Json,
    Plugins,
    RunArgument,
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

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder
    from geodp.runs.result import RunResult


def run(
    file: ScenarioFile,
    seed: Annotated[int | None, typer.Option(min=0, help="Replace the scenario's seed.")] = None,
    out: Annotated[Path | None, typer.Option(help="The run folder [default: runs/NAME-sSEED].")] = None,
    settings: Settings = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing run folder.")] = False,
    _json: Json = False,
    _plugins: Plugins = None,
) -> None:
    """Run a scenario into a run folder."""
    from geodp.cli.progress import RUN_PHASES, show_progress
    from geodp.scenario.schema import load_scenario
    from geodp.tables.notices import gather_notices

    # What is noticed on the way is in the run's own notices, too: checks read the files before the run does.
    with gather_notices():
        scenario = load_scenario(file, overrides(settings), trust_plugins=True)
        with show_progress(RUN_PHASES, tuple(scenario.compare) or ("",), quiet="--quiet" in flags) as progress:
            from geodp.runs.run import run as run_scenario

            result = run_scenario(scenario, out, seed=seed, force=force, progress=progress)
    for text in result.notices:
        warn(text)
    print_json(_run_values(result))
    folder, arms = result.path, result.arms
    page, read = folder / "map.html", f"and read {folder / 'summary.md'}"
    if arms:
        say(*(f"{name}: {_headline(arm.metrics)}" for name, arm in arms.items()))
        page, read = folder / "report.html", "which says what differs and what it costs, with a map of each arm"
        say(f"report:  {page}")
    else:
        say(_headline(result.metrics))
    say(f"summary: {folder / 'summary.md'}", f"map:     {folder / 'map.html'}")
    suggest(
        f"open {page} in a browser, {read}",
        f"geodp audit --run {folder}   tries to refute what it promises",
    )


def _run_values(result: RunResult) -> dict[str, Any]:
    """Return what a run left, as plain values."""
    scenario = result.folder.scenario
    arms = {"arms": {name: arm.metrics for name, arm in result.arms.items()}} if result.arms else {}
    files = {name: result.path / file for name, file in (("summary", "summary.md"), ("map", "map.html"))}
    files |= {"report": result.path / "report.html"} if result.arms else {}
    return {
        "run": result.path,
        "scenario": scenario.name,
        "seed": scenario.seed,
        "metrics": result.metrics,
        **arms,
        "notices": result.notices,
        **files,
    }


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
    out: Annotated[
        Path | None,
        typer.Option(help="The page, or a picture of it (.png) [default: RUN/map.html or RUN/map-public.html]."),
    ] = None,
    basemap: Annotated[
        str | None,
        typer.Option(
            metavar="osm|none|streets|FILE",
            help="What lies beneath: online tiles (asked for only when chosen), nothing, generated streets, or a file "
            "of areas and lines [default: the scenario's].",
        ),
    ] = None,
    places: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A gazetteer whose names are shown (lon, lat, name).")
    ] = None,
    trust_plugins: TrustPlugins = False,
    _json: Json = False,
    _plugins: Plugins = None,
) -> None:
    """Draw the map of a run as one page that opens with no network, or as a picture."""
    from geodp.display.caption import PUBLIC, TRUTH
    from geodp.display.map import require_page, write_map

    path = require_page(out or run / ("map-public.html" if public else "map.html"), pictures=True)
    opened = _open_run(run, trust_plugins=trust_plugins)
    from geodp.cli.progress import show_progress

    with show_progress(quiet="--quiet" in flags) as progress:
        progress("drawing", 0.0)
        written = write_map(opened, path, public=public, basemap=basemap, places=places)
    print_json({"map": written, "public": public})
    say(f"wrote {written}\n{PUBLIC if public else TRUTH}")
    suggest(
        f"open {written} in a browser" if written.suffix != ".png" else f"geodp map {run}   writes the page to explore"
    )


def metrics(
    run: RunArgument, trust_plugins: TrustPlugins = False, as_json: Json = False, _plugins: Plugins = None
) -> None:
    """Compute the metrics of a run again and print them (as JSON, with --json or without)."""
    import json

    from geodp.cli.progress import show_progress
    from geodp.runs.measure import write_metrics

    opened = _open_run(run, trust_plugins=trust_plugins)
    with show_progress(quiet="--quiet" in flags) as progress:
        values = write_metrics(opened, progress=progress)
    if as_json:
        print_json(values)
    else:
        say(json.dumps(values, indent=2))
    suggest(
        f"geodp compare {run} OTHER   puts it beside another run; geodp list metric   says what they mean", err=True
    )


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN RUN…", help="Two or more run folders.")],
    out: Annotated[Path | None, typer.Option(help="Write the table too, as csv, or as a page (.html).")] = None,
    trust_plugins: TrustPlugins = False,
    _json: Json = False,
    _plugins: Plugins = None,
) -> None:
    """Compare runs: metrics side by side, with paired differences where they share their tasks."""
    from geodp.run_folder.folder import write_text
    from geodp.runs.compare import compare_runs, comparison_csv, comparison_text, differences_table, values_table

    opened = {_run_name(path, runs): _open_run(path, trust_plugins=trust_plugins) for path in runs}
    table = compare_runs(opened)
    page = out is not None and out.suffix.lower() in (".html", ".htm")
    if out is not None and page:
        from geodp.runs.comparison_page import build_comparison_page

        write_text(out, build_comparison_page(opened, out.parent))
    elif out is not None:
        write_text(out, comparison_csv(table))
    names = list(opened)
    parts = [values_table(table, names), differences_table(table, names), comparison_text(table, opened)]
    rows = table.to_dict("records")
    print_json({"runs": {name: opened[name].path for name in names}, "baseline": names[0], "metrics": rows})
    say("\n\n".join(parts))
    wrote = "--out page.html writes a page, --out table.csv the table"
    if out is not None:
        wrote = f"open {out} in a {'browser' if page else 'spreadsheet'}"
    suggest(f"{wrote}; 'compare:' in a scenario runs methods on the same luck")


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
