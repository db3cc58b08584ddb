import numpy as np
import pandas as pd
import pytest

from geodp.errors import DataError
from geodp.geometry import Region
from geodp.publish.positions_plan import publish_positions
from geodp.publish.private_positions import Rows, find_bounding_box, inside, read_rows
from geodp.publish.request import Request
from geodp.tables.regions import parse_region
from tests.publish.conftest import TOWN, Make, files, places


def rows_of(request: Request) -> Rows:
    names = () if request.one_row_per_person else ("user",)
    return read_rows(request.source, numbers=("lon", "lat"), names=names, releasing=request.releasing)


def test_a_first_line_that_may_be_somebody_is_quoted_in_simulations_only(make: Make) -> None:
    for mode, quoted in (("simulate", True), ("release", False)):
        request = make(places(5), mode=mode)
        request.source.write_text("alice;10.01;50.01\nbob;10.02;50.02\n", encoding="utf-8")
        with pytest.raises(DataError, match="no column 'lon'") as told:
            rows_of(request)
        assert ("alice" in str(told.value)) == quoted


def test_csv_and_parquet_read_the_same(make: Make) -> None:
    frame = places(50).assign(user=np.arange(50) % 7, colour="red")
    for source in ("in.csv", "in.parquet"):
        rows = rows_of(make(frame, source=source))
        np.testing.assert_array_equal(rows.numbers["lat"], frame["lat"])
        assert rows.codes("user").tolist() == (np.arange(50) % 7).tolist()
        assert set(rows.names) == {"user"}


NAN = "lon,lat\n10.01,50.01\n10.02,\n10.03,nan\n"


@pytest.mark.parametrize("mode", ["simulate", "release"])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the file is empty"),
        ("a,b\n10.01,50.01\n", "no column 'lon'."),
        ("10.01,50.01\n10.02,50.02\n", "the first line holds numbers instead of column names"),
    ],
)
def test_missing_columns_are_refused_and_release_and_charge_nothing(
    make: Make, text: str, words: str, mode: str
) -> None:
    request = make(text, mode=mode)
    if mode == "release":
        pytest.importorskip("opendp")
    with pytest.raises(DataError, match=words):
        publish_positions(request)
    assert files(request.out.parent) == {"in.csv"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("lon,lat\n", "has column names but no rows"),
        (NAN, "2 of 3 rows have no lon or lat, first in line 3. Remove or mend such rows"),
        ("lon,lat\n10.01,50.01\n10.02,inf\n", "1 row has no lon or lat, first in line 3"),
        ("lon,lat,user\n10.01,50.01,ann\n10.02,50.01,\n", "1 row has no user, first in line 3"),
        ("lon,lat\n50.01,10.01\n50.02,10.02\n", "inside with lat and lon swapped"),
        ("lon,lat\n10.01,50.01\n200.1,50.02\n", "a longitude beyond ±180 or a latitude beyond ±90, first in line 3"),
        ("lon,lat\n20.01,50.01\n", "none of its 1 points lies inside the region"),
        ("lon,lat\nten,50.01\n", "'ten'"),
    ],
)
def test_bad_rows_are_told_when_simulating(make: Make, text: str, words: str) -> None:
    request = make(text)
    with pytest.raises(DataError, match=words):
        publish_positions(request)
    assert files(request.out.parent) == {"in.csv"}


def test_a_release_leaves_out_what_it_cannot_use(make: Make) -> None:
    text = "lon,lat,user\n10.01,50.01,ann\nten,50.01,bob\n10.02,,cy\n10.03,50.02,\n10.04,95,eve\n10.05,50.03,fay\n"
    rows = rows_of(make(text, mode="release"))
    assert rows.numbers["lon"].tolist() == [10.01, 10.05]
    assert rows.names["user"].to_pylist() == ["ann", "fay"]
    swapped = rows_of(make("lon,lat\n50.01,10.01\n50.02,10.02\n10.01,50.01\n", mode="release"))
    assert inside(swapped, parse_region(TOWN))[0].tolist() == [False, False, True]
    assert rows_of(make("lon,lat,user\n", mode="release")).size == 0


def test_swapped_columns_are_told_when_simulating(make: Make) -> None:
    with pytest.raises(DataError, match="67 % of points lie outside the region; 67 % would lie inside"):
        inside(rows_of(make("lon,lat\n50.01,10.01\n50.02,10.02\n10.01,50.01\n")), parse_region(TOWN))


def test_users_under_another_name_are_taken_and_said_and_a_release_asks(make: Make) -> None:
    frame = places(3).assign(IMEI=[1, 1, 2]).rename(columns={"lon": "Longitude"})
    outcome = publish_positions(make(frame, cap=2))
    assert "in.csv: column 'IMEI' is taken for whose a row is (no column 'user')." in outcome.warnings
    assert "in.csv: column 'Longitude' is taken for the longitude (no column 'lon')." in outcome.warnings
    pytest.importorskip("opendp")
    with pytest.raises(DataError, match="A release guesses nothing: say --column lon=NAME.*Nothing was"):
        publish_positions(make(frame, out="b.csv", cap=2, mode="release", epsilon=0.01))


def test_two_columns_that_could_name_users_are_asked_about(make: Make) -> None:
    with pytest.raises(DataError, match="'uid' or 'imei' could say whose a row is. Which one.*--column user=NAME"):
        publish_positions(make(places(3).assign(uid=1, imei=2)))
    assert publish_positions(make(places(3).assign(uid=1, imei=2), columns={"user": "imei"}, cap=3)).warnings == ()


def test_without_a_column_of_users_every_row_is_a_person_only_where_that_is_stated(make: Make) -> None:
    for mode in ("simulate", "release"):
        if mode == "release":
            pytest.importorskip("opendp")
        with pytest.raises(DataError, match="no column 'user'.* Every row a person of its own.*--one-row-per-person"):
            publish_positions(make(places(3), mode=mode, one_row_per_person=False))


def test_points_outside_the_region_are_left_out(make: Make) -> None:
    frame = pd.concat([places(30), pd.DataFrame({"lon": [11.0, 10.05], "lat": [50.02, 51.0]})])
    kept, _, _ = inside(rows_of(make(frame)), parse_region(TOWN))
    assert kept.tolist() == [True] * 30 + [False] * 2


def test_the_bounding_box_is_that_of_the_points(make: Make) -> None:
    assert find_bounding_box(rows_of(make("lon,lat\n10,50\n10.5,49\n"))) == Region(10, 49, 10.5, 50)


def test_a_region_with_its_order_wrong_is_not_blamed_on_the_columns_alone(make: Make) -> None:
    request = make(places(20), region="50.0,10.0,50.05,10.08")
    with pytest.raises(DataError, match=r"in the columns' names or in --region \(its order is west,south,east,north\)"):
        publish_positions(request)
