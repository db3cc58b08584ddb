import os
import subprocess
import sys
from pathlib import Path

import pytest

from geodp.cli import completion


def complete(line: str, cwd: Path) -> list[str]:
    """Return what bash would be offered for a line."""
    words = line.split(" ")
    told = {"_GEODP_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    code = "from geodp.cli.main import app; app(prog_name='geodp')"
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | told, capture_output=True, text=True, cwd=cwd, check=False
    )
    return done.stdout.split()


def test_the_shell_is_offered_commands_scenarios_and_kinds(tmp_path: Path) -> None:
    (tmp_path / "quiet.yaml").touch()
    (tmp_path / "quiet.txt").touch()
    assert complete("geodp sw", tmp_path) == ["sweep"]
    assert complete("geodp run qui", tmp_path) == ["quickstart", "quiet.yaml"]
    assert complete("geodp list planar_l", tmp_path) == ["planar_laplace"]


@pytest.mark.parametrize(
    ("function", "begun", "expected"),
    [
        (completion.complete_sweep, "eps", "epsilon"),
        (completion.complete_copied, "quick", "quickstart"),
        (completion.complete_figure, "13.7", "13.7a"),
        (completion.complete_listed, "mech", "mechanism"),
        (completion.complete_listed, "cont", "contour"),
        (completion.complete_auditable, "cont", "contour"),
        (completion.complete_target, "success_r", "success_rate>="),
        (completion.complete_kind("loader"), "geo", "geolife"),
    ],
)
def test_names_are_completed(function: completion.Complete, begun: str, expected: str) -> None:
    found = function(begun)
    assert expected in found
    assert all(word.startswith(begun) for word in found)


def test_a_target_that_has_its_sign_is_complete() -> None:
    assert completion.complete_target("success_rate>=0") == []


def test_files_of_scenarios_and_folders_are_completed(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own.yaml").touch()
    (tmp_path / ".hidden.yaml").touch()
    (tmp_path / "own.csv").touch()
    assert completion.complete_scenario(f"{tmp_path}/o") == [f"{tmp_path}/own/", f"{tmp_path}/own.yaml"]
    assert completion.complete_scenario(f"{tmp_path}/absent/o") == []
