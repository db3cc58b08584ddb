"""Small trajectories for golden numbers: a box of 6 km by 6 km around the origin."""

import math
from pathlib import Path

import geopandas
import numpy as np

from geodp.geometry import EARTH_RADIUS_M, Region
from geodp.tables.trajectories.table import Trajectories

_HALF = math.degrees(3000 / EARTH_RADIUS_M)
BOX = Region(-_HALF, -_HALF, _HALF, _HALF)
"""Six kilometres a side at the equator: 6 x 6 cells are 1 km, 20 x 20 cells are 300 m."""


def table(*ways: list[tuple[float, float]], people: list[int] | None = None) -> Trajectories:
    """Return trajectories through places in kilometres east and north of the box's south-west corner."""
    count = [len(way) for way in ways]
    places = np.array([place for way in ways for place in way], dtype=np.float64).reshape(-1, 2) * 1000 - 3000
    person = np.arange(len(ways)) if people is None else np.array(people)
    names = np.array([f"p{i}" for i in range(int(person.max(initial=0)) + 1)], dtype=object)
    time = np.concatenate([np.arange(n, dtype=np.float64) * 60 for n in count]) if ways else np.empty(0)
    return Trajectories(names, np.append(0, np.cumsum(count)).astype(np.int64), person, time, *places.T)


def save_trajectories(path: Path, trajectories: Trajectories, region: Region) -> None:
    """Write a row per point as csv, Parquet or GeoParquet (which holds points in place of lon and lat)."""
    frame = trajectories.frame(region).round({"lon": 7, "lat": 7, "time_s": 3})
    if path.suffix == ".geoparquet":
        points = geopandas.points_from_xy(frame["lon"], frame["lat"])
        geopandas.GeoDataFrame(frame.drop(columns=["lon", "lat"]), geometry=points, crs="EPSG:4326").to_parquet(path)
    elif path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False)
