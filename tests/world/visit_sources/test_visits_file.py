"""Histories from a user's own table."""

from pathlib import Path

import numpy as np
import pytest

from geodp.errors import DataError
from geodp.geometry import Region
from geodp.tables.notices import gather_notices
from geodp.tables.visits.histories import Histories, Venues
from geodp.world.population import Population
from geodp.world.visit_sources.visits_file import VisitsFile

REGION = Region(10.0, 50.0, 10.1, 50.06)
VENUES = "venue,lon,lat,town,lane,category\na,10.01,50.01,n,1,bar\nb,10.02,50.02,n,2,gym\nfar,11.0,50.0,n,2,gym\n"
VISITS = "user,venue,time_s\nzoe,a,50\nzoe,b,20\nann,b,100\nann,far,400\nann,nowhere,7\n"


def loaded(folder: Path, visits: str = VISITS, **fields: object) -> tuple[Histories, Venues]:
    (folder / "venues.csv").write_text(VENUES)
    (folder / "visits.csv").write_text(visits)
    made = VisitsFile.model_validate({"path": "visits.csv", "venues": "venues.csv", **fields}).anchor(folder)
    nobody = Population(np.zeros(1), np.zeros(1))
    return made.visits(nobody, REGION, duration_s=3600.0, rng=np.random.default_rng(0))


def test_visits_to_venues_of_the_region_are_kept_in_order_of_time(tmp_path: Path) -> None:
    histories, venues = loaded(tmp_path)
    assert venues.name.tolist() == ["a", "b"]
    assert list(venues.levels) == ["town", "lane"]
    told = [(histories.people[p], venues.name[v]) for p, v in zip(histories.person, histories.venue, strict=True)]
    assert told == [("ann", "b"), ("zoe", "b"), ("zoe", "a")]
    assert histories.time_s is not None
    assert histories.time_s.tolist() == [3600.0, 3520.0, 3550.0]  # the last one is at the end of the run


def test_the_end_that_is_assumed_is_said_and_one_that_is_stated_is_not(tmp_path: Path) -> None:
    with gather_notices() as said:
        loaded(tmp_path)
    assert any("last visit is taken as the end of the run; state `end_s`" in text for text in said)
    with gather_notices() as said:
        histories, _ = loaded(tmp_path, end_s=100.0)
    assert not any("end_s" in text for text in said)
    assert histories.time_s is not None
    assert histories.time_s.max() == 3600.0


def test_without_times_the_order_of_the_file_stays(tmp_path: Path) -> None:
    histories, _ = loaded(tmp_path, "user,venue\nzoe,b\nzoe,a\n")
    assert histories.time_s is None
    assert histories.venue.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("visits", "says"),
    [
        ("user,shop\nzoe,a\n", "no column 'venue'"),
        ("user,venue\nzoe,far\n", "no visit names a venue of the public list inside the region"),
        ("user,venue\nzoe,\n", "1 row has no venue, first in line 2"),
        ("user,venue\n", "no visits"),
        ("user,venue,time_s\nzoe,a,\n", "1 row has no time_s that can be read .*, first in line 2"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_words(tmp_path: Path, visits: str, says: str) -> None:
    with pytest.raises(DataError, match=says):
        loaded(tmp_path, visits)


def test_the_public_list_is_required_and_says_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="public list of venues"):
        loaded(tmp_path, venues="")
    made = VisitsFile(path="visits.csv", venues="venues.csv").anchor(tmp_path)
    loaded(tmp_path)
    assert made.public_levels() == ("town", "lane")
    assert made.public_categories() == ("bar", "gym")
    assert made.public_venues() == 3
    assert [path.name for path in made.files()] == ["visits.csv", "venues.csv"]
