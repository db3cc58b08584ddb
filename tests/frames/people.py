"""People of a small town, as frames that users bring."""

import geopandas
import numpy as np
import pandas as pd

BOX = (10.0, 50.0, 10.08, 50.05)
"""The public region: west, south, east, north."""


def make_table(size: int = 60, seed: int = 0) -> pd.DataFrame:
    """Return people with longitudes and latitudes."""
    rng = np.random.default_rng(seed)
    lon, lat = rng.uniform(10.01, 10.07, size), rng.uniform(50.01, 50.04, size)
    return pd.DataFrame({"name": [f"p{who:03d}" for who in range(size)], "lon": lon, "lat": lat})


def make_frame(size: int = 60, crs: int = 4326) -> geopandas.GeoDataFrame:
    """Return the same people as a GeoDataFrame in a CRS."""
    table = make_table(size)
    places = geopandas.points_from_xy(table["lon"], table["lat"], crs=4326)
    return geopandas.GeoDataFrame(table[["name"]], geometry=places).to_crs(crs)
