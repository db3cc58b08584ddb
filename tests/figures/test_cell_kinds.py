"""The figure of answers about cells: drawn errors agree with the formula, and direct answers are best in few cells."""

from pathlib import Path

import pandas as pd
import pytest

from geodp.figures.figure_file import load_figure
from geodp.figures.kinds.cell_protocols import DRAWN, RATIO, STATED
from geodp.figures.make import make_figure
from tests.figures.small_figure import plain_file


def test_drawn_errors_are_those_of_the_formula(tmp_path: Path) -> None:
    """100 cells, of which 50 are empty, ten rounds: root mean squares within 15 % of the formula (over 6 sd)."""
    make = {"kind": "cell_protocols", "cells": [3, 10, 11, 100], "repeats": 10, "people": 4_000}
    claims = [{"says": "see", "check": "shown"}]
    make_figure(load_figure(plain_file(tmp_path, make=make, claims=claims)), tmp_path / "out")
    points = pd.read_parquet(tmp_path / "out" / "P1" / "town" / "points.parquet")
    found = points.groupby(["y_name", "line", "x"])["y"].mean()
    for protocol in ("grr", "oue", "olh", "hr"):
        assert found[DRAWN, protocol, 100] == pytest.approx(found[STATED, protocol, 100], rel=0.15)
    assert found[STATED, "oue", 100] == pytest.approx(191.9 * 0.4**0.5, rel=1e-3)
    assert found[RATIO, "grr", 10] < 1 < found[RATIO, "grr", 11]
    assert ("olh", 3) not in found[STATED].index  # four hash values of three cells are refused
