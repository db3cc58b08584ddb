"""Published formats of visits: what comes out, what is left out and why, and files that are refused."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import geodp
from geodp.errors import DataError, UsageError
from geodp.tables.loaders import VISITS, Dropped, Loaded
from geodp.tables.loaders.checks import SeenRows, row_keys
from geodp.tables.notices import gather_notices

SNAP = [
    "0\t2010-10-19T23:55:27Z\t30.2359091167\t-97.7951395833\t22847",
    "0\t2010-10-18T22:17:43Z\t30.2691029532\t-97.7493953705\t420315",
    "1\t2010-10-17T23:42:03Z\t30.2557309927\t-97.7633857727\t316637",
    "1\t2010-10-17T19:26:05Z\t30.2634181234\t-97.7575966669\t16516",
]
TSMC = "470\t49bbd6c0f964a520f453\t4bf58dd8d48988d12795\tCafé\t40.7198\t-74.0026\t-240\tTue Apr 03 18:00:09 +0000 2012"


def write(path: Path, lines: list[str], encoding: str = "utf-8") -> Path:
    data = ("\n".join(lines) + "\n").encode(encoding)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def load(kind: str, path: Path, **fields: Any) -> tuple[pd.DataFrame, Dropped]:
    loaded: Loaded = geodp.plugin(kind, "loader", **fields).load(path)
    frame = loaded.table().to_pandas()
    assert tuple(frame.columns) == VISITS
    return frame, loaded.dropped


@pytest.mark.parametrize("name", ["loc-gowalla_totalCheckins.txt", "loc-gowalla_totalCheckins.txt.gz"])
def test_snap_check_ins(tmp_path: Path, name: str) -> None:
    frame, dropped = load("snap_checkins", write(tmp_path / name, SNAP))
    assert frame["user"].tolist() == ["0", "0", "1", "1"]
    assert frame["venue"].tolist() == ["22847", "420315", "316637", "16516"]
    assert frame["time_s"].iloc[0] == pd.Timestamp("2010-10-19T23:55:27Z").timestamp()
    assert (frame["lat"].iloc[0], frame["lon"].iloc[0]) == (30.2359091167, -97.7951395833)
    assert frame["category"].isna().all()
    assert (dropped.rows, dropped.kept, dropped.reasons) == (4, 4, {})


def test_what_cannot_be_used_is_left_out_and_counted_once(tmp_path: Path) -> None:
    bad = [
        SNAP[0],  # again
        "\t2010-10-19T23:55:27Z\t30.2\t-97.7\t1",
        "2\t2010-10-19T23:55:27Z\t30.2\t-97.7\t",
        "2\t2010-13-19T23:55:27Z\t30.2\t-97.7\t1",
        "2\t2010-10-19T23:55:27Z\tabc\t-97.7\t1",
        "2\t2010-10-19T23:55:27Z\t\t\t1",
        "2\t2010-10-19T23:55:27Z\t0.0\t0.0\t00000000",
        "2\t2010-10-19T23:55:27Z\t30.2\t-197.7\t1",
        "2\t2010-10-19T23:55:27Z",
    ]
    good = [f"9\t2010-10-19T23:55:{second:02d}Z\t30.2\t-97.7\t1" for second in range(20)]
    frame, dropped = load("snap_checkins", write(tmp_path / "check.txt", [*SNAP, *bad, *good]))
    assert len(frame) == 24
    assert (dropped.rows, dropped.kept) == (33, 24)
    assert dropped.reasons == {
        "another number of columns": 1,
        "no user": 1,
        "no venue": 1,
        "no time that can be read": 1,
        "no place that can be read": 2,
        "the place 0, 0: written where none was known": 1,
        "a longitude beyond ±180 or a latitude beyond ±90": 1,
        "the same as an earlier row": 1,
    }
    assert any("no place that can be read" in line for line in dropped.lines())


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8"])
def test_foursquare_check_ins_with_categories_in_either_encoding(tmp_path: Path, encoding: str) -> None:
    far = TSMC.replace("-240", "99999").replace("470", "471")
    path = write(tmp_path / "dataset_TSMC2014_NYC.txt", [TSMC, TSMC.replace("18:00:09", "18:00:10"), far], encoding)
    frame, dropped = load("foursquare_tsmc2014", path)
    assert frame["category"].tolist() == ["Café", "Café"]
    assert frame["time_s"].iloc[0] == pd.Timestamp("2012-04-03T18:00:09Z").timestamp()
    assert dropped.reasons == {"a time zone more than 14 hours from UTC, or none": 1}
    local, _ = load("foursquare_tsmc2014", path, local_time=True)
    assert (frame["time_s"] - local["time_s"]).tolist() == [4 * 3600.0] * 2


def test_a_region_keeps_what_lies_inside_and_tells_swapped_columns(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", SNAP)
    frame, dropped = load("snap_checkins", path, region="-97.78,30,-97,31")
    assert len(frame) == 3
    assert dropped.reasons == {"outside the region": 1}
    turned = ["\t".join([user, time, lon, lat, venue]) for user, time, lat, lon, venue in map(str.split, SNAP)]
    swapped = write(tmp_path / "b.txt", turned)
    with pytest.raises(DataError, match="100 % of the rows would lie on earth with lat and lon swapped"):
        load("snap_checkins", swapped)
    york = write(tmp_path / "c.txt", [TSMC.replace("40.7198\t-74.0026", "-74.0026\t40.7198")])
    with pytest.raises(DataError, match="inside the region with lat and lon swapped"):
        load("foursquare_tsmc2014", york, region="-74.3,40.4,-73.6,41.0")
    assert load("foursquare_tsmc2014", york)[0]["lat"].tolist() == [-74.0026]  # on earth, so nobody can tell
    with pytest.raises(UsageError, match="write west,south,east,north"):
        load("snap_checkins", path, region="1,2,3")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["a,b,c"] * 5, "5 of 5 rows cannot be used"),
        ([*SNAP[:1], *["1,2010,3,4,5"] * 5], "5: another number of columns"),
        (["30.2\t-97.7\t2010-10-19T23:55:27Z\t1\t0"] * 4, "no time that can be read"),
        ([TSMC] * 3, "another number of columns"),
    ],
)
def test_other_formats_mixed_formats_and_wrong_orders_are_refused(
    tmp_path: Path, lines: list[str], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        load("snap_checkins", write(tmp_path / "x.txt", lines))


def test_empty_missing_truncated_and_folders(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("", encoding="utf-8")
    for path, message in [
        (tmp_path / "empty.txt", "the file is empty"),
        (tmp_path / "empti.txt", "no such file. Did you mean 'empty.txt'"),
        (tmp_path, "is a folder"),
        (write(tmp_path / "blank.txt", ["", ""]), "holds no rows|cannot be read"),
    ]:
        with pytest.raises(DataError, match=message):
            load("snap_checkins", path)
    whole = write(
        tmp_path / "whole.txt.gz", [f"{i}\t2010-10-19T23:55:27Z\t{i % 80}.1\t-97.7\t{i}" for i in range(5000)]
    )
    (tmp_path / "cut.txt.gz").write_bytes(whole.read_bytes()[:-40])
    with pytest.raises(DataError, match="cannot be read to its end.*Is the download complete"):
        load("snap_checkins", tmp_path / "cut.txt.gz")


def test_a_table_with_named_columns_in_csv_parquet_and_geoparquet(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "uid": [1, 2, 2],
            "poi": ["a", "b", "a"],
            "x": [10.0, 10.5, 10.0],
            "y": [50.0, 50.5, 50.0],
            "t": [0.0, 60.0, 90.5],
        }
    )
    names = {"user_column": "uid", "venue_column": "poi", "time_column": "t"}
    frame.to_csv(tmp_path / "v.csv", index=False)
    frame.to_csv(tmp_path / "v.csv.gz", index=False)
    frame.to_parquet(tmp_path / "v.parquet")
    import geopandas

    places = geopandas.points_from_xy(frame["x"], frame["y"], crs="EPSG:4326")
    geopandas.GeoDataFrame(frame.drop(columns=["x", "y"]), geometry=places).to_parquet(tmp_path / "g.geoparquet")
    plain = [load("visits_table", tmp_path / f"v.{end}", lon_column="x", lat_column="y", **names)[0]
             for end in ("csv", "csv.gz", "parquet")]  # fmt: skip
    points, _ = load("visits_table", tmp_path / "g.geoparquet", **names)
    for other in [*plain[1:], points]:
        pd.testing.assert_frame_equal(other, plain[0])
    assert plain[0]["time_s"].tolist() == [0.0, 60.0, 90.5]
    assert plain[0]["user"].tolist() == ["1", "2", "2"]
    no_places, dropped = load("visits_table", tmp_path / "v.csv", lon_column=None, lat_column=None, **names)
    assert len(no_places) == dropped.kept == 3
    with pytest.raises(DataError, match=r"no column 'lon'. Did you mean 'x'[\s\S]*lon_column"):
        load("visits_table", tmp_path / "v.csv")
    with gather_notices() as noticed:
        guessed, _ = load("visits_table", tmp_path / "v.csv", lon_column="x", lat_column="y")
    pd.testing.assert_frame_equal(guessed, plain[0])
    assert [text.split("'")[1] for text in noticed] == ["uid", "poi", "t"]
    with pytest.raises(UsageError, match="or neither"):
        load("visits_table", tmp_path / "v.csv", lon_column=None, **names)


def test_time_zones_are_told_apart_and_assumed_ones_are_counted(tmp_path: Path) -> None:
    """Noon in New York in July is 16:00 UTC; a date without a zone is taken as of the zone that is named."""
    text = [
        "user,venue,lon,lat,time",
        "1,a,10,50,2012-07-01T16:00:00Z",
        "2,a,10,50,2012-07-01T12:00:00-04:00",
        "3,a,10,50,2012-07-01 12:00:00",
        "4,a,10,50,yesterday",
    ]
    path = write(tmp_path / "v.csv", text)
    frame, dropped = load("visits_table", path, time_column="time", time_zone="America/New_York")
    assert frame["time_s"].tolist() == [pd.Timestamp("2012-07-01T16:00:00Z").timestamp()] * 3
    assert dropped.notes == {"no time zone stated: taken as America/New_York": 1}
    assert dropped.reasons == {"no time that can be read": 1}
    with pytest.raises(UsageError, match="no zone called 'Atlantis'"):
        load("visits_table", path, time_column="time", time_zone="Atlantis")
    stamps = pd.DataFrame({"user": [1, 2], "venue": "a", "lon": 1.0, "lat": 2.0})
    for zone, seconds in (("UTC", 1341158400.0), (None, 1341158400.0)):
        stamps["time"] = pd.Timestamp("2012-07-01T16:00:00", tz=zone)
        stamps.to_parquet(tmp_path / "s.parquet")
        assert load("visits_table", tmp_path / "s.parquet", time_column="time")[0]["time_s"].tolist() == [seconds] * 2


def test_without_times_a_return_is_no_duplicate(tmp_path: Path) -> None:
    path = write(tmp_path / "v.csv", ["user,venue,lon,lat", "1,a,10,50", "1,a,10,50"])
    frame, dropped = load("visits_table", path, time_column=None)
    assert len(frame) == 2
    assert not dropped.reasons


def test_duplicates_are_found_across_batches_whatever_their_order() -> None:
    numbers = np.random.default_rng(5).integers(0, 40_000, 100_000)
    seen = SeenRows()
    again = [seen.find_repeated(row_keys([batch, np.zeros_like(batch)])) for batch in np.array_split(numbers, 37)]
    assert np.array_equal(np.concatenate(again), pd.Series(numbers).duplicated().to_numpy())


def test_batches_are_read_one_at_a_time(tmp_path: Path) -> None:
    """A file of 20 MB comes in several batches, and the counts grow with them."""
    line = "{}\t2010-10-19T23:55:27Z\t30.2359091167\t-97.7951395833\t22847"
    path = write(tmp_path / "big.txt", [line.format(i) for i in range(330_000)])
    loaded = geodp.plugin("snap_checkins").load(path)
    rows = [loaded.dropped.rows for batch in loaded if batch.num_rows]
    assert len(rows) >= 2
    assert rows[0] < rows[-1] == 330_000
