"""Scores of published visits, on a run whose publication is known by heart."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from geodp.metrics import Measured
from geodp.metrics.trajectories import DensityJsd
from geodp.metrics.visits import (
    CategoryHistogramError,
    PopularityTau,
    PriLocationDistanceError,
    ReidentifiedShare,
    SameDistrictShare,
    VisitCountError,
)
from geodp.public.guarantee import Guarantee
from geodp.run_folder.folder import RunFolder
from geodp.run_folder.published import write_venues, write_visits
from geodp.scenario.file import write_scenario
from geodp.tables.visits.histories import Histories, Venues
from tests.small import small

NAMES = ("a", "b", "c", "d")
VENUES = Venues(
    np.array(NAMES, dtype=np.object_),
    np.array([10.0, 10.001, 10.03, 10.031]),
    np.full(4, 50.02),
    {
        "city": np.array(["n", "n", "n", "n"], dtype=np.object_),
        "district": np.array(["w", "w", "e", "e"], dtype=np.object_),
        "street": np.array(["1", "2", "3", "4"], dtype=np.object_),
    },
    np.array(["bar", "bar", "gym", "gym"], dtype=np.object_),
)
PEOPLE = np.array(["ann", "ben"], dtype=np.object_)
TRUE = Histories(PEOPLE, np.array([0, 0, 0, 1]), np.array([0, 0, 1, 2]))
TOLD = {"ann": "abb", "ben": "dd"}
"""ann's second visit to a became b; ben's to c became d, and one more was added."""
REPLACED = {"person": [0, 0, 0, 1, 1], "true_venue": [0, 0, 1, 2, 2], "released_venue": [0, 1, 1, 3, 3]}


def publication(folder: Path, index: int, kind: str, *, centroids: bool = False) -> None:
    public, private = folder / "releases/publications", folder / f"truth/publications/{index}-{kind}"
    public.mkdir(parents=True, exist_ok=True)
    private.mkdir(parents=True)
    rows = [(user, name) for user, names in TOLD.items() for name in names]
    number = [NAMES.index(name) for _, name in rows]
    frame = pd.DataFrame(
        {
            "user": [user for user, _ in rows],
            "venue": pd.array([None if centroids else name for _, name in rows], dtype="string"),
            "lon": VENUES.lon[number],
            "lat": VENUES.lat[number],
        }
    )
    frame.to_parquet(public / f"{index}-{kind}.parquet")
    promise = Guarantee.none("a test").as_dict()
    facts: dict[str, Any] = {"guarantee": promise, "per_person": promise, "facts": {}}
    (public / f"{index}-{kind}.json").write_text(json.dumps(facts))
    x_m, y_m = VENUES.places_m()
    truth = pd.DataFrame(REPLACED).assign(survived=[True, True, True, True, False])
    truth["x_m"], truth["y_m"] = x_m[truth["released_venue"]], y_m[truth["released_venue"]]
    truth.assign(released_venue=-1 if centroids else truth["released_venue"]).to_parquet(
        private / "replacements.parquet"
    )
    people = pd.DataFrame({"user": PEOPLE, "level": None, "sensitivity_m": [1000.0, 2000.0]})
    people.to_parquet(private / "people.parquet")


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    (tmp_path / "truth").mkdir()
    publication(tmp_path, 0, "prilocation")
    publication(tmp_path, 2, "k_anonymous_visits", centroids=True)
    write_venues(tmp_path / "releases/venues.parquet", VENUES)
    write_visits(tmp_path / "truth/visits.parquet", TRUE)
    scenario = small({"publish": ["prilocation", "prilocation", "k_anonymous_visits"]})
    write_scenario(scenario, tmp_path / "scenario.yaml")
    (tmp_path / "manifest.json").write_text("{}")
    return RunFolder(tmp_path)


def values(found: dict[str, Measured]) -> dict[str, float | None]:
    return {key: measured.value for key, measured in found.items()}


def test_keys_of_later_publications_end_in_their_place(run: RunFolder) -> None:
    assert [(ending, item.index) for ending, item in run.publications_of("visits")] == [("", 0), ("_2", 2)]
    assert run.publications_of("counts") == []
    assert DensityJsd().measure(run) == {}
    assert PopularityTau.unit_of("popularity_top20_2") == "share"
    assert PopularityTau.unit_of("popularity_tau_2") == "tau"


def test_distance_error_is_relative_to_each_persons_own_sensitivity(run: RunFolder) -> None:
    found = values(PriLocationDistanceError().measure(run))
    step_m = np.ptp(VENUES.places_m()[0][:2])  # a to b, and c to d, are as far apart
    assert found["prilocation_distance_error"] == pytest.approx((step_m / 3 / 1000 + step_m / 2000) / 2)
    assert found["prilocation_distance_error_2"] == pytest.approx(found["prilocation_distance_error"])
    paired = PriLocationDistanceError().per_task(run)
    assert paired is not None
    assert paired.to_list() == pytest.approx([step_m / 3000, step_m / 2000])


def test_numbers_of_visits(run: RunFolder) -> None:
    assert values(VisitCountError().measure(run))["visit_count_error"] == 0.5  # ann 0, ben 1 too many


def test_places_keep_their_district_and_city(run: RunFolder) -> None:
    found = values(SameDistrictShare().measure(run))
    assert found["same_district_share"] == 1.0
    assert found["same_city_share"] == 1.0
    assert found["same_district_share_2"] is None, "a centroid lies in no district"


def test_popularity_and_categories(run: RunFolder) -> None:
    found = values(PopularityTau().measure(run))
    # true counts 2 1 1 0, published 1 2 0 2: one pair agrees, four disagree, one is tied in each
    assert found["popularity_tau"] == pytest.approx((1 - 3) / np.sqrt(5 * 5))
    assert found["popularity_tau_2"] is None
    shares = values(CategoryHistogramError().measure(run))
    assert shares["category_histogram_error"] == pytest.approx(3 / 4 - 3 / 5)
    assert shares["category_histogram_error_2"] is None


def test_rows_that_stay_together_give_their_owner_away(run: RunFolder) -> None:
    found = values(ReidentifiedShare().measure(run))
    assert found["reidentified_share"] == 1.0
    assert found["reidentified_by_chance"] == 0.5


def test_runs_that_publish_nothing_keep_their_numbers(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{}")
    write_scenario(small(), tmp_path / "scenario.yaml")
    for metric in (PriLocationDistanceError(), VisitCountError(), PopularityTau(), SameDistrictShare()):
        assert metric.measure(RunFolder(tmp_path)) == {}
