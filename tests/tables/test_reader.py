"""Files that are not what they should be are refused with what, where and what to do."""

import datetime as dt
import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from geodp.errors import DataError
from geodp.tables.formats import column_names
from geodp.tables.reader import read_batches, require_columns


def refusal(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        read(path)
    return str(caught.value)


def read(path: Path) -> None:
    require_columns(path, {"lon": "lon", "lat": "lat"}, column_names(path))
    for _ in read_batches(path, ["lon", "lat"], []):
        pass


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "a.csv: the file is empty"),
        ("a.csv", b"\n\n", "a.csv: is not a csv file in UTF-8 with a line of column names"),
        ("a.csv", bytes(range(256)), "a.csv: is not a csv file in UTF-8 with a line of column names"),
        ("a.csv", b"lon;lat\n1;2\n", "the columns are not separated by commas (the first line is 'lon;lat')"),
        (
            "a.csv",
            b"longitude,lat\n1,2\n",
            "no column 'lon'. Did you mean 'longitude'? Found: longitude, lat.",
        ),
        ("a.csv", b"lon,LAT\n1,2\n", "no column 'lat'. Did you mean 'LAT'? Found: lon, LAT."),
        (
            "a.csv",
            b"lon,lat\n1,2\n3,north\n",
            "Row #3: CSV conversion error to double: invalid value 'north'",
        ),
        ("a.csv", b"lon,lat\n1,2\n3,4,5\n", "Row #3: Expected 2 columns, got 3"),
        ("a.csv.gz", b"lon,lat\n1,2\n", "a.csv.gz: cannot be read"),
        ("a.parquet", b"lon,lat\n1,2\n", "a.parquet: cannot be read as Parquet"),
        ("a.xlsx", b"lon,lat\n1,2\n", "is neither a csv nor a Parquet file by its name"),
    ],
)
def test_unusable_files_are_refused(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    assert message in refusal(tmp_path / name)


def test_a_missing_file_is_named_with_its_nearest_neighbour(tmp_path: Path) -> None:
    (tmp_path / "checkins.csv").write_text("lon,lat\n")
    message = refusal(tmp_path / "checkin.csv")
    assert message == f"{tmp_path / 'checkin.csv'}: no such file. Did you mean 'checkins.csv'?"


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    assert "is a folder; name a csv or Parquet file" in refusal(tmp_path)


def test_a_parquet_column_of_text_or_dates_is_no_place(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"lon": ["1"], "lat": [2.0]}), path)
    assert "column 'lon' must hold numbers; it holds string" in refusal(path)
    pq.write_table(pa.table({"lon": [dt.datetime(2024, 1, 1)], "lat": [2.0]}), path)
    assert "column 'lon' must hold numbers; it holds timestamp" in refusal(path)


def test_a_parquet_file_cut_short_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"lon": [1.0] * 1000, "lat": [2.0] * 1000}), path)
    path.write_bytes(path.read_bytes()[:-40])
    assert "cannot be read as Parquet" in refusal(path)


def test_packed_files_marks_of_byte_order_and_whole_numbers_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress("\ufefflon,lat,worker\n1,2,07\n3,4.5,x\n".encode()))
    assert column_names(path) == ["lon", "lat", "worker"]
    (batch,) = read_batches(path, ["lon", "lat"], ["worker"])
    assert batch["lon"].tolist() == [1, 3]
    assert batch["lat"].tolist() == [2, 4.5]
    assert batch["worker"].to_pylist() == ["07", "x"]


def test_categories_of_a_parquet_file_are_read_as_names(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"lon": [1, 2], "worker": pa.array(["b", "a"]).dictionary_encode()}), path)
    (batch,) = read_batches(path, ["lon"], ["worker"])
    assert batch["worker"].to_pylist() == ["b", "a"]
    assert batch["lon"].tolist() == [1.0, 2.0]
