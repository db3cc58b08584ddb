"""`geodp.publish.flows`: what the command does, on a data frame or files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from geodp.errors import UsageError
from geodp.flows.pings import PARTS, TOWER_PARTS
from geodp.flows.zone_grids import OF_TOWERS
from geodp.frames.python_words import python_words, spell_in_python
from geodp.publish.flows_files import tabulate_flows, tabulate_footfall, tabulate_histograms, tabulate_trips
from geodp.publish.flows_pipeline import publish_flows
from geodp.publish.flows_request import FlowsRequest, make_budget
from geodp.publish.flows_statement import FlowsStatement
from geodp.publish.frame_files import write_private_frame
from geodp.publish.request import explain_nothing_done, parse_columns

if TYPE_CHECKING:
    import pandas as pd

    from geodp.display.folium_map import OfflineMap
    from geodp.public.guarantee import Guarantee

FileName = str | os.PathLike[str]


class FlowsOptions(TypedDict, total=False):
    """What a report of flows is asked, as the command is; all of it may be left out."""

    out: FileName | None
    """Folder to publish. Default: none; the tables come back all the same."""
    districts: str | None
    """Column of the district of each zone."""
    towers: FileName | None
    """File of public towers, where pings name a tower (columns user, time_s, tower); `zones` may then be `"towers"`."""
    timezone: str
    """Clock of the days (default UTC)."""
    every: str
    """Periods of footfall (default `1h`)."""
    od_every: str
    """Periods of flows (default `1d`)."""
    unit: str
    """`person-day` (default), `person-week` or `person`."""
    trips: int
    """Trips of a person a day that are used at most (default 8)."""
    shares: Mapping[str, float]
    """Parts of the budget, e.g. `{"od": 0.3}`."""
    mode: str
    """`simulate` (default; stamped not releasable), or `release`: OpenDP's noise and a ledger."""
    seed: int | None
    """Seed of simulated noise (default 0); a release takes none."""
    columns: Mapping[str, str]
    """What columns of the pings are called, e.g. `{"user": "uid"}`."""
    cluster: str | None
    """Dask scheduler whose workers read the pings, e.g. `tcp://host:8786`, or `local`."""
    force: bool
    """Replace an older report."""


@dataclass(frozen=True, eq=False, repr=False)
class PublishedFlows:
    """What `geodp.publish.flows` made.

    Parameters
    ----------
    statement
        Everything that may be told about the report.
    text
        What the command prints.
    path
        The folder that was written (None: none was asked for).
    warnings
        What was guessed or left out.

    Examples
    --------
    >>> import geodp, geopandas, pandas as pd, shapely
    >>> nine = pd.Timestamp("2024-03-04 09:00", tz="UTC")
    >>> pings = pd.DataFrame({"user": ["a"], "time_s": [nine], "lon": [10.01], "lat": [50.01]})
    >>> town = geopandas.GeoDataFrame({"name": ["north"]}, geometry=[shapely.box(10, 50, 10.1, 50.1)], crs=4326)
    >>> made = geodp.publish.flows(pings, zones=town, zone="name", first="2024-03-04", last="2024-03-04", epsilon=1)
    >>> made.releasable, made.guarantee.epsilon, made.path
    (False, 1.0, None)
    """

    statement: FlowsStatement
    text: str
    path: Path | None = None
    warnings: tuple[str, ...] = ()

    @property
    def footfall(self) -> pd.DataFrame:
        """People by place and period, by day, and over all days."""
        return _frame(tabulate_footfall(self.statement.product))

    @property
    def od(self) -> pd.DataFrame:
        """Flows that stand out of the noise, by period and over all."""
        return _frame(tabulate_flows(self.statement.product))

    @property
    def trips(self) -> pd.DataFrame:
        """Trips by hour, day, weekday and in all."""
        return _frame(tabulate_trips(self.statement.product))

    @property
    def histograms(self) -> pd.DataFrame:
        """Histograms over all days, and day by day."""
        return _frame(tabulate_histograms(self.statement.product))

    @property
    def releasable(self) -> bool:
        """Whether it may leave the house."""
        return self.statement.releasable

    @property
    def guarantee(self) -> Guarantee:
        """What it promises; `guarantee.sentence()` says it in words."""
        return self.statement.design.promise()

    @property
    def accuracy(self) -> str:
        """The error to expect, known without the data."""
        return self.statement.accuracy

    def map(self) -> OfflineMap:
        """Return footfall, hour by hour, and the flows that stand out, on a map that opens with no network.

        Returns
        -------
        folium.Map
            The map: add whatever Folium offers, and `save` it.
        """
        from geodp.publish.flows_map import map_flows

        return map_flows(self.statement)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        days = self.statement.design.days
        return f"<PublishedFlows of {days.first} to {days.last}: {self.guarantee.sentence()}>"

    def _repr_html_(self) -> str:
        said = "".join(f"<p>{escape(line)}</p>" for line in self.text.splitlines())
        return f"{said}{self.map()._repr_html_()}"


def flows(
    data: Any,
    *,
    zones: Any,
    zone: str,
    first: str | date,
    last: str | date,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    ledger: FileName | None = None,
    budget_rho: float | None = None,
    **options: Unpack[FlowsOptions],
) -> PublishedFlows:
    """Publish footfall, flows between zones and trip statistics of pings, as `geodp publish flows` does.

    Parameters
    ----------
    data
        The private pings (columns user, time_s, lon, lat): a frame, or the name of a file or folder.
    zones, zone
        Public zones, a GeoDataFrame or the name of a file, and their column of names.
    first, last
        First and last day.
    epsilon, delta
        ε of the unit, at δ; without δ a pure ε.
    rho
        ρ instead.
    ledger
        Ledger to charge; a release needs one.
    budget_rho
        Budget of a person in a ledger that has none, as ρ.
    **options
        What else the command is asked (`FlowsOptions`).

    Returns
    -------
    PublishedFlows
        The tables, and what they promise.

    Raises
    ------
    DataError
        If the data cannot be used as they are.
    UsageError
        If what is asked makes no sense, or a release lacks a ledger.
    BudgetSpent
        If the ledger refuses; nothing is released then.
    TypeError
        If an option has a name that is not known.

    Examples
    --------
    >>> import geodp, geopandas, pandas as pd, shapely
    >>> at = pd.Timestamp("2024-03-04 09:00", tz="UTC") + pd.to_timedelta([0, 20, 40], unit="min")
    >>> pings = pd.DataFrame({"user": "a", "time_s": at, "lon": 10.01, "lat": 50.01})
    >>> town = geopandas.GeoDataFrame({"name": ["north"]}, geometry=[shapely.box(10, 50, 10.1, 50.1)], crs=4326)
    >>> made = geodp.publish.flows(
    ...     pings, zones=town, zone="name", first="2024-03-04", last="2024-03-04", epsilon=1, delta=1e-6
    ... )
    >>> made.releasable, len(made.footfall[made.footfall["period"] == "period"])
    (False, 120)
    >>> made.guarantee.epsilon, type(made.map()).__name__
    (1.0, 'OfflineMap')
    """
    asked: dict[str, Any] = dict(options)
    out, called = asked.pop("out", None), asked.pop("columns", None) or {}
    towers = asked.pop("towers", None)
    parts = PARTS if towers is None else TOWER_PARTS
    columns = parse_columns([f"{part}={name}" for part, name in called.items()], parts)
    unknown = sorted(set(asked) - set(FlowsOptions.__annotations__))
    if unknown:
        raise TypeError(f"unexpected argument {unknown[0]!r}.")
    with tempfile.TemporaryDirectory(prefix="geodp-") as scratch:
        folder = Path(scratch)
        with explain_nothing_done():
            source = (
                Path(data) if isinstance(data, str | os.PathLike) else _write_pings(data, folder, parts, columns, asked)
            )
            listed = Path(zones) if isinstance(zones, str | os.PathLike) else _write_zones(zones, folder)
        request = FlowsRequest(
            source=source,
            zones=OF_TOWERS if isinstance(zones, str) and zones == OF_TOWERS else f"{listed}:{zone}",
            towers=None if towers is None else Path(towers),
            out=folder / "report" if out is None else Path(out),
            first=str(first),
            last=str(last),
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            ledger=None if ledger is None else Path(ledger),
            budget=make_budget(budget_rho, None, None, "person"),
            columns=columns,
            **asked,
        )
        with python_words((f"{folder}{os.sep}", "")):
            made = publish_flows(request)
    text = "\n".join(line for line in made.text.splitlines() if scratch not in line)
    return PublishedFlows(made.statement, spell_in_python(text), None if out is None else Path(out), made.warnings)


def _write_pings(
    data: Any, folder: Path, parts: tuple[str, ...], columns: Mapping[str, str], options: Mapping[str, Any]
) -> Path:
    inside = folder / "pings"  # beside it lies what is public, and the report
    inside.mkdir()
    return write_private_frame(data, inside, parts, columns, releasing=options.get("mode") == "release")


def _write_zones(zones: Any, folder: Path) -> Path:
    if not hasattr(zones, "to_crs"):
        raise UsageError("zones must be a GeoDataFrame of polygons, or the name of a file.")
    path = folder / "zones.geoparquet"
    zones.to_parquet(path)
    return path


def _frame(columns: Mapping[str, Any]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(dict(columns))
