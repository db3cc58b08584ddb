"""An error inside a user's own plug-in names its file and line, without a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from geodp.cli.main import main
from geodp.errors import UsageError
from geodp.registry import load_file
from geodp.sweeps.sweep import sweep
from tests.small import small_raw
from tests.sweeps.small_sweep import sweep_file

BROKEN = """
from typing import ClassVar

from geodp.curator.mechanisms.uniform_grid import UniformGrid
from geodp.world.mobility.static import Static
from geodp.metrics import Metric


class Breaks(UniformGrid):
    '''Fails when it releases.'''

    kind: ClassVar[str] = "{name}_grid"

    def release(self, snapshot, noise):
        return {{}}["missing"]


class Moves(Static):
    '''Fails when the world is built.'''

    kind: ClassVar[str] = "{name}_mobility"

    def move(self, *places, **options):
        raise ValueError("no way")
"""


def mine(folder: Path, name: str) -> Path:
    file = folder / f"{name}.py"
    file.write_text(BROKEN.format(name=name))
    return file


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("x = 1\ny = 1 / 0\n", 2, "ZeroDivisionError: division by zero"),
        ("x = 1\n\ndef f(:\n", 3, "SyntaxError: invalid syntax"),
        ("import no_such_module_anywhere\n", 1, "ModuleNotFoundError"),
        ("import sys\nsys.exit(0)\n", 2, "SystemExit"),
        ("def f():\n    raise KeyError('k')\n\nf()\n", 2, "in f: KeyError: 'k'"),
    ],
)
def test_a_file_that_cannot_be_loaded_names_its_line(tmp_path: Path, text: str, line: int, said: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(UsageError) as refused:
        load_file(file)
    assert f"{file} failed in line {line}" in str(refused.value)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("path", "part", "line", "said"),
    [
        ("curator.mechanism.kind", "grid", 15, "in release: KeyError: 'missing'"),
        ("workers.mobility.kind", "mobility", 24, "in move: ValueError: no way"),
    ],
)
def test_a_run_names_the_line_that_failed(
    tmp_path: Path, path: str, part: str, line: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = mine(tmp_path, f"run_{part}")
    raw = small_raw({"plugins": [str(file)], path: f"run_{part}_{part}"})
    (tmp_path / "scenario.yaml").write_text(yaml.safe_dump(raw))
    with pytest.raises(SystemExit) as ended:
        main(["run", str(tmp_path / "scenario.yaml"), "--out", str(tmp_path / "run")])
    assert ended.value.code == 1
    told = capsys.readouterr().err
    assert f"the plug-in {file} failed in line {line}, {said}" in told
    assert "Traceback" not in told


def test_check_names_the_line_that_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.py"
    file.write_text("\n\n1 / 0\n")
    (tmp_path / "scenario.yaml").write_text(yaml.safe_dump(small_raw({"plugins": ["mine.py"]})))
    with pytest.raises(SystemExit) as ended:
        main(["check", str(tmp_path / "scenario.yaml"), "--trust-plugins"])
    assert ended.value.code == 2
    assert f"the plug-in {file} failed in line 3: ZeroDivisionError" in capsys.readouterr().err


def test_a_sweep_names_the_line_that_failed(tmp_path: Path) -> None:
    file = mine(tmp_path, "sweep")
    base = {"plugins": [str(file)], "curator.mechanism.kind": "sweep_grid"}
    grids = [{"curator.mechanism.epsilon": [0.2]}]
    changes = {"seeds": [1], "grids": grids}
    result = sweep(sweep_file(tmp_path / "files", changes, base), tmp_path / "out", workers=1, draw=False)
    assert f"the plug-in {file} failed in line 15, in release: KeyError: 'missing'" in result.failures
