"""The command `geodp fit`: a world that moves as the people of a file do."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from geodp.cli.completion import complete_kind
from geodp.cli.console import JsonFile, Plugins, flags, overrides, print_json, say, suggest, write_json


def fit(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="The private data: visits or trajectories, any loader.")],
    model: Annotated[str, typer.Option(metavar="MODEL", help="What is fitted: mobility epr.")] = "epr",
    out: Annotated[
        Path, typer.Option(metavar="SCENARIO", help="The scenario to write; its tables lie beside it.")
    ] = Path("fitted.yaml"),
    epsilon: Annotated[
        float | None, typer.Option(metavar="E", help="ε of a person's whole record; without it the fit is exact.")
    ] = None,
    mode: Annotated[
        str, typer.Option(metavar="MODE", help="simulate (not releasable), or release (OpenDP noise).")
    ] = "simulate",
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of simulated noise [default: 0].")] = None,
    region: Annotated[
        str | None, typer.Option(metavar="W,S,E,N", help="The public region in degrees; a release needs one.")
    ] = None,
    venues: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Public list of places (venue, lon, lat) to go to.")
    ] = None,
    places: Annotated[int, typer.Option(min=2, help="Without --venues: how many places are drawn.")] = 5_000,
    rounds: Annotated[int, typer.Option(min=0, max=50, help="How often parameters are improved by trying worlds.")] = 6,
    regret: Annotated[
        int,
        typer.Option(metavar="SEEDS", min=0, help="Measure decision regret with so many runs per option (3 is usual)."),
    ] = 0,
    zone: Annotated[str, typer.Option(metavar="ZONE", help="Time zone by whose clocks people live.")] = "UTC",
    kind: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="KIND",
            help="Loader to use [default: by the file's name].",
            autocompletion=complete_kind("loader"),
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="Set a field of the loader, e.g. user_column=uid."),
    ] = None,
    ledger: Annotated[Path | None, typer.Option(metavar="FILE", help="Ledger to charge; a release needs one.")] = None,
    budget: Annotated[float | None, typer.Option(metavar="E", help="Budget of a ledger that has none.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
    json_file: JsonFile = None,
    _plugins: Plugins = None,
) -> None:
    """Fit a world to visits or trajectories, exactly or with noise, and write a scenario that uses it."""
    from dataclasses import asdict

    from geodp.cli.progress import show_progress
    from geodp.errors import DataError
    from geodp.fit.fit import FitOptions, laws_table
    from geodp.fit.fit import fit as fit_world
    from geodp.publish.request import Request
    from geodp.tables.progress import watch_progress

    if not data.exists():
        raise DataError(f"{data}: no such file or folder. Nothing was written.")
    options = FitOptions(
        model, out, kind, overrides(settings), zone, venues=venues, places=places, regret=regret, rounds=rounds
    )
    request = Request(
        source=data,
        out=options.places_file,
        epsilon=epsilon,
        mode=mode,
        seed=seed,
        region=region,
        ledger=ledger,
        budget=budget,
        force=force,
        also_read={} if venues is None else {"the list of places": venues},
    )
    with show_progress(quiet="--quiet" in flags) as tell, watch_progress(tell):
        found = fit_world(request, options)
    values = {
        "model": model,
        "epsilon": epsilon,
        "mode": mode,
        "values": found.values,
        "laws": {name: dict(each) for name, each in found.laws.items()},
        "regret": [asdict(each) for each in found.regrets],
        "written": [str(path) for path in found.files],
    }
    write_json(json_file, values)
    print_json(values)
    say(found.published.text, "", laws_table(found.laws), "")
    say(*(each.line() for each in found.regrets))
    say(*(f"wrote {path}" for path in found.files[:2]), *found.published.warnings)
    suggest(f"geodp run {out} --out runs/{out.stem}   runs the fitted world")
