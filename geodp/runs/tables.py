"""Tables of a finished run as GeoDataFrames in EPSG:4326: tasks, offers, trips, and what the server decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from geodp.frames.release import CRS, Release, ReleasedTable, add_points
from geodp.public.events import Kind

if TYPE_CHECKING:
    import geopandas

    from geodp.geometry import Array, Region
    from geodp.run_folder.folder import RunFolder

_CORNERS = 64
_ARRAYS = ("region", "growth")
"""Columns of rectangles in local metres, which become the geometry of offers."""


def list_releases(run: RunFolder) -> list[Release]:
    """Return what the curator published, or phones reported, in order."""
    return [Release(release, run.region, releasable=False) for release in run.releases]


def list_publications(run: RunFolder) -> list[ReleasedTable]:
    """Return what was published at the end of a run."""
    return [
        ReleasedTable(
            kind=item.kind,
            table=item.released,
            guarantee=item.guarantee,
            per_person=item.per_person,
            region=run.region,
            facts=dict(item.facts),
        )
        for item in run.publications
    ]


def tabulate_tasks(run: RunFolder) -> geopandas.GeoDataFrame:
    """Return the tasks at their places, with what became of them (truth)."""
    return add_points(run.tasks, run.region, truth=True)


def tabulate_server_view(run: RunFolder) -> geopandas.GeoDataFrame:
    """Return the decisions of the server, at the places that it knew."""
    return add_points(run.offers.drop(columns=[*_ARRAYS], errors="ignore"), run.region)


def tabulate_offers(run: RunFolder) -> geopandas.GeoDataFrame:
    """Return the offers that were made, each with the area in which people were asked."""
    import geopandas
    import shapely

    made = run.offers_made.reset_index(drop=True)
    x_m, y_m, radius_m = (made[name].to_numpy(dtype=np.float64, na_value=np.nan) for name in ("x_m", "y_m", "radius_m"))
    shapes: Any = np.full(len(made), None, dtype=object)
    round_ones = np.isfinite(radius_m)
    if round_ones.any():
        shapes[round_ones] = _draw_circles(x_m[round_ones], y_m[round_ones], radius_m[round_ones], run.region)
    regions = {(task, number): boxes for task, number, boxes in run.regions}
    for row, key in enumerate(zip(made["task"].tolist(), made["round"].tolist(), strict=True)):
        if key in regions and not round_ones[row]:
            shapes[row] = _join_boxes(regions[key], run.region)
    missing = np.array([shape is None for shape in shapes], dtype=np.bool_)
    if missing.any():  # to people by name: no area was asked
        shapes[missing] = shapely.points(*run.region.projection.to_lonlat(x_m=x_m[missing], y_m=y_m[missing]))
    frame = made.drop(columns=["x_m", "y_m", *_ARRAYS], errors="ignore")
    offers = geopandas.GeoDataFrame(frame, geometry=geopandas.GeoSeries(shapes, crs=CRS))
    offers.attrs["truth"] = False
    return offers


def tabulate_trips(run: RunFolder) -> geopandas.GeoDataFrame:
    """Return who went to which task, each as a line from the worker's place to the task's (truth)."""
    import geopandas
    import shapely

    events, names = run.events, ["task", "worker"]
    left = events.loc[events["kind"] == Kind.DEPARTURE, [*names, "time_s", "x_m", "y_m", "value"]]
    left = left.rename(columns={"time_s": "departed_s", "value": "reward"})
    done = events.loc[events["kind"] == Kind.COMPLETION, [*names, "time_s", "value"]]
    done = done.rename(columns={"time_s": "completed_s", "value": "travel_m"}).drop_duplicates(names)
    places = run.tasks[["x_m", "y_m"]].rename(columns={"x_m": "to_x_m", "y_m": "to_y_m"})
    trips = left.merge(done, on=names, how="left").join(places, on="task").reset_index(drop=True)
    ends = [
        np.stack(run.region.projection.to_lonlat(x_m=trips[x].to_numpy(), y_m=trips[y].to_numpy()), axis=1)
        for x, y in (("x_m", "y_m"), ("to_x_m", "to_y_m"))
    ]
    lines = shapely.linestrings(np.stack(ends, axis=1)) if len(trips) else []
    frame = trips[[*names, "departed_s", "completed_s", "travel_m", "reward"]]
    made = geopandas.GeoDataFrame(frame, geometry=geopandas.GeoSeries(lines, crs=CRS))
    made.attrs["truth"] = True
    return made


def _draw_circles(x_m: Array, y_m: Array, radius_m: Array, region: Region) -> Any:
    """Return circles of metres as polygons of degrees."""
    import shapely

    angle = np.linspace(0.0, 2 * np.pi, _CORNERS, endpoint=False)
    edge_x = x_m[:, None] + radius_m[:, None] * np.cos(angle)
    edge_y = y_m[:, None] + radius_m[:, None] * np.sin(angle)
    return shapely.polygons(np.stack(region.projection.to_lonlat(x_m=edge_x, y_m=edge_y), axis=-1))


def _join_boxes(boxes: Array, region: Region) -> Any:
    """Return rectangles of metres (west, south, east, north) as one shape of degrees."""
    import shapely

    west, south = region.projection.to_lonlat(x_m=boxes[:, 0], y_m=boxes[:, 1])
    east, north = region.projection.to_lonlat(x_m=boxes[:, 2], y_m=boxes[:, 3])
    return shapely.union_all(shapely.box(west, south, east, north))
