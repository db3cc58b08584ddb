"""An error inside a user's own plug-in names its file and line, without a traceback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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


SAYS_NOTHING = """
import numpy as np
from geodp.attacks import Attack, Guesses

class SaysNothing(Attack):
    '''Guesses nothing.'''

    kind = "{kind}"

    def guess(self, view):
        {answer}
"""
NAMES_NOBODY = """
from geodp.public.messages import Named, Offer
from geodp.server.assignment import Assignment

class NamesNobody(Assignment):
    '''Asks somebody who does not exist.'''

    kind = "names_nobody"
    reads = frozenset({"points"})

    def offers(self, tasks, view):
        return [Offer(task.task, 1.0, Named(("nobody",))) for task in tasks]
"""


def run_of(folder: Path, name: str, text: str, changes: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> str:
    """Run a scenario with a plug-in file, which must fail; return what is said."""
    (folder / f"{name}.py").write_text(text)
    raw = small_raw({"plugins": [f"{name}.py"], **changes})
    (folder / "scenario.yaml").write_text(yaml.safe_dump(raw))
    with pytest.raises(SystemExit) as ended:
        main(["run", str(folder / "scenario.yaml"), "--out", str(folder / "run")])
    assert ended.value.code in (1, 2)
    told = capsys.readouterr().err
    assert "unexpected" not in told
    assert "Traceback" not in told
    return told


@pytest.mark.parametrize(
    ("kind", "answer", "said"),
    [
        ("tells_none", "return None", "answered with NoneType: guess(view) must return Guesses"),
        ("tells_places", "return [(0.0, 0.0)]", "answered with list: guess(view) must return Guesses"),
        (
            "tells_too_few",
            "return Guesses(np.array(['m'] * 2), np.zeros(2, int), np.array(['']), np.zeros(2), np.zeros(2), 0.0, 0.0)",
            "one row per guess each, and have method 2, release 2, who 1, x_m 2, y_m 2",
        ),
    ],
)
def test_an_attack_that_returns_no_guesses_is_told_what_it_must_return(
    tmp_path: Path, kind: str, answer: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = SAYS_NOTHING.format(kind=kind, answer=answer)
    told = run_of(tmp_path, kind, text, {"attacks": [{"kind": kind}]}, capsys)
    assert f"the attack '{kind}' ({tmp_path / kind}.py)" in told
    assert said in told


def test_an_offer_to_a_pseudonym_that_no_worker_has_is_refused_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changes = {
        "device": {"mechanism": {"kind": "planar_laplace", "epsilon_per_m": 0.01}},
        "curator": None,
        "server.assignment": {"kind": "names_nobody"},
    }
    told = run_of(tmp_path, "names_nobody", NAMES_NOBODY, changes, capsys)
    assert "server.assignment: 'names_nobody' made an offer to 'nobody', and no worker has that pseudonym" in told


EMPTY = "from geodp.metrics import Metric\n\nclass Forgot(Metric):\n    'Has no kind.'\n"


def test_a_file_that_defines_no_plugin_is_refused_where_it_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "forgot.py"
    file.write_text(EMPTY)
    (tmp_path / "scenario.yaml").write_text(yaml.safe_dump(small_raw({"plugins": ["forgot.py"]})))
    lines = [["list", "--plugin", str(file)], ["run", str(tmp_path / "scenario.yaml"), "--out", str(tmp_path / "run")]]
    lines += [
        ["audit", "contour", "--plugin", str(file)],
        ["check", str(tmp_path / "scenario.yaml"), "--trust-plugins"],
    ]
    for words in lines:
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 2, words
        told = capsys.readouterr().err
        assert f"{file} defines no plug-in" in told
        assert "kind: ClassVar[str]" in told
    assert not (tmp_path / "run").exists()


def test_a_file_may_take_its_plugins_from_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package of one's own, that two files import: the second one defines nothing new, and holds plug-ins."""
    text = SAYS_NOTHING.format(kind="from_elsewhere", answer="return None")
    (tmp_path / "elsewhere_for_a_test.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text("from elsewhere_for_a_test import SaysNothing\n")
        load_file(tmp_path / name)
    (tmp_path / "three.py").write_text("from geodp.curator.mechanisms.contour import Contour\n")
    with pytest.raises(UsageError, match="defines no plug-in"):
        load_file(tmp_path / "three.py")


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
