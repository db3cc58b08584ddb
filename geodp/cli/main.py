"""Commands: parse, call the library, print. Everything heavy is imported inside a command."""

from __future__ import annotations

import errno
import sys
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from geodp.cli.console import ANYWHERE, flags, overrides, say, warn
from geodp.cli.datasets import app as datasets_app
from geodp.cli.publish import app as publish_app
from geodp.errors import OldName

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder

app = typer.Typer(
    name="geodp",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(publish_app, name="publish", help="Publish a file of real data with a guarantee and a ledger.")
app.add_typer(datasets_app, name="datasets", help="Known data sets: list, make up, convert, describe.")

INTERRUPTED = 130

ScenarioFile = Annotated[Path, typer.Argument(metavar="FILE", help="Scenario file (YAML).")]
RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A finished run folder.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Override a dotted path, e.g. curator.mechanism.epsilon=0.5."),
]

TrustPlugins = Annotated[
    bool, typer.Option("--trust-plugins", help="Load the plug-in files it names: programs of whoever made it.")
]


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; exit codes: 0 done, 1 failed, 2 bad input, 130 interrupted."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    flags.clear()
    flags.update(ANYWHERE.intersection(words))
    with warnings.catch_warnings():
        otherwise = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            warn(str(message)) if issubclass(category, OldName) else otherwise(message, category, *where, **more)

        warnings.showwarning = show
        warnings.simplefilter("default", OldName)
        code = _exit_code([word for word in words if word not in ANYWHERE])
    sys.exit(code)


def _exit_code(words: list[str]) -> int:  # noqa: PLR0911 - a code for every way to end
    from geodp.errors import GeodpError

    wrong_usage = typer.BadParameter.__mro__[2]  # ClickException: newer typers carry their own copy of click

    try:
        code = app(words, prog_name="geodp", standalone_mode=False) or 0
        if code == INTERRUPTED:  # some typers turn Ctrl-C into this code by themselves
            raise KeyboardInterrupt  # noqa: TRY301
        return code  # noqa: TRY300
    except (KeyboardInterrupt, typer.Abort):
        typer.echo("interrupted; nothing was left half-written", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        return 1
    except GeodpError as error:
        if "--debug" in flags:
            traceback.print_exc()
        else:
            typer.echo(str(error), err=True)
        return error.exit_code
    except Exception as error:  # noqa: BLE001 - the last resort before the user
        if isinstance(error, wrong_usage):
            error.show()  # type: ignore[attr-defined]
            return int(error.exit_code)  # type: ignore[attr-defined]
        if "--debug" in flags:
            traceback.print_exc()
        elif isinstance(error, MemoryError):
            typer.echo(f"not enough memory ({str(error) or 'none is left'}): take fewer people or tasks", err=True)
        elif isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
            typer.echo(f"{str(error.filename)[:80]}…: the name is too long for a file", err=True)
            return 2
        else:
            from geodp.registry import blamed

            told = blamed(error) or f"unexpected {type(error).__name__}: {error}"
            typer.echo(f"{told}\nRun again with --debug for details.", err=True)
        return 1


def _version(wanted: bool) -> None:
    if wanted:
        from geodp._version import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print errors only.")] = False,
) -> None:
    """Simulate location privacy and spatial crowdsourcing."""


@app.command()
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the scenario; NAME.yaml is written here.")],
) -> None:
    """Write a commented scenario to start from."""
    from geodp.scenario.template import write_template

    path = write_template(name)
    say(f"wrote {path}\nRun it:  geodp run {path}")


@app.command()
def check(file: ScenarioFile, settings: Settings = None, trust_plugins: TrustPlugins = False) -> None:
    """Check a scenario: all its problems, or its privacy promise, budget, noise and size."""
    from geodp.scenario.report import report
    from geodp.scenario.schema import load_scenario
    from geodp.tables.notices import gathered

    with gathered() as noticed:
        scenario = load_scenario(file, overrides(settings), trust_plugins=trust_plugins)
        text = report(scenario, str(file), trust_plugins=trust_plugins)
    for line in noticed:
        warn(line)
    say(text)
    if not trust_plugins:
        _say_left_out(str(file), scenario.plugins)


def _say_left_out(name: str, plugins: Sequence[str]) -> None:
    """Say which plug-in files were not loaded, where there are any."""
    if plugins:
        from geodp.scenario.stand_ins import not_loaded

        warn(f"{name}: {not_loaded(plugins)}")


def _opened(path: Path, *, trust_plugins: bool) -> RunFolder:
    """Open a run folder, and say which of its plug-ins were not loaded."""
    from geodp.run_folder.folder import RunFolder

    run = RunFolder(path, trust_plugins=trust_plugins)
    _say_left_out(str(path), run.plugins_left_out)
    return run


@app.command(name="check-data")
def check_data(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The private data (csv or Parquet).")],
    kind: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="positions, visits, trajectories or venues [default: by its columns]."),
    ] = None,
    column: Annotated[
        list[str] | None, typer.Option("--column", metavar="PART=COLUMN", help="What a column is called: user=uid.")
    ] = None,
    region: Annotated[
        str | None, typer.Option(metavar="W,S,E,N", help="The public region in degrees, or a file of polygons.")
    ] = None,
    venues: Annotated[Path | None, typer.Option(metavar="FILE", help="The public list of venues.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Tell the holder of private data what a release would leave out, and why. Never for release.

    Exit code 0: a release uses every row, and nothing looks wrong. 2: rows would be left out, something looks wrong, or
    the file cannot be read.
    """
    import json

    from geodp.publish.data_check import PARTS, check_data
    from geodp.publish.request import parse_columns

    parts = sorted({part for named in PARTS.values() for part in named})
    report = check_data(file, kind, called=parse_columns(column, parts), region=region, venues=venues)
    typer.echo(json.dumps(report.as_dict(), indent=2, ensure_ascii=False) if as_json else report.text())
    raise typer.Exit(0 if report.sound else 2)


@app.command(name="list")
def list_(
    family: Annotated[str | None, typer.Argument(metavar="[FAMILY]", help="One family only.")] = None,
) -> None:
    """List the plug-ins with options, units, defaults, guarantee and reference."""
    from geodp.cli.plugin_list import plugin_list

    typer.echo(plugin_list(family))


@app.command()
def run(
    file: ScenarioFile,
    seed: Annotated[int | None, typer.Option(min=0, help="Replace the scenario's seed.")] = None,
    out: Annotated[Path | None, typer.Option(help="The run folder [default: runs/NAME-sSEED].")] = None,
    settings: Settings = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing run folder.")] = False,
) -> None:
    """Run a scenario into a run folder."""
    from geodp.cli.progress import shown_progress
    from geodp.tables.notices import gathered

    # What is noticed on the way is in the run's own notices, too: checks read the files before the run does.
    with shown_progress(quiet="--quiet" in flags) as progress, gathered():
        from geodp.runs.run import run as run_scenario

        result = run_scenario(file, out, seed=seed, overrides=overrides(settings), force=force, progress=progress)
    for text in result.notices:
        warn(text)
    say(f"{_headline(result.metrics)}\nsummary: {result.path / 'summary.md'}\nmap:     {result.path / 'map.html'}")


def _headline(metrics: dict[str, float | None]) -> str:
    success, planned = metrics.get("success_rate"), metrics.get("planned_success")
    if success is None:
        return "done"
    text = f"success rate {success:.3f}"
    if planned is not None:
        text += f" (planned {planned:.3f})"
    spent = metrics.get("epsilon_spent")
    return text + (f", epsilon spent {spent:g} per person" if spent is not None else "")


@app.command(name="map")
def map_(
    run: RunArgument,
    public: Annotated[
        bool,
        typer.Option("--public", help="Embed released layers only (their noise is simulated: not for publication)."),
    ] = False,
    out: Annotated[Path | None, typer.Option(help="The page [default: RUN/map.html or RUN/map-public.html].")] = None,
    trust_plugins: TrustPlugins = False,
) -> None:
    """Draw the map of a run as one page that opens with no network."""
    from geodp.display.caption import PUBLIC, TRUTH
    from geodp.display.map import write_map
    from geodp.display.page_file import require_page

    path = require_page(out or run / ("map-public.html" if public else "map.html"))
    opened = _opened(run, trust_plugins=trust_plugins)
    say(f"wrote {write_map(opened, path, public=public)}\n{PUBLIC if public else TRUTH}")


@app.command()
def metrics(run: RunArgument, trust_plugins: TrustPlugins = False) -> None:
    """Compute the metrics of a run again and print them."""
    import json

    from geodp.runs.measure import write_metrics

    values = write_metrics(_opened(run, trust_plugins=trust_plugins))
    say(json.dumps(values, indent=2))


@app.command()
def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN RUN…", help="Two or more run folders.")],
    out: Annotated[Path | None, typer.Option(help="Write the table as csv, too.")] = None,
    trust_plugins: TrustPlugins = False,
) -> None:
    """Compare runs: metrics side by side, with paired differences where they share their tasks."""
    from geodp.run_folder.folder import write_text
    from geodp.runs.compare import compare_runs, comparison_csv
    from geodp.runs.summary_comparison import comparison_text, differences_table, values_table

    opened = {_run_name(path, runs): _opened(path, trust_plugins=trust_plugins) for path in runs}
    table = compare_runs(opened)
    if out is not None:
        write_text(out, comparison_csv(table))
    names = list(opened)
    parts = [values_table(table, names), differences_table(table, names), comparison_text(table, opened)]
    typer.echo("\n\n".join(parts))


def _run_name(path: Path, among: list[Path]) -> str:
    """Name a run after its folder, or after its whole path when another folder has the same name."""
    same = [other for other in among if other.resolve().name == path.resolve().name]
    return path.resolve().name if len(same) == 1 else str(path)


@app.command()
def sweep(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Sweep file (YAML).")],
    out: Annotated[Path | None, typer.Option(help="The sweep folder [default: runs/NAME].")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes [default: all cores].")] = None,
    cluster: Annotated[str | None, typer.Option(metavar="ADDR", help="Dask scheduler, e.g. tcp://host:8786.")] = None,
    settings: Settings = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget the results in the folder.")] = False,
    fail_fast: Annotated[bool, typer.Option("--fail-fast", help="Stop at the first failure.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done.")] = False,
) -> None:
    """Run a sweep, or go on with one that was stopped: the same command resumes it."""
    from geodp.cli.sweep import dry_run_text, finished_text, watched_sweep

    if dry_run:
        say(dry_run_text(file, out, workers))
        return
    result = watched_sweep(
        file,
        out,
        workers=workers,
        cluster=cluster,
        fresh=fresh,
        fail_fast=fail_fast,
        overrides=overrides(settings),
        quiet="--quiet" in flags,
    )
    say(finished_text(result))
    if result.failures:
        raise typer.Exit(1)


@app.command()
def advise(
    file: Annotated[Path, typer.Argument(metavar="SCENARIO", help="Scenario file (YAML).")],
    target: Annotated[str, typer.Option(metavar="TARGET", help='A bound on a metric, e.g. "success_rate>=0.9".')],
    vary: Annotated[str, typer.Option(metavar="PATH", help="The number to find, e.g. curator.mechanism.epsilon.")],
    low: Annotated[float | None, typer.Option(help="Lower end of the range [default: a tenth of what it is].")] = None,
    high: Annotated[float | None, typer.Option(help="Upper end [default: ten times what it is].")] = None,
    seeds: Annotated[int, typer.Option(min=2, help="Runs of each value.")] = 8,
    seed: Annotated[int, typer.Option(min=0, help="The first seed.")] = 0,
    precision: Annotated[float, typer.Option(help="Largest relative step between the answer and the next.")] = 0.05,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes [default: all cores].")] = None,
    settings: Settings = None,
    public_data: Annotated[bool, typer.Option("--public-data", help="The scenario's data files are public.")] = False,
    json_file: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the answer, too.")] = None,
) -> None:
    """Find the smallest (or largest) value of one number that meets a target with confidence; exit code 1 if none."""
    import json

    from geodp.run_folder.folder import write_text
    from geodp.sweeps.advise import advice_text, advice_values
    from geodp.sweeps.advise import advise as find

    advice = find(
        file,
        target,
        vary,
        low=low,
        high=high,
        seeds=seeds,
        first_seed=seed,
        precision=precision,
        workers=workers,
        overrides=overrides(settings),
        public_data=public_data,
    )
    say(advice_text(advice))
    if json_file is not None:
        write_text(json_file, json.dumps(advice_values(advice), indent=2, allow_nan=False) + "\n")
    if advice.answer is None:
        raise typer.Exit(1)


@app.command()
def figures(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]", help="Figures to make, e.g. 13.7a, or figure files.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Make all, and write REPRODUCTION.md.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Where figures and REPRODUCTION.md go [default: runs/figures, top of the repository]."
        ),
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes [default: all cores].")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget earlier results.")] = False,
    record: Annotated[bool, typer.Option("--record", help="Put the named figures into REPRODUCTION.md.")] = False,
) -> None:
    """List the papers' figures, or make them: claim, our numbers, verdict, PNG and SVG; run again to resume."""
    from geodp.cli.figures import list_text, make_all, make_some
    from geodp.errors import UsageError

    if everything and names:
        raise UsageError("name figures, or use --all, not both")
    if everything:
        if not make_all(out, workers=workers, fresh=fresh, say=say, complain=lambda text: typer.echo(text, err=True)):
            raise typer.Exit(1)
    elif names:
        make_some(names, out, workers=workers, fresh=fresh, say=say, record=record)
    else:
        typer.echo(list_text())


@app.command()
def audit(
    kind: Annotated[str | None, typer.Argument(metavar="[KIND]", help="What to audit, e.g. contour.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Audit every kind that exists.")] = False,
    run: Annotated[Path | None, typer.Option("--run", metavar="DIR", help="Audit a finished run.")] = None,
    view: Annotated[str | None, typer.Option(metavar="VIEW", help="With --run: releases or server.")] = None,
    publish: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="Audit a whole publish command: counts, visits:prilocation, …, or all."),
    ] = None,
    files: Annotated[int | None, typer.Option(metavar="N", help="With --publish: pairs of files per command.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="Set a field of KIND, e.g. epsilon=0.5.")
    ] = None,
    samples: Annotated[int, typer.Option(help="Outputs drawn on each input of each pair.")] = 100_000,
    confidence: Annotated[float, typer.Option(help="Chance, at least, that a true claim survives.")] = 0.95,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the audit [default: 0].")] = None,
    mode: Annotated[str, typer.Option(metavar="MODE", help="Noise: simulate, or release.")] = "simulate",
    sampled_only: Annotated[
        bool, typer.Option("--sampled-only", help="Take samples for enough where a release cannot be followed.")
    ] = False,
    json_file: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the result, too.")] = None,
    trust_plugins: TrustPlugins = False,
) -> None:
    """Try to refute what a mechanism claims; exit code 1 when that succeeds."""
    import json

    from geodp.cli.audit import Request, outcomes
    from geodp.cli.audit_publish import publish_outcomes
    from geodp.run_folder.folder import write_text

    request = Request(
        kind, everything, run, view, overrides(settings), samples, confidence, seed, mode, trust_plugins, sampled_only
    )
    found = []
    for outcome in (
        outcomes(request) if publish is None and files is None else publish_outcomes(request, publish, files)
    ):
        say(outcome.text)
        found.append(outcome)
    if json_file is not None:
        values = [outcome.values for outcome in found]
        written = values if everything or publish == "all" or len(values) != 1 else values[0]
        write_text(json_file, json.dumps(written, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    if any(outcome.refuted for outcome in found):
        raise typer.Exit(1)


@app.command()
def schema() -> None:
    """Print the JSON Schema of scenario files, for editors."""
    import json

    from geodp.scenario.schema import Scenario

    typer.echo(json.dumps(Scenario.model_json_schema(), indent=2))


if __name__ == "__main__":
    main()
