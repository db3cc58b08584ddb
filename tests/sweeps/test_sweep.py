import html
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import geodp
from geodp.cli.sweeps import describe_result
from geodp.errors import DataError, GeodpError, OutputError
from geodp.sweeps import sweep as sweep_module
from geodp.sweeps.executors import LocalExecutor
from geodp.sweeps.result import SweepResult
from geodp.sweeps.sweep_folder import RESULTS, SweepFolder
from tests.sweeps import crashing
from tests.sweeps.small_sweep import sweep_file


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> SweepResult:
    folder = tmp_path_factory.mktemp("sweep")
    return geodp.sweep(sweep_file(folder), folder / "out", workers=2)


def test_a_sweep_leaves_its_tables_figures_and_report(finished: Any) -> None:
    names = {path.name for path in finished.path.iterdir()}
    assert {"runs.parquet", "summary.csv", "failures.txt", "figures", "report.html", "timings.parquet"} <= names
    runs = finished.runs
    assert list(runs.columns[:7]) == [
        "cell",
        "run_id",
        "seed",
        "status",
        "error",
        "curator.mechanism.epsilon",
        "server.assignment.reward",
    ]
    assert len(runs) == 12
    assert (runs["status"] == "ok").all()
    assert not [column for column in runs.columns if "seconds" in column]
    assert {path.suffix for path in (finished.path / "figures").iterdir()} == {".png", ".svg", ".pdf"}
    page = (finished.path / "report.html").read_text()
    assert "Does epsilon matter?" in page
    assert "data:image/svg+xml;base64," in page
    assert "http" not in page.replace("http-equiv", "")


def test_cells_share_their_worlds_and_differences_are_paired(finished: Any) -> None:
    runs, summary = finished.runs, finished.summary
    arrived = runs.groupby("seed")["tasks_arrived"].nunique()
    assert (arrived == 1).all()
    row = summary[(summary["cell"] == "c0002") & (summary["metric"] == "notified_workers")].iloc[0]
    wide = runs.pivot(index="seed", columns="cell", values="notified_workers")
    gaps = wide["c0002"] - wide["c0000"]
    assert row["difference"] == pytest.approx(gaps.mean())
    half = 4.302652729749464 * gaps.std() / 3**0.5  # t quantile, two degrees of freedom
    assert row["difference_low"] == pytest.approx(gaps.mean() - half)
    assert (row["n"], row["pairs"]) == (3, 3)


def test_one_process_gives_the_same_bytes_as_two(finished: Any, tmp_path: Path) -> None:
    alone = geodp.sweep(finished.path.parent / "sweep.yaml", tmp_path / "alone", workers=1)
    assert (alone.path / "runs.parquet").read_bytes() == (finished.path / "runs.parquet").read_bytes()
    assert (alone.path / "summary.csv").read_bytes() == (finished.path / "summary.csv").read_bytes()


def test_a_finished_sweep_is_not_run_again(finished: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> None:
        raise AssertionError("an executor was asked for")

    monkeypatch.setattr(sweep_module, "_executor", never)
    before = (finished.path / "runs.parquet").read_bytes()
    again = geodp.sweep(finished.path.parent / "sweep.yaml", finished.path)
    assert (again.path / "runs.parquet").read_bytes() == before


def test_a_torn_line_is_forgotten_and_its_run_made_again(finished: Any, tmp_path: Path) -> None:
    path = sweep_file(tmp_path)
    out = tmp_path / "out"
    geodp.sweep(path, out, workers=1)
    results = out / RESULTS
    text = results.read_bytes()
    results.write_bytes(text[:-40])
    again = geodp.sweep(path, out, workers=1)
    assert (again.path / "runs.parquet").read_bytes() == (finished.path / "runs.parquet").read_bytes()
    assert results.read_bytes().count(b"\n") == 12


def test_one_failed_run_neither_stops_nor_hides_the_others(tmp_path: Path) -> None:
    plugin = tmp_path / "moody.py"
    plugin.write_text(crashing.MOODY)
    grids = [{"workers.mobility": [{"kind": "static"}, {"kind": "moody_for_a_test"}]}]
    path = sweep_file(tmp_path, {"grids": grids}, base={"plugins": [str(plugin)]})
    told: list[str] = []
    result = geodp.sweep(path, tmp_path / "out", workers=2, on_failure=told.append)
    runs = result.runs.set_index(["cell", "seed"])["status"]
    assert (runs["c0000"] == "ok").all()
    assert (runs["c0001"] == "failed").sum() == 3
    assert len(told) == 3
    assert "the moody one refuses" in told[0]
    assert "geodp run" in told[0]
    assert "--set 'workers.mobility={kind: moody_for_a_test}'" in told[0]
    assert result.failures.count("repeat it:") == 3
    with pytest.raises(GeodpError, match="fail-fast"):
        geodp.sweep(path, tmp_path / "fast", workers=1, fail_fast=True)


def test_a_changed_version_or_dataset_is_noticed_and_fresh_starts_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = sweep_file(tmp_path, {"seeds": [1], "grids": [{"server.batch_s": [60]}]})
    out = tmp_path / "out"
    geodp.sweep(path, out, workers=1)
    monkeypatch.setattr("geodp.sweeps.sweep_folder.__version__", "99.0")
    with pytest.raises(OutputError, match=r"made with geodp .* this is 99\.0"):
        geodp.sweep(path, out, workers=1)
    geodp.sweep(path, out, workers=1, fresh=True)
    monkeypatch.undo()
    other = tmp_path / "thesis"
    other.mkdir()
    (other / "chapter.txt").write_text("years")
    with pytest.raises(OutputError, match="not the folder of a sweep"):
        geodp.sweep(path, other, fresh=True)


def test_a_second_driver_is_refused(finished: Any) -> None:
    with SweepFolder(finished.path).hold(), pytest.raises(OutputError, match="another sweep"):
        geodp.sweep(finished.path.parent / "sweep.yaml", finished.path)


def test_kept_parts_of_runs_are_whole(tmp_path: Path) -> None:
    path = sweep_file(tmp_path, {"seeds": [1], "grids": [{"server.batch_s": [60]}], "keep": ["metrics", "events"]})
    result = geodp.sweep(path, tmp_path / "out", workers=1)
    (kept,) = (result.path / "runs").iterdir()
    assert kept.name == result.runs["run_id"].iloc[0]
    assert {entry.name for entry in kept.iterdir()} == {
        "scenario.yaml",
        "manifest.json",
        "metrics.json",
        "events.parquet",
        "server_view.parquet",
    }


def test_a_hanging_run_is_stopped_and_the_rest_goes_on() -> None:
    jobs = [{"run_id": str(n), "cell": "c", "seed": n, "how": "hang" if n == 1 else "fine"} for n in range(4)]
    executor = LocalExecutor(2, time_limit_s=3.0)
    outcomes = {outcome["run_id"]: outcome for outcome in executor.outcomes(jobs, crashing.work)}
    assert sorted(outcomes) == ["0", "1", "2", "3"]
    assert "time limit" in outcomes["1"]["error"]
    assert [outcomes[key]["status"] for key in "023"] == ["ok"] * 3


def test_a_worker_that_is_killed_is_replaced_and_its_job_done_again(tmp_path: Path) -> None:
    marker = tmp_path / "killed once"
    jobs = [{"run_id": str(n), "cell": "c", "seed": n, "how": "fine"} for n in range(4)]
    jobs[2] |= {"how": "die once", "marker": str(marker)}
    jobs.append({"run_id": "always", "cell": "c", "seed": 9, "how": "die"})
    outcomes = {outcome["run_id"]: outcome for outcome in LocalExecutor(2).outcomes(jobs, crashing.work)}
    assert marker.exists()
    assert [outcomes[str(n)]["status"] for n in range(4)] == ["ok"] * 4
    assert outcomes["always"]["status"] == "failed"
    assert "SIGKILL" in outcomes["always"]["error"]


@pytest.mark.slow
def test_a_killed_driver_resumes_to_the_uninterrupted_result(finished: Any, tmp_path: Path) -> None:
    path = sweep_file(tmp_path)
    out = tmp_path / "out"
    command = [sys.executable, "-m", "geodp", "--quiet", "sweep", str(path), "--out", str(out), "--workers", "2"]
    process = subprocess.Popen(command)
    deadline = time.monotonic() + 120
    while not (out / RESULTS).exists() or (out / RESULTS).read_bytes().count(b"\n") < 3:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    survived = (out / RESULTS).read_bytes().count(b"\n")
    assert 3 <= survived < 12
    deadline = time.monotonic() + 60
    while subprocess.run(command, check=False).returncode != 0:  # orphans end within a second or two
        assert time.monotonic() < deadline
        time.sleep(0.5)
    assert (out / "runs.parquet").read_bytes() == (finished.path / "runs.parquet").read_bytes()
    lines = [json.loads(line) for line in (out / RESULTS).read_text().splitlines()]
    assert len({line["run_id"] for line in lines}) == len(lines) == 12


def test_a_full_disk_loses_nothing_that_had_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from geodp.sweeps.sweep_folder import Results

    path = sweep_file(tmp_path, {"seeds": [1, 2]})
    real = Results.add
    calls: list[Any] = []

    def full(self: Results, outcome: Any) -> None:
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        calls.append(outcome)
        real(self, outcome)

    monkeypatch.setattr(Results, "add", full)
    with pytest.raises(OutputError, match="No space left on device"):
        geodp.sweep(path, tmp_path / "out", workers=1)
    monkeypatch.undo()
    kept = SweepFolder(tmp_path / "out").outcomes()
    assert len(kept) == 2
    result = geodp.sweep(path, tmp_path / "out", workers=1)
    assert len(result.runs) == 8


def test_a_disk_that_is_full_when_tables_are_written_is_an_error_for_people(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    path = sweep_file(tmp_path, {"seeds": [1], "grids": [{"server.batch_s": [60]}]})
    monkeypatch.setattr("geodp.sweeps.output._write_timings", full)
    with pytest.raises(OutputError, match="No space left on device.*kept"):
        geodp.sweep(path, tmp_path / "out", workers=1)
    monkeypatch.undo()
    made: list[Any] = []
    assert len(geodp.sweep(path, tmp_path / "out", workers=1, on_progress=made.append).runs) == 1
    assert made == []


def test_sweeps_open_and_plot_in_python(finished: Any) -> None:
    again = geodp.open_sweep(finished.path)
    assert isinstance(again.runs, pd.DataFrame)
    drawn = again.plot("curator.mechanism.epsilon", "success_rate")
    axes = drawn.axes[0]
    assert axes.get_xlabel() == "ε of one release"
    assert len(axes.get_lines()) >= 2
    with pytest.raises(GeodpError, match="not a finished sweep"):
        geodp.open_sweep(finished.path / "figures")


def test_the_command_line_resumes_and_exits_1_on_failures(tmp_path: Path) -> None:
    path = sweep_file(tmp_path, {"seeds": [1], "grids": [{"workers.source.count": [200, 300]}]})
    command = [sys.executable, "-m", "geodp", "sweep", str(path), "--out", str(tmp_path / "out")]
    planned = subprocess.run([*command, "--dry-run"], capture_output=True, text=True, check=True).stdout
    assert "2 cells, 2 runs, 0 of them finished" in planned
    assert "by a trial of the first run" in planned
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "2 runs finished well, 0 failed" in done.stdout
    planned = subprocess.run([*command, "--dry-run"], capture_output=True, text=True, check=True).stdout
    assert "2 of them finished" in planned
    plugin = tmp_path / "moody.py"
    plugin.write_text(crashing.MOODY)
    bad = sweep_file(
        tmp_path / "bad",
        {"seeds": [1], "grids": [{"workers.mobility": [{"kind": "moody_for_a_test"}]}]},
        base={"plugins": [str(plugin)]},
    )
    command = [sys.executable, "-m", "geodp", "sweep", str(bad), "--out", str(tmp_path / "bad-out")]
    planned = subprocess.run([*command, "--dry-run"], capture_output=True, text=True, check=True).stdout
    assert f"unknown, for the first run fails: the plug-in {plugin} failed in line 13, in move: Runtime" in planned
    failed = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
    )
    assert failed.returncode == 1
    assert "FAILED c0000 seed 1" in failed.stderr


def test_a_script_without_a_main_guard_may_sweep(tmp_path: Path) -> None:
    path = sweep_file(tmp_path, {"seeds": [1], "grids": [{"workers.source.count": [200, 300]}]})
    script = tmp_path / "mine.py"
    script.write_text(
        "import geodp\nprint('started')\n"
        f"print(len(geodp.sweep({str(path)!r}, {str(tmp_path / 'out')!r}, workers=2).runs))\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.split() == ["started", "2"]


def small_sweep(tmp_path: Path, **changes: Any) -> Path:
    return sweep_file(tmp_path, {"seeds": [1, 2], "grids": [{"server.batch_s": [60]}], **changes})


def test_a_damaged_result_is_made_again_and_all_others_are_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, out = small_sweep(tmp_path, seeds=[1, 2, 3]), tmp_path / "out"
    tables = geodp.sweep(path, out, workers=1).runs
    results = out / RESULTS
    lines = results.read_bytes().split(b"\n")
    rate = next(number for number in (b'success_rate": ',) if number in lines[1])
    place = lines[1].index(rate) + len(rate) + 3
    bad = bytearray(lines[1])
    bad[place] ^= 1  # another digit of the success rate
    results.write_bytes(b"\n".join([lines[0], bytes(bad), *lines[2:]]))
    assert len(SweepFolder(out).outcomes()) == 2
    made: list[Any] = []
    again = geodp.sweep(path, out, workers=1, on_progress=lambda progress: made.append(progress.done))
    assert made == [3]
    assert "1 of 3 results are damaged" in caplog.text
    pd.testing.assert_frame_equal(again.runs, tables)
    assert results.read_bytes().count(b"\n") == 3


def test_earlier_results_that_match_no_run_are_counted_aloud(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path, out = small_sweep(tmp_path, seeds=[1]), tmp_path / "out"
    geodp.sweep(path, out, workers=1)
    assert "match none" not in caplog.text
    old = SweepFolder(out).outcomes()
    with SweepFolder(out).open_results() as results:
        for outcome in old.values():
            results.add({**outcome, "run_id": "0" * len(outcome["run_id"])})
    geodp.sweep(path, out, workers=1)
    assert "1 earlier results match none of this sweep's 1 runs" in caplog.text


def test_every_flipped_bit_of_a_result_is_noticed(tmp_path: Path) -> None:
    path, out = small_sweep(tmp_path, seeds=[1]), tmp_path / "out"
    geodp.sweep(path, out, workers=1)
    good = (out / RESULTS).read_bytes()
    before = SweepFolder(out).outcomes()
    for place in range(0, 8 * len(good), 3):
        bad = bytearray(good)
        bad[place // 8] ^= 1 << place % 8
        (out / RESULTS).write_bytes(bytes(bad))
        assert SweepFolder(out).outcomes() in ({}, before)


def test_damaged_tables_and_manifests_of_a_sweep_are_noticed_and_written_anew(tmp_path: Path) -> None:
    path, out = small_sweep(tmp_path), tmp_path / "out"
    result = geodp.sweep(path, out, workers=1)
    good = (out / "runs.parquet").read_bytes()
    bad = bytearray(good)
    bad[len(bad) // 2] ^= 1
    (out / "runs.parquet").write_bytes(bytes(bad))
    with pytest.raises(DataError, match=r"runs\.parquet: is damaged"):
        _ = result.runs
    made: list[Any] = []
    geodp.sweep(path, out, workers=1, on_progress=made.append)
    (out / "manifest.json").write_text((out / "manifest.json").read_text().replace("quick", "quack"))
    with pytest.raises(DataError, match=r"manifest\.json: is damaged"):
        geodp.open_sweep(out)
    geodp.sweep(path, out, workers=1, on_progress=made.append)
    assert made == []  # no run was made again
    assert (out / "runs.parquet").read_bytes() == good


def test_a_kept_part_that_is_damaged_or_gone_is_made_again(tmp_path: Path) -> None:
    import shutil

    path, out = small_sweep(tmp_path, keep=["metrics", "events"]), tmp_path / "out"
    geodp.sweep(path, out, workers=1)
    first, second = sorted((out / "runs").iterdir())
    events = (first / "events.parquet").read_bytes()
    (first / "events.parquet").write_bytes(events[:-1] + b"?")
    shutil.rmtree(second)
    (out / "runs" / f".{second.name}.{'0' * 16}.partial").mkdir()
    made: list[Any] = []
    geodp.sweep(path, out, workers=1, on_progress=made.append)
    assert len(made) == 2
    assert (first / "events.parquet").read_bytes() == events
    assert sorted(entry.name for entry in (out / "runs").iterdir()) == [first.name, second.name]
    assert (out / RESULTS).read_bytes().count(b"\n") == 2


def test_starting_over_removes_what_a_sweep_wrote_and_nothing_else(tmp_path: Path) -> None:
    path, out = small_sweep(tmp_path, seeds=[1]), tmp_path / "out"
    geodp.sweep(path, out, workers=1)
    (out / "notes.txt").write_text("mine")
    (out / "figures" / "mine.txt").write_text("mine")
    made: list[Any] = []
    geodp.sweep(path, out, workers=1, fresh=True, on_progress=made.append)
    assert len(made) == 1
    assert (out / "notes.txt").read_text() == (out / "figures" / "mine.txt").read_text() == "mine"
    run = geodp.run(tmp_path / "small.yaml", tmp_path / "run", draw_map=False)
    before = {entry: entry.stat().st_mtime_ns for entry in run.path.rglob("*")}
    for fresh in (True, False):
        with pytest.raises(OutputError, match="folder of a run"):
            geodp.sweep(path, run.path, workers=1, fresh=fresh)
    assert {entry: entry.stat().st_mtime_ns for entry in run.path.rglob("*")} == before
    with pytest.raises(GeodpError, match="no Dask scheduler"):
        geodp.sweep(path, out, cluster="tcp://127.0.0.1:9", fresh=True)
    assert len(geodp.open_sweep(out).runs) == 1


def test_a_sweep_without_checksums_goes_on_with_its_results(tmp_path: Path) -> None:
    path, out = small_sweep(tmp_path), tmp_path / "out"
    geodp.sweep(path, out, workers=1)
    lines = [json.loads(line) for line in (out / RESULTS).read_text().splitlines()]
    for line in lines:
        del line["checksum"]
    (out / RESULTS).write_text("".join(json.dumps(line) + "\n" for line in lines))
    facts = json.loads((out / "manifest.json").read_text())
    plain = {key: value for key, value in facts.items() if key not in {"kind", "checksum", "files"}}
    (out / "manifest.json").write_text(json.dumps(plain))
    made: list[Any] = []
    geodp.sweep(path, out, workers=1, on_progress=made.append)
    assert made == []
    assert all("checksum" in json.loads(line) for line in (out / RESULTS).read_text().splitlines())


def test_what_runs_left_out_is_said_once_on_the_console_and_in_the_report(tmp_path: Path) -> None:
    rows = [f"{number},10.04,50.02" for number in range(60)] + ["far,11.0,50.0"]
    (tmp_path / "people.csv").write_text("uid,lon,lat\n" + "\n".join(rows) + "\n")
    base = {"workers.source": {"kind": "table", "path": "people.csv"}, "curator.expected_workers": 60}
    file = sweep_file(tmp_path, {"grids": [{"curator.mechanism.epsilon": [0.2, 2.0]}]}, base)
    result = geodp.sweep(file, tmp_path / "out", workers=1)
    text = describe_result(result)
    outside = [line for line in text.splitlines() if line.startswith("take care: people.csv") and "outside" in line]
    assert len(outside) == 1
    page = (result.path / "report.html").read_text(encoding="utf-8")
    assert page.count(html.escape(outside[0].removeprefix("take care: "))) == 1
