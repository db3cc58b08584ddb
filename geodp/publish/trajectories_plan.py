"""`geodp publish trajectories`: synthetic trips in the place of real ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from geodp.curator.publications import Publication, Records
from geodp.curator.trips_publication import KIND_OF_VARIANT
from geodp.errors import UsageError
from geodp.geometry import Region
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Unit
from geodp.publish.methods import find_method, merge_options, require_epsilon
from geodp.publish.outputs import PublishedTable, degree_columns, require_places
from geodp.publish.pipeline import Product, PublicationPlan, PublishPlan, PublishResult, publish
from geodp.publish.request import NOTHING_DONE, PublicInputs, Request
from geodp.publish.statement import Accuracy
from geodp.registry import plugins
from geodp.tables.formats import is_table
from geodp.tables.notices import notice, notice_cap
from geodp.tables.trajectories.files import TrajectoryPoints, gather_points, read_points
from geodp.tables.trajectories.remarks import remark_changed, sparse_remark
from geodp.tables.trajectories.table import Trajectories, nobody

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from geodp.display.page import Page
    from geodp.public.streets import StreetNetwork

DEFAULT_METHOD = "synthetic_trips"
_TIME_DIGITS = 3
_MOST_DRAWN, _MOST_STEPS = 400, 18_000
_PIXELS = 2000


class TripPlan(PublicationPlan):
    """Trips drawn from noisy counts of real ones."""

    not_hidden = ("what follows from public settings: the region, the caps and the grids",)

    def __init__(
        self,
        method: Publication,
        trajectories: Trajectories,
        region: Region,
        remarks: tuple[str, ...],
        out: Path,
        *,
        compare: Mapping[str, Trajectories] = MappingProxyType({}),
    ) -> None:
        super().__init__(method, region, remarks)
        self._out, self._compare = out, compare
        self.forecast = method.forecast(region) if hasattr(method, "forecast") else ""
        if hasattr(method, "cap"):  # the cap that was used, also where it is the default
            self.fields["trajectories_per_person"] = method.cap
        self.fields |= {"epsilon_of_parts": self.parts} if self.parts else {}
        self._method, self._trajectories = method, trajectories

    def rehearse(self, noise: Noise) -> None:
        """Publish two made-up trips; a table without places cannot become a map's file, and costs nothing so far."""
        if self.guarantee.unit is Unit.NOTHING:
            return
        released = self._release_trips(_make_up_trips(self.region), noise)
        if not isinstance(released, Trajectories):
            require_places(self._out, _shape(released))

    def draw(self, noise: Noise) -> Product:
        """Count with noise, and draw synthetic trips from it."""
        released = self._release_trips(self._trajectories, noise)
        if not isinstance(released, Trajectories):
            self._trajectories = nobody()
            columns = {str(name): released[name].to_numpy() for name in released.columns}
            table = PublishedTable(columns, _shape(released))
            return Product(table, self._accuracy(), noise.releasable, lambda page: page.note("no map of this table"))
        cap = getattr(self._method, "hard_cap", getattr(self._method, "cap", None))
        notice_cap(self.mechanism, np.bincount(self._trajectories.person), cap, "trips")
        for text in (sparse_remark(self._trajectories), remark_changed(self._trajectories, released)):
            if text:
                notice(text[0].upper() + text[1:])
        if not noise.releasable and self._scored:
            from geodp.publish.trip_table import score_table

            sets = {self.mechanism: released, **self._compare}
            self.remarks = (*self.remarks, score_table(self._trajectories, sets, self.region, self._network()))
        self._trajectories = nobody()  # as large as what was made of them, and no longer needed
        return Product(
            self._table(released), self._accuracy(), noise.releasable, lambda page: _draw_map(page, released)
        )

    _scored: bool = True
    """Whether trips are held against the true ones (when simulating)."""

    def _network(self) -> StreetNetwork | None:
        return self._method.find_network(self.region) if hasattr(self._method, "find_network") else None

    def _release_trips(self, trajectories: Trajectories, noise: Noise) -> Trajectories | pd.DataFrame:
        """Return synthetic trips, or the table of a method that publishes something else about trips."""
        if hasattr(self._method, "release"):  # trips as they are, without a table of them in between
            return cast("Trajectories", self._method.release(trajectories, self.region, noise))
        table = self._method.publish(_TripRecords.of(trajectories, self.region), noise).released
        return Trajectories.from_frame(table, self.region) if "trajectories" in self._method.releases else table

    def _accuracy(self) -> Accuracy:
        if hasattr(self._method, "expected_error"):
            return Accuracy(*self._method.expected_error())
        return Accuracy(f"How large the noise is, {self.mechanism} does not state.", {})

    def _table(self, released: Trajectories) -> PublishedTable:
        import pyarrow as pa

        lon, lat = self.region.projection.to_lonlat(x_m=released.x_m, y_m=released.y_m)
        names = np.arange(released.size) if released.names is None else released.names
        owner = pa.array(released.owner)
        columns = {
            "user": pa.array(released.people[released.person].astype(str)).take(owner),
            "trajectory": pa.array(names.astype(str)).take(owner),
            "time_s": np.round(released.time_s, _TIME_DIGITS),
        }
        return PublishedTable(columns | degree_columns(lon, lat), "points")


def _shape(released: pd.DataFrame) -> Literal["points", "none"]:
    return "points" if {"lon", "lat"} <= set(released.columns) else "none"


@dataclass(frozen=True, eq=False)
class _TripRecords(Records):
    """The trips of a file, as a publication asks for them at the end of a run."""

    trips: Trajectories = field(default_factory=nobody)

    @classmethod
    def of(cls, trips: Trajectories, region: Region) -> _TripRecords:
        """Return the records that a file of trips makes: how people moved otherwise, and their visits, are unknown."""
        unknown: Any = None
        return cls(region, float(trips.time_s.max(initial=0.0)), unknown, cls._no_visits, trips=trips)

    def trajectories(self) -> Trajectories:
        """Return the trips of the file."""
        return self.trips

    @staticmethod
    def _no_visits() -> Any:
        raise UsageError("a method that reads visits cannot be used on trajectories.")


@dataclass(frozen=True)
class TripFormat:
    """The published format of the private trips."""

    kind: str | None = None
    """Loader to use; default: told by names and columns, or none for a table with the usual columns."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the loader."""


def publish_trajectories(
    request: Request,
    *,
    method: str | None = None,
    unit: str | None = None,
    variant: str | None = None,
    form: TripFormat | None = None,
    streets: Path | None = None,
    compare: Sequence[Path] = (),
) -> PublishResult:
    """Publish a file of trajectories as synthetic ones, or whatever else `method` makes of them.

    A table has the columns user, trajectory, time_s, lon, lat. Files and folders of published formats
    (GeoLife, T-Drive, …) are read by the loader that `form`, their name or their columns tell. Trips follow the public
    lines of the file `streets`, where there is one. When simulating, the trips are held against the true ones, and so
    are the synthetic sets of the files in `compare`.
    """
    if compare and request.releasing:
        raise UsageError(f"--compare tells how like the truth trips are: it is for simulation only. {NOTHING_DONE}")
    if streets is not None:
        request = replace(request, settings={**request.settings, "streets": str(streets)})
    return publish(
        request,
        partial(_prepare, kind=method, unit=unit, variant=variant, form=form or TripFormat(), compare=tuple(compare)),
    )


def _prepare(
    request: Request,
    inputs: PublicInputs,
    *,
    kind: str | None,
    unit: str | None,
    variant: str | None,
    form: TripFormat,
    compare: tuple[Path, ...] = (),
) -> PublishPlan:
    method = _build(request, kind, unit, variant)
    if request.releasing and method.guarantee().holds and method.cost().unit is Unit.NOTHING:
        if method.guarantee().unit is Unit.PAIR:
            raise UsageError(
                f"{method.kind} with hides: pair bounds no person's total, so a release cannot be charged to anyone: "
                "use --set hides=person."
            )
        raise UsageError(
            "unit: trajectory without a cap bounds no person's total, so a release cannot be charged to anyone: give "
            "--cap N."
        )
    points, dropped = _read(request, form)
    region = inputs.region(request, points.box)
    trajectories, left = points.within(region)
    method.check_records(_TripRecords.of(trajectories, region))
    others = {path.name: read_points(path, releasing=False, called={}).within(region)[0] for path in compare}
    remarks = (*dropped, *left.remarks())
    return TripPlan(method, trajectories, region, remarks, request.out, compare=others)


def _read(request: Request, form: TripFormat) -> tuple[TrajectoryPoints, list[str]]:
    """Read a table of points as it is, a published format through its loader, which cleans; say what was dropped."""
    from geodp.tables.published_formats import find_formats_by_columns, loader_for

    path = request.source
    if request.releasing and form.kind is None and path.is_dir():
        raise UsageError(
            f"{path}: say with --format what the folder holds. A release does not look: which files are in it may "
            f"follow from who is."
        )
    if form.kind is None and (not path.exists() or (is_table(path) and not find_formats_by_columns(path))):
        if form.fields:
            raise UsageError(f"--read sets fields of a published format; {path.name} is a plain table.")
        return read_points(path, releasing=request.releasing, called=request.columns), []
    loader = loader_for(path, form.kind, dict(form.fields), option="--read")
    if request.columns:
        raise UsageError(f"--column names columns of a plain table; {loader.kind} has its own.")
    if loader.loads != "trajectories":
        raise UsageError(f"--format {loader.kind} reads {loader.loads}, not trajectories.")
    loaded = loader.load(path, total=request.releasing)
    points = gather_points(path, (_columns(batch) for batch in loaded), releasing=request.releasing)
    return points, [f"Read as {loader.kind}.", *loaded.dropped.lines()]


def _columns(batch: Any) -> dict[str, Any]:
    words = {name: batch.column(name) for name in ("user", "trajectory")}
    return words | {name: batch.column(name).to_numpy(zero_copy_only=False) for name in ("time_s", "lon", "lat")}


def _build(request: Request, kind: str | None, unit: str | None, variant: str | None) -> Publication:
    """Build the method from the options: any publication that reads trajectories, or a variant of version 0.1."""
    known = {
        name: cls
        for name, cls in plugins("publication").items()
        if issubclass(cls, Publication) and "trajectories" in cls.reads
    }
    if kind is not None and variant is not None:
        raise UsageError("--method and --variant both name the method: give --method alone.")
    former = variant or (None if kind else request.settings.get("variant"))
    cls = find_method("trajectories", kind or KIND_OF_VARIANT.get(str(former), DEFAULT_METHOD), known)
    cap = "trajectories_per_person" if "trajectories_per_person" in cls.model_fields else "cap"
    stated = {"epsilon": request.epsilon, cap: request.cap, "unit": unit}
    fields = merge_options(cls if former is None else known[DEFAULT_METHOD], request.settings, stated)
    require_epsilon(cls, fields, " for one person or one trajectory")
    fields |= {} if former is None else {"variant": former}
    return cls.from_options(fields, f"publish trajectories --method {cls.kind}")


def _make_up_trips(region: Region) -> Trajectories:
    """Return two trips along the middle of the region, of nobody."""
    west, _, east, _ = region.box_m
    x_m, y_m = np.array([0.5 * west, 0.2 * west, 0.2 * east, 0.5 * east]), np.zeros(4)
    if region.polygon is not None:
        x_m, y_m = region.sample(4, np.random.default_rng(0))
    names = np.array(["nobody"], dtype=np.object_)
    return Trajectories(
        people=names,
        first=np.array([0, 2, 4]),
        person=np.array([0, 0]),
        time_s=np.array([0.0, 60.0, 0.0, 60.0]),
        x_m=x_m,
        y_m=y_m,
    )


def _draw_map(page: Page, released: Trajectories) -> None:
    """Draw a part of the synthetic trips; their order is random, so the first ones are as good as any."""
    from geodp.display.colours import REPORT
    from geodp.display.drawing import Mark
    from geodp.publish.released_map import make_released_layer

    some = _simplify_trips(released.select(np.arange(min(released.size, _MOST_DRAWN))))
    whole = int(np.searchsorted(some.first, _MOST_STEPS, side="right")) - 1  # whole trips, as far as they fit
    shown = some.select(np.arange(min(some.size, max(1, whole))))
    begin = np.setdiff1d(np.arange(shown.points), shown.first[1:] - 1)
    if released.size > shown.size:
        page.note(f"{shown.size:,} of {released.size:,} synthetic trips")
    page.lines(
        make_released_layer("Synthetic trips"),
        (shown.x_m[begin], shown.y_m[begin]),
        (shown.x_m[begin + 1], shown.y_m[begin + 1]),
        mark=Mark("synthetic trip", REPORT, "line"),
        name="Step of synthetic trip",
        ids=shown.owner[begin],
        what="steps of synthetic trips",
    )


def _simplify_trips(trips: Trajectories) -> Trajectories:
    """Leave out points that lie on the way anyway (less than a pixel off it on a usual screen)."""
    import shapely

    kept = np.zeros(trips.points, dtype=np.bool_)
    kept[trips.first[:-1]] = kept[trips.first[1:] - 1] = True
    tolerance_m = max(np.ptp(trips.x_m), np.ptp(trips.y_m), 1.0) / _PIXELS
    for number in np.flatnonzero(trips.counts > 2):
        own = slice(trips.first[number], trips.first[number + 1])
        places = np.column_stack([trips.x_m[own], trips.y_m[own]])
        corners = shapely.get_coordinates(shapely.simplify(shapely.linestrings(places), tolerance_m))
        kept[own] |= (places[:, None] == corners[None, 1:-1]).all(axis=2).any(axis=1)
    return trips.keep(kept)
