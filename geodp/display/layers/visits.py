"""Venues: how many people or visits are published at each, what phones reported, and the truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from geodp.display.colours import RELEASED, TRAVELLING, TRUE, along
from geodp.display.drawing import Fact, Mark, Shape
from geodp.display.layers import Layer, PublicationLayer
from geodp.model import did_you_mean

if TYPE_CHECKING:
    from geodp.display.page import Page
    from geodp.geometry import Array
    from geodp.run_folder.folder import RunFolder

Integers = npt.NDArray[np.int64]
_CLASSES = 4
_EDGE = "#8a6d3b"
_EMPTY = "#c9c6bf"
_Looks = tuple[tuple[str, ...], Shape, str]
_REPORTED: _Looks = (("#fdf0d5", "#f4b266", "#c8651b", "#7a3405"), "diamond", "phones")
_VISITED: _Looks = (TRUE, "circle", "true visits")


class ReleasedPlacesLayer(PublicationLayer):
    """Places of published visits, by how many were published there."""

    kind: ClassVar[str] = "released_places"
    title: ClassVar[str] = "Published visits"
    public: ClassVar[bool] = True
    level: ClassVar[int] = 58
    published: ClassVar[str] = "visits"

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw every published place once."""
        item = self.publication_of(run)
        if item is None or item.released.empty:
            return
        places = item.released.groupby(["lon", "lat"], as_index=False).agg(
            visits=("user", "size"), people=("user", "nunique"), venue=("venue", "first")
        )
        x_m, y_m = page.region.projection.to_m(lon=places["lon"].to_numpy(), lat=places["lat"].to_numpy())
        count = places["visits"].to_numpy(dtype=np.int64)
        marks, mark = by_class(count, page, (RELEASED, "square", "published visits"))
        page.points(
            self,
            x_m,
            y_m,
            marks=marks,
            mark=mark,
            name="Published place",
            facts=[
                Fact("Venue", places["venue"].fillna("none: a centroid").tolist(), form="words"),
                Fact("Published", count, unit="visits"),
                Fact("Of", places["people"].to_numpy(), unit="people"),
            ],
            what="published places",
        )


class ReportedPlacesLayer(Layer):
    """Places that phones named in their last report about histories, by how many phones: true ones and fitted ones."""

    kind: ClassVar[str] = "told_places"
    title: ClassVar[str] = "Places phones told"
    public: ClassVar[bool] = True
    level: ClassVar[int] = 57

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw every reported place once."""
        if run.history_reports:
            reported = run.venues.numbers_of(run.history_reports[-1].items["venue"].tolist())
            label = "Told by phones"
            _draw_tally(self, run, page, reported, looks=_REPORTED, label=label, name="Place", what="told places")


class TruePlacesLayer(Layer):
    """Venues that people really visited, by how often (truth)."""

    kind: ClassVar[str] = "true_places"
    title: ClassVar[str] = "True visits"
    level: ClassVar[int] = 56

    shown: bool = False
    """Whether the layer is ticked when the map opens."""

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw every visited venue once."""
        if run.scenario.needs_visits:
            visited = run.visits.venue
            _draw_tally(self, run, page, visited, looks=_VISITED, label=self.title, name="Venue", what="visited venues")


def _draw_tally(
    layer: Layer,
    run: RunFolder,
    page: Page,
    visits: Integers,
    *,
    looks: _Looks,
    label: str,
    name: str,
    what: str,
) -> None:
    """Draw every venue that visits are at once, by how many there are."""
    venues = run.venues
    count = np.bincount(visits, minlength=venues.size)
    place = np.flatnonzero(count)
    if not place.size:
        return
    x_m, y_m = _places_m(run)
    marks, mark = by_class(count[place], page, looks)
    facts = [Fact("Venue", venues.name[place].tolist(), form="words"), Fact(label, count[place], unit="visits")]
    if venues.category is not None:
        facts.append(Fact("Category", venues.category[place].tolist(), form="words"))
    page.points(layer, x_m[place], y_m[place], marks=marks, mark=mark, name=name, facts=facts, what=what)


def _places_m(run: RunFolder) -> tuple[Array, Array]:
    """Return the public venues in metres of the run's region."""
    return run.region.projection.to_m(lon=run.venues.lon, lat=run.venues.lat)


def by_class(count: Integers, page: Page, looks: _Looks) -> tuple[Sequence[Mark], Integers]:
    """Return marks for few, more, many, most (by quarters of the places), and the mark of every place.

    All arms of a comparison have the classes of the first.
    """
    ramp, shape, what = looks
    quarters = np.quantile(count, np.linspace(0, 1, _CLASSES + 1)[1:-1], method="higher")
    highs = page.agree(what, np.unique(quarters).astype(np.int64))
    lows = [1, *(int(high) + 1 for high in highs)]
    names = [f"{low:,}" if low == high else f"{low:,} to {high:,}" for low, high in zip(lows, highs, strict=False)]
    names.append(f"{lows[-1]:,} or more")
    colours = along(ramp, np.linspace(0.35, 1.0, len(names)))
    words = [f"{name} {what.removesuffix('s') if name == '1' else what}" for name in names]
    marks = [Mark(text, colour, shape) for text, colour in zip(words, colours, strict=True)]
    return marks, np.searchsorted(highs, count).astype(np.int64)


class ReplacementsLayer(PublicationLayer):
    """Lines from the places that one person visited to those published instead (truth)."""

    kind: ClassVar[str] = "replacements"
    title: ClassVar[str] = "One person's visits, moved"
    level: ClassVar[int] = 54
    published: ClassVar[str] = "visits"

    shown: bool = False
    """Whether the layer is ticked when the map opens."""
    person: str = ""
    """Name of the person; default the first one."""

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw the surviving visits of the chosen person."""
        item = self.publication_of(run)
        if item is None:
            return
        people = [str(name) for name in run.visits.people]
        name = self.person or people[0]
        if name not in people:
            page.note(f"replacements: nobody is called '{name}'.{did_you_mean(name, people)}")
            return
        rows = item.truth("replacements")
        rows = rows[(rows["person"] == people.index(name)) & rows["survived"]]
        added = int((item.released["user"] == name).sum()) - len(rows)
        true = rows["true_venue"].to_numpy(dtype=np.int64)
        x_m, y_m = (places[true] for places in _places_m(run))
        plane = run.venues.region().projection  # publications reckon in the plane around the venues
        lon, lat = plane.to_lonlat(x_m=rows["x_m"].to_numpy(), y_m=rows["y_m"].to_numpy())
        to_x, to_y = page.region.projection.to_m(lon=lon, lat=lat)
        page.note(f"{len(rows):,} visits of {name} that survived; {added:,} were made up")
        page.lines(
            self,
            (x_m, y_m),
            (to_x, to_y),
            mark=Mark(f"{name}: from the true place (dot) to the published one", TRAVELLING, "line"),
            name="Visit",
            facts=[
                Fact("True place", run.venues.name[true].tolist(), form="words"),
                Fact("Moved", np.hypot(to_x - x_m, to_y - y_m), unit="m"),
            ],
            until_s=0,
            what="moved visits",
        )


class ClusterAreasLayer(PublicationLayer):
    """Outlines of the clusters of venues: a visit stays inside its own, and may be told anywhere in it."""

    kind: ClassVar[str] = "cluster_areas"
    title: ClassVar[str] = "Clusters of venues"
    public: ClassVar[bool] = True
    level: ClassVar[int] = 42
    published: ClassVar[str] = "visits"

    shown: bool = False
    """Whether the layer is ticked when the map opens."""

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw the convex hull of each cluster's venues."""
        import shapely

        item = self.publication_of(run)
        if item is None or "cluster" not in item.facts:
            return
        places = np.column_stack(_places_m(run))
        label = np.array(item.facts["cluster"], dtype=np.int64)
        ends: list[np.ndarray] = []
        rows: list[tuple[int, int, float]] = []
        for cluster in range(int(label.max()) + 1):
            points = places[label == cluster]
            ring = shapely.get_coordinates(shapely.convex_hull(shapely.multipoints(points)))
            wide = float(np.hypot(*(ring[:, None] - ring).reshape(-1, 2).T).max())
            ends.append(np.column_stack([ring[:-1], ring[1:]]))
            rows += [(cluster, len(points), wide)] * len(ends[-1])
        if not rows:
            return
        edge = np.concatenate(ends)
        cluster_of, venues, wide_m = (np.array(column) for column in zip(*rows, strict=True))
        page.lines(
            self,
            (edge[:, 0], edge[:, 1]),
            (edge[:, 2], edge[:, 3]),
            mark=Mark(f"edge of a cluster ({int(label.max()) + 1})", _EDGE, "line"),
            name="Cluster",
            ids=cluster_of,
            facts=[Fact("Holds", venues, unit="venues"), Fact("Across", wide_m, unit="m")],
            until_s=0,
            what="edges of clusters",
        )


class VenueCountsLayer(Layer):
    """Public venues, coloured by the published number of visitors (the first publication of counts)."""

    kind: ClassVar[str] = "venue_counts"
    title: ClassVar[str] = "Published venue counts"
    public: ClassVar[bool] = True
    level: ClassVar[int] = 45

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw the venues of the first publication of counts; they appear at the end of the run."""
        found = [item for _, item in run.publications_of("counts")]
        if not found:
            return
        if len(found) > 1:
            page.note(f"counts of {found[0].kind}, the first of {len(found)} publications of counts")
        frame = found[0].released
        lon, lat, count = (frame[name].to_numpy(dtype=np.float64) for name in ("lon", "lat", "count"))
        x_m, y_m = page.region.projection.to_m(lon=lon, lat=lat)
        names = frame["venue"].astype(str).tolist()
        draw_venue_counts(self, page, x_m, y_m, count, names=names, appears_s=run.scenario.duration_s)


def draw_venue_counts(
    layer: Layer, page: Page, x_m: Array, y_m: Array, count: Array, *, names: Sequence[str], appears_s: float = 0.0
) -> None:
    """Draw venues in classes of their released count; when there are too many, those with the largest counts."""
    shown = np.argsort(-count, kind="stable")[: page.max_points]
    if shown.size < count.size:
        page.note(f"the {shown.size:,} venues with the largest counts of {count.size:,}")
    shown = shown[::-1]  # large counts are drawn last, above the others
    edges = page.agree("venue counts", class_edges(count))
    page.points(
        layer,
        x_m[shown],
        y_m[shown],
        marks=[Mark("0 visitors or below", _EMPTY, "circle"), *_count_marks(edges)],
        mark=np.searchsorted(edges, count[shown], side="right"),
        name="Venue",
        ids=shown,
        facts=[
            Fact("Name", [names[place] for place in shown], form="words"),
            Fact("Released count", np.maximum(count[shown], 0.0), unit="visitors", digits=1),
        ],
        appears_s=appears_s,
        what="venues",
    )


def class_edges(count: Array) -> Array:
    """Return the lower ends of the classes of positive counts: round numbers, each class with fewer venues."""
    positive = count[count > 0]
    if not positive.size:
        return np.empty(0)
    rounded = [float(f"{end:.1e}") for end in np.quantile(positive, [0.5, 0.8, 0.95])]
    return np.unique([np.nextafter(0.0, 1.0), *rounded])[:_CLASSES]


def _count_marks(edges: Array) -> list[Mark]:
    starts = ["above 0", *(f"{low:g}" for low in edges[1:])][: edges.size]
    ends = [*(f" to {high:g}" for high in edges[1:]), " and more" if edges.size > 1 else ""]
    return [
        Mark(f"{start}{end} visitors", colour) for start, end, colour in zip(starts, ends, RELEASED[1:], strict=False)
    ]
