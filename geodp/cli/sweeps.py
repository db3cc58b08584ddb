"""The commands that make many runs: `geodp sweep` and `geodp advise`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from geodp.cli.completion import complete_sweep, complete_target
from geodp.cli.console import (
    Json,
    JsonFile,
    Plugins,
    Processes,
    Settings,
    flags,
    overrides,
    print_json,
    say,
    suggest,
    write_json,
)
from geodp.cli.progress import duration, show_prices, show_sweep, show_tries
from geodp.errors import UsageError

if TYPE_CHECKING:
    from geodp.sweeps.result import SweepResult

PUBLICATIONS = ("flows", "counts")
"""What can be published and asked about without a scenario."""
_P = "About a publication (geodp advise flows, geodp advise counts)"
_TRIES = 10  # values that a search looks at, usually
_NOTICES = 10  # that are printed; runs of other seeds say the same with other numbers


def sweep(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Sweep file (YAML), or the name of a shipped one.", autocompletion=complete_sweep
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="The sweep folder [default: runs/NAME].")] = None,
    workers: Processes = None,
    cluster: Annotated[str | None, typer.Option(metavar="ADDR", help="Dask scheduler, e.g. tcp://host:8786.")] = None,
    settings: Settings = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget the results in the folder.")] = False,
    fail_fast: Annotated[bool, typer.Option("--fail-fast", help="Stop at the first failure.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done.")] = False,
    _json: Json = False,
    _plugins: Plugins = None,
) -> None:
    """Run a sweep, or go on with one that was stopped: the same command resumes it."""
    from geodp.sweeps.sweep import sweep as run_sweep

    if dry_run:
        _tell_plan(file, out, workers)
        return
    with show_sweep(quiet="--quiet" in flags) as (show, complain):
        result = run_sweep(
            file,
            out,
            workers=workers,
            cluster=cluster,
            fresh=fresh,
            fail_fast=fail_fast,
            overrides=overrides(settings),
            on_progress=show,
            on_failure=complain,
        )
    print_json(_sweep_values(result))
    say(describe_result(result))
    steps = [f"open {result.path / 'report.html'} in a browser"]
    if result.failures:
        steps.append(f"read {result.path / 'failures.txt'}, mend what it names, and give the same command: it resumes")
    suggest(*steps)
    if result.failures:
        raise typer.Exit(1)


def advise(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Scenario file, or its name; or what would be published: flows, or counts (of visits)."
        ),
    ],
    within: Annotated[
        float | None, typer.Option(metavar="SHARE", help="May ask so many more workers than exact counts, e.g. 0.1.")
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="TARGET",
            help='Instead: a bound on a metric, e.g. "travel_distance_m<=400".',
            autocompletion=complete_target,
        ),
    ] = None,
    vary: Annotated[
        str | None, typer.Option(metavar="PATH", help="The number to find [default: the mechanism's epsilon].")
    ] = None,
    success: Annotated[
        float | None, typer.Option(help="Expected success at which prices are compared [default: the target_success].")
    ] = None,
    low: Annotated[float | None, typer.Option(help="Lower end of the range [default: a tenth of what it is].")] = None,
    high: Annotated[float | None, typer.Option(help="Upper end [default: ten times what it is].")] = None,
    seeds: Annotated[int, typer.Option(min=2, help="Runs of each value.")] = 8,
    seed: Annotated[int, typer.Option(min=0, help="The first seed.")] = 0,
    precision: Annotated[
        float | None, typer.Option(help="Largest relative step between answer and next [default: 0.05; within: 0.15].")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for results and plot, with --within [default: runs/NAME-advice].")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget the results in the folder.")] = False,
    workers: Processes = None,
    settings: Settings = None,
    public_data: Annotated[bool, typer.Option("--public-data", help="The scenario's data files are public.")] = False,
    json_file: JsonFile = None,
    _plugins: Plugins = None,
    error: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Median relative error at most, e.g. 0.1.", rich_help_panel=_P)
    ] = None,
    above: Annotated[
        float | None,
        typer.Option(
            metavar="N", help="For places with more people (flows: trips a day) than that.", rich_help_panel=_P
        ),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE", help="zone-hour (default), zone-day, zone-all, od-day or od-all.", rich_help_panel=_P
        ),
    ] = None,
    zones: Annotated[
        str | None,
        typer.Option(
            metavar="N|FILE:COLUMN", help="How many zones [default: 100]; a file with --on-data.", rich_help_panel=_P
        ),
    ] = None,
    days: Annotated[int | None, typer.Option(metavar="N", help="Days [default: 30].", rich_help_panel=_P)] = None,
    unit: Annotated[
        str | None,
        typer.Option(metavar="UNIT", help="person-day (default), person-week or person.", rich_help_panel=_P),
    ] = None,
    cap: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Trips a day [8], or visits [5], of a person that are used.", rich_help_panel=_P
        ),
    ] = None,
    delta: Annotated[
        float | None, typer.Option(metavar="D", help="δ [default: 1e-6]; 0: pure ε, Laplace noise.", rich_help_panel=_P)
    ] = None,
    people: Annotated[
        float | None,
        typer.Option(metavar="N", help="A public number of people, for sizes of zones.", rich_help_panel=_P),
    ] = None,
    area_km2: Annotated[
        float | None, typer.Option(metavar="A", help="How large all zones are together.", rich_help_panel=_P)
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(metavar="PINGS", help="The private pings, for --count-epsilon or --on-data.", rich_help_panel=_P),
    ] = None,
    count_epsilon: Annotated[
        float | None,
        typer.Option(metavar="E", help="Pay for the number of people in --data with that ε.", rich_help_panel=_P),
    ] = None,
    mode: Annotated[
        str, typer.Option(metavar="MODE", help="With --count-epsilon: simulate, or release.", rich_help_panel=_P)
    ] = "simulate",
    ledger: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Ledger that --count-epsilon charges.", rich_help_panel=_P)
    ] = None,
    on_data: Annotated[
        bool, typer.Option("--on-data", help="Choose on --data itself: stamped not releasable.", rich_help_panel=_P)
    ] = False,
    first: Annotated[
        str | None, typer.Option("--from", metavar="DAY", help="First day of --data.", rich_help_panel=_P)
    ] = None,
    last: Annotated[
        str | None, typer.Option("--to", metavar="DAY", help="Last day of --data.", rich_help_panel=_P)
    ] = None,
) -> None:
    """Find the smallest epsilon whose price is within a share of exact counts; exit code 1 if there is none.

    Prices are compared at equal success. With --target: the smallest (or largest) value of one number that meets a
    bound on a metric with confidence. `geodp advise flows --error 0.1 --above 500` is about a publication instead:
    which ε, cap and size of zones its numbers need, from public settings, and what that costs.
    """
    about = {
        "error": error,
        "above": above,
        "table": table,
        "zones": zones,
        "days": days,
        "unit": unit,
        "cap": cap,
        "delta": delta,
        "people": people,
        "area_km2": area_km2,
        "data": data,
        "count_epsilon": count_epsilon,
        "ledger": ledger,
        "on_data": on_data or None,
        "first": first,
        "last": last,
    }
    stated = {name: value for name, value in about.items() if value is not None}
    if str(file) in PUBLICATIONS and not file.is_file():  # a folder of that name is a report
        _advise_on_publication(str(file), stated, mode=mode, out=out, json_file=json_file)
        return
    if stated:
        name = next(iter(stated)).replace("_", "-")
        raise UsageError(f"--{name} is about a publication: geodp advise {' or geodp advise '.join(PUBLICATIONS)}")
    if (within is None) == (target is None):
        raise UsageError("give either --within SHARE (a price at equal success, e.g. 0.1) or --target METRIC>=NUMBER")
    common: dict[str, Any] = {"low": low, "high": high, "seeds": seeds, "first_seed": seed, "workers": workers}
    common |= {"overrides": overrides(settings), "public_data": public_data}
    if precision is not None:
        common["precision"] = precision
    if within is not None:
        found = _advise_within(
            file=file,
            within=within,
            vary=vary,
            out=out,
            options={"success": success, "fresh": fresh} | common,
            json_file=json_file,
        )
    else:
        given = [name for name, value in (("--success", success), ("--out", out), ("--fresh", fresh or None)) if value]
        if given:
            raise UsageError(f"{given[0]} goes with --within, not with --target")
        found = _advise_on_target(file, str(target), vary, common, json_file)
    if not found:
        raise typer.Exit(1)


def _advise_on_publication(
    kind: str, stated: dict[str, Any], *, mode: str, out: Path | None, json_file: Path | None
) -> None:
    """Advise about what is published, and write table and picture."""
    from geodp.publish.advice import answer_question
    from geodp.publish.advice_data import ask, choose_on_file, make_request
    from geodp.publish.advice_files import describe_advice, list_values, write_advice

    question = ask(kind, stated, mode=mode)
    chosen = stated.get("on_data")
    advice = choose_on_file(question, make_request(stated)) if chosen else answer_question(question)
    folder = out or Path("runs") / f"{kind}-advice"
    files = write_advice(folder, advice)
    values = list_values(advice)
    print_json(values | {"files": [str(path) for path in files]})
    if json_file is not None:
        write_json(json_file, values)
    say(describe_advice(advice))
    suggest(f"look at {folder / 'advice.png'}")
    if advice.answer is None:
        raise typer.Exit(1)


def _advise_on_target(
    file: Path, target: str, vary: str | None, options: dict[str, Any], json_file: Path | None
) -> bool:
    from geodp.sweeps.advice_text import advice_text, advice_values
    from geodp.sweeps.advise import advise as find

    if vary is not None:
        options = options | {"vary": vary}
    with show_tries(_TRIES, quiet="--quiet" in flags) as show:
        advice = find(file, target, **options, on_tried=show)
    say(advice_text(advice))
    write_json(json_file, advice_values(advice))
    if advice.answer is None:
        suggest("try a wider range with --low and --high, or a weaker target")
    else:
        suggest(f"geodp run {file} --set {advice.path}={advice.answer.value:.4g}")
    return advice.answer is not None


def _advise_within(
    file: Path, within: float, vary: str | None, out: Path | None, options: dict[str, Any], json_file: Path | None
) -> bool:
    from geodp.scenario.schema import load_scenario
    from geodp.sweeps.advice_text import price_text, price_values
    from geodp.sweeps.advise_within import advise_within

    if out is None:
        out = Path("runs") / f"{load_scenario(file, options['overrides']).name}-advice"
    with show_prices(quiet="--quiet" in flags) as show:
        advice = advise_within(file, within, vary, out=out, on_progress=show, **options)
    say(price_text(advice), f"plot: {out / 'figures' / 'price_by_epsilon.png'}")
    write_json(json_file, price_values(advice))
    if advice.answer is None:
        suggest("allow more with --within, or try a wider range with --low and --high")
    else:
        suggest(f"look at the plot, then: geodp run {file} --set {advice.path}={advice.answer.value:.4g}")
    return advice.answer is not None


def _tell_plan(file: Path, out: Path | None, workers: int | None) -> None:
    """Say cells, runs and expected time."""
    from geodp.sweeps.sweep import plan_sweep
    from geodp.sweeps.sweep_file import load_sweep

    target = out or Path("runs") / load_sweep(file).sweep.name
    plan = plan_sweep(file, target)
    left = plan.runs - plan.finished
    lanes = min(workers or os.cpu_count() or 1, max(left, 1))
    seconds = None if plan.problem else plan.seconds_per_run * left / lanes
    text = f"{plan.cells} cells, {plan.runs} runs, {plan.finished} of them finished in {target}"
    if seconds is None:
        text += f"\nexpected time: unknown, for the first run fails: {plan.problem}"
    else:
        basis = f", by a trial of the first run ({duration(plan.seconds_per_run)})" if plan.tried else ""
        text += f"\nexpected time: {duration(seconds)} on {lanes} processes{basis}"
    print_json(
        {
            "sweep": target,
            "cells": plan.cells,
            "runs": plan.runs,
            "finished": plan.finished,
            "processes": lanes,
            "seconds": seconds,
            "problem": plan.problem or None,
        }
    )
    say(text)
    where = "" if out is None else f" --out {out}"
    suggest("mend that first" if plan.problem else f"geodp sweep {file}{where}")


def _sweep_values(result: SweepResult) -> dict[str, Any]:
    """Return what a sweep came to, as plain values."""
    runs = result.runs
    ok = runs["status"] == "ok"
    return {
        "sweep": result.path,
        "runs": len(runs),
        "failed": int((~ok).sum()),
        "failures": result.failures.strip() or None,
        "cells": int(runs["cell"].nunique()),
        "summary": result.summary.to_dict("records"),
        "notices": result.folder.notices(),
        "report": result.path / "report.html",
        "tables": [result.path / "runs.parquet", result.path / "summary.csv"],
    }


def describe_result(result: SweepResult) -> str:
    """Say what came out and where it is."""
    runs = result.runs
    failed = int((runs["status"] != "ok").sum())
    text = f"{len(runs) - failed} runs finished well, {failed} failed\nreport:  {result.path / 'report.html'}\n"
    text += f"tables:  {result.path / 'runs.parquet'}, {result.path / 'summary.csv'}"
    notices = result.folder.notices()
    remarks = [f"take care: {notice}" for notice in notices[:_NOTICES]]
    more = (
        [f"take care: {len(notices) - _NOTICES:,} more of these are in the report"] if len(notices) > _NOTICES else []
    )
    return "\n".join([text, *remarks, *more])
