"""Figures about venue counts on small tables: lines, quantities, and the facts that they show."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from geodp.errors import UsageError
from geodp.figures.kinds import POINT_COLUMNS
from geodp.registry import plugin

SMALL: dict[str, Any] = {"shape": "trajectory", "repeats": 2}


def points(kind: str, **fields: Any) -> pd.DataFrame:
    figure = plugin(kind, "figure", **{**SMALL, **fields})
    frame: pd.DataFrame = figure.points(None)
    assert list(frame.columns) == list(POINT_COLUMNS)
    assert set(frame["line"]) == set(figure.line_names())
    return frame


def mean(frame: pd.DataFrame, y_name: str, line: str, **where: float) -> float:
    own = frame[(frame["y_name"] == y_name) & (frame["line"] == line)]
    for column, value in where.items():
        own = own[own[column] == value]
    return float(own["y"].mean())


def test_errors_of_methods_on_the_same_table_with_the_same_cap() -> None:
    lines = {
        "LPA": {"kind": "laplace_counts", "cap": "longest"},
        "GS": {"kind": "grouping_smoothing", "cap": "longest"},
        "zeros": {"kind": "zeros"},
    }
    frame = points("count_errors", lines=lines, epsilons=(0.1, 1.0))
    assert mean(frame, "mae", "LPA", x=0.1) == pytest.approx(55 / 0.1, rel=0.03), "E|Lap(b)| = b = 55/ε"
    assert mean(frame, "mae", "GS", x=0.1) < mean(frame, "mae", "LPA", x=0.1)
    assert mean(frame, "mae", "zeros") == pytest.approx(43.54, rel=0.05)


def test_narrow_groups_are_noisy_and_wide_ones_smooth() -> None:
    frame = points("group_widths", most_widths=8)
    real = frame[frame["line"] == "real"].groupby("x")["y"].mean()
    assert real.iloc[0] > real.min() < real.iloc[-1]
    loss = points("group_widths", loss=True, most_widths=8)
    assert set(loss["y_name"]) == {"loss_percent", "chosen_width"}
    assert loss[loss["y_name"] == "loss_percent"]["y"].min() >= 0


def test_quality_and_error_of_thresholds_mirror_each_other() -> None:
    frame = points("threshold_quality", most_thresholds=4)
    assert mean(frame, "relative", "their mean (ln 3)") == pytest.approx(0.5, abs=0.1)
    assert mean(frame, "relative", "error (ln 3)") < mean(frame, "relative", "error (ln 1.5)")


def test_real_check_ins_and_unknown_shapes(tmp_path: Path) -> None:
    pd.DataFrame({"who": [1, 1, 2], "where": ["a", "b", "a"]}).to_parquet(tmp_path / "in.parquet")
    figure = plugin(
        "count_errors", "figure", path=str(tmp_path / "in.parquet"), user_column="who", venue_column="where"
    )
    assert figure.table().counts().tolist() == [2, 1]
    with pytest.raises(UsageError, match="no shape called 'trajectry'"):
        plugin("count_errors", "figure", shape="trajectry").table()
