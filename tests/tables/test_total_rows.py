"""Rows of private files as a total function: nothing that a row holds raises, or changes how another one is read."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from geodp.errors import DataError
from geodp.tables import formats, reader, total_rows

HEADER = b"user,lon,lat\n"
SOUND = [b"ann,1.5,2", b"bob,-3,4e0", b'"cy, the third",5,6', b"dee,+7, 8 "]


def read(path: Path, total: bool = True) -> list[tuple[object, float, float]]:
    parts = list(reader.read_batches(path, ["lon", "lat"], ["user"], total=total))
    columns = ([value for part in parts for value in part[name].tolist()] for name in ("lon", "lat"))
    return list(zip([name for part in parts for name in part["user"].to_pylist()], *columns, strict=True))


@pytest.mark.parametrize("name", ["in.csv", "in.csv.gz"])
@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r"])
def test_sound_rows_are_read_as_they_are(tmp_path: Path, name: str, ending: bytes) -> None:
    content = ending.join([HEADER.strip(), *SOUND])
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    found = read(tmp_path / name)
    assert found == [("ann", 1.5, 2.0), ("bob", -3.0, 4.0), ("cy, the third", 5.0, 6.0), ("dee", 7.0, 8.0)]


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.binary(max_size=30) | st.sampled_from([b'"', b'a"b,"c,1', b"x,1,2,3", b",,", b"\xff,1,1", b"e,\0,1"]),
        max_size=4,
    )
)
def test_no_line_changes_how_another_one_is_read(tmp_path: Path, odd: list[bytes]) -> None:
    """Whatever stands between them, sound lines give the same rows in the same order."""
    path = tmp_path / "in.csv"
    path.write_bytes(HEADER + b"\n".join(SOUND))
    sound = read(path)
    mixed = [line for pair in zip(SOUND, [*odd, b"", b"", b"", b""], strict=False) for line in pair]
    path.write_bytes(HEADER + b"\n".join(mixed))
    found = read(path)
    assert [row for row in found if row in sound] == sound


def test_cells_that_cannot_be_read_are_missing(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(HEADER + b"ann,ten,0x10\n\xff\xfe,1,2\nbob,1e999,-\ncy,nan,\n")
    found = read(path)
    assert [name for name, _, _ in found] == ["ann", None, "bob", "cy"]
    np.testing.assert_array_equal([lon for _, lon, _ in found], [np.nan, 1, np.inf, np.nan])
    np.testing.assert_array_equal([lat for _, _, lat in found], [np.nan, 2, np.nan, np.nan])


def test_a_line_that_would_fill_the_memory_is_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(total_rows, "_LONGEST_LINE", 1000)
    monkeypatch.setattr(total_rows, "_BLOCK_BYTES", 300)
    monkeypatch.setattr(total_rows, "LONGEST_HEADER", 20)
    path = tmp_path / "in.csv"
    for length in (990, 1000, 1010, 1400, 5000):
        path.write_bytes(HEADER + b"ann,1,2\n" + b"b" * (length - 5) + b",1,2\n" + b"cy,5,6\n")
        names = [name for name, _, _ in read(path)]
        assert names == (["ann", "b" * (length - 5), "cy"] if length <= 1000 else ["ann", "cy"]), length


def test_only_the_line_of_names_tells_whether_a_file_is_csv(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(HEADER + b"ann,\0,\0\n" + bytes(range(256)))
    assert formats.column_names(path) == ["user", "lon", "lat"]
    assert [name for name, _, _ in read(path)][:1] == ["ann"]


def test_a_column_named_twice_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b"user,lon,lat,lon\nann,1,2,3\n")
    assert read(path) == [("ann", 1.0, 2.0)]


def test_parquet_keeps_whole_numbers_and_drops_bad_words(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    bad = pa.array([b"ann", b"\xff\xfe", b""], pa.binary())
    users = pa.StringArray.from_buffers(3, *bad.buffers()[1:])
    table = {"user": users, "lon": pa.array([1, None, 3]), "lat": [1.0, np.nan, np.inf]}
    pq.write_table(pa.table(table), path)
    assert [name for name, _, _ in read(path)] == ["ann", None, ""]
    for column, names in ((pa.array([5, None, 7]), [5, None, 7]), (pa.array([5.0, np.nan, 7.5]), ["5", None, "7.5"])):
        pq.write_table(pa.table(table | {"user": column}), path)
        assert [name for name, _, _ in read(path)] == names


def test_the_type_of_a_parquet_column_is_public_and_may_be_refused(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    for rows in (0, 2):
        pq.write_table(
            pa.table(
                {"user": ["ann"] * rows, "lon": pa.array([["x"]] * rows, pa.list_(pa.string())), "lat": [1.0] * rows}
            ),
            path,
        )
        with pytest.raises(DataError, match="column 'lon' must hold numbers"):
            read(path)


def test_a_damaged_file_is_refused_without_a_quote(tmp_path: Path) -> None:
    path = tmp_path / "in.csv.gz"
    path.write_bytes(gzip.compress(HEADER + b"".join(b"secret%d,1,2\n" % number for number in range(50_000)))[:-500])
    with pytest.raises(DataError, match=r"in.csv.gz: cannot be read to its end") as told:
        read(path)
    assert "secret" not in str(told.value)
    assert told.value.__cause__ is None
