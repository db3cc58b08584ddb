import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import geodp
from geodp.errors import OutputError
from geodp.public.release import Cells
from geodp.run_folder.folder import RunFolder
from geodp.runs.result import RunResult
from tests.small import small, small_file

FILES = {
    "events.parquet",
    "findings.json",
    "ledger.parquet",
    "manifest.json",
    "map.html",
    "metrics.json",
    "releases",
    "risk.html",
    "run.log",
    "scenario.yaml",
    "server_view.parquet",
    "tasks.parquet",
    "summary.md",
    "truth",
}


def fingerprint(run: RunFolder) -> str:
    digest = hashlib.sha256((run.path / "metrics.json").read_bytes())
    digest.update(run.events.to_csv(index=False).encode())
    return digest.hexdigest()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    return geodp.run(small(), tmp_path_factory.mktemp("runs") / "small", seed=5)


def test_a_run_leaves_all_its_files_and_no_partial_folder(run: RunResult) -> None:
    assert {path.name for path in run.path.iterdir()} == FILES
    assert [path.name for path in run.path.parent.iterdir()] == ["small"]
    manifest = json.loads((run.path / "manifest.json").read_text())
    assert (manifest["seed"], manifest["releasable"]) == (5, False)


def test_the_same_scenario_and_seed_give_the_same_events_in_another_process(run: RunResult, tmp_path: Path) -> None:
    path = small_file(tmp_path)
    for hash_seed in ("1", "77"):
        out = tmp_path / hash_seed
        subprocess.run(
            [sys.executable, "-m", "geodp", "--quiet", "run", str(path), "--seed", "5", "--out", str(out)],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            check=True,
        )
        assert fingerprint(RunFolder(out)) == fingerprint(run.folder)


def test_the_resolved_scenario_reruns_to_the_same_result(run: RunResult, tmp_path: Path) -> None:
    again = geodp.run(run.path / "scenario.yaml", tmp_path / "again", draw_map=False)
    assert fingerprint(again.folder) == fingerprint(run.folder)


def test_another_seed_gives_other_events(run: RunResult, tmp_path: Path) -> None:
    other = geodp.run(small(), tmp_path / "other", seed=6, draw_map=False)
    assert fingerprint(other.folder) != fingerprint(run.folder)


def test_switching_the_mechanism_changes_neither_movements_nor_arrivals(run: RunResult, tmp_path: Path) -> None:
    exact = geodp.run(small({"curator.mechanism": {"kind": "no_privacy"}}), tmp_path / "exact", seed=5, draw_map=False)

    def arrivals(result: RunResult) -> pd.DataFrame:
        rows = result.events[result.events["kind"] == "task_arrived"]
        return rows[["time_s", "task", "x_m", "y_m"]].reset_index(drop=True)

    pd.testing.assert_frame_equal(arrivals(run), arrivals(exact))
    one, other = run.folder.paths, exact.folder.paths
    asked = set(run.folder.tasks["worker"]) | set(exact.folder.tasks["worker"])
    untouched = ~one["worker"].isin(asked)
    assert untouched.sum() > 1000
    assert np.array_equal(one.loc[untouched, ["x_m", "y_m"]], other.loc[untouched, ["x_m", "y_m"]])
    shared = run.folder.notified.merge(exact.folder.notified, on=["task", "worker"])
    same_distance = np.isclose(shared["distance_m_x"], shared["distance_m_y"])
    assert len(shared) > 100
    assert same_distance.mean() > 0.95


def test_the_pinned_baseline_has_not_moved(run: RunResult) -> None:
    """A change that moves these numbers is marked **Numbers change** in the changelog."""
    pinned = json.loads((Path(__file__).parent / "baseline.json").read_text())
    undefined = {key for key, value in pinned.items() if value is None}
    assert {key for key in pinned if run.metrics[key] is None} == undefined
    measured = {key: run.metrics[key] for key in pinned.keys() - undefined}
    assert measured == pytest.approx({key: pinned[key] for key in measured}, rel=1e-9)


def test_no_true_point_count_or_number_of_workers_travels_in_a_release(run: RunResult) -> None:
    truth = run.folder.true_counts(0).to_numpy()
    release = run.folder.releases[0]
    assert isinstance(release, Cells)
    seen: list[Any] = []

    def walk(value: Any, depth: int = 0) -> None:
        seen.append(value)
        if isinstance(value, dict):
            for part in value.values():
                walk(part, depth + 1)
        elif isinstance(value, list | tuple | set):
            for part in value:
                walk(part, depth + 1)
        elif hasattr(value, "__dict__") and depth < 6 and not callable(value):
            walk(vars(value), depth + 1)

    _ = release.surface, release.density([0.0], [0.0])  # type: ignore[attr-defined]
    walk(release)
    arrays = [value for value in seen if isinstance(value, np.ndarray)]
    numbers = [value for value in seen if isinstance(value, int | float)]
    assert len(arrays) >= 7
    assert not any(array.size == truth.size and np.array_equal(array, truth) for array in arrays)
    assert not any(array.size == run.folder.workers for array in arrays)
    assert run.folder.workers not in numbers
    assert truth.sum() not in numbers
    start = run.folder.paths.query("time_s == 0")
    assert not any(np.isin(start["x_m"].to_numpy(), array).any() for array in arrays)


def test_the_server_never_holds_anything_of_the_trusted_side(run: RunResult) -> None:
    from geodp.run_folder.folder import RunFolder as Folder
    from geodp.simulation.engine import Engine, build_world
    from geodp.simulation.event_log import EventLog
    from geodp.streams import Streams

    scenario = small().resolve()
    streams = Streams(1)
    engine = Engine(
        scenario,
        build_world(scenario, streams),
        streams,
        EventLog(run.path.parent / "events.parquet"),
        on_release=lambda *_: None,
        on_sample=lambda *_: None,
        on_progress=lambda *_: None,
    )
    engine.run()
    engine.log.close()
    homes: set[str] = set()
    visited: set[int] = set()

    def walk(value: Any) -> None:
        if id(value) in visited or isinstance(value, str | int | float | type | None.__class__):
            return
        visited.add(id(value))
        homes.add(type(value).__module__)
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple | set) else None
        for part in parts if parts is not None else getattr(value, "__dict__", {}).values():
            walk(part)

    walk(engine.server)
    ours = {home for home in homes if home.startswith("geodp.")}
    trusted = (
        "geodp.world",
        "geodp.curator",
        "geodp.simulation",
        "geodp.tables.loaders",
        "geodp.device",
        "geodp.runs",
    )
    assert "geodp.server.server" in ours
    assert not {home for home in ours if home.startswith(trusted)}
    assert Folder.__module__ not in ours


@pytest.mark.slow
def test_planned_equals_realised_success_in_a_uniform_poisson_world_without_noise(tmp_path: Path) -> None:
    """Exact counts, workers evenly spread, standing still and idle: the plan comes true (95 % interval)."""
    rng = np.random.default_rng(11)
    count = int(rng.poisson(20_000))
    frame = pd.DataFrame({"lon": rng.uniform(10.0, 10.3, count), "lat": rng.uniform(50.0, 50.2, count)})
    frame.to_csv(tmp_path / "people.csv", index=False)
    tasks = 3000
    inner = pd.DataFrame(  # away from the border, whose circles reach into the void
        {
            "lon": rng.uniform(10.03, 10.27, tasks),
            "lat": rng.uniform(50.02, 50.18, tasks),
            "time_s": np.sort(rng.uniform(0, 3000, tasks)),
        }
    )
    inner.to_csv(tmp_path / "tasks.csv", index=False)
    scenario = small(
        {
            "region": {"west": 10.0, "south": 50.0, "east": 10.3, "north": 50.2},
            "duration_s": 3600,
            "workers": {
                "source": {"kind": "table", "path": str(tmp_path / "people.csv"), "worker_column": None},
                "acceptance": {"kind": "tanh_reward", "max_travel_m": 3600},
                "travel_speed_mps": 1000.0,
            },
            "tasks": {
                "demand": {"kind": "trace", "path": str(tmp_path / "tasks.csv")},
                "reward": {"total": 60000},
            },
            "curator": {"mechanism": {"kind": "no_privacy", "cell_m": 3000}, "expected_workers": 20000},
            "server": {
                "assignment": {"kind": "reward_radius", "reward": "uniform", "max_recipients": None},
                "answer_window_s": 1,
            },
        }
    )
    metrics = geodp.run(scenario, tmp_path / "run", draw_map=False).metrics
    assert metrics["planned_success"] == pytest.approx(0.9, abs=1e-6)
    low, high = metrics["success_rate_low"], metrics["success_rate_high"]
    assert low is not None
    assert high is not None
    assert low <= 0.9 <= high
    assert high - low < 0.025


def test_an_existing_folder_is_refused_and_force_replaces_run_folders_only(run: RunResult, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="exists already"):
        geodp.run(small(), run.path)
    precious = tmp_path / "thesis"
    precious.mkdir()
    (precious / "chapter.txt").write_text("years of work")
    with pytest.raises(OutputError, match="not a run folder"):
        geodp.run(small(), precious, force=True)
    assert (precious / "chapter.txt").read_text() == "years of work"
    first = geodp.run(small(), tmp_path / "twice", draw_map=False)
    marker = first.path / "marker"
    marker.touch()
    geodp.run(small(), tmp_path / "twice", force=True, draw_map=False)
    assert not marker.exists()


def test_a_place_that_cannot_be_written_is_an_error_for_people(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        geodp.run(small(), tmp_path / "file" / "run")


def test_a_full_disk_leaves_nothing_that_looks_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("geodp.runs.run.write_release", full)
    with pytest.raises(OutputError, match="No space left on device"):
        geodp.run(small(), tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_ctrl_c_in_the_middle_exits_130_and_leaves_nothing(tmp_path: Path) -> None:
    path = small_file(tmp_path, {"workers.source.count": 200_000, "duration_s": 86400, "tasks.demand.per_hour": 2000})
    out = tmp_path / "out" / "run"
    # Where the tests run in the background, SIGINT is ignored and children inherit that: switch it on again.
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from geodp.cli.main import main; main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", code, "run", str(path), "--out", str(out)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            deadline = time.monotonic() + 120
            while not list(out.parent.glob(".run.*.partial/releases/0000.json")):
                assert time.monotonic() < deadline
                assert process.poll() is None
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=120)
        finally:
            process.kill()
    assert process.returncode == 130
    assert "interrupted" in errors
    assert list(out.parent.iterdir()) == []


def test_a_comparison_runs_its_arms_on_the_same_world_and_the_same_luck(tmp_path: Path) -> None:
    compare = {"exact": {"curator.mechanism": {"kind": "no_privacy"}}, "contour": {}, "same": {}}
    result = geodp.run(small({"compare": compare}), tmp_path / "arms")
    assert list(result.arms) == ["exact", "contour", "same"]
    assert fingerprint(result.arms["contour"].folder) == fingerprint(result.arms["same"].folder)
    assert {path.name for path in result.arms["exact"].path.iterdir()} == FILES
    table = result.comparison
    assert "success_rate" in set(table["metric"])
    assert (result.path / "map.html").is_file()
    alone = geodp.run(small(), tmp_path / "alone", draw_map=False)
    assert fingerprint(alone.folder) == fingerprint(result.arms["contour"].folder)


def test_a_result_shows_itself_in_a_notebook(run: RunResult) -> None:
    assert run._repr_markdown_().startswith("# small")
    page = run.map(public=True)
    assert page._repr_html_().startswith("<iframe srcdoc=")
    assert geodp.open_run(run.path).metrics == run.metrics


def test_answers_follow_the_acceptance_model(tmp_path: Path) -> None:
    """The share of acceptances in ten bins of θ against θ itself; false alarm 1e-6 (chi-square, 10 degrees)."""
    result = geodp.run(
        small(
            {
                "workers.source.count": 6000,
                "tasks.demand.per_hour": 1500,
                "curator.mechanism.kind": "no_privacy",
            }
        ),
        tmp_path / "run",
        draw_map=False,
    )
    events, offers = result.events, result.folder.offers.set_index("task")
    willing = events["reason"].astype(str).isin(["unwilling", "picked", "not_picked", "took_another_task"])
    asked = events[events["kind"].isin(["refusal", "acceptance"]) & willing]
    reward = offers["reward"].reindex(asked["task"]).to_numpy()
    chance = result.folder.scenario.workers.acceptance.probability(reward, asked["value"].to_numpy())
    yes = (asked["kind"] == "acceptance").to_numpy()
    bins = np.digitize(chance, np.quantile(chance, np.linspace(0.1, 0.9, 9)))
    expected, variance = np.bincount(bins, chance), np.bincount(bins, chance * (1 - chance))
    score = ((np.bincount(bins, yes) - expected) ** 2 / variance).sum()
    assert stats.chi2(10).sf(score) > 1e-6
    assert yes.sum() > 500
