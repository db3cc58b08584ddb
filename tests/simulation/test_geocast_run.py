"""Whole runs whose offers go to regions of cells."""

from __future__ import annotations

import copy
import gc
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import geodp
from geodp.audit.server_view import DecidedOffers
from geodp.errors import GeodpError
from geodp.public.events import REGION_FAILURES
from geodp.run_folder.folder import RunFolder
from geodp.scenario.schema import Scenario
from geodp.simulation.engine import Engine, build_world
from geodp.simulation.event_log import EventLog
from geodp.streams import Streams
from geodp.world.motion import Motion
from geodp.world.population import Population
from tests.small import small

GEOCAST: dict[str, Any] = {
    "workers.acceptance": {"kind": "linear", "mar": 0.15, "max_travel_m": 2000},
    "curator.mechanism": {"kind": "adaptive_grid", "epsilon": 1.0},
    "server.assignment": {"kind": "geocast", "max_recipients": None},
}


def geocast(changes: dict[str, Any] | None = None) -> Scenario:
    return small(copy.deepcopy(GEOCAST) | (changes or {}))


def made(folder: Path, changes: dict[str, Any] | None = None, name: str = "run") -> RunFolder:
    return geodp.run(geocast(changes), folder / name, draw_map=False).folder


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return made(tmp_path_factory.mktemp("geocast"))


def test_those_inside_the_region_are_asked_and_nobody_else(plain: RunFolder) -> None:
    """Workers stand still here, so the event log's places are those at which they were asked."""
    still = made(plain.path.parent, {"workers.mobility": {"kind": "static"}}, "still")
    events = still.events
    asked = events[events["kind"].isin(["refusal", "acceptance"])]
    regions = {task: rectangles for task, _, rectangles in still.regions}
    world = build_world(geocast({"workers.mobility": {"kind": "static"}}).resolve(), Streams(0))
    x, y = world.population.x_m, world.population.y_m
    assert len(regions) > 30
    for task in asked["task"].unique().tolist():
        own = asked[asked["task"] == task]
        inside = np.zeros(x.size, dtype=bool)
        for west, south, east, north in regions[task]:
            inside |= (x >= west) & (x <= east) & (y >= south) & (y <= north)
        present = set(np.flatnonzero(inside))
        moved = set(events.loc[events["kind"] == "departure", "worker"])  # who has travelled is somewhere else
        assert set(own["worker"]) - moved == present - moved


def test_an_offer_asks_each_worker_once(plain: RunFolder) -> None:
    events = plain.events
    asked = events[events["kind"].isin(["refusal", "acceptance"])]
    assert not asked.duplicated(["task", "worker"]).any()
    assert len(asked) > 500


def test_plan_and_outcome_stand_side_by_side_for_every_task(plain: RunFolder) -> None:
    offers = plain.offers
    assert (offers["planned_success"] >= 0.9 * (1 - 1e-9)).all()
    assert [growth[-1] for growth in offers["growth"]] == offers["planned_success"].tolist()
    answered = offers[offers["answered_s"].notna()]
    success = plain.tasks["outcome"].reindex(answered["task"]).to_numpy() == "success"
    assert (answered["winners"].astype(bool).to_numpy() == success).all()


def test_the_same_seed_gives_the_same_run(plain: RunFolder) -> None:
    again = made(plain.path.parent, name="again")
    assert again.events.equals(plain.events)


def test_every_failure_has_a_word_of_the_vocabulary(plain: RunFolder) -> None:
    scarce = made(
        plain.path.parent, {"workers.source.count": 60, "tasks.demand.per_hour": 300, "server.reoffers": 1}, "scarce"
    )
    failed = scarce.tasks.loc[scarce.tasks["outcome"] == "failure", "reason"]
    assert set(failed) <= {str(reason) for reason in REGION_FAILURES}
    assert {"no_acceptance_region_short_of_target", "acceptors_took_other_tasks"} & set(failed)
    rates = [scarce.metrics[f"failed_{reason}"] for reason in REGION_FAILURES]
    assert sum(rate or 0.0 for rate in rates) == pytest.approx(1 - (scarce.metrics["success_rate"] or 0.0))


def test_a_reoffer_reaches_everyone_who_was_asked_before(plain: RunFolder) -> None:
    again = made(plain.path.parent, {"server.assignment.target_success": 0.5, "server.reoffers": 2}, "reoffers")
    areas: dict[int, list[Any]] = {}
    for task, _, rectangles in again.regions:
        areas.setdefault(task, []).append(rectangles)
    assert max(len(rounds) for rounds in areas.values()) == 3
    import shapely

    for rounds in areas.values():
        shapes = [shapely.union_all(shapely.box(*edges.T)) for edges in rounds]
        for before, after in pairwise(shapes):
            assert shapely.area(shapely.difference(before, after)) < 1.0


def test_a_task_for_three_workers_gets_three_or_none(plain: RunFolder) -> None:
    run = made(plain.path.parent, {"tasks.workers_per_task": 3, "workers.acceptance.mar": 0.4}, "three")
    left = run.events[run.events["kind"] == "departure"]
    assert set(left.groupby("task").size()) == {3}
    assert left.groupby("task")["worker"].nunique().eq(3).all()
    paid = left.groupby("task")["value"].sum()
    offered = run.offers.drop_duplicates("task", keep="last").set_index("task")["reward"]
    assert paid.to_numpy() == pytest.approx(offered.reindex(paid.index).to_numpy())
    assert run.tasks["reward"].dropna().to_numpy() == pytest.approx(paid.to_numpy())
    assert set(run.offers["winners"].map(len)) == {0, 3}
    assert (run.metrics["success_rate"] or 0) > 0.7
    assert run.metrics["success_gap_low"] is not None
    assert run.metrics["success_gap_low"] < 0.1


def test_only_geocast_plans_for_several_workers() -> None:
    with pytest.raises(GeodpError, match="workers_per_task"):
        small({"tasks.workers_per_task": 2})


@pytest.mark.parametrize(
    "mechanism",
    [{"kind": "contour", "epsilon": 0.5}, {"kind": "uniform_grid", "epsilon": 0.5}, {"kind": "no_privacy"}],
)
def test_any_mechanism_serves_it(tmp_path: Path, mechanism: dict[str, Any]) -> None:
    run = made(tmp_path, {"curator.mechanism": mechanism})
    assert run.metrics["success_rate"] == pytest.approx(0.9, abs=0.15)
    assert (run.metrics["cells_per_region"] or 0) >= 1


def test_phones_that_report_by_themselves_serve_it_too(tmp_path: Path) -> None:
    changes = {path: value for path, value in GEOCAST.items() if not path.startswith("curator")}
    changes |= {"curator": None, "device.mechanism": {"kind": "planar_laplace", "epsilon_per_m": 0.01}}
    run = geodp.run(small(changes), tmp_path / "phones", draw_map=False).folder
    assert len(run.regions) > 30
    assert run.metrics["success_rate"] == pytest.approx(0.9, abs=0.2)


def test_counts_that_are_all_noise_make_the_summary_say_that_plans_are_worthless(tmp_path: Path) -> None:
    changes = {"curator.mechanism.epsilon": 0.0005}
    run = made(tmp_path, changes)
    text = (run.path / "summary.md").read_text(encoding="utf-8")
    assert "planned success of geocast is worthless" in text
    assert "worthless" not in (made(tmp_path, name="clear").path / "summary.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("workers.acceptance.max_travel_m", 0, "greater than 0"),
        ("server.assignment.target_success", 1, "less than 1"),
        ("server.assignment.key", "nearest", "must be .distance."),
    ],
)
def test_bad_input_is_refused_with_the_place_and_the_reason(path: str, value: object, says: str) -> None:
    with pytest.raises(GeodpError, match=f"(?s){path}.*{says}"):
        geocast({path: value})


def test_one_worker_in_a_region_of_one_cell_is_enough_for_a_run(tmp_path: Path) -> None:
    tiny = {"region": {"west": 10.0, "south": 50.0, "east": 10.0012, "north": 50.0008}, "workers.source.count": 1}
    run = made(tmp_path, tiny)
    assert (run.metrics["success_rate"] or 0.0) < 0.6
    assert {len(rectangles) for _, _, rectangles in run.regions} <= set(range(1, 101))


def reachable(root: object) -> list[object]:
    """Return everything that can be reached from an object through data, not through classes or modules."""
    seen, waiting, found = {id(root)}, [root], []
    while waiting:
        one = waiting.pop()
        found.append(one)
        if isinstance(one, type) or type(one).__name__ in {"module", "function", "builtin_function_or_method"}:
            continue
        for other in gc.get_referents(one):
            if id(other) not in seen:
                seen.add(id(other))
                waiting.append(other)
    return found


def server_after(scenario: Scenario, folder: Path) -> tuple[Engine, list[Any]]:
    truth: list[Any] = []
    log = EventLog(folder / "events.parquet")
    streams = Streams(scenario.seed)
    engine = Engine(
        scenario,
        build_world(scenario, streams),
        streams,
        log,
        on_release=lambda _, counts: truth.append(counts),
        on_sample=lambda *_: None,
        on_progress=lambda _: None,
    )
    engine.run()
    log.close()
    return engine, truth


def holds_truth(root: object, truth: list[Any]) -> bool:
    """Tell whether true counts, or the world itself, can be reached."""
    for one in reachable(root):
        if isinstance(one, Motion | Population | Engine):
            return True
        if isinstance(one, np.ndarray) and any(
            one.shape == counts.shape and np.array_equal(one, counts) for counts in truth
        ):
            return True
        if isinstance(one, list) and any(len(one) == counts.size and one == counts.tolist() for counts in truth):
            return True
    return False


def test_no_object_of_the_server_holds_a_true_count(tmp_path: Path) -> None:
    engine, truth = server_after(geocast().resolve(), tmp_path)
    assert truth
    assert engine.server.records
    assert not holds_truth(engine.server, truth)
    assert not holds_truth(engine.curator.current if engine.curator else None, truth)
    engine.server.records.append({"count": truth[0]})  # the search finds what is there
    assert holds_truth(engine.server, truth)


def test_the_audit_of_the_servers_view_meets_those_inside_the_regions(plain: RunFolder) -> None:
    offers = DecidedOffers.of(plain)
    assert offers.regions is not None
    rng = np.random.default_rng(0)
    x, y = plain.region.sample(300, rng)
    offer, canary, distance = offers.find_reached(x, y)
    expected = set()
    for number, edges in enumerate(offers.regions):
        for west, south, east, north in edges:
            inside = (x >= west) & (x <= east) & (y >= south) & (y <= north)
            expected |= {(number, int(one)) for one in np.flatnonzero(inside)}
    assert set(zip(offer.tolist(), canary.tolist(), strict=True)) == expected
    assert offer.size == len(expected) > 10
    assert distance == pytest.approx(np.hypot(x[canary] - offers.x_m[offer], y[canary] - offers.y_m[offer]))
    log_ratio, picked = offers.meet(x, y, np.ones(300, dtype=np.bool_), rng)
    assert np.isfinite(log_ratio[~picked]).all()
