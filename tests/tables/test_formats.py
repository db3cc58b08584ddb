"""Points of GeoParquet become places; what is no place is missing, and changes no other row."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import shapely

from geodp.errors import DataError
from geodp.tables.formats import PointColumn

HERE, THERE = shapely.Point(10.0, 50.0), shapely.Point(10.1, 50.1)
LINE = shapely.LineString([(10, 50), (11, 51)])


@pytest.mark.parametrize("crs", [None, "EPSG:4258"])
@pytest.mark.parametrize("odd", [None, shapely.Point(), LINE, shapely.MultiPoint([(10, 50)]), shapely.Point(np.nan, 1)])
def test_what_is_no_place_is_missing_in_a_release(odd: shapely.Geometry | None, crs: str | None) -> None:
    """An empty point was an error: a refusal that one person's row decided."""
    column = pa.array([None if point is None else point.wkb for point in (HERE, odd, THERE)], pa.binary())
    places = PointColumn(Path("in.parquet"), "geometry", crs).places(column, total=True)
    np.testing.assert_allclose(places["lon"][[0, 2]], [10.0, 10.1])
    np.testing.assert_allclose(places["lat"][[0, 2]], [50.0, 50.1])
    assert np.isnan(places["lon"][1])


def test_a_line_is_refused_where_nothing_is_released() -> None:
    column = pa.array([HERE.wkb, LINE.wkb], pa.binary())
    with pytest.raises(DataError, match="must hold points, one per row"):
        PointColumn(Path("in.parquet"), "geometry").places(column)
