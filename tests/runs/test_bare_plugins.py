"""Plug-ins in single files outside the package, with nothing but what their base class demands."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

import geodp
from geodp.runs.result import RunResult
from tests.small import small_file

ATTACK = '''
from typing import ClassVar

import numpy as np

from geodp.attacks import ANYONE, Attack, AttackView, Guesses


class Middle(Attack):
    """Guess the middle of the region, whatever was released."""

    kind: ClassVar[str] = "KIND"

    def guess(self, view: AttackView) -> Guesses:
        nobody = np.array([ANYONE]), np.zeros(1), np.zeros(1)
        return Guesses.join([("KIND", number, *nobody) for number, _ in enumerate(view.releases)], (0.0, 0.0))
'''
CIRCLES = '''
from typing import ClassVar

from geodp.public.messages import Circle, Offer
from geodp.server.assignment import Assignment


class Everybody(Assignment):
    """Ask everybody within a kilometre, for what there is."""

    kind: ClassVar[str] = "KIND"

    def offers(self, tasks, view):
        return [Offer(task.task, view.purse / len(tasks) * 0.99, Circle(1000.0)) for task in tasks]
'''
REGIONS = CIRCLES.replace("Circle(1000.0)", "GeocastRegion(((-900.0, -900.0, 900.0, 900.0),))").replace(
    "Circle", "GeocastRegion"
)
NAMES = CIRCLES.replace("Circle(1000.0)", "Named(tuple(view.release.who[:20].tolist()))").replace("Circle", "Named")
MIXED = CIRCLES.replace(
    "Circle(1000.0))", "(Circle(1000.0) if task.task % 2 else GeocastRegion(((-900.0, -900.0, 900.0, 900.0),))))"
).replace("import Circle", "import Circle, GeocastRegion")
METRIC = '''
from typing import ClassVar

from geodp.metrics import Measured, Metric


class Releases(Metric):
    """Number of releases."""

    kind: ClassVar[str] = "KIND"

    def measure(self, run):
        return {self.kind: Measured(len(run.releases))}
'''
PHONES: dict[str, Any] = {"curator": None, "device.mechanism": {"kind": "planar_laplace"}}


def run_with(folder: Path, code: str, changes: dict[str, Any]) -> RunResult:
    (folder / "mine.py").write_text(code.replace("KIND", folder.name), encoding="utf-8")  # one process, one name each
    scenario = small_file(folder, {"plugins": ["mine.py"], **changes})
    return geodp.run(scenario, folder / "run")


@pytest.mark.parametrize("changes", [{}, PHONES], ids=["counts", "points"])
def test_an_attack_is_scored_measured_and_summarised(tmp_path: Path, changes: dict[str, Any]) -> None:
    kind = tmp_path.name
    attacks = [{"kind": kind}, {"kind": kind, "hit_radius_m": 900}]
    run = run_with(tmp_path, ATTACK, {"attacks": attacks, **changes})
    scores, metrics = run.folder.attacks, run.metrics
    assert set(scores["attack"]) == {kind}
    first = scores[scores["number"] == 0]
    assert metrics[f"{kind}_error_m"] == pytest.approx(first.groupby("who")["error_m"].mean().mean())
    assert metrics[f"{kind}_error_m_2"] == metrics[f"{kind}_error_m"] == metrics["prior_error_m"]
    assert 0 < (metrics[f"{kind}_hit_rate"] or 0) < (metrics[f"{kind}_hit_rate_2"] or 0)
    assert metrics["attack_error_m"] is None
    text = run.summary()
    assert f"| error of `{kind}` | " in text
    assert f"| error of `{kind}` (no. 2) | " in text
    assert f"| guesses of `{kind}` within the hit radius (no. 2) | " in text
    assert (run.path / "map.html").is_file()


def test_an_attack_is_swept_and_listed_from_its_file(tmp_path: Path) -> None:
    kind = tmp_path.name
    (tmp_path / "mine.py").write_text(ATTACK.replace("KIND", kind), encoding="utf-8")
    small_file(tmp_path, {"plugins": ["mine.py"], "attacks": [{"kind": kind}], "duration_s": 900})
    plot = [{"x": "curator.mechanism.epsilon", "y": f"{kind}_error_m"}]
    grids = [{"curator.mechanism.epsilon": [0.1, 1.0]}]
    sweep = {"geodp": 1, "name": "s", "base": "small.yaml", "seeds": [1], "grids": grids, "plot": plot}
    (tmp_path / "sweep.yaml").write_text(yaml.safe_dump(sweep), encoding="utf-8")
    geodp.sweep(tmp_path / "sweep.yaml", tmp_path / "out", workers=1)
    runs = pd.read_parquet(tmp_path / "out" / "runs.parquet")
    assert (runs[f"{kind}_error_m"] > 0).all()
    words = [sys.executable, "-m", "geodp", "list", "attack", "--plugin", "mine.py"]
    listed = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert kind in listed
    assert "mine.py" in listed


@pytest.mark.parametrize(
    ("code", "changes"),
    [(CIRCLES, {}), (REGIONS, {}), (MIXED, {}), (CIRCLES, PHONES), (REGIONS, PHONES), (NAMES, PHONES)],
    ids=["circles", "regions", "both", "circles from points", "regions from points", "names"],
)
def test_an_assignment_runs_and_is_measured_and_summarised(tmp_path: Path, code: str, changes: dict[str, Any]) -> None:
    run = run_with(tmp_path, code, {"server.assignment": {"kind": tmp_path.name}, **changes})
    assert (run.folder.events["kind"] == "acceptance").any()
    assert (run.metrics["success_rate"] or 0) > 0.2
    assert run.metrics["planned_success"] is None
    assert "success_rate" in run.summary()


def test_a_metric_is_measured_and_summarised(tmp_path: Path) -> None:
    run = run_with(tmp_path, METRIC, {})
    assert run.metrics[tmp_path.name] == 3
    assert f"`{tmp_path.name}`" in run.summary()
