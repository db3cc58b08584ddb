"""The commands of `geodp publish`, and `geodp check-data`; everything heavy is imported inside a command."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from geodp.cli.completion import complete_kind
from geodp.cli.console import JSON, Json, Plugins, flags, overrides, print_json, say, suggest, tell_log, warn

app = typer.Typer(no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]})

Asked = Callable[..., Any]
"""Makes the request of what all publications are asked, from what only the command knows."""
Columns = Annotated[
    list[str] | None, typer.Option("--column", metavar="PART=COLUMN", help="What a column is called in IN: user=uid.")
]
PublicRegion = Annotated[
    str | None,
    typer.Option(
        metavar="W,S,E,N", help="The public region in degrees, or a file of polygons (of venues: those inside)."
    ),
]
VenueColumns = Annotated[
    list[str] | None,
    typer.Option("--venue-column", metavar="PART=COLUMN", help="What a column is called in the list: venue=poi."),
]


@app.callback()
def _publish() -> None:
    """Publish a file of real data with a guarantee and a ledger; OUT.guarantee.json says what is promised."""


def _request(
    parts: Sequence[str],
    also_read: Mapping[str, Path] | None = None,
    one_row_per_person: bool = False,
    *,
    file: Annotated[
        Path, typer.Argument(metavar="IN", help="The private data: a table, or a folder of a published format.")
    ],
    out: Annotated[
        Path, typer.Option(metavar="OUT", help="The file to publish (.csv, .parquet, .geoparquet or .geojson).")
    ],
    epsilon: Annotated[
        float | None,
        typer.Option(metavar="E", help="ε of a person, a visit or a trip; per metre for planar mechanisms."),
    ] = None,
    mode: Annotated[
        str, typer.Option(metavar="MODE", help="simulate (not releasable), or release (OpenDP noise).")
    ] = "simulate",
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of simulated noise [default: 0]; a release takes none.")
    ] = None,
    region: PublicRegion = None,
    cap: Annotated[
        int | None, typer.Option(metavar="N", help="Public cap on the rows, venues or trips of a person that are used.")
    ] = None,
    column: Columns = None,
    ledger: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Ledger to charge; a release needs one [default: geodp-ledger.json by IN]."),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(metavar="E", help="Budget in the ledger for what is charged here: a new ε, or ε per metre."),
    ] = None,
    budget_rho: Annotated[
        float | None,
        typer.Option(metavar="R", help="Instead a budget of ρ, for pure and zero-concentrated charges together."),
    ] = None,
    budget_delta: Annotated[
        float | None,
        typer.Option(metavar="D", help="With --budget E: the total of both is an ε, stated at this δ."),
    ] = None,
    budget_unit: Annotated[
        str | None,
        typer.Option(metavar="UNIT", help="What it bounds: person-day, person-week or person [default: person]."),
    ] = None,
    map_file: Annotated[
        Path | None, typer.Option("--map", metavar="FILE", help="Draw what was published on a map.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files (never the ledger).")] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="Set a field of the method, e.g. cell_m=20."),
    ] = None,
    _json: Json = False,
    _plugins: Plugins = None,
) -> Any:
    """Return the request; the options are those that all publications share."""
    from geodp.publish.request import Request, parse_columns

    return Request(
        source=file,
        out=out,
        epsilon=epsilon,
        mode=mode,
        seed=seed,
        region=region,
        cap=cap,
        ledger=ledger,
        budget=budget,
        budget_rho=budget_rho,
        budget_delta=budget_delta,
        budget_unit=budget_unit,
        map=map_file,
        force=force,
        settings=overrides(settings),
        columns=parse_columns(column, parts),
        also_read=also_read or {},
        one_row_per_person=one_row_per_person,
    )


def _publication(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add a command with its own options and those that all share; what it returns is printed."""
    own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
    shared = list(inspect.signature(_request, eval_str=True).parameters.values())[3:]

    def run(**options: Any) -> None:
        from geodp.cli.progress import PUBLISH_PHASES, show_progress
        from geodp.tables.progress import watch_progress

        asked = partial(_request, **{one.name: options.pop(one.name) for one in shared})
        with show_progress(PUBLISH_PHASES, quiet="--quiet" in flags) as tell, watch_progress(tell):
            outcome = command(asked, **options)
        for warning in outcome.warnings:  # they go where errors go
            warn(warning)
        print_json(_outcome_values(outcome))
        say(outcome.text)
        _suggest_after(outcome)

    every = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in (*shared[:2], *own, *shared[2:])]
    run.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
    run.__doc__, run.__annotations__ = command.__doc__, {}
    app.command(command.__name__)(run)
    return command


def _outcome_values(outcome: Any) -> dict[str, Any]:
    """Return what was published as plain values: what the guarantee file states, and nothing about private data."""
    guarantee = next(path for path in outcome.files if path.name.endswith(".guarantee.json"))
    stated = json.loads(guarantee.read_text(encoding="utf-8"))
    return {"files": outcome.files, "statement": stated, "warnings": outcome.warnings}


def _suggest_after(outcome: Any) -> None:
    """Say what to do with what was published."""
    out, guarantee = outcome.files[:2]
    if outcome.statement.releasable:
        suggest(f"give {out} away together with {guarantee}; keep IN and the ledger to yourself")
    else:
        suggest(
            f"read {guarantee}; --map FILE draws it",
            "geodp check-data IN   says what a release leaves out; --mode release --ledger FILE   makes a real one",
        )


@_publication
def positions(
    asked: Asked,
    mechanism: Annotated[
        str,
        typer.Option(
            metavar="KIND",
            help="planar_geometric, planar_laplace (simulate only), contour, …",
            autocompletion=complete_kind("device", "mechanism"),
        ),
    ] = "planar_geometric",
    expected_workers: Annotated[
        float | None, typer.Option(metavar="N", help="Public number of people, for counts whose cells depend on it.")
    ] = None,
    one_row: Annotated[
        bool, typer.Option("--one-row-per-person", help="Every row is a person of its own: no column says whose it is.")
    ] = False,
) -> Any:
    """Publish positions (columns user, lon, lat): a report per row, or noisy counts per cell."""
    from geodp.publish.positions_plan import PARTS, publish_positions

    request = asked(PARTS, one_row_per_person=one_row)
    return publish_positions(request, mechanism=mechanism, expected_workers=expected_workers)


@_publication
def visits(
    asked: Asked,
    venues: Annotated[
        Path, typer.Option(metavar="FILE", help="Public list of venues: venue, lon, lat and columns of the levels.")
    ],
    method: Annotated[
        str, typer.Option(metavar="KIND", help="prilocation, …", autocompletion=complete_kind("publication"))
    ] = "prilocation",
    level: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Level of the hierarchy [default: the finest].")
    ] = None,
    personal_levels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Public levels of single users (user, level); others: --level.")
    ] = None,
    users: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Public list of people (user): all get a record. Default: names of IN show."),
    ] = None,
    areas: Annotated[
        list[str] | None,
        typer.Option(metavar="LEVEL=FILE:COLUMN", help="Areas (GeoJSON, GeoParquet) as a level; coarsest first."),
    ] = None,
    leave_out: Annotated[
        bool, typer.Option("--leave-out", help="Leave out venues in no unit of a level, or in two.")
    ] = False,
    venue_column: VenueColumns = None,
) -> Any:
    """Publish visits (columns user, venue): each moved to a random place of a public list of venues."""
    from geodp.publish.private_visits import PARTS
    from geodp.publish.request import parse_columns
    from geodp.publish.visits_plan import PublicPlaces, publish_visits
    from geodp.tables.visits.hierarchy import AreaFile
    from geodp.tables.visits.venue_file import PARTS as LISTED

    listed = parse_columns(venue_column, LISTED, "--venue-column")
    levels = tuple(AreaFile.parse(text) for text in areas or [])
    read = {"the venue list": venues, **{f"the areas of level '{area.level}'": area.path for area in levels}}
    read |= {} if personal_levels is None else {"the personal levels": personal_levels}
    read |= {} if users is None else {"the list of users": users}
    public = PublicPlaces(
        path=venues,
        level=level,
        columns=listed,
        areas=levels,
        leave_out=leave_out,
        personal_levels=personal_levels,
        users=users,
    )
    return publish_visits(asked(PARTS, read), venues=public, method=method)


@_publication
def counts(
    asked: Asked,
    venues: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Public list of venues: venue and, for maps, lon and lat.")
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            metavar="KIND",
            help="grouping_smoothing, fourier_counts, dpsense, laplace_counts, uniform, zeros.",
            autocompletion=complete_kind("publication"),
        ),
    ] = "grouping_smoothing",
    max_theta: Annotated[
        int | None, typer.Option(metavar="N", help="dpsense: public limit on its threshold [default: all venues].")
    ] = None,
    venue_column: VenueColumns = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="ADDR", help="Read on a Dask cluster: tcp://host:8786, or local.")
    ] = None,
) -> Any:
    """Publish how many users visited each venue of a public list (columns user, venue)."""
    from geodp.publish.counts_plan import CountsOptions, publish_counts
    from geodp.publish.private_visits import PARTS
    from geodp.publish.request import parse_columns
    from geodp.tables.visits.venue_file import PARTS as LISTED

    listed = parse_columns(venue_column, LISTED, "--venue-column")
    read = {} if venues is None else {"the venue list": venues}
    return publish_counts(asked(PARTS, read), CountsOptions(venues, method, max_theta, listed, cluster))


@_publication
def trajectories(
    asked: Asked,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="A publication that reads trajectories: synthetic_trips [default], dpt, ngram, …",
            autocompletion=complete_kind("publication"),
        ),
    ] = None,
    unit: Annotated[
        str | None, typer.Option(metavar="UNIT", help="What ε hides: person [default] or trajectory.")
    ] = None,
    variant: Annotated[str | None, typer.Option(metavar="NAME", help="What --method was called before.")] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="KIND",
            help="geolife, tdrive, porto_taxi, …: read IN by this loader.",
            autocompletion=complete_kind("loader"),
        ),
    ] = None,
    reading: Annotated[
        list[str] | None,
        typer.Option("--read", metavar="FIELD=VALUE", help="Set a field of that loader, e.g. origin=0,0."),
    ] = None,
    streets: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Public streets (lines) that synthetic trips follow.")
    ] = None,
    compare: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Score this synthetic set, too, against the same truth (simulate only)."),
    ] = None,
) -> Any:
    """Publish trajectories (columns user, trajectory, time_s, lon, lat; or a published format) as synthetic trips."""
    from geodp.publish.trajectories_plan import TripFormat, publish_trajectories
    from geodp.tables.trajectories.table import COLUMNS

    form = TripFormat(kind, overrides(reading))
    with tell_log():
        return publish_trajectories(
            asked(COLUMNS),
            method=method,
            unit=unit,
            variant=variant,
            form=form,
            streets=streets,
            compare=compare or [],
        )


@app.command()
def flows(
    pings: Annotated[
        Path,
        typer.Argument(metavar="PINGS", help="The private pings: a table, or a folder of them."),
    ],
    zones: Annotated[str, typer.Option(metavar="FILE:COLUMN", help="Public zones, and their column of names.")],
    first: Annotated[str, typer.Option("--from", metavar="DAY", help="First day, such as 2024-03-01.")],
    last: Annotated[str, typer.Option("--to", metavar="DAY", help="Last day.")],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="The folder to publish; it appears whole.")],
    epsilon: Annotated[float | None, typer.Option(metavar="E", help="ε of the unit.")] = None,
    delta: Annotated[
        float | None, typer.Option(metavar="D", help="δ: Gaussian noise. Without it ε is pure: Laplace noise.")
    ] = None,
    rho: Annotated[float | None, typer.Option(metavar="R", help="ρ instead of ε; stated at δ [default: 1e-6].")] = None,
    districts: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the district of each zone.")
    ] = None,
    towers: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Public towers (tower, lon, lat), where pings name a tower: its site's zone, or --zones towers.",
        ),
    ] = None,
    timezone: Annotated[str, typer.Option(metavar="TZ", help="Clock of the days, such as Europe/Lisbon.")] = "UTC",
    every: Annotated[str, typer.Option(metavar="LENGTH", help="Periods of footfall: 15min, 1h, …")] = "1h",
    od_every: Annotated[str, typer.Option(metavar="LENGTH", help="Periods of flows: 1h, …, 1d.")] = "1d",
    unit: Annotated[
        str, typer.Option(metavar="UNIT", help="What stays hidden: person-day, person-week or person.")
    ] = "person-day",
    trips: Annotated[int, typer.Option(metavar="N", help="Trips of a person a day that are used at most.")] = 8,
    share: Annotated[
        list[str] | None, typer.Option("--share", metavar="TABLE=PART", help="Part of the budget, e.g. od=.3.")
    ] = None,
    mode: Annotated[
        str, typer.Option(metavar="MODE", help="simulate (not releasable), or release (OpenDP noise).")
    ] = "simulate",
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of simulated noise [default: 0]; a release takes none.")
    ] = None,
    column: Columns = None,
    ledger: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Ledger to charge; a release needs one."),
    ] = None,
    budget_rho: Annotated[
        float | None, typer.Option(metavar="R", help="Budget of a ledger that has none, as ρ.")
    ] = None,
    budget: Annotated[float | None, typer.Option(metavar="E", help="Or as ε, at --budget-delta.")] = None,
    budget_delta: Annotated[float | None, typer.Option(metavar="D", help="δ of --budget.")] = None,
    budget_unit: Annotated[
        str, typer.Option(metavar="UNIT", help="What the budget bounds: person-day, person-week or person.")
    ] = "person",
    cluster: Annotated[
        str | None, typer.Option(metavar="ADDR", help="Read on a Dask cluster: tcp://host:8786, or local.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an older report (never the ledger).")] = False,
    _json: Json = False,
) -> None:
    """Publish footfall, flows between zones and trip statistics of pings: tables, a map and a report, in a folder."""
    from geodp.cli.progress import PUBLISH_PHASES, show_progress
    from geodp.flows.pings import PARTS, TOWER_PARTS
    from geodp.publish.flows_pipeline import publish_flows
    from geodp.publish.flows_request import FlowsRequest, make_budget, parse_shares
    from geodp.publish.request import parse_columns
    from geodp.tables.progress import watch_progress

    request = FlowsRequest(
        source=pings,
        zones=zones,
        out=out,
        first=first,
        last=last,
        districts=districts,
        timezone=timezone,
        every=every,
        od_every=od_every,
        unit=unit,
        trips=trips,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        shares=parse_shares(share or ()),
        mode=mode,
        seed=seed,
        ledger=ledger,
        force=force,
        columns=parse_columns(column, PARTS if towers is None else TOWER_PARTS),
        towers=towers,
        cluster=cluster,
        budget=make_budget(budget_rho, budget, budget_delta, budget_unit),
    )
    with show_progress(PUBLISH_PHASES, quiet="--quiet" in flags) as tell, watch_progress(tell):
        outcome = publish_flows(request)
    for warning in outcome.warnings:
        warn(warning)
    stated = json.loads((out / "guarantee.json").read_text(encoding="utf-8"))
    print_json({"files": outcome.files, "statement": stated, "warnings": outcome.warnings})
    say(outcome.text)
    suggest(f"open {out / 'report.html'} in a browser")


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="A folder of geodp publish flows.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="A later one, of the same zones.")],
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write all differences of places (.csv).")] = None,
    _json: Json = False,
) -> None:
    """Say what differs between two reports of flows by more than their noise: free, it reads released numbers alone."""
    from geodp.publish.flows_compare import compare_flows
    from geodp.storage.csv_cells import make_guarded_csv
    from geodp.storage.files import write_text_whole

    made = compare_flows(first, second)
    if out is not None:
        write_text_whole(out, make_guarded_csv(made.footfall.assign(releasable=made.releasable)))
    rows = {name: json.loads(table.to_json(orient="records")) for name, table in
            (("footfall", made.footfall), ("od", made.od))}  # fmt: skip
    print_json({"releasable": made.releasable, **rows})
    say(made.text())


@app.command("by-area")
def by_area(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder of geodp publish flows.")],
    zones: Annotated[str, typer.Option(metavar="FILE:COLUMN", help="Other public zones, and their column of names.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The table to write (.csv or .parquet).")],
    force: Annotated[bool, typer.Option("--force", help="Replace an older table.")] = False,
    _json: Json = False,
) -> None:
    """Share out the footfall of a report (of cells of towers) among other zones, by area: free, as compare is."""
    from geodp.errors import OutputError
    from geodp.flows.zones import parse_zones, read_zones
    from geodp.publish.flows_by_area import move_footfall, write_footfall
    from geodp.publish.outputs import require_suffix

    require_suffix(out)
    if out.exists() and not force:
        raise OutputError(f"{out} exists already. Use --force to replace it, or another --out.")
    table, said = move_footfall(folder, read_zones(*parse_zones(zones)))
    write_footfall(out, table, said)
    stamp = "Releasable, as the report is." if said["releasable"] else "SIMULATED, not releasable."
    print_json({"releasable": said["releasable"], "rows": len(table), "file": str(out)})
    say(f"{stamp} Of cells that lie in several zones, each gets people by its share of the area; sd is noise alone.")
    say(f"wrote {out}")


@app.command("adopt-ledger")
def adopt_ledger(
    file: Annotated[Path, typer.Argument(metavar="LEDGER", help="A ledger of version 0.1 that is complete.")],
) -> None:
    """Go on with a ledger of version 0.1, which cannot show by itself that it is complete."""
    from geodp.privacy.ledger_file import LedgerFile

    ledger = LedgerFile(file).adopt()
    say(f"{file} holds {len(ledger.charges)} charges; spent so far: {ledger.summary()}. It is sealed: go on with it.")
    suggest(f"geodp publish … --ledger {file}")


def _say_publish(kind: str, file: Path) -> str:
    """Say how a file of some kind is used."""
    if kind == "venues":
        return f"geodp publish counts IN --venues {file} …   publishes visits to them"
    return f"geodp publish {kind} {file} …   (geodp publish {kind} --help lists the options)"


def check_data(
    file: Annotated[Path, typer.Argument(metavar="IN", help="The private data: a table or geographic file.")],
    kind: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="positions, visits, trajectories or venues [default: by its columns]."),
    ] = None,
    column: Columns = None,
    region: PublicRegion = None,
    venues: Annotated[Path | None, typer.Option(metavar="FILE", help="The public list of venues.")] = None,
    _json: Json = False,
) -> None:
    """Tell the holder of private data what a release would leave out, and why. Never for release.

    Exit code 0: a release uses every row, and nothing looks wrong. 2: rows would be left out, something looks wrong, or
    the file cannot be read.
    """
    from geodp.publish.data_check import PARTS
    from geodp.publish.data_check import check_data as check_file
    from geodp.publish.request import parse_columns

    parts = sorted({part for named in PARTS.values() for part in named})
    from geodp.cli.progress import show_progress
    from geodp.tables.progress import watch_progress

    with show_progress(quiet="--quiet" in flags) as tell, watch_progress(tell):
        report = check_file(file, kind, called=parse_columns(column, parts), region=region, venues=venues)
    print_json(report.as_dict())
    if JSON not in flags:
        typer.echo(report.text())
    suggest(
        _say_publish(report.kind, file)
        if report.sound
        else "mend the file, or accept that such rows are left out without a word"
    )
    raise typer.Exit(0 if report.sound else 2)
