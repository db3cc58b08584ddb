import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from geodp import __version__
from geodp.cli.main import main
from tests.small import small_file, small_raw


def geodp(*words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "geodp", *words], capture_output=True, text=True, cwd=cwd, check=False)


def test_version() -> None:
    assert geodp("--version").stdout.strip() == __version__


@pytest.mark.parametrize(
    "command",
    [
        *("", "new", "check", "list", "run", "map", "metrics", "compare", "schema", "sweep", "audit", "publish"),
        *("datasets", "figures", "advise"),
    ],
)
def test_help_answers_without_loading_anything_heavy(command: str) -> None:
    code = (
        "import sys; from geodp.cli.main import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print(sorted({'numpy', 'pandas', 'scipy', 'geopandas', 'folium', 'matplotlib'} & set(sys.modules)))"
    )
    words = [command, "--help"] if command else ["--help"]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    assert "Usage: geodp" in done.stdout
    assert done.stdout.strip().endswith("[]")


def test_list_does_not_load_pandas_scipy_or_geopandas() -> None:
    code = (
        "import sys; from geodp.cli.plugin_list import plugin_list; plugin_list()\n"
        "print(sorted({'pandas', 'scipy', 'geopandas', 'folium', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_line_per_plugin_loads_nothing_with_which_plugins_work() -> None:
    code = (
        "import sys; from geodp.cli.plugin_list import find_listed, plugin_lines; found = find_listed(None)\n"
        "assert len(found) > 100 and plugin_lines(found).count(chr(10)) == len(found) - 1\n"
        "heavy = {'pandas', 'scipy', 'geopandas', 'folium', 'matplotlib', 'pyarrow', 'shapely', 'simpy', 'opendp'}\n"
        "print(sorted((heavy | {'geodp.sweeps.line_plots', 'geodp.simulation.engine'}) & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_importing_geodp_loads_none_of_its_rooms() -> None:
    code = (
        "import sys; before = set(sys.modules); import geodp; new = set(sys.modules) - before\n"
        "print(sorted({'numpy', 'pydantic', 'typer'} & new), [name for name in new if name.count('.') > 1])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] []"


def test_list_prints_options_units_defaults_guarantee_and_reference() -> None:
    text = geodp("list", "mechanism").stdout
    for words in (
        "contour",
        "epsilon: number = 0.3",
        "sigma_cells: number | auto = auto",
        "[metres]",
        "Guarantee: ε-differential privacy",
        "Reference: Zhu",
    ):
        assert words in text
    wrong = geodp("list", "mechanisms")
    assert wrong.returncode == 2
    assert "Did you mean 'mechanism'" in wrong.stderr


@pytest.mark.parametrize(
    "words", [["run"], ["rum"], ["run", "a", "b", "c"], ["--nonsense"], ["run", "x", "--seed", "-1"]]
)
def test_wrong_arguments_exit_2_without_a_traceback(words: list[str]) -> None:
    done = geodp(*words)
    assert done.returncode == 2
    assert "Error" in done.stderr
    assert "Traceback" not in done.stderr


def test_five_mistakes_are_five_lines(tmp_path: Path) -> None:
    raw = small_raw()
    raw["durations"] = raw.pop("duration_s")
    raw["curator"]["mechanism"]["epsilon"] = -0.5
    raw["workers"]["mobility"]["kind"] = "random_waypint"
    raw["tasks"]["patience_s"] = "long"
    raw["region"]["north"] = 40
    path = tmp_path / "five.yaml"
    path.write_text(yaml.safe_dump(raw))
    done = geodp("check", str(path))
    assert done.returncode == 2
    assert f"{path}: 5 problems" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 6


def test_check_run_map_metrics_and_compare_work_together(tmp_path: Path) -> None:
    path = small_file(tmp_path)
    checked = geodp("check", str(path), "--set", "curator.mechanism.epsilon=0.25")
    assert checked.returncode == 0
    assert "3 releases × ε 0.25 = ε 0.75 (add/remove)" in checked.stdout
    one, two = tmp_path / "one", tmp_path / "two"
    done = geodp("run", str(path), "--seed", "7", "--out", str(one))
    assert done.returncode == 0, done.stderr
    assert str(one / "map.html") in done.stdout
    again = geodp("run", str(path), "--seed", "7", "--out", str(one))
    assert again.returncode == 2
    assert "--force" in again.stderr
    exact = geodp(
        "run",
        str(path),
        "--seed",
        "7",
        "--out",
        str(two),
        "--set",
        "curator.mechanism.kind=no_privacy",
        "--quiet",
    )
    assert (exact.returncode, exact.stdout) == (0, "")
    before = (one / "metrics.json").read_bytes()
    printed = geodp("metrics", str(one))
    assert json.loads(printed.stdout) == json.loads(before)
    assert (one / "metrics.json").read_bytes() == before
    public = geodp("map", str(one), "--public", "--out", str(tmp_path / "public.html"))
    assert public.returncode == 0
    assert (tmp_path / "public.html").stat().st_size < 5_000_000
    table = geodp("compare", str(one), str(two), "--out", str(tmp_path / "table.csv"))
    assert table.returncode == 0
    assert "success_rate" in table.stdout
    assert (tmp_path / "table.csv").read_text().startswith("metric,")


@pytest.mark.parametrize("command", ["map", "metrics", "compare"])
def test_a_folder_that_is_no_run_is_refused(tmp_path: Path, command: str) -> None:
    done = geodp(command, str(tmp_path), *([str(tmp_path)] if command == "compare" else []))
    assert done.returncode == 2
    assert "not a finished run folder" in done.stderr
    absent = geodp(command, str(tmp_path / "absent"), *([str(tmp_path)] if command == "compare" else []))
    assert absent.returncode == 2


def test_new_writes_a_commented_scenario_that_checks_and_never_overwrites(tmp_path: Path) -> None:
    made = geodp("new", "downtown", cwd=tmp_path)
    assert made.returncode == 0
    text = (tmp_path / "downtown.yaml").read_text()
    assert "name: downtown" in text
    assert text.count("#") > 10
    assert geodp("check", "downtown.yaml", cwd=tmp_path).returncode == 0
    (tmp_path / "downtown.yaml").write_text("mine")
    again = geodp("new", "downtown", cwd=tmp_path)
    assert again.returncode == 2
    assert (tmp_path / "downtown.yaml").read_text() == "mine"
    assert geodp("new", "../../ha ha", cwd=tmp_path).returncode == 2


def test_debug_shows_the_traceback_and_only_then(tmp_path: Path) -> None:
    assert "Traceback" not in geodp("check", str(tmp_path / "absent.yaml")).stderr
    assert "Traceback" in geodp("--debug", "check", str(tmp_path / "absent.yaml")).stderr
    assert "Traceback" in geodp("check", str(tmp_path / "absent.yaml"), "--debug").stderr


def test_schema_is_json() -> None:
    schema = json.loads(geodp("schema").stdout)
    assert {"geodp", "name", "region", "curator", "compare"} <= set(schema["properties"])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_unwritable_folder_is_refused(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    done = geodp("run", str(small_file(tmp_path)), "--out", str(locked / "run"))
    assert done.returncode == 2
    assert "cannot be written" in done.stderr


def test_a_machine_without_enough_memory_is_told_in_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object, **__: object) -> None:
        raise MemoryError("Unable to allocate 460. MiB")

    monkeypatch.setattr("geodp.scenario.schema.load_scenario", full)
    with pytest.raises(SystemExit) as stop:
        main(["check", "scenarios/quickstart.yaml"])
    assert stop.value.code == 1
    assert capsys.readouterr().err == ("not enough memory (Unable to allocate 460. MiB): take fewer people or tasks\n")


@pytest.mark.parametrize("words", [["sweep", "{file}"], ["publish", "positions", "{file}", "--out", "o.csv"]])
def test_a_name_that_no_file_can_have_is_no_file(words: list[str], tmp_path: Path) -> None:
    long = "w" * 5000
    sweep = tmp_path / "sweep.yaml"
    sweep.write_text(f"geodp: 1\nname: s\nbase: {long}\nseeds: [1]\n")
    told = {"sweep": str(sweep), "publish": str(tmp_path / long)}[words[0]]
    done = geodp(*(word.format(file=told) for word in words), cwd=tmp_path)
    assert done.returncode == 2
    assert "unexpected" not in done.stderr
