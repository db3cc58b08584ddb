"""Publications as functions of a data frame: `geodp.publication(…).publish(frame, venues=…)`, without a ledger."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from geodp.curator.publications import Publication, Records
from geodp.errors import UsageError
from geodp.frames.bare import LedgerName
from geodp.frames.charges import NoiseLike, bare_call, charge_ledger, choose_noise, hide_reasons, require_promise
from geodp.frames.plugins import build_plugin
from geodp.frames.public_inputs import StatedInputs
from geodp.frames.python_words import python_words
from geodp.frames.regions import RegionLike, as_region
from geodp.frames.release import ReleasedTable
from geodp.geometry import Region
from geodp.public.guarantee import Guarantee
from geodp.publish.frame_files import FRAME_NAMES, same_frame, write_private_frame, write_public_frame
from geodp.publish.request import parse_columns

if TYPE_CHECKING:
    from geodp.tables.trajectories.table import Trajectories
    from geodp.tables.visits.histories import Histories, Venues

Frame = Any
"""A DataFrame or GeoDataFrame, or the name of a file."""


class _FrameRecords(Records):
    """What a frame holds: visits, or trips."""

    def __init__(self, region: Region, visits: tuple[Histories, Venues] | None, trips: Trajectories | None) -> None:
        super().__init__(region, _last_moment(trips), None, lambda: _require(visits, "visits"))  # type: ignore[arg-type]
        object.__setattr__(self, "_trips", trips)

    def trajectories(self) -> Trajectories:
        """Return the trips."""
        found: Trajectories = _require(getattr(self, "_trips", None), "trajectories")
        return found


def _last_moment(trips: Trajectories | None) -> float:
    return 0.0 if trips is None or not trips.points else float(trips.time_s.max())


def _require(found: Any, what: str) -> Any:
    if found is None:
        raise UsageError(f"the publication reads {what}, which the data do not hold.")
    return found


@dataclass(frozen=True)
class BarePublication:
    """A publication as a function of a data frame.

    Parameters
    ----------
    plugin
        The publication with its settings.

    Examples
    --------
    >>> import geodp, pandas as pd
    >>> visits = pd.DataFrame({"user": ["a", "b", "b"], "venue": ["inn", "inn", "museum"]})
    >>> venues = pd.DataFrame({"venue": ["inn", "museum"], "lon": [10.01, 10.02], "lat": [50.01, 50.02]})
    >>> made = geodp.publication("laplace_counts", epsilon=1.0, cap=2).publish(visits, venues=venues, noise=1)
    >>> made.kind, len(made), made.guarantee.epsilon
    ('laplace_counts', 2, 1.0)
    """

    plugin: Publication

    def guarantee(self) -> Guarantee:
        """Say what a publication promises."""
        return self.plugin.guarantee()

    def publish(
        self,
        data: Any,
        *,
        venues: Frame = None,
        region: RegionLike = None,
        noise: NoiseLike = "simulate",
        columns: Mapping[str, str] | None = None,
        ledger: LedgerName = None,
        budget: float | None = None,
    ) -> ReleasedTable:
        """Publish what the plug-in makes of the visits, or of the trips, of a frame.

        This is the bare publication: it has no ledger of its own. Name one (`ledger`), or use `geodp.publish.counts`,
        `visits` or `trajectories`, which keep one, write files and state what they did.

        Parameters
        ----------
        data
            The private visits (columns user, venue), or trips (user, trajectory, time_s, lon, lat, or points).
        venues
            Public list of venues (venue, lon, lat or points, and levels): a frame, or the name of a file.
        region
            The public area of trips: (west, south, east, north), a polygon, a frame of polygons, or a file. Default:
            the box of the data, with a warning and a promise that does not hold; never in a release.
        noise
            `simulate`, a seed, a numpy generator, or `release`, as for `geodp.mechanism`.
        columns
            What columns of the data are called, e.g. `{"user": "uid"}`.
        ledger, budget
            File of a ledger that is asked first, and the budget of the account where it has none.

        Returns
        -------
        ReleasedTable
            The public table with its promise.

        Raises
        ------
        DataError
            If the data cannot be used as they are.
        UsageError
            If what is asked makes no sense, or a release lacks a public input.
        NotReleasable
            If a release is asked of what promises nothing that holds.
        BudgetSpent
            If the ledger refuses.
        """
        source, item = choose_noise(noise), self.plugin
        inputs = StatedInputs(source.releasable)
        with tempfile.TemporaryDirectory(prefix="geodp-") as held, bare_call(source, inputs.warnings):
            folder = Path(held)
            with python_words((f"{folder}/", ""), *FRAME_NAMES):
                if "trajectories" in item.reads:
                    if venues is not None:
                        raise UsageError(f"venues: {item.kind} reads trips, which have none.")
                    records = _read_trips(data, folder, columns, inputs, region)
                else:
                    if region is not None:
                        raise UsageError(f"region: {item.kind} reads visits; the list of venues says where they are.")
                    records = _read_visits(data, venues, folder, columns, inputs)
                promise, cost = inputs.honest(item.guarantee()), inputs.honest(item.cost())
                require_promise(source, promise, item.kind)
                if source.releasable:
                    with hide_reasons(source):
                        item.check_records(records)
                else:
                    item.check_records(records)
                charge_ledger(
                    ledger, promise, cost, mechanism=item.kind, noise=source, budget=budget, parts=item.parts()
                )
                with hide_reasons(source):
                    made = item.publish(records, source)
        return ReleasedTable(
            kind=item.kind,
            table=made.released,
            guarantee=promise,
            per_person=cost,
            region=records.region,
            facts=dict(made.facts),
            releasable=source.releasable and promise.holds,
        )

    release = publish


def _read_visits(
    data: Any, venues: Frame, folder: Path, columns: Mapping[str, str] | None, inputs: StatedInputs
) -> Records:
    from geodp.publish.private_visits import PARTS, read_visits, venues_of
    from geodp.tables.visits.venue_file import read_venues

    named = parse_columns([f"{part}={name}" for part, name in (columns or {}).items()], PARTS)
    releasing = inputs.releasing
    if venues is not None and same_frame(venues, data):
        raise UsageError("venues: must be public, and these are the private data (or a copy of them).")
    listed: Path | None = None
    if venues is not None:
        listed = Path(venues) if isinstance(venues, str | Path) else write_public_frame(venues, folder, "venues")
    path = write_private_frame(data, folder, PARTS, named, releasing=releasing)
    given = None if listed is None else read_venues(listed)
    found = inputs.settle(
        "venue list",
        "--venues FILE",
        given,
        lambda: venues_of(path, releasing=False, called=named),
    )
    inputs.values["venue_list"] = found.size
    histories, _ = read_visits(path, found, releasing=releasing, columns=named)
    return _FrameRecords(found.region(), (histories, found), None)


def _read_trips(
    data: Any, folder: Path, columns: Mapping[str, str] | None, inputs: StatedInputs, region: RegionLike
) -> Records:
    from geodp.tables.trajectories.files import read_points
    from geodp.tables.trajectories.table import COLUMNS

    named = parse_columns([f"{part}={name}" for part, name in (columns or {}).items()], COLUMNS)
    path = write_private_frame(data, folder, COLUMNS, named, releasing=inputs.releasing)
    points = read_points(path, releasing=inputs.releasing, called=named)
    given = None if region is None else as_region(region)
    area = inputs.settle("region", "--region W,S,E,N", given, points.box)
    trips, _ = points.within(area)
    return _FrameRecords(area, None, trips)


def publication(kind: str, /, **fields: Any) -> BarePublication:
    """Return a publication as a function of a (Geo)DataFrame: `.publish(frame, venues=…, noise=…)`.

    Parameters
    ----------
    kind
        Its name, as `geodp list publication` has it.
    **fields
        Its fields, as in YAML; those left out have their defaults.

    Returns
    -------
    BarePublication
        The publication, without a ledger.

    Raises
    ------
    UsageError
        If there is no such publication.
    ScenarioError
        If fields are wrong; it lists all of them.

    Examples
    --------
    >>> import geodp, pandas as pd
    >>> visits = pd.DataFrame({"uid": [7, 8, 8], "poi": ["inn", "inn", "museum"]})
    >>> venues = pd.DataFrame({"venue": ["inn", "museum"], "lon": [10.01, 10.02], "lat": [50.01, 50.02]})
    >>> counts = geodp.publication("grouping_smoothing", epsilon=1.0, cap=2)
    >>> made = counts.publish(visits, venues=venues, columns={"user": "uid", "venue": "poi"}, noise=1)
    >>> made.guarantee.epsilon, made.to_geodataframe().crs.to_epsg()
    (1.0, 4326)
    """
    return BarePublication(cast("Publication", build_plugin("publication", kind, fields)))
