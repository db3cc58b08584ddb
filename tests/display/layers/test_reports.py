"""Layers of a run in which phones report by themselves and an adversary guesses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import geodp
from geodp.display.map import build_map
from geodp.public.release import Points
from geodp.registry import plugin
from geodp.run_folder.folder import RunFolder
from tests.display.map_contents import contents
from tests.small import small

LAYERS = ["region", "release", "estimate", "cells", "density", "reports", "tasks", "offers", "report_errors", "guesses"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    changes: dict[str, Any] = {
        "curator": None,
        "device.mechanism": {"kind": "planar_laplace", "epsilon_per_m": 0.01},
        "attacks": [{"kind": "bayes_location", "people": 60}],
        "map.layers": LAYERS,
    }
    return geodp.run(small(changes), tmp_path_factory.mktemp("reports") / "run", draw_map=False).folder


def drawn(run: RunFolder, kind: str, *, public: bool = False) -> list[dict[str, Any]]:
    """Return what one layer puts on a page."""
    from geodp.display.page import Page

    page = Page(run.region, max_points=run.scenario.map.max_points, public=public)
    plugin(kind, "layer").draw(run, page)
    return [{"public": drawing.public, **drawing.data} for drawing in page.drawings]


def test_reports_are_what_the_server_saw_of_a_few_people(run: RunFolder) -> None:
    (layer,) = drawn(run, "reports")
    release = run.releases[0]
    assert isinstance(release, Points)
    assert len(layer["x"]) == 3 * 50
    assert np.array_equal(layer["x"][:50], np.rint(release.x_m[:50]))
    assert layer["appears"].tolist() == [0] * 50 + [600] * 50 + [1200] * 50
    assert layer["public"]


def test_the_estimate_holds_everyone(run: RunFolder) -> None:
    (layer,) = drawn(run, "estimate")
    frame = layer["frames"][0]
    assert len(layer["frames"]) == 3
    assert sum(frame["count"]) * frame["step"] == pytest.approx(
        run.workers, rel=0.1
    )  # kept to a tenth of a worker per cell


def test_lines_lead_from_the_truth_to_report_and_guess(run: RunFolder) -> None:
    truth = run.positions.query("release == 1").set_index("worker")
    for kind in ("report_errors", "guesses"):
        (layer,) = drawn(run, kind)
        assert not layer["public"]
        here = truth.loc[layer["ids"]]
        assert np.array_equal(layer["x"], np.rint(here["x_m"].to_numpy()))
        off = np.hypot(layer["dx"], layer["dy"])
        stated = next(fact for fact in layer["facts"] if fact["label"] == "Off by")
        assert off == pytest.approx(stated["values"], abs=2)
        assert 100 < off.mean() < 300


@pytest.mark.parametrize("kind", ["release", "cells", "density"])
def test_layers_of_counts_have_nothing_to_draw(run: RunFolder, kind: str) -> None:
    assert drawn(run, kind) == []


def test_layers_of_reports_have_nothing_to_draw_with_a_curator(make_run: Callable[..., RunFolder]) -> None:
    counted = make_run()
    for kind in ("reports", "estimate", "report_errors", "guesses"):
        assert drawn(counted, kind) == []


def test_a_public_map_holds_reports_and_no_truth(run: RunFolder) -> None:
    html = build_map(run, public=True)
    blocks = contents(html)
    assert [block.get("name") for block in blocks if block.get("name")] == ["Estimated count", "Report"]
    true = {int(value) for value in np.rint(run.positions["x_m"])}
    reported = next(block for block in blocks if block.get("name") == "Report")
    pairs = set(zip(reported["x"], reported["y"], strict=True))
    places = set(zip(*(np.rint(run.positions[name]).astype(int).tolist() for name in ("x_m", "y_m")), strict=True))
    assert true
    assert not pairs & places
    assert f"All {len(run.releases):,} reports of one phone" in html


def test_exact_reports_are_not_shown_in_public(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("exact") / "run"
    bare = geodp.run(small({"curator": None, "map.layers": LAYERS}), folder, draw_map=False).folder
    blocks = contents(build_map(bare, public=True))
    assert not [block for block in blocks if block.get("name") in ("Report", "Estimated count")]
