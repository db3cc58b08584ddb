"""A small figure for tests: two epsilons and two ways of rewarding, on runs of a fraction of a second."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
import yaml

from geodp.figures.kinds import POINT_COLUMNS, FigureKind, Making
from tests.sweeps.small_sweep import sweep_file

UNIFORM = {"server.assignment.reward": "uniform"}
FIGURE: dict[str, Any] = {
    "title": "What is spent",
    "source": "A paper, fig. 1",
    "make": {
        "kind": "sweep",
        "x": "curator.mechanism.epsilon",
        "y": ["epsilon_spent", "success_rate"],
        "lines": {"even": UNIFORM, "tuned": {"server.assignment.reward": "optimised"}},
    },
    "panels": {"town": {"title": "a small town"}},
    "claims": [{"says": "what is spent rises with epsilon", "check": "rises", "lines": ["even"]}],
}


def figure_file(folder: Path, name: str = "T1", **changes: Any) -> Path:
    """Write a figure that is a sweep."""
    sweep = yaml.safe_load(sweep_file(folder).read_text(encoding="utf-8"))
    (folder / "sweep.yaml").unlink()
    sweep.pop("plot")
    return written(folder, name, sweep | {"figure": FIGURE | changes})


def plain_file(folder: Path, name: str = "P1", **changes: Any) -> Path:
    """Write a figure that is made by `NumbersForATest`."""
    folder.mkdir(exist_ok=True)
    figure = FIGURE | {"make": {"kind": "numbers_for_a_test"}} | changes
    return written(folder, name, {"geodp": 1, "name": name, "about": "Made up.", "figure": figure})


def written(folder: Path, name: str, raw: dict[str, Any]) -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(raw, sort_keys=False), encoding="utf-8")
    return path


class NumbersForATest(FigureKind):
    """Points on a straight line."""

    kind: ClassVar[str] = "numbers_for_a_test"
    calls: ClassVar[list[str]] = []

    slope: float = 1.0
    """How steep."""

    def points(self, making: Making) -> pd.DataFrame:
        self.calls.append(making.panel)
        rows = [
            ("height", "even", x, repeat, self.slope * x + 0.01 * repeat) for x in (1.0, 2.0, 3.0) for repeat in (0, 1)
        ]
        return pd.DataFrame(rows, columns=list(POINT_COLUMNS))
