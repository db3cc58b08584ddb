"""Counts of meetings: fields that fit, noise of the stated scale, and nothing of the truth in the table."""

from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from geodp.curator.meeting_graph import MeetingGraph
from geodp.curator.publications.meetings import Meetings
from geodp.privacy.noise import noise_source
from geodp.public.guarantee import Unit
from geodp.run_folder.folder import RunFolder
from geodp.runs.run import run
from tests.small import small

NOBODY = MeetingGraph(np.array(["a", "b"], dtype=np.object_), np.empty(0, np.int64), np.empty(0, np.int64))


@pytest.mark.parametrize(
    ("hides", "statistic", "sensitivity"),
    [
        ("person", "edges", 7), ("person", "flow_edges", 7), ("person", "degree_histogram", 15),
        ("person", "cumulative_histogram", 8), ("pair", "edges", 1), ("pair", "degrees", 2),
        ("pair", "degree_histogram", 4),
    ],
)  # fmt: skip
def test_noise_has_the_scale_of_the_sensitivity(hides: str, statistic: str, sensitivity: int) -> None:
    fields = {"hides": hides, "statistic": statistic, "epsilon": 0.5}
    table = Meetings.model_validate(
        fields | ({} if hides == "pair" and statistic != "degree_histogram" else {"max_degree": 7})
    )
    assert table.sensitivity == sensitivity
    draws = np.array([table.count_with_noise(NOBODY, noise_source("simulate", seed=seed))[-1] for seed in range(2000)])
    exact = 2.0 if statistic == "cumulative_histogram" else 0.0
    # the mean of 2,000 |Laplace| is within 15 % of the scale: six standard errors are 13 %
    assert np.abs(draws - exact).mean() == pytest.approx(sensitivity / 0.5, rel=0.15)


def test_what_a_promise_for_a_person_cannot_release_is_refused() -> None:
    with pytest.raises(ValidationError, match="with hides: person there are edges"):
        Meetings(statistic="degrees")
    with pytest.raises(ValidationError, match="with hides: pair there are"):
        Meetings(statistic="flow_edges", hides="pair")


def test_a_promise_about_pairs_says_what_it_is_not() -> None:
    assert Meetings().guarantee().unit is Unit.USER
    pairs = Meetings(statistic="edges", hides="pair")
    assert pairs.guarantee().unit is Unit.PAIR
    assert "Nothing is promised about all meetings of one person" in pairs.together()
    assert "max_degree" in pairs.idle_fields()


@pytest.mark.slow
def test_a_run_publishes_its_meetings_and_scores_nothing_it_cannot(tmp_path: Path) -> None:
    changes = {
        "workers.source": {"kind": "street_trips", "count": 60, "trips_per_worker": 4, "points_per_trip": 12},
        "workers.mobility": {"kind": "replay"},
        "start_time": "07:30",
        "publish": [{"kind": "meetings", "epsilon": 2.0, "max_degree": 5, "radius_m": 100.0}],
    }
    run(small(changes), tmp_path / "run", draw_map=False)
    folder = RunFolder(tmp_path / "run")
    (item,) = folder.publications
    assert item.released["met"].tolist() == list(range(6))
    assert item.released["people"].sum() != item.truth("counts")["people"].sum(), "noise was added"
    assert len(item.truth("meetings")) > 0
    rows = folder.ledger[folder.ledger["mechanism"] == "meetings"]
    assert rows["epsilon"].tolist() == [2.0]
