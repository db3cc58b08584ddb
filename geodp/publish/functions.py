"""`geodp.publish.counts | visits | positions | trajectories`: what the commands do, on a data frame or a file.

The same checks, the same ledger, the same statements: a frame is written into a folder that nobody else can read, the
pipeline of the commands does the rest, and the folder goes. What comes back is a result with its table.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from geodp.errors import UsageError
from geodp.frames.python_words import python_words, spell_in_python, warn_in_python
from geodp.frames.regions import RegionLike, describe_region
from geodp.frames.release import ReleasedTable
from geodp.model import did_you_mean
from geodp.publish.frame_files import FRAME_NAMES, same_frame, write_private_frame, write_public_frame
from geodp.publish.request import DEFAULT_LEDGER, NOTHING_DONE, Request, explain_nothing_done, parse_columns
from geodp.publish.statement import Accuracy, Statement

if TYPE_CHECKING:
    import pandas as pd

    from geodp.display.folium_map import OfflineMap
    from geodp.publish.pipeline import PublishResult

FileName = str | os.PathLike[str]
Frame = Any
"""A DataFrame or GeoDataFrame, or the name of a file."""


class PublishOptions(TypedDict, total=False):
    """What every publication is asked, as the commands are; all of it may be left out."""

    out: FileName | None
    """File to publish (.csv, .parquet, .geoparquet or .geojson), with its guarantee beside it. Default: none."""
    mode: str
    """`simulate` (default; stamped not releasable), or `release`: OpenDP's noise (extra `release`) and a ledger."""
    seed: int | None
    """Seed of simulated noise (default 0); a release takes none."""
    region: RegionLike
    """The public area: (west, south, east, north) in degrees, a polygon, a GeoDataFrame of polygons, or a file."""
    cap: int | None
    """Public cap on the rows, venues or trips of a person that are used."""
    columns: Mapping[str, str] | None
    """What columns of the data are called, e.g. `{"user": "uid"}`."""
    ledger: FileName | None
    """Ledger to charge. Default: `geodp-ledger.json` in the folder of a file, of a frame in the working folder; a
    release needs one."""
    budget: float | None
    """Budget of the account that is charged, in a ledger that has none for it."""
    map_file: FileName | None
    """Page (.html) to draw what was published on."""
    force: bool
    """Replace existing files (never the ledger)."""
    settings: Mapping[str, Any] | None
    """Fields of the method, e.g. `{"cell_m": 20}`."""


_DEFAULTS: dict[str, Any] = dict.fromkeys(PublishOptions.__annotations__) | {"mode": "simulate", "force": False}


@dataclass(frozen=True, eq=False, repr=False)
class PublishedData(ReleasedTable):
    """What `geodp.publish` made: the table that was published, and all that is said about it.

    Parameters
    ----------
    statement
        Everything that may be told about the publication.
    text
        What the command prints.
    path
        The file that was written (None: none was asked for).
    warnings
        What was guessed, left out, or read off private data.

    Examples
    --------
    >>> import geodp, pandas as pd
    >>> people = pd.DataFrame({"user": ["a", "b"], "lon": [10.01, 10.02], "lat": [50.01, 50.02]})
    >>> made = geodp.publish.positions(people, epsilon=0.01, region=(10, 50, 10.08, 50.05), cap=1)
    >>> len(made.table), made.releasable, made.ledger.name
    (2, False, 'geodp-ledger.json')
    """

    statement: Statement = field(kw_only=True)
    text: str = field(kw_only=True)
    path: Path | None = field(default=None, kw_only=True)
    warnings: tuple[str, ...] = field(default=(), kw_only=True)

    @property
    def accuracy(self) -> Accuracy:
        """The error to expect, known without the data: `text`, and `values` by name."""
        return self.statement.product.accuracy

    @property
    def ledger(self) -> Path | None:
        """The ledger that was charged (None: nothing is promised, so nothing was charged)."""
        spent = self.statement.spent
        return None if spent is None else spent.path

    @property
    def not_hidden(self) -> tuple[str, ...]:
        """What the table shows on purpose."""
        return self.statement.plan.not_hidden

    def map(self) -> OfflineMap:
        """Return what was published, and nothing else, on a map that opens with no network.

        Returns
        -------
        folium.Map
            The map: add whatever Folium offers, and `save` it.
        """
        return self.explore()

    def explore(self, *, title: str | None = None, max_points: int | None = None) -> OfflineMap:
        """Return the map.

        Parameters
        ----------
        title
            What the map is called (default: after the file, or the method).
        max_points
            Maximum number of things drawn (default 20,000).

        Returns
        -------
        folium.Map
            The map.
        """
        from geodp.publish.released_map import MAX_POINTS, map_published

        named = title or (f"Published by {self.kind}" if self.path is None else self.path.name)
        return map_published(self.statement, named, MAX_POINTS if max_points is None else max_points)

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        said = "".join(f"<p>{escape(line)}</p>" for line in self.text.splitlines())
        picture = self.map()._repr_html_() if {"lon", "west"} & set(self.table.columns) else ""
        return f"{said}{self.table.head(5).to_html(escape=True)}{picture}"


@dataclass(frozen=True)
class _Call:
    """A call in Python as the request of a command, with the frames it names as files."""

    folder: Path
    data: Frame
    parts: Sequence[str]
    shared: Mapping[str, Any]

    @property
    def out(self) -> Path | None:
        """The file that was asked for."""
        stated = self.shared["out"]
        return None if stated is None else Path(stated)

    @property
    def names(self) -> tuple[tuple[str, str], ...]:
        """What messages call files that the caller never saw."""
        folders = dict.fromkeys((f"{self.folder}{os.sep}", f"{self.folder.resolve()}{os.sep}"))
        return (*((folder, "") for folder in folders), *FRAME_NAMES)

    def write_list(self, frame: Frame, name: str) -> Path | None:
        """Return the file of a public input; a frame becomes one."""
        if frame is None or isinstance(frame, str | os.PathLike):
            return None if frame is None else Path(frame)
        if same_frame(frame, self.data):
            raise UsageError(f"{name}: must be public, and this is the private data (or a copy of them).")
        return write_public_frame(frame, self.folder, name)

    def ask(self, also_read: Mapping[str, Path | None] | None = None, **more: Any) -> Request:
        """Return the request."""
        options = dict(self.shared)
        stated = [f"{part}={column}" for part, column in (options.pop("columns") or {}).items()]
        named = parse_columns(stated, self.parts)
        mode, ledger, map_file = options.pop("mode"), options.pop("ledger"), options.pop("map_file")
        if mode not in ("simulate", "release"):
            raise UsageError(f"mode must be 'simulate' or 'release', got {mode!r}.")
        if isinstance(self.data, str | os.PathLike):
            source = Path(self.data)
        elif mode == "release" and ledger is None:
            raise UsageError(
                "mode='release' needs ledger='FILE': the ledger of everyone in the data, which all publications about "
                f"them share. {NOTHING_DONE}"
            )
        else:
            releasing = mode == "release"
            with explain_nothing_done():
                source = write_private_frame(self.data, self.folder, self.parts, named, releasing=releasing)
            ledger = DEFAULT_LEDGER if ledger is None else ledger
        options.pop("out")
        return Request(
            source=source,
            out=self.folder / "published.parquet" if self.out is None else self.out,
            mode=mode,
            ledger=None if ledger is None else Path(ledger),
            region=describe_region(options.pop("region"), self.folder),
            map=None if map_file is None else Path(map_file),
            settings=dict(options.pop("settings") or {}),
            columns=named,
            also_read={what: path for what, path in (also_read or {}).items() if path is not None},
            **options,
            **more,
        )

    def finish(self, made: PublishResult) -> PublishedData:
        """Return what the pipeline made as a result, after warning of what it warns of."""
        statement = made.statement
        text = "\n".join(line for line in made.text.splitlines() if str(self.folder) not in line)
        return PublishedData(
            kind=statement.plan.mechanism,
            table=_read_table(statement),
            guarantee=statement.guarantee,
            per_person=statement.per_person,
            region=statement.plan.region,
            facts=dict(statement.plan.fields),
            releasable=statement.releasable,
            statement=statement,
            text=spell_in_python(text),
            path=self.out,
            warnings=warn_in_python(made.warnings, *self.names),
        )


def _read_table(statement: Statement) -> pd.DataFrame:
    """Return the published columns as a frame."""
    import pyarrow as pa

    columns = statement.product.table.columns
    ready = (pa.Array, pa.ChunkedArray)
    arrays = {name: one if isinstance(one, ready) else pa.array(one) for name, one in columns.items()}
    frame: pd.DataFrame = pa.table(arrays).to_pandas()
    return frame


def _publish(
    data: Frame, parts: Sequence[str], shared: Mapping[str, Any], make: Callable[[_Call], PublishResult]
) -> PublishedData:
    """Call a command's pipeline with frames as files in a folder that is the caller's alone, and goes at the end."""
    unknown = sorted(set(shared) - set(_DEFAULTS))
    if unknown:
        raise TypeError(f"unexpected argument {unknown[0]!r}.{_hint(unknown[0], parts, shared)}")
    with tempfile.TemporaryDirectory(prefix="geodp-") as folder:
        call = _Call(Path(folder), data, parts, _DEFAULTS | dict(shared))
        with python_words(*call.names):
            made = make(call)
        return call.finish(made)


def _hint(unknown: str, parts: Sequence[str], shared: Mapping[str, Any]) -> str:
    """Say what to write instead of an argument: columns, which bare mechanisms take one by one, stand together here."""
    part = "time_s" if unknown == "time" and "time_s" in parts else unknown
    if part in parts:
        return f" Columns of the data are named together: columns={{{part!r}: {shared[unknown]!r}}}."
    return did_you_mean(unknown, list(_DEFAULTS))


def counts(
    data: Frame,
    *,
    epsilon: float | None = None,
    venues: Frame = None,
    method: str = "grouping_smoothing",
    max_theta: int | None = None,
    venue_columns: Mapping[str, str] | None = None,
    cluster: str | None = None,
    **shared: Unpack[PublishOptions],
) -> PublishedData:
    """Publish how many users visited each venue of a public list, as `geodp publish counts` does.

    Parameters
    ----------
    data
        The private visits (columns user, venue): a frame, or the name of a file.
    epsilon
        ε of a person.
    venues
        Public list of venues (venue and, for maps, lon and lat or points): a frame, or the name of a file. A
        simulation reads it off the data where it is missing, and says that no promise holds then.
    method
        `grouping_smoothing`, `fourier_counts`, `dpsense`, `laplace_counts`, …
    max_theta
        `dpsense`: public limit on its threshold.
    venue_columns
        What columns of the list are called, e.g. `{"venue": "poi"}`.
    cluster
        Dask scheduler to read on, `tcp://host:8786` or `local`.
    **shared
        What every publication is asked (`PublishOptions`): `out`, `mode`, `seed`, `region`, `cap`, `columns`,
        `ledger`, `budget`, `map_file`, `force`, `settings`.

    Returns
    -------
    PublishedData
        The table, what it promises, how far off it is, its ledger and its map.

    Raises
    ------
    DataError
        If the data cannot be used as they are.
    UsageError
        If what is asked makes no sense, or a release lacks a public input or a ledger.
    BudgetSpent
        If the ledger refuses; nothing is released then.
    NotReleasable
        If a release is asked of what promises nothing that holds, or OpenDP is not installed.

    Examples
    --------
    >>> import geodp, pandas as pd
    >>> visits = pd.DataFrame({"user": ["a", "b", "b"], "venue": ["inn", "inn", "museum"]})
    >>> venues = pd.DataFrame({"venue": ["inn", "museum"], "lon": [10.01, 10.02], "lat": [50.01, 50.02]})
    >>> made = geodp.publish.counts(visits, epsilon=0.69, cap=2, venues=venues)
    >>> made.table["venue"].tolist(), made.guarantee.epsilon, made.ledger.name
    (['inn', 'museum'], 0.69, 'geodp-ledger.json')
    """
    from geodp.publish.counts_plan import CountsOptions, publish_counts
    from geodp.publish.private_visits import PARTS

    def make(call: _Call) -> PublishResult:
        listed = call.write_list(venues, "venues")
        named = _name_venue_columns(venue_columns)
        request = call.ask({"the venue list": listed}, epsilon=epsilon)
        return publish_counts(request, CountsOptions(listed, method, max_theta, named, cluster))

    return _publish(data, PARTS, shared, make)


def visits(
    data: Frame,
    *,
    venues: Frame,
    epsilon: float | None = None,
    method: str = "prilocation",
    level: str | None = None,
    personal_levels: Frame = None,
    users: Frame = None,
    areas: Sequence[str] = (),
    leave_out: bool = False,
    venue_columns: Mapping[str, str] | None = None,
    **shared: Unpack[PublishOptions],
) -> PublishedData:
    """Publish visits, each moved to a random place of a public list of venues, as `geodp publish visits` does.

    Parameters
    ----------
    data
        The private visits (columns user, venue): a frame, or the name of a file.
    venues
        Public list of venues: venue, lon, lat (or points) and columns of the levels; a frame, or the name of a file.
    epsilon
        ε of a visit; per metre where the method says so.
    method
        `prilocation`, …
    level
        Level of the hierarchy (default: the finest).
    personal_levels
        Public levels of single users (columns user, level); a frame, or the name of a file.
    users
        Public list of people (column user), each of whom gets a record. Default: names of the data show.
    areas
        Files of areas as levels, coarsest first: `district=districts.geojson:name`.
    leave_out
        Leave out venues in no unit of a level, or in two.
    venue_columns
        What columns of the list are called, e.g. `{"venue": "poi"}`.
    **shared
        What every publication is asked (`PublishOptions`): `out`, `mode`, `seed`, `region`, `cap`, `columns`,
        `ledger`, `budget`, `map_file`, `force`, `settings`.

    Returns
    -------
    PublishedData
        The table, what it promises, how far off it is, its ledger and its map.

    Raises
    ------
    DataError
        If the data cannot be used as they are.
    UsageError
        If what is asked makes no sense, or a release lacks a public input or a ledger.
    BudgetSpent
        If the ledger refuses; nothing is released then.
    NotReleasable
        If a release is asked of what promises nothing that holds, or OpenDP is not installed.

    Examples
    --------
    >>> import geodp, pandas as pd
    >>> visits = pd.DataFrame({"user": ["a", "b", "b"], "venue": ["inn", "inn", "museum"]})
    >>> venues = pd.DataFrame({"venue": ["inn", "museum"], "lon": [10.01, 10.02], "lat": [50.01, 50.02]})
    >>> made = geodp.publish.visits(visits, venues=venues, epsilon=1.0, cap=2)
    >>> list(made.table.columns), made.to_geodataframe().crs.to_epsg()
    (['user', 'venue', 'lon', 'lat'], 4326)
    """
    from geodp.publish.private_visits import PARTS
    from geodp.publish.visits_plan import PublicPlaces, publish_visits
    from geodp.tables.visits.hierarchy import AreaFile

    def make(call: _Call) -> PublishResult:
        levels = tuple(AreaFile.parse(text) for text in ([areas] if isinstance(areas, str) else areas))
        listed = call.write_list(venues, "venues")
        if listed is None:
            raise UsageError("venues: the public list of venues is needed: a frame, or the name of a file.")
        chosen, people = call.write_list(personal_levels, "personal_levels"), call.write_list(users, "users")
        read: dict[str, Path | None] = {"the venue list": listed}
        read |= {f"the areas of level '{area.level}'": area.path for area in levels}
        read |= {"the personal levels": chosen, "the list of users": people}
        public = PublicPlaces(
            path=listed,
            level=level,
            columns=_name_venue_columns(venue_columns),
            areas=levels,
            leave_out=leave_out,
            personal_levels=chosen,
            users=people,
        )
        return publish_visits(call.ask(read, epsilon=epsilon), venues=public, method=method)

    return _publish(data, PARTS, shared, make)


def positions(
    data: Frame,
    *,
    epsilon: float | None = None,
    mechanism: str = "planar_geometric",
    expected_workers: float | None = None,
    one_row_per_person: bool = False,
    **shared: Unpack[PublishOptions],
) -> PublishedData:
    """Publish positions, a report per row or noisy counts per cell, as `geodp publish positions` does.

    Parameters
    ----------
    data
        The private positions (columns user, lon, lat, or points): a frame, or the name of a file.
    epsilon
        ε per metre of planar mechanisms; ε of a person for counts.
    mechanism
        `planar_geometric`, `planar_laplace` (simulate only), `contour`, …
    expected_workers
        Public number of people, for counts whose cells depend on it.
    one_row_per_person
        Every row is a person of its own: no column says whose it is.
    **shared
        What every publication is asked (`PublishOptions`): `out`, `mode`, `seed`, `region`, `cap`, `columns`,
        `ledger`, `budget`, `map_file`, `force`, `settings`.

    Returns
    -------
    PublishedData
        The table, what it promises, how far off it is, its ledger and its map.

    Raises
    ------
    DataError
        If the data cannot be used as they are.
    UsageError
        If what is asked makes no sense, or a release lacks a public input or a ledger.
    BudgetSpent
        If the ledger refuses; nothing is released then.
    NotReleasable
        If a release is asked of what promises nothing that holds, or OpenDP is not installed.

    Examples
    --------
    >>> import geodp, geopandas
    >>> places = geopandas.points_from_xy([10.01, 10.02], [50.01, 50.02], crs=4326)
    >>> people = geopandas.GeoDataFrame({"user": ["a", "b"]}, geometry=places)
    >>> made = geodp.publish.positions(people, epsilon=0.01, region=(10, 50, 10.08, 50.05), cap=1)
    >>> print(made.guarantee.unit, made.releasable, len(made.to_geodataframe()))
    point False 2
    """
    from geodp.publish.positions_plan import PARTS, publish_positions

    def make(call: _Call) -> PublishResult:
        request = call.ask(epsilon=epsilon, one_row_per_person=one_row_per_person)
        return publish_positions(request, mechanism=mechanism, expected_workers=expected_workers)

    return _publish(data, PARTS, shared, make)


def trajectories(
    data: Frame,
    *,
    epsilon: float | None = None,
    method: str | None = None,
    unit: str | None = None,
    format: str | None = None,  # noqa: A002 - as the option of the command is called
    read: Mapping[str, Any] | None = None,
    streets: str | os.PathLike[str] | None = None,
    **shared: Unpack[PublishOptions],
) -> PublishedData:
    """Publish trajectories as synthetic trips, as `geodp publish trajectories` does.

    Parameters
    ----------
    data
        The private trips (columns user, trajectory, time_s, lon, lat; or points): a frame, or the name of a file or
        folder, also of a published format.
    epsilon
        ε of a person, or of a trip (`unit`).
    method
        A publication that reads trajectories: `synthetic_trips` (default), `dpt`, `ngram`, …
    unit
        What ε hides: `person` (default) or `trajectory`.
    format
        `geolife`, `tdrive`, `porto_taxi`, …: read the file by this loader.
    read
        Fields of that loader.
    streets
        Public streets (lines) that synthetic trips follow.
    **shared
        What every publication is asked (`PublishOptions`): `out`, `mode`, `seed`, `region`, `cap`, `columns`,
        `ledger`, `budget`, `map_file`, `force`, `settings`.

    Returns
    -------
    PublishedData
        The table, what it promises, how far off it is, its ledger and its map.

    Raises
    ------
    DataError
        If the data cannot be used as they are.
    UsageError
        If what is asked makes no sense, or a release lacks a public input or a ledger.
    BudgetSpent
        If the ledger refuses; nothing is released then.
    NotReleasable
        If a release is asked of what promises nothing that holds, or OpenDP is not installed.

    Examples
    --------
    Twenty short trips are too few to learn from, and it warns of that:

    >>> import geodp, pandas as pd, warnings
    >>> trip = pd.DataFrame({"time_s": [0, 60, 120], "lon": [10.01, 10.03, 10.05], "lat": [50.01, 50.02, 50.04]})
    >>> trips = pd.concat([trip.assign(user=f"u{who}", trajectory=f"t{who}") for who in range(20)])
    >>> with warnings.catch_warnings(action="ignore"):
    ...     made = geodp.publish.trajectories(trips, epsilon=1.0, region=(10, 50, 10.08, 50.05), cap=1)
    >>> made.kind, made.guarantee.epsilon, len(made.warnings)
    ('synthetic_trips', 1.0, 2)
    """
    from geodp.publish.trajectories_plan import TripFormat, publish_trajectories
    from geodp.tables.trajectories.table import COLUMNS

    def make(call: _Call) -> PublishResult:
        if format is not None and not isinstance(data, str | os.PathLike):
            raise UsageError("format= reads a published format from a file or a folder: name it instead of a frame.")
        return publish_trajectories(
            call.ask(epsilon=epsilon),
            method=method,
            unit=unit,
            form=TripFormat(format, dict(read or {})),
            streets=None if streets is None else Path(streets),
        )

    return _publish(data, COLUMNS, shared, make)


def _name_venue_columns(stated: Mapping[str, str] | None) -> dict[str, str]:
    from geodp.tables.visits.venue_file import PARTS

    return parse_columns([f"{part}={column}" for part, column in (stated or {}).items()], PARTS, "--venue-column")
