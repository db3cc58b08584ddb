"""The commands of `geodp datasets`; everything heavy is imported inside a command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from geodp.cli.completion import complete_kind
from geodp.cli.console import Json, JsonFile, Plugins, flags, overrides, print_json, say, suggest, write_json
from geodp.errors import DataError, UsageError

if TYPE_CHECKING:
    from geodp.tables.loaders import Loader

app = typer.Typer(no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]})

TOWN = "-8.70,41.10,-8.55,41.20"
"""A box as large as a town: 12.5 by 11 km."""
Source = Annotated[Path, typer.Argument(metavar="FILE", help="The file (or folder) as it was published.")]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="KIND",
        help="Loader to use [default: by the file's name].",
        autocompletion=complete_kind("loader"),
    ),
]
LoaderFields = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="FIELD=VALUE", help="Set a field of the loader, e.g. user_column=uid."),
]
Folder = Annotated[Path, typer.Option(metavar="FOLDER", help="Folder to write; it appears whole or not at all.")]
As = Annotated[str, typer.Option("--as", metavar="ENDING", help="parquet or csv.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing folder of tables.")]


@app.command("list")
def list_(_json: Json = False) -> None:
    """List known data sets: what they are, how to get them, their format and columns."""
    from geodp.datasets.describe import describe_datasets, list_datasets

    print_json(list_datasets())
    say(describe_datasets(), "")
    suggest("geodp datasets make --out FOLDER   makes some up; geodp datasets describe FILE   says what a file holds")


@app.command()
def make(
    out: Folder,
    people: Annotated[
        int | None, typer.Option(min=1, help="Number of people [default: 1000; one for 200 pings].")
    ] = None,
    visits: Annotated[int, typer.Option(min=1, help="Mean number of visits of a person.")] = 150,
    venues: Annotated[int, typer.Option(min=1, help="Number of venues.")] = 5000,
    trips: Annotated[int, typer.Option(min=0, help="Make up so many trips on streets instead of visits.")] = 0,
    pings: Annotated[int, typer.Option(min=0, help="Make up so many pings of phones instead, and zones.")] = 0,
    days: Annotated[int, typer.Option(min=1, help="Days of pings, from Monday, 4 March 2024.")] = 7,
    points: Annotated[int, typer.Option(min=2, help="Mean number of fixes of a trip.")] = 20,
    region: Annotated[str, typer.Option(metavar="W,S,E,N", help="Where trips and pings are made up, degrees.")] = TOWN,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same files.")] = 0,
    ending: As = "parquet",
    force: Force = False,
    _json: Json = False,
) -> None:
    """Make up visits and the list of their venues, with a hierarchy and categories; trips on streets; or pings."""
    from geodp.cli.progress import show_progress
    from geodp.datasets.table_folders import make_trips, make_visits, require_ending
    from geodp.tables.visits.generated_visits import Sizes

    people = max(1000, pings // 200) if people is None else people
    if trips and pings:
        raise UsageError("--trips and --pings: make one of them up, and the other into another folder.")
    if pings:
        from geodp.datasets.table_folders import make_pings
        from geodp.flows.generated_pings import PingSizes
        from geodp.tables.regions import parse_region, require_sound

        where = parse_region(region)
        require_sound(where)
        seen = PingSizes(people=people, pings=pings, days=days)
        with show_progress(quiet="--quiet" in flags) as tell:
            tell("making up pings", 0.0)
            written = make_pings(out, seen, where, seed=seed, ending=require_ending(ending), force=force)
    elif trips:
        from geodp.tables.regions import parse_region, require_sound
        from geodp.tables.trajectories.generated_trips import TripSizes

        driven = TripSizes(people=people, trips=trips, points=trips * points, days=max(1, trips // people // 6))
        where = parse_region(region)
        require_sound(where)
        with show_progress(quiet="--quiet" in flags) as tell:
            tell("making up trips", 0.0)
            written = make_trips(out, driven, where, seed=seed, ending=require_ending(ending), force=force)
    else:
        sizes = Sizes(people=people, visits=visits, venues=venues)
        with show_progress(quiet="--quiet" in flags) as tell:
            tell("making up visits", 0.0)
            written = make_visits(out, sizes, seed=seed, ending=require_ending(ending), force=force)
    print_json({"written": written})
    say(*(f"wrote {path}" for path in written))
    if pings:
        suggest(
            f"geodp publish flows {written[0]} --zones {written[1]}:zone --districts district --from 2024-03-04 "
            f"--to {date(2024, 3, 4) + timedelta(days=days - 1)} --epsilon 1 --delta 1e-6 --out FOLDER"
        )
        return
    what = "trajectories" if trips else "visits"
    suggest(f"geodp datasets describe {written[0]}; geodp publish {what} --help   says how to publish such a file")


@app.command()
def convert(
    file: Source,
    out: Folder,
    kind: Format = None,
    settings: LoaderFields = None,
    ending: As = "parquet",
    force: Force = False,
    _json: Json = False,
    _plugins: Plugins = None,
) -> None:
    """Turn a published file into tables: visits and their venues, or trajectories."""
    from geodp.datasets.table_folders import convert as convert_file
    from geodp.datasets.table_folders import require_ending

    loader = _loader(file, kind, settings)
    with _show_reading():
        done = convert_file(file, loader, out, ending=require_ending(ending), force=force)
    values = {"kept": done.dropped.kept, "rows": done.dropped.rows, "format": loader.kind}
    print_json(values | {"left_out": done.dropped.reasons, "notes": done.dropped.notes, "written": done.files})
    say(f"{done.dropped.kept:,} of {done.dropped.rows:,} rows kept, read as {loader.kind}.")
    say(*done.dropped.lines(), *(f"wrote {path}" for path in done.files))
    if loader.loads == "visits":
        say("The list of venues holds those that were visited: it is public only where the data set is.")
    suggest(f"geodp datasets describe {done.files[0]}; geodp publish {loader.loads} --help   says how to publish it")


@app.command()
def describe(
    file: Source,
    kind: Format = None,
    settings: LoaderFields = None,
    laws: Annotated[bool, typer.Option("--laws", help="Measure the laws of movement, too (reads all rows).")] = False,
    zone: Annotated[str, typer.Option(metavar="ZONE", help="With --laws: whose clocks count.")] = "UTC",
    venues: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --laws: where venues are (venue, lon, lat).")
    ] = None,
    json_file: JsonFile = None,
    _plugins: Plugins = None,
) -> None:
    """Say what a file holds: rows, users, venues, times, box, rows per user, and what is left out. Private numbers."""
    from geodp.datasets.describe import describe as describe_file
    from geodp.datasets.describe import describe_laws, laws_text, text_of

    loader = _loader(file, kind, settings)
    with _show_reading():
        values = describe_file(file, loader)
        if laws:
            values["laws_of_movement"] = describe_laws(file, loader, zone=zone, venues=venues)
    found = values.pop("laws_of_movement", None)
    say(text_of(values))
    if found is not None:
        say("", laws_text(found))
        values["laws_of_movement"] = found
    write_json(json_file, values)
    suggest(
        f"geodp check-data {file}   says what a release would leave out; geodp datasets convert   makes tables of it"
    )


@contextmanager
def _show_reading() -> Iterator[None]:
    """Show how much of a file is read."""
    from geodp.cli.progress import show_progress
    from geodp.tables.progress import watch_progress

    with show_progress(quiet="--quiet" in flags) as tell, watch_progress(tell):
        yield


def _loader(file: Path, kind: str | None, settings: list[str] | None) -> Loader:
    """Return the loader for a file that is there: before anything is said about its format."""
    from geodp.tables.published_formats import loader_for

    if not file.exists():
        raise DataError(f"{file}: no such file or folder. Nothing was written.")
    return loader_for(file, kind, overrides(settings))
