"""Venues on a map, coloured by a publication of counts."""

import numpy as np
import pytest

import geodp
from geodp.display.layers.visits import class_edges
from geodp.display.page import Page
from geodp.registry import plugin
from geodp.run_folder.folder import RunFolder
from tests.small import small


def test_classes_have_round_borders_and_fewer_venues_the_higher_they_are() -> None:
    count = np.random.default_rng(0).exponential(50, 2000) - 10
    edges = class_edges(count)
    sizes = np.bincount(np.searchsorted(edges, count, side="right"), minlength=5)
    assert sizes[0] == (count <= 0).sum()
    assert sizes[1] > sizes[2] > sizes[3] > sizes[4] > 0
    assert all(float(f"{edge:.1e}") == edge for edge in edges[1:])
    assert class_edges(np.array([0.0, -3.0])).size == 0
    assert class_edges(np.array([2.0, 2.0])).size >= 1


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    changes = {
        "publish": [{"kind": "laplace_counts", "epsilon": 1.0, "cap": 5}, {"kind": "zeros"}],
        "map.layers": ["region", "venue_counts"],
    }
    return geodp.run(small(changes), tmp_path_factory.mktemp("counts") / "run", draw_map=False).folder


def test_the_layer_shows_released_counts_only_and_may_be_public(run: RunFolder) -> None:
    page = Page(run.region, max_points=100, public=True)
    plugin("venue_counts", "layer").draw(run, page)
    (drawing,) = page.drawings
    assert drawing.public
    released = run.publications[0].released["count"].to_numpy()
    assert sorted(drawing.data["ids"].tolist()) == sorted(np.argsort(-released)[:100].tolist()), "the largest are drawn"
    assert any("100 venues with the largest counts of 500" in note for note in page.notes)
    assert any("first of 2 publications" in note for note in page.notes)
    assert {mark["name"] for mark in drawing.data["marks"]} >= {"0 visitors or below"}


def test_a_run_without_counts_draws_nothing(tmp_path_factory: pytest.TempPathFactory) -> None:
    plain = geodp.run(small(), tmp_path_factory.mktemp("plain") / "run", draw_map=False).folder
    page = Page(plain.region, max_points=100, public=False)
    plugin("venue_counts", "layer").draw(plain, page)
    assert not page.drawings
