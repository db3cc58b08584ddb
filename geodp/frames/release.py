"""Releases as data: what crossed the border, with its region and its promise, as a GeoDataFrame or a map."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from geodp.geometry import Region
from geodp.public.cell_reports import CellReports
from geodp.public.guarantee import Guarantee
from geodp.public.place_sets import Candidates, Cloaks
from geodp.public.release import Cells, Contours, DensityEstimate, Points

if TYPE_CHECKING:
    import geopandas
    import pandas as pd

    from geodp.display.folium_map import OfflineMap

CRS = "EPSG:4326"


@dataclass(frozen=True, eq=False)
class Release:
    """One release: counts per cell, a contour plot, or the reports of phones.

    Parameters
    ----------
    data
        What was released, in local metres: `Cells`, `Contours` or `Points`.
    region
        The public area, which knows how metres become degrees.
    releasable
        Whether its noise may leave the house; simulated noise may not.
    reports
        What phones answered about their cells, where `data` was counted from that (None: it was not).

    Examples
    --------
    >>> import geodp, pandas as pd
    >>> people = pd.DataFrame({"lon": [10.01, 10.02, 10.02], "lat": [50.01, 50.02, 50.03]})
    >>> grid = geodp.mechanism("uniform_grid", epsilon=1.0, cell_m=1000)
    >>> release = grid.release(people, region=(10.0, 50.0, 10.08, 50.05), noise=1)
    >>> release.guarantee.epsilon, release.releasable
    (1.0, False)
    >>> cells = release.to_geodataframe()
    >>> len(cells), cells.crs.to_epsg(), list(cells.columns)
    (36, 4326, ['time_s', 'count', 'density_per_km2', 'noise_scale', 'geometry'])
    """

    data: Cells | Points
    region: Region
    releasable: bool = False
    reports: CellReports | None = None

    @property
    def time_s(self) -> float:
        """When it was released, seconds."""
        return self.data.time_s

    @property
    def mechanism(self) -> str:
        """Kind of the mechanism that made it."""
        return self.data.mechanism

    @property
    def kind(self) -> str:
        """What it holds: `cells`, `contours`, `points`, `cloaks`, `candidates` or `estimate`."""
        return self.data.kind

    @property
    def guarantee(self) -> Guarantee:
        """What it promises; `guarantee.sentence()` says it in words."""
        return self.data.guarantee

    def __len__(self) -> int:
        data = self.data
        return data.size if isinstance(data, Points) else int(data.count.size)

    def to_geodataframe(self) -> geopandas.GeoDataFrame:
        """Return the release as a GeoDataFrame in EPSG:4326.

        Returns
        -------
        geopandas.GeoDataFrame
            Of counts a row per cell: `time_s`, `count` (noisy; it may be negative), `density_per_km2`, `noise_scale`
            (public; 0: exact), of contour plots also `smoothed_count`, and the cell as a polygon. Of phones a row per
            report: `time_s`, `who` (a pseudonym) and a point, a rectangle (cloaks), or a row per place (dummies).
            `attrs` holds the promise in words.
        """
        import geopandas

        from geodp.storage.geoparquet import PlaceColumn

        data, projection = self.data, self.region.projection
        if isinstance(data, Points) and not isinstance(data, Cloaks):
            x_m, y_m = data.list_places() if isinstance(data, Candidates) else (data.x_m, data.y_m)
            each = x_m.size // max(data.size, 1)
            shapes = PlaceColumn.from_points(*projection.to_lonlat(x_m=x_m.ravel(), y_m=y_m.ravel()))
            columns: dict[str, Any] = {"time_s": data.time_s, "who": np.repeat(data.who.astype(object), each)}
        else:
            west, south = projection.to_lonlat(x_m=data.west_m, y_m=data.south_m)
            east, north = projection.to_lonlat(x_m=data.east_m, y_m=data.north_m)
            shapes = PlaceColumn.from_boxes(west, south, east, north)
            columns = {"time_s": data.time_s}
            if isinstance(data, Cloaks):
                columns |= {"who": data.who.astype(object)}
            else:
                columns |= {"count": data.count, "density_per_km2": 1e6 * data.count / data.area_m2}
                columns |= {} if isinstance(data, DensityEstimate) else {"noise_scale": data.noise_scale}
                columns |= {"smoothed_count": data.surface.ravel()} if isinstance(data, Contours) else {}
        frame = _make_frame(columns, len(shapes.wkb))
        places = geopandas.GeoSeries.from_wkb(shapes.wkb.to_numpy(zero_copy_only=False), crs=CRS)
        made = geopandas.GeoDataFrame(frame, geometry=places)
        made.attrs |= self._facts()
        return made

    def explore(self, *, title: str | None = None, max_points: int | None = None, **fields: Any) -> OfflineMap:
        """Return the release on a map that opens with no network, with what it promises.

        Parameters
        ----------
        title
            What the map is called (default: after the mechanism).
        max_points
            Maximum number of reports or cells drawn (default 5,000).
        **fields
            Fields of the layer that draws it: `geodp list release`, `cells` or `reports`.

        Returns
        -------
        folium.Map
            The map: add whatever Folium offers, and `save` it.
        """
        from geodp.frames.maps import map_release

        return map_release(self, title=title, max_points=max_points, **fields)

    def _facts(self) -> dict[str, Any]:
        return {
            "mechanism": self.mechanism,
            "time_s": self.time_s,
            "guarantee": self.guarantee.sentence(),
            "releasable": self.releasable,
        }

    def __repr__(self) -> str:
        what = "reports" if isinstance(self.data, Points) else "cells"
        return (
            f"<Release of {len(self):,} {what} by {self.mechanism} at {self.time_s:g} s: {self.guarantee.sentence()}>"
        )

    def _repr_html_(self) -> str:
        stamp = "Releasable." if self.releasable else "Simulated noise: not releasable."
        return f"<p>{escape(repr(self)[1:-1])} {stamp}</p>{self.explore()._repr_html_()}"


def _make_frame(columns: dict[str, Any], rows: int) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(columns, index=pd.RangeIndex(rows))


@dataclass(frozen=True, eq=False)
class ReleasedTable:
    """What a publication lets out: a table with its promise.

    Parameters
    ----------
    kind
        Kind of the publication.
    table
        The public table.
    guarantee
        What it promises.
    per_person
        What it costs each person.
    region
        The public area that its places lie in (None: it has none).
    facts
        What a reader of the table must know (public).
    releasable
        Whether its noise may leave the house; simulated noise may not.

    Examples
    --------
    >>> import geodp, pandas as pd
    >>> visits = pd.DataFrame({"user": ["a", "b", "b"], "venue": ["inn", "inn", "museum"]})
    >>> venues = pd.DataFrame({"venue": ["inn", "museum"], "lon": [10.01, 10.02], "lat": [50.01, 50.02]})
    >>> made = geodp.publication("laplace_counts", epsilon=1.0, cap=2).publish(visits, venues=venues, noise=1)
    >>> made.table["venue"].tolist(), made.to_geodataframe().crs.to_epsg()
    (['inn', 'museum'], 4326)
    """

    kind: str
    table: pd.DataFrame
    guarantee: Guarantee
    per_person: Guarantee
    region: Region | None = None
    facts: dict[str, Any] | None = None
    releasable: bool = False

    def __len__(self) -> int:
        return len(self.table)

    def to_geodataframe(self) -> geopandas.GeoDataFrame:
        """Return the table as a GeoDataFrame in EPSG:4326, with points (lon, lat) or boxes (west, south, east, north).

        Returns
        -------
        geopandas.GeoDataFrame
            All columns of the table, and the geometry; rows that are nowhere have none.

        Raises
        ------
        UsageError
            If the table has no places.
        """
        made = add_geometry(self.table, f"what {self.kind} publishes")
        made.attrs |= {"guarantee": self.guarantee.sentence(), "releasable": self.releasable}
        return made

    def explore(self, *, title: str | None = None, max_points: int | None = None) -> OfflineMap:
        """Return the table on a map that opens with no network, with what it promises.

        Parameters
        ----------
        title
            What the map is called (default: after the publication).
        max_points
            Maximum number of things drawn (default 5,000).

        Returns
        -------
        folium.Map
            The map: add whatever Folium offers, and `save` it.

        Raises
        ------
        UsageError
            If the table has no places.
        """
        from geodp.frames.maps import map_table

        return map_table(self, title=title, max_points=max_points)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self):,} rows by {self.kind}: {self.guarantee.sentence()}>"

    def _repr_html_(self) -> str:
        stamp = "Releasable." if self.releasable else "Simulated noise: not releasable."
        head = self.table.head(10).to_html(escape=True)
        return f"<p>{escape(repr(self)[1:-1])} {stamp}</p>{head}"


def add_geometry(table: pd.DataFrame, what: str) -> geopandas.GeoDataFrame:
    """Return a table of places in degrees as a GeoDataFrame; `what` says in messages what it is."""
    import geopandas

    from geodp.errors import UsageError
    from geodp.storage.geoparquet import PlaceColumn

    shapes = PlaceColumn.of_table(table)
    if shapes is None:
        raise UsageError(f"{what} has no places: no columns lon and lat, nor west, south, east and north.")
    places = geopandas.GeoSeries.from_wkb(shapes.wkb.to_numpy(zero_copy_only=False), index=table.index, crs=CRS)
    return geopandas.GeoDataFrame(table.copy(), geometry=places)


def add_points(table: pd.DataFrame, region: Region, *, truth: bool = False) -> geopandas.GeoDataFrame:
    """Return a table with x_m and y_m as a GeoDataFrame in EPSG:4326; `attrs["truth"]` says what nobody may know."""
    import geopandas

    x_m, y_m = (table[name].to_numpy(dtype=np.float64) for name in ("x_m", "y_m"))
    lon, lat = region.projection.to_lonlat(x_m=x_m, y_m=y_m)
    made = geopandas.GeoDataFrame(
        table.drop(columns=["x_m", "y_m"]), geometry=geopandas.points_from_xy(lon, lat, crs=CRS)
    )
    made.attrs["truth"] = truth
    return made
