import json
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

from geodp.errors import UsageError
from geodp.publish import outputs
from geodp.publish.outputs import PublishedTable, write_table

STAMP = {"mode": "simulate", "releasable": False}
POINTS = PublishedTable(
    {"user": pa.array(["ann", "bob"]), "lon": np.array([10.1, 10.2]), "lat": np.array([50.1, 50.2])}, "points"
)
BOXES = PublishedTable(
    {
        "west": np.array([10.0, 10.1]),
        "south": np.array([50.0, 50.0]),
        "east": np.array([10.1, 10.2]),
        "north": np.array([50.1, 50.1]),
        "count": np.array([-0.25, 3.5]),
    },
    "boxes",
)


RELEASED = {"mode": "release", "releasable": True}


def written(folder: Path, table: PublishedTable, suffix: str, stamp: dict[str, Any] = STAMP) -> Path:
    path = folder / f"table{suffix}"
    write_table(path, table, suffix_of=path, stamp=stamp)
    return path


def test_a_csv_is_the_same_however_many_rows_are_written_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = PublishedTable({"user": pa.chunked_array([["a,b", None], ["c"]]), "count": np.array([1.5, 1e-7, 3.0])})
    whole = written(tmp_path, table, ".csv", RELEASED).read_bytes()
    assert whole == b'user,count\n"a,b",1.5\n,1e-07\nc,3.0\n'
    monkeypatch.setattr(outputs, "_CSV_ROWS", 2)
    assert written(tmp_path, table, ".csv", RELEASED).read_bytes() == whole
    empty = PublishedTable({"user": pa.array([], pa.string()), "count": np.empty(0)})
    assert written(tmp_path, empty, ".csv", RELEASED).read_bytes() == b"user,count\n"
    assert written(tmp_path, empty, ".csv").read_bytes() == b"user,count,releasable\n"


def test_csv_and_parquet_hold_the_columns(tmp_path: Path) -> None:
    csv = pd.read_csv(written(tmp_path, POINTS, ".csv", RELEASED))
    parquet = pd.read_parquet(written(tmp_path, POINTS, ".parquet"))
    for frame in (csv, parquet):
        assert list(frame.columns) == ["user", "lon", "lat"]
        assert frame["lon"].tolist() == [10.1, 10.2]
        assert frame["user"].tolist() == ["ann", "bob"]


@pytest.mark.parametrize("suffix", [".geoparquet", ".geojson"])
def test_geographic_formats_are_read_by_others_in_longitude_and_latitude(tmp_path: Path, suffix: str) -> None:
    read = geopandas.read_parquet if suffix == ".geoparquet" else geopandas.read_file
    points = read(written(tmp_path, POINTS, suffix))
    assert [(place.x, place.y) for place in points.geometry] == [(10.1, 50.1), (10.2, 50.2)]
    assert points["user"].tolist() == ["ann", "bob"]
    boxes = read(written(tmp_path, BOXES, suffix))
    assert boxes.crs.to_authority()[1] in {"CRS84", "4326"}
    assert boxes["count"].tolist() == [-0.25, 3.5]
    assert boxes.geometry.iloc[1].equals(shapely.box(10.1, 50.0, 10.2, 50.1))


def test_the_stamp_is_in_the_file_whatever_its_format(tmp_path: Path) -> None:
    told = pd.read_csv(written(tmp_path, POINTS, ".csv"))
    assert told["releasable"].tolist() == [False, False]
    assert list(told.columns) == ["user", "lon", "lat", "releasable"]
    for suffix in (".parquet", ".geoparquet"):
        metadata = pq.read_schema(written(tmp_path, POINTS, suffix)).metadata
        assert json.loads(metadata[b"geodp"]) == STAMP
    assert json.loads(written(tmp_path, POINTS, ".geojson").read_text())["geodp"] == STAMP


def test_a_table_without_places_has_no_geographic_format(tmp_path: Path) -> None:
    table = PublishedTable({"venue": np.array(["a"]), "count": np.array([1])})
    told = pd.read_csv(written(tmp_path, table, ".csv", RELEASED))
    assert told.to_dict("list") == {"venue": ["a"], "count": [1]}
    with pytest.raises(UsageError, match="has no places"):
        written(tmp_path, table, ".geojson")
