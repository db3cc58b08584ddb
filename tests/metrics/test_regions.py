"""Metrics of offers to regions, on the run written by hand with regions instead of circles.

Task 0 has a square of 200 m, task 1 two squares side by side, task 2 a square and then a wider one, task 5 three in a
row, task 7 one (censored). Asked: tasks 0 to 5 as in the table of `hand_made`.
"""

from __future__ import annotations

from math import hypot, pi

import numpy as np
import pandas as pd
import pytest

from geodp.metrics.effort import Hop, NotifiedPerSuccess
from geodp.metrics.plans import CellsPerRegion, Compactness
from geodp.metrics.tasks import FailureReasons
from geodp.public.events import REGION_FAILURES
from geodp.run_folder.folder import RunFolder
from tests.metrics.hand_made import SCENARIO, server_view

METRICS = [CellsPerRegion(), Compactness(), FailureReasons(), Hop(), NotifiedPerSuccess()]
SQUARE = [0.0, 0.0, 200.0, 200.0]
BESIDE = [200.0, 0.0, 400.0, 200.0]
THIRD = [400.0, 0.0, 600.0, 200.0]
REGIONS = {(0, 0): SQUARE, (1, 0): SQUARE + BESIDE, (2, 0): SQUARE, (2, 1): SQUARE + BESIDE}
REGIONS |= {(5, 0): SQUARE + BESIDE + THIRD, (7, 0): SQUARE}


@pytest.fixture
def regions(copied: RunFolder) -> RunFolder:
    """The run written by hand, offered to regions."""
    text = SCENARIO.replace("{kind: reward_radius, target_success: 0.9}", "{kind: geocast}")
    assert text != SCENARIO
    (copied.path / "scenario.yaml").write_text(text, encoding="utf-8")
    view = server_view()
    keys = zip(view["task"], view["round"], strict=True)
    packed = [np.array(REGIONS[key]) if key in REGIONS else None for key in keys]
    view.assign(region=pd.Series(packed, dtype="object")).to_parquet(copied.path / "server_view.parquet")
    return RunFolder(copied.path)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.kind)
def test_a_run_without_regions_has_no_such_numbers(hand_made: RunFolder, metric: Hop) -> None:
    assert metric.measure(hand_made) == {}


def test_cells_of_the_first_region(regions: RunFolder) -> None:
    assert CellsPerRegion().per_task(regions).to_dict() == {0: 1, 1: 2, 2: 1, 5: 3, 7: 1}  # type: ignore[union-attr]
    assert CellsPerRegion().measure(regions)["cells_per_region"].value == pytest.approx(8 / 5)


def test_a_square_has_two_over_pi_of_its_circle_and_a_strip_less(regions: RunFolder) -> None:
    found = Compactness().per_task(regions)
    assert found is not None
    two, three = 2 * 200**2 / (pi * (400**2 + 200**2) / 4), 3 * 200**2 / (pi * (600**2 + 200**2) / 4)
    assert found.to_dict() == pytest.approx({0: 2 / pi, 1: two, 2: 2 / pi, 5: three, 7: 2 / pi})


def test_hops_are_diagonals_of_two_radio_ranges(regions: RunFolder) -> None:
    events = regions.events
    asked = events[events["kind"].isin(["refusal", "acceptance"]) & (events["task"] == 0)]
    across, along = (float(asked[axis].max() - asked[axis].min()) for axis in ("x_m", "y_m"))
    found = Hop().per_task(regions)
    assert found is not None
    assert hypot(across, along) > 0
    assert found[0] == pytest.approx(hypot(across, along) / 200)
    assert found[2] == 0  # one worker alone
    assert set(found.index) == {0, 1, 2, 5}
    assert Hop(radio_range_m=50.0).per_task(regions)[0] == pytest.approx(2 * found[0])  # type: ignore[index]


def test_workers_asked_per_task_taken(regions: RunFolder) -> None:
    """7 were asked about the four offered and decided tasks, three of which were taken."""
    found = NotifiedPerSuccess().measure(regions)["notified_per_success"]
    assert found.value == pytest.approx(7 / 3)
    errors = [3 - 7 / 3, 2 - 0, 1 - 7 / 3, 1 - 7 / 3]
    half = 1.959963984540054 * np.sqrt(np.square(errors).sum()) / 3
    assert (found.low, found.high) == pytest.approx((7 / 3 - half, 7 / 3 + half))


def test_every_failure_is_counted_under_its_reason(regions: RunFolder) -> None:
    """Six tasks were decided: one found nobody who accepts, two had no radius (a reason of circles alone)."""
    found = FailureReasons().measure(regions)
    assert set(found) == {f"failed_{reason}" for reason in REGION_FAILURES}
    assert found["failed_no_acceptance"].value == pytest.approx(1 / 6)
    assert found["failed_nobody_in_region"].value == 0.0
