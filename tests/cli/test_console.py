import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from geodp.cli.console import add_json_file, plain_values
from geodp.cli.main import main
from tests.small import small_file, small_raw

TINY = {"workers.source.count": 300, "tasks.demand.per_hour": 20, "duration_s": 900}


def run(*words: str) -> int:
    """Run a command in this process and return its exit code."""
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return int(ended.value.code or 0)


def read_json(capsys: pytest.CaptureFixture[str]) -> Any:
    """Return the one document that standard output holds."""
    return json.loads(capsys.readouterr().out)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a scenario and two runs of it."""
    folder = tmp_path_factory.mktemp("made")
    file = small_file(folder, TINY)
    for seed in ("1", "2"):
        assert run("run", str(file), "--seed", seed, "--out", str(folder / f"s{seed}"), "--quiet") == 0
    return folder


def test_geodp_alone_shows_five_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  geodp ")]
    assert len(lines) == 5


def test_each_example_is_a_command_that_exists(capsys: pytest.CaptureFixture[str]) -> None:
    run()
    examples = [line.split()[1] for line in capsys.readouterr().out.splitlines() if line.startswith("  geodp ")]
    for command in examples:
        assert run(command, "--help") == 0


def test_check_prints_json(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", str(made / "small.yaml"), "--json") == 0
    found = read_json(capsys)
    assert found["ok"] is True
    assert found["problems"] == []
    assert found["expected_workers"] == 300
    assert {fact["fact"] for fact in found["facts"]} >= {"promise", "budget"}


def test_problems_are_json_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = small_file(tmp_path, {"duration_s": -1, "curator.mechanism.epsilon": "much"})
    assert run("check", str(file), "--json") == 2
    found = read_json(capsys)
    assert found["ok"] is False
    assert {problem["path"] for problem in found["problems"]} == {"duration_s", "curator.mechanism.epsilon"}


def test_wrong_usage_is_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", "--json") == 2
    assert "Missing argument" in read_json(capsys)["error"]


def test_run_prints_json_equal_to_what_it_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    assert run("run", str(small_file(tmp_path, TINY)), "--out", str(folder), "--json") == 0
    found = read_json(capsys)
    assert found["metrics"] == json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    assert Path(found["map"]).is_file()
    assert Path(found["summary"]).is_file()


def test_metrics_print_json(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("metrics", str(made / "s1"), "--json") == 0
    assert read_json(capsys) == json.loads((made / "s1" / "metrics.json").read_text(encoding="utf-8"))


def test_compare_prints_json(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("compare", str(made / "s1"), str(made / "s2"), "--json") == 0
    found = read_json(capsys)
    assert found["baseline"] == "s1"
    assert "success_rate" in {row["metric"] for row in found["metrics"]}


def test_sweep_prints_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small_file(tmp_path, TINY)
    sweep = {"geodp": 1, "name": "s", "base": "small.yaml", "seeds": [1], "grids": [{"tasks.patience_s": [300, 600]}]}
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(sweep), encoding="utf-8")
    words = ("sweep", str(tmp_path / "s.yaml"), "--out", str(tmp_path / "out"), "--workers", "1", "--json")
    assert run(*words, "--dry-run") == 0
    assert read_json(capsys)["runs"] == 2
    assert run(*words) == 0
    found = read_json(capsys)
    assert (found["runs"], found["failed"], found["cells"]) == (2, 0, 2)
    assert len({row["cell"] for row in found["summary"]}) == 2
    assert Path(found["report"]).is_file()


def test_publish_prints_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in.csv").write_text("user,venue\na,x\nb,x\n", encoding="utf-8")
    (tmp_path / "venues.csv").write_text("venue\nx\ny\n", encoding="utf-8")
    words = ("publish", "counts", str(tmp_path / "in.csv"), "--venues", str(tmp_path / "venues.csv"))
    assert run(*words, "--epsilon", "1", "--cap", "2", "--out", str(tmp_path / "out.csv"), "--json") == 0
    found = read_json(capsys)
    stated = json.loads((tmp_path / "out.csv.guarantee.json").read_text(encoding="utf-8"))
    assert found["statement"] == stated
    assert str(tmp_path / "out.csv") in found["files"]


def test_figures_print_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("figures", "--json") == 0
    found = {figure["id"]: figure for figure in read_json(capsys)["figures"]}
    assert found["13.7a"]["title"]


def test_list_prints_a_line_each_and_the_page_of_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list") == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("mechanism ")]
    assert run("list", "mechanism", "--json") == 0
    assert [line.split()[1] for line in lines] == [one["kind"] for one in read_json(capsys)]
    assert run("list", "planar_laplace") == 0
    page = capsys.readouterr().out
    assert "epsilon_per_m: " in page
    assert "Guarantee: " in page
    assert "contour" not in page


@pytest.mark.parametrize(
    "words",
    [
        ("check", "small.yaml"),
        ("list",),
        ("list", "contour"),
        ("list", "loader"),
        ("scenarios",),
        ("scenarios", "copy", "quickstart"),
        ("new", "town"),
        ("schema",),
        ("metrics", "s1"),
        ("compare", "s1", "s2"),
        ("map", "s1", "--out", "map.html"),
        ("figures",),
        ("datasets", "list"),
        ("datasets", "make", "--people", "5", "--visits", "3", "--venues", "10", "--out", "town"),
        ("audit", "laplace_counts", "--samples", "1000"),
    ],
)
def test_every_command_ends_by_saying_what_to_do_next(
    words: tuple[str, ...],
    made: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for path in made.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    assert run(*words) == 0
    told = capsys.readouterr()
    ending = [*told.out.splitlines()[-2:], *told.err.splitlines()[-2:]]
    assert any(line.startswith("next: ") for line in ending)


def test_what_is_guessed_about_a_file_is_warned_of_once(tmp_path: Path) -> None:
    """In a process of its own: what is logged and heard by nobody ends on standard error there."""
    rows = [f"10.04,50.02,2024-05-01 08:{minute:02}" for minute in range(10)]
    (tmp_path / "tasks.csv").write_text("\n".join(["lon,lat,time", *rows]), encoding="utf-8")
    changes = {"start_time": "08:00", "duration_s": 900, "workers.source.count": 300}
    file = small_file(tmp_path, changes | {"tasks.demand": {"kind": "trace", "path": "tasks.csv"}})
    for words in (("check",), ("run", "--out", "out"), ("run", "--out", "again", "--json")):
        command = [sys.executable, "-m", "geodp", words[0], str(file), *words[1:]]
        told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stderr.splitlines()
        assert told
        assert all(line.startswith("warning: ") for line in told), told
        assert len(set(told)) == len(told)


def test_quiet_says_nothing_and_json_no_advice(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", str(made / "small.yaml"), "--quiet") == 0
    told = capsys.readouterr()
    assert told.out + told.err == ""
    assert run("metrics", str(made / "s1"), "--json") == 0
    assert capsys.readouterr().err == ""


def test_what_json_does_not_know_is_null_or_text() -> None:
    assert plain_values({"a": float("nan"), 1: (Path("b"), {2})}) == {"a": None, "1": ["b", [2]]}


@pytest.mark.parametrize(
    ("words", "full"),
    [
        (["audit", "contour", "--json"], ["audit", "contour", "--json", "-"]),
        (["audit", "--json", "--all"], ["audit", "--json", "-", "--all"]),
        (["audit", "--json", "out.json", "contour"], ["audit", "--json", "out.json", "contour"]),
        (["datasets", "describe", "f.csv", "--json"], ["datasets", "describe", "f.csv", "--json", "-"]),
        (["run", "a.yaml", "--json"], ["run", "a.yaml", "--json"]),
    ],
)
def test_json_needs_no_file(words: list[str], full: list[str]) -> None:
    assert add_json_file(words) == full


def test_a_comparison_prints_its_arms(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raw = small_raw(TINY) | {"compare": {"a": {"tasks.patience_s": 300}, "b": {"tasks.patience_s": 600}}}
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(raw), encoding="utf-8")
    assert run("run", str(tmp_path / "c.yaml"), "--out", str(tmp_path / "c"), "--json") == 0
    assert set(read_json(capsys)["arms"]) == {"a", "b"}
