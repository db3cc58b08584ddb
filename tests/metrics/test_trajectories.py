"""Metrics of published trajectories: their keys, and that they are the scores of what lies in the run folder."""

from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from geodp.metrics import Metric
from geodp.registry import plugin
from geodp.run_folder.folder import RunFolder
from geodp.run_folder.trip_scores import SCORES, memorisation
from geodp.tables.trajectories.table import Trajectories, nobody
from tests.run_folder.test_trip_scores import some_trips
from tests.tables.trajectories.hand_made import BOX, table


def as_published(trips: Trajectories) -> Trajectories:
    return Trajectories.from_frame(trips.frame(BOX), BOX)


def a_run(real: Trajectories, *published: Trajectories) -> Any:
    items = [
        SimpleNamespace(index=3 * number, topics={"trajectories"}, read_trips=partial(as_published, trips))
        for number, trips in enumerate(published)
    ]
    run: Any = SimpleNamespace(trajectories=real, publications=items, scenario=SimpleNamespace(area=BOX))
    run.publications_of = partial(RunFolder.publications_of, run)
    return run


@pytest.mark.parametrize("kind", sorted(SCORES))
def test_each_score_is_a_metric_of_its_own(kind: str) -> None:
    real, one, two = some_trips(1), some_trips(2), table([(1.1, 1.2), (2.3, 2.1)], [(5.2, 1.1), (4.1, 4.2)])
    metric: Metric = plugin(kind, "metric")
    found = metric.measure(a_run(real, one, two))
    assert list(found) == [kind, f"{kind}_3"]
    assert found[kind].value == pytest.approx(SCORES[kind](real, one, BOX))
    assert found[f"{kind}_3"].value == pytest.approx(SCORES[kind](real, two, BOX))


@pytest.mark.parametrize("kind", [*sorted(SCORES), "memorisation"])
def test_runs_without_published_trajectories_have_no_such_number(kind: str) -> None:
    assert plugin(kind, "metric").measure(a_run(nobody())) == {}


@pytest.mark.parametrize("kind", sorted(SCORES))
def test_nothing_published_is_undefined(kind: str) -> None:
    assert plugin(kind, "metric").measure(a_run(some_trips(1), nobody()))[kind].value is None


def test_memorisation_has_two_keys() -> None:
    real, one = some_trips(1), some_trips(2)
    found = plugin("memorisation", "metric").measure(a_run(real, one))
    expected = memorisation(real, one)
    assert found["memorisation"].value == pytest.approx(expected.ratio)
    assert found["memorised_share"].value == pytest.approx(expected.near_share)
