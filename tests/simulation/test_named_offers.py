"""Runs in which the server asks workers by name, and requesters may blur where their tasks are."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import geodp
from geodp.errors import ScenarioError
from geodp.geometry import Region
from geodp.public.messages import Task
from geodp.run_folder.folder import RunFolder
from geodp.simulation.requesters import places_told
from geodp.streams import Streams
from tests.small import small

TREE = {"kind": "tree_obfuscation", "epsilon_per_m": 0.003}
PLANAR = {"kind": "planar_laplace", "epsilon_per_m": 0.01}


def made(folder: Path, device: dict[str, Any], assignment: dict[str, Any], **more: Any) -> RunFolder:
    changes = {"curator": None, "device.mechanism": device, "server.assignment": assignment, "server.reoffers": 10}
    return geodp.run(small({**changes, **more}), folder, draw_map=False).folder


@pytest.mark.parametrize(
    ("device", "assignment"),
    [
        (TREE, {"kind": "tree_matching", "recipients": 2}),
        (PLANAR, {"kind": "reachability", "max_recipients": 2}),
        (TREE, {"kind": "reachability", "max_recipients": 2}),
        (TREE, {"kind": "nearest_report"}),
        (TREE, {"kind": "reward_radius"}),
    ],
)
def test_matchings_run_and_ask_nobody_twice(tmp_path: Path, device: dict[str, Any], assignment: dict[str, Any]) -> None:
    run = made(tmp_path / "run", device, assignment)
    assert (run.tasks["outcome"] == "success").mean() > 0.7
    if assignment["kind"] in ("tree_matching", "reachability"):
        assert not run.answers.duplicated(["task", "worker"]).any()
        assert run.answers.groupby(["task", "time_s"]).size().max() == 2
        assert run.offers["round"].max() > 1
    law = run.releases[0].channel  # type: ignore[union-attr]
    assert law == run.scenario.device.mechanism.channel(run.region)


def test_requesters_blur_the_place_once_and_workers_answer_to_the_true_one(tmp_path: Path) -> None:
    assignment = {"kind": "reachability", "max_recipients": 3}
    run = made(tmp_path / "run", PLANAR, assignment, **{"tasks.place_epsilon_per_m": 0.01})
    told = run.offers.groupby("task")[["x_m", "y_m"]]
    assert (told.nunique() == 1).all(axis=None)
    true = run.tasks.loc[told.first().index]
    away = np.hypot(told.first()["x_m"] - true["x_m"], told.first()["y_m"] - true["y_m"])
    assert 100 < away.mean() < 300  # 2/ε = 200 m
    answers = run.answers.join(run.tasks[["x_m", "y_m"]].rename(columns=lambda name: f"task_{name}"), on="task")
    far = np.hypot(answers["x_m"] - answers["task_x_m"], answers["y_m"] - answers["task_y_m"])
    assert answers["value"].to_numpy() == pytest.approx(np.asarray(far))
    assert "**Requesters**" in (run.path / "summary.md").read_text()


def test_noise_on_the_places_of_tasks_is_planar_laplace() -> None:
    """Kolmogorov's test of radii and bearings of 20,000 tasks; false alarm 1e-6 each."""
    region = Region(9.0, 49.5, 11.0, 50.5)
    tasks = [Task(number, 0.0, 0.0, 0.0, 900.0) for number in range(20_000)]
    told = places_told(tasks, 0.02, region, Streams(3))
    x, y = np.array([(task.x_m, task.y_m) for task in told]).T
    assert stats.kstest(np.hypot(x, y) * 0.02, stats.gamma(2).cdf).pvalue > 1e-6
    assert stats.kstest((np.arctan2(y, x) + np.pi) / (2 * np.pi), "uniform").pvalue > 1e-6
    assert places_told(tasks[7:9], 0.02, region, Streams(3)) == told[7:9]
    assert places_told(tasks, None, region, Streams(3)) is tasks


@pytest.mark.parametrize("change", [{}, {"server.assignment": {"kind": "geocast"}}, {"server.mode": "worker_selected"}])
def test_blurred_places_are_refused_where_offers_go_to_places(change: dict[str, Any]) -> None:
    with pytest.raises(ScenarioError, match="only where the server asks workers by name"):
        small({"tasks.place_epsilon_per_m": 0.01, **change})


def test_leaves_are_read_only_where_phones_report_them() -> None:
    with pytest.raises(ScenarioError, match="'tree_matching' reads leaves, but 'planar_laplace' releases points"):
        small({"curator": None, "device.mechanism": PLANAR, "server.assignment": {"kind": "tree_matching"}})
