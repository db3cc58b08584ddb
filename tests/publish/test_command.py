"""The command line: exit codes, quiet, and what is printed where."""

import subprocess
import sys
from pathlib import Path

import pytest

from geodp.cli.main import main
from tests.publish.conftest import TOWN, Make, files, with_ledger


def run(*words: object) -> int:
    with pytest.raises(SystemExit) as done:
        main(["publish", "positions", *with_ledger(Path(str(words[0])), *map(str, words)), "--one-row-per-person"])
    return int(done.value.code or 0)


@pytest.mark.parametrize("words", [["publish", "--help"], ["publish", "positions", "--help"]])
def test_help_answers_without_loading_anything_heavy(words: list[str]) -> None:
    code = (
        "import sys; from geodp.cli.main import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print(sorted({'numpy', 'pandas', 'scipy', 'pyarrow', 'geopandas', 'folium', 'opendp'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    assert "Usage: geodp publish" in done.stdout
    assert done.stdout.strip().endswith("[]")


def test_positions_from_the_command_line(make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make()
    out = tmp_path / "out.geojson"
    words = [tmp_path / "in.csv", "--epsilon", "0.05", "--region", TOWN, "--out", out, "--seed", "3"]
    assert run(*words, "--map", tmp_path / "map.html", "--set", "cell_m=10") == 0
    told = capsys.readouterr()
    assert "SIMULATED, not releasable" in told.out
    assert f"wrote {out}" in told.out
    assert told.err == ""
    assert (tmp_path / "map.html").exists()
    assert run(*words) == 2
    assert "--force" in capsys.readouterr().err
    assert run(*words, "--force", "--quiet") == 0
    assert capsys.readouterr().out == ""


def test_a_western_region_needs_no_quoting(make: Make, tmp_path: Path) -> None:
    make("lon,lat\n-74.01,40.71\n")
    region = "-74.05,40.68,-73.90,40.83"
    out = tmp_path / "out.csv"
    assert run(tmp_path / "in.csv", "--region", region, "--epsilon", "0.01", "--out", out) == 0


def test_a_derived_region_is_a_warning_on_the_error_stream(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make()
    assert run(tmp_path / "in.csv", "--epsilon", "0.05", "--out", tmp_path / "out.csv") == 0
    assert capsys.readouterr().err.startswith("warning: region: read off the private data")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--epsilon", "0"], 2),
        (["--epsilon", "-1"], 2),
        (["--epsilon", "inf"], 2),
        (["--epsilon", "nan"], 2),
        (["--epsilon", "much"], 2),
        ([], 2),
        (["--epsilon", "1", "--mode", "release", "--seed", "1"], 2),
        (["--epsilon", "1", "--mode", "rehearse"], 2),
        (["--epsilon", "1", "--mechanism", "planar"], 2),
        (["--epsilon", "1", "--set", "cell_m=-3"], 2),
        (["--epsilon", "1", "--set", "cell_m=99999"], 2),
        (["--epsilon", "1", "--budget", "0.5"], 1),
    ],
)
def test_exit_codes(make: Make, tmp_path: Path, words: list[str], code: int) -> None:
    make()
    assert run(tmp_path / "in.csv", "--region", TOWN, "--out", tmp_path / "out.csv", *words) == code
    assert files(tmp_path) == {"in.csv"}


def test_planar_laplace_in_release_mode_exits_1(
    make: Make, tmp_path: Path, opendp: None, capsys: pytest.CaptureFixture[str]
) -> None:
    make()
    words = [tmp_path / "in.csv", "--region", TOWN, "--out", tmp_path / "out.csv", "--epsilon", "0.05"]
    assert run(*words, "--mode", "release", "--mechanism", "planar_laplace") == 1
    assert "planar_geometric" in capsys.readouterr().err
    assert run(*words, "--mode", "release") == 0
