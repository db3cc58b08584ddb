from pathlib import Path

import pytest

from geodp.errors import UsageError
from geodp.geometry import Region
from geodp.public.guarantee import Guarantee
from geodp.publish.request import PublicInputs
from geodp.tables.regions import parse_region
from tests.publish.conftest import Make


def never() -> int:
    raise AssertionError("a public input must not be derived")


def test_what_is_given_is_taken_and_written_down() -> None:
    for releasing in (False, True):
        inputs = PublicInputs(releasing)
        assert inputs.settle("cap", "--cap N", 3, never) == 3
        assert (inputs.values, inputs.derived, inputs.warnings) == ({"cap": 3}, [], [])


def test_deriving_is_an_error_when_releasing_and_happens_not_at_all() -> None:
    with pytest.raises(UsageError, match=r"expected workers: must be public and given in release mode: use --e N"):
        PublicInputs(releasing=True).settle("expected workers", "--e N", None, never)


def test_deriving_is_a_warning_when_simulating_and_voids_the_promise() -> None:
    inputs = PublicInputs(releasing=False)
    assert inputs.settle("expected workers", "--e N", None, lambda: 400.0) == 400
    assert inputs.values == {"expected_workers": 400.0}
    assert inputs.warnings == [
        "expected workers: read off the private data (400), so no privacy guarantee holds. A release needs --e N."
    ]
    promise = inputs.honest(Guarantee.per_metre(0.01))
    assert (promise.holds, promise.why_not) == (False, "read off the private data: expected workers")
    nothing = Guarantee.none("exact counts are published")
    assert inputs.honest(nothing) is nothing
    assert PublicInputs(releasing=False).honest(Guarantee.per_metre(0.01)).holds


def test_a_region_is_four_numbers_or_a_file(tmp_path: Path) -> None:
    assert parse_region("-74.05, 40.68,-73.9,40.83") == Region(-74.05, 40.68, -73.9, 40.83)
    area = tmp_path / "area.geojson"
    area.write_text('{"type":"Polygon","coordinates":[[[10,50],[10.1,50],[10,50.1],[10,50]]]}')
    region = parse_region(str(area))
    assert (region.west, region.north) == (10, 50.1)
    assert region.polygon is not None
    for wrong in ("1,2,3", "a,b,c,d", "nan,50,10.1,50.2", "10,50,inf,51", "nowhere.geojson"):
        with pytest.raises(UsageError, match="write west,south,east,north in degrees"):
            parse_region(wrong)


@pytest.mark.parametrize(
    ("region", "words"),
    [
        ("10,50,10,50.1", "the region is empty"),
        ("10.2,50,10,50.1", "must be less than east"),
        ("10,50,10.1,91", "latitudes must lie between"),
        ("10,89.9,10.1,90", "the poles left out"),
        ("0,0,40,60", "too large for a local projection"),
    ],
)
def test_an_impossible_region_is_refused(make: Make, region: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        PublicInputs(releasing=False).region(make(region=region), lambda: Region(0, 0, 1, 1))


def test_a_box_in_antarctica_is_refused_before_anything_is_charged(make: Make) -> None:
    """Latitude first is how many write a box: a release of New York would have been of nobody, and paid for."""
    for releasing in (False, True):
        with pytest.raises(UsageError, match=r"lies in Antarctica.* did you mean -74.05,40.68,-73.9,40.83\?"):
            PublicInputs(releasing).region(make(region="40.68,-74.05,40.83,-73.90"), never_region)


def never_region() -> Region:
    raise AssertionError("a region that is given must not be derived")
