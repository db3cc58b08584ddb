"""The commands of `geodp publish`; everything heavy is imported inside a command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from geodp.cli.console import Plugins, overrides, say, warn

if TYPE_CHECKING:
    from geodp.publish.pipeline import PublishResult

app = typer.Typer(no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]})

PrivateFile = Annotated[Path, typer.Argument(metavar="IN", help="The private data (csv or Parquet).")]
PublishedFile = Annotated[
    Path, typer.Option(metavar="OUT", help="The file to publish (.csv, .parquet, .geoparquet or .geojson).")
]
Mode = Annotated[str, typer.Option(metavar="MODE", help="simulate (not releasable), or release (OpenDP noise).")]
Seed = Annotated[int | None, typer.Option(min=0, help="Seed of simulated noise [default: 0]; a release takes none.")]
PublicRegion = Annotated[
    str | None, typer.Option(metavar="W,S,E,N", help="The public region in degrees, or a file of polygons.")
]
VenueRegion = Annotated[
    str | None, typer.Option(metavar="W,S,E,N", help="Use the venues of the list in this region only (or in a file's).")
]
Cap = Annotated[int | None, typer.Option(metavar="N", help="Public cap on the rows of one user that are used.")]
LedgerPath = Annotated[
    Path | None,
    typer.Option(
        "--ledger", metavar="FILE", help="Ledger to charge; a release needs one [default: geodp-ledger.json by IN]."
    ),
]
Budget = Annotated[
    float | None,
    typer.Option(metavar="E", help="Budget in the ledger for what is charged here: a new ε, or ε per metre."),
]
MapFile = Annotated[Path | None, typer.Option("--map", metavar="FILE", help="Draw what was published on a map.")]
Columns = Annotated[
    list[str] | None, typer.Option("--column", metavar="PART=COLUMN", help="What a column is called in IN: user=uid.")
]
VenueColumns = Annotated[
    list[str] | None,
    typer.Option("--venue-column", metavar="PART=COLUMN", help="What a column is called in the list: venue=poi."),
]
OneRow = Annotated[
    bool, typer.Option("--one-row-per-person", help="Every row is a person of its own: no column says whose it is.")
]
Replace = Annotated[bool, typer.Option("--force", help="Replace existing files (never the ledger).")]
Fields = Annotated[
    list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="Set a field of the mechanism, e.g. cell_m=20.")
]


@app.callback()
def _publish() -> None:
    """Publish a file of real data with a guarantee and a ledger; OUT.guarantee.json says what is promised."""


@app.command()
def positions(
    file: PrivateFile,
    out: PublishedFile,
    mechanism: Annotated[
        str, typer.Option(metavar="KIND", help="planar_geometric, planar_laplace (simulate only), contour, …")
    ] = "planar_geometric",
    epsilon: Annotated[float | None, typer.Option(metavar="E", help="ε; per metre for planar mechanisms.")] = None,
    mode: Mode = "simulate",
    seed: Seed = None,
    region: PublicRegion = None,
    cap: Cap = None,
    expected_workers: Annotated[
        float | None, typer.Option(metavar="N", help="Public number of people, for counts whose cells depend on it.")
    ] = None,
    column: Columns = None,
    one_row: OneRow = False,
    ledger: LedgerPath = None,
    budget: Budget = None,
    map_file: MapFile = None,
    force: Replace = False,
    settings: Fields = None,
    _plugins: Plugins = None,
) -> None:
    """Publish positions (columns user, lon, lat): a report per row, or noisy counts per cell."""
    from geodp.publish.positions import PARTS, publish_positions
    from geodp.publish.request import Request, parse_columns

    fields, called = overrides(settings), parse_columns(column, PARTS)
    request = Request(
        file, out, epsilon, mode, seed, region, cap, ledger, budget, map_file, force, fields, called, {}, one_row
    )
    _tell(publish_positions(request, mechanism=mechanism, expected_workers=expected_workers))


@app.command()
def visits(
    file: PrivateFile,
    out: PublishedFile,
    venues: Annotated[
        Path, typer.Option(metavar="FILE", help="Public list of venues: venue, lon, lat and columns of the levels.")
    ],
    method: Annotated[str, typer.Option(metavar="KIND", help="prilocation, …")] = "prilocation",
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
    column: Columns = None,
    venue_column: VenueColumns = None,
    epsilon: Annotated[float | None, typer.Option(metavar="E", help="ε of one visit, or of a user.")] = None,
    mode: Mode = "simulate",
    seed: Seed = None,
    region: VenueRegion = None,
    cap: Cap = None,
    ledger: LedgerPath = None,
    budget: Budget = None,
    map_file: MapFile = None,
    force: Replace = False,
    settings: Fields = None,
    _plugins: Plugins = None,
) -> None:
    """Publish visits (columns user, venue): each moved to a random place of a public list of venues."""
    from geodp.publish.request import Request, parse_columns
    from geodp.publish.visit_reading import PARTS
    from geodp.publish.visits import PublicPlaces, publish_visits
    from geodp.tables.visits.hierarchy import AreaFile
    from geodp.tables.visits.venue_file import PARTS as LISTED

    fields, called = overrides(settings), parse_columns(column, PARTS)
    listed = parse_columns(venue_column, LISTED, "--venue-column")
    levels = tuple(AreaFile.parse(text) for text in areas or [])
    read = {"the venue list": venues, **{f"the areas of level '{area.level}'": area.path for area in levels}}
    read |= {} if personal_levels is None else {"the personal levels": personal_levels}
    read |= {} if users is None else {"the list of users": users}
    request = Request(
        file, out, epsilon, mode, seed, region, cap, ledger, budget, map_file, force, fields, called, read
    )
    public = PublicPlaces(venues, level, listed, levels, leave_out, personal_levels, users)
    _tell(publish_visits(request, venues=public, method=method))


@app.command()
def counts(
    file: Annotated[
        Path, typer.Argument(metavar="IN", help="The private visits (csv or Parquet file, or a folder of them).")
    ],
    out: PublishedFile,
    venues: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Public list of venues: venue and, for maps, lon and lat.")
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            metavar="KIND", help="grouping_smoothing, fourier_counts, dpsense, laplace_counts, uniform, zeros."
        ),
    ] = "grouping_smoothing",
    epsilon: Annotated[float | None, typer.Option(metavar="E", help="ε for all visits of one user.")] = None,
    cap: Annotated[
        int | None, typer.Option(metavar="N", help="Public cap on the venues at which one user counts.")
    ] = None,
    max_theta: Annotated[
        int | None, typer.Option(metavar="N", help="dpsense: public limit on its threshold [default: all venues].")
    ] = None,
    mode: Mode = "simulate",
    seed: Seed = None,
    region: VenueRegion = None,
    column: Columns = None,
    venue_column: VenueColumns = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="ADDR", help="Read on a Dask cluster: tcp://host:8786, or local.")
    ] = None,
    ledger: LedgerPath = None,
    budget: Budget = None,
    map_file: MapFile = None,
    force: Replace = False,
    settings: Fields = None,
    _plugins: Plugins = None,
) -> None:
    """Publish how many users visited each venue of a public list (columns user, venue)."""
    from geodp.publish.counts import CountsOptions, publish_counts
    from geodp.publish.request import Request, parse_columns
    from geodp.publish.visit_reading import PARTS
    from geodp.tables.visits.venue_list import PARTS as LISTED

    fields, called = overrides(settings), parse_columns(column, PARTS)
    listed = parse_columns(venue_column, LISTED, "--venue-column")
    read = {} if venues is None else {"the venue list": venues}
    request = Request(
        file, out, epsilon, mode, seed, region, cap, ledger, budget, map_file, force, fields, called, read
    )
    _tell(publish_counts(request, CountsOptions(venues, method, max_theta, listed, cluster)))


@app.command()
def trajectories(
    file: Annotated[
        Path,
        typer.Argument(metavar="IN", help="The private trips: csv, Parquet, or a published format (a folder)."),
    ],
    out: PublishedFile,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="KIND", help="A publication that reads trajectories: synthetic_trips [default], dpt, ngram, …"
        ),
    ] = None,
    epsilon: Annotated[float | None, typer.Option(metavar="E", help="ε of one person, or of one trip.")] = None,
    unit: Annotated[
        str | None, typer.Option(metavar="UNIT", help="What ε hides: person [default] or trajectory.")
    ] = None,
    variant: Annotated[str | None, typer.Option(metavar="NAME", help="What --method was called before.")] = None,
    kind: Annotated[
        str | None,
        typer.Option("--format", metavar="KIND", help="geolife, tdrive, porto_taxi, …: read IN by this loader."),
    ] = None,
    reading: Annotated[
        list[str] | None,
        typer.Option("--read", metavar="FIELD=VALUE", help="Set a field of that loader, e.g. origin=0,0."),
    ] = None,
    column: Columns = None,
    mode: Mode = "simulate",
    seed: Seed = None,
    region: PublicRegion = None,
    cap: Annotated[int | None, typer.Option(metavar="N", help="Public cap on the trips of one person.")] = None,
    ledger: LedgerPath = None,
    budget: Budget = None,
    map_file: MapFile = None,
    force: Replace = False,
    settings: Fields = None,
    _plugins: Plugins = None,
) -> None:
    """Publish trajectories (columns user, trajectory, time_s, lon, lat; or a published format) as synthetic trips."""
    from geodp.publish.request import Request, parse_columns
    from geodp.publish.trajectories import TripFormat, publish_trajectories
    from geodp.tables.trajectories.table import COLUMNS

    fields, called = overrides(settings), parse_columns(column, COLUMNS)
    request = Request(file, out, epsilon, mode, seed, region, cap, ledger, budget, map_file, force, fields, called)
    form = TripFormat(kind, overrides(reading))
    _tell(publish_trajectories(request, method=method, unit=unit, variant=variant, form=form))


@app.command("adopt-ledger")
def adopt_ledger(
    file: Annotated[Path, typer.Argument(metavar="LEDGER", help="A ledger of version 0.1 that is complete.")],
) -> None:
    """Go on with a ledger of version 0.1, which cannot show by itself that it is complete."""
    from geodp.privacy.ledger_file import LedgerFile

    ledger = LedgerFile(file).adopt()
    say(f"{file} holds {len(ledger.charges)} charges; spent so far: {ledger.summary()}. It is sealed: go on with it.")


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
    from geodp.publish.data_check import PARTS
    from geodp.publish.data_check import check_data as check_file
    from geodp.publish.request import parse_columns

    parts = sorted({part for named in PARTS.values() for part in named})
    report = check_file(file, kind, called=parse_columns(column, parts), region=region, venues=venues)
    typer.echo(json.dumps(report.as_dict(), indent=2, ensure_ascii=False) if as_json else report.text())
    raise typer.Exit(0 if report.sound else 2)


def _tell(outcome: PublishResult) -> None:
    """Print what was published; warnings go where errors go."""
    for warning in outcome.warnings:
        warn(warning)
    say(outcome.text)
