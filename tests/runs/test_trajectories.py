"""Runs that publish trajectories: the truth is kept for scoring, scored, drawn, and never made public."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from geodp.curator.publications.synthetic_trips import SyntheticTrips
from geodp.display.layers.trajectories import SyntheticTrajectoriesLayer, TrueTrajectoriesLayer
from geodp.display.map import build_map
from geodp.display.page import Page
from geodp.display.released_only import ReleasedOnly
from geodp.errors import UsageError
from geodp.privacy.noise import SimulatedNoise
from geodp.run_folder.folder import RunFolder
from geodp.run_folder.published import read_publications
from geodp.run_folder.trip_scores import SCORES
from geodp.runs.run import run
from geodp.tables.trajectories.table import Trajectories
from tests.small import small

DAY: dict[str, Any] = {
    "workers.source": {"kind": "street_trips", "count": 80, "trips_per_worker": 8, "points_per_trip": 12},
    "workers.mobility": {"kind": "replay"},
    "start_time": "07:30",
    "duration_s": 7200,
    "tasks.demand.per_hour": 10,
    "curator.release_every_s": 3600,
    "publish": [{"kind": "synthetic_trips", "epsilon": 5.0}],
    "map": {"layers": ["region", "true_trajectories", "synthetic_trajectories"]},
}


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = tmp_path_factory.mktemp("day") / "run"
    run(small(DAY), folder, draw_map=False)
    return RunFolder(folder)


def test_the_truth_is_the_workers_own_trips_within_the_run(day: RunFolder) -> None:
    trips = day.trajectories
    assert trips.size > 50
    assert trips.time_s.min() >= 0
    assert trips.time_s.max() <= 7200
    assert day.region.contains(trips.x_m, trips.y_m).all()
    assert set(trips.people) <= {f"worker-{i:05d}" for i in range(80)}
    assert trips.names is not None


def test_a_publication_is_found_under_the_name_that_it_had_when_the_run_was_made(
    day: RunFolder, tmp_path: Path
) -> None:
    statement = next((day.path / "releases" / "publications").glob("*.json"))
    former = tmp_path / "0-dpt.json"
    former.write_bytes(statement.read_bytes())
    (item,) = read_publications(day, [former])
    assert (item.kind, item.name) == ("synthetic_trips", "0-dpt")


def test_every_score_is_in_the_metrics(day: RunFolder) -> None:
    (item,) = day.publications
    made = Trajectories.from_frame(item.released, day.region)
    for key, score in SCORES.items():
        found, expected = day.metrics[key], score(day.trajectories, made, day.region)
        assert found is not None, key
        assert found == pytest.approx(expected), key
    assert {"memorisation", "memorised_share"} <= set(day.metrics)


def test_the_ledger_has_a_row_for_every_part_of_the_publication(day: RunFolder) -> None:
    rows = day.ledger[day.ledger["mechanism"] == "synthetic_trips"]
    paid = day.publications[0].facts["epsilon_of_parts"]
    assert list(rows["scope"]) == [f"everyone: {part}" for part in day.publications[0].plugin.parts()]
    assert dict(zip(rows["scope"].str.removeprefix("everyone: "), rows["epsilon"], strict=True)) == pytest.approx(paid)
    assert rows["total"].max() == 5.0
    assert day.metrics["epsilon_spent"] == 6.0
    assert "5 for what `synthetic_trips` publishes" in (day.path / "summary.md").read_text(encoding="utf-8")


def test_trips_without_a_cap_are_charged_one_by_one(tmp_path: Path) -> None:
    trips = {"kind": "synthetic_trips", "unit": "trajectory", "epsilon": 5.0}
    run(small({**DAY, "publish": [trips]}), tmp_path / "run", draw_map=False)
    folder = RunFolder(tmp_path / "run")
    rows = folder.ledger[folder.ledger["mechanism"] == "synthetic_trips"]
    assert set(rows["unit"]) == {"trajectory"}
    assert rows["epsilon"].sum() == pytest.approx(5.0)
    assert folder.metrics["epsilon_spent"] is None, "nothing bounds what a person's trips cost together"
    summary = (folder.path / "summary.md").read_text(encoding="utf-8")
    assert "nothing bounds what one person is charged: `synthetic_trips` has no cap per person" in summary
    shown = build_map(folder, public=False)
    assert "Nothing is promised about all trips of one user together" in shown
    assert "Spent per person" not in shown
    assert "Spent per person" not in build_map(folder, public=True)


def test_the_map_has_both_and_the_public_map_the_synthetic_ones_only(day: RunFolder) -> None:
    page = Page(day.region, max_points=5000, public=False)
    TrueTrajectoriesLayer(max_trips=20).draw(day, page)
    SyntheticTrajectoriesLayer().draw(day, page)
    true, made = page.drawings
    assert (true.public, made.public) == (False, True)
    assert true.data["lengths"].size == 20
    assert true.data["x"].size == true.data["time"].size == true.data["lengths"].sum()
    chosen = true.data["ids"]
    first = day.trajectories.first[chosen]
    starts = np.append(0, np.cumsum(true.data["lengths"])[:-1])
    np.testing.assert_allclose(true.data["x"][starts] * page.step_m, day.trajectories.x_m[first], atol=page.step_m)
    assert f"20 of {day.trajectories.size:,} true trips" in page.notes
    public = build_map(day, public=True)
    assert "Synthetic trips" in public
    assert "True trips" not in public
    with pytest.raises(UsageError, match="released data only"):
        TrueTrajectoriesLayer().draw(ReleasedOnly(day.path), page)


def test_a_layer_of_a_publication_that_is_not_there_says_which_there_are(day: RunFolder) -> None:
    page = Page(day.region, max_points=100, public=False)
    with pytest.raises(UsageError, match="There are: 0"):
        SyntheticTrajectoriesLayer(publication=4).draw(day, page)


@pytest.mark.slow
def test_synthetic_trips_can_be_replayed(day: RunFolder, tmp_path: Path) -> None:
    noise = SimulatedNoise(np.random.default_rng(0))
    made = SyntheticTrips(epsilon=500.0).release(
        day.trajectories, day.region, noise
    )  # at small ε trips are noise, and may stand
    made.frame(day.region).to_parquet(tmp_path / "synthetic.parquet", index=False)
    again = small(
        {
            **DAY,
            "workers.source": {"kind": "synthetic_city", "count": 30},
            "workers.mobility": {"kind": "replay", "path": str(tmp_path / "synthetic.parquet"), "times": "each"},
            "publish": [],
        }
    )
    run(again, tmp_path / "again", draw_map=False)
    paths = RunFolder(tmp_path / "again").paths
    moved = paths.groupby("worker")["x_m"].std()
    assert (moved > 10).sum() > 20, "everyone begins a synthetic trip when the run begins"


def test_other_movements_are_cut_into_trips(tmp_path: Path) -> None:
    plain = small(
        {
            "workers.source.count": 100,
            "duration_s": 1800,
            "tasks.demand.per_hour": 10,
            "publish": [{"kind": "synthetic_trips", "epsilon": 5.0}],
        }
    )
    run(plain, tmp_path / "plain", draw_map=False)
    trips = RunFolder(tmp_path / "plain").trajectories
    assert trips.size > 50
    assert np.diff(trips.time_s)[~trips.starts[1:]].max() <= 30.001
