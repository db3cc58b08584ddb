"""Layers of published visits: what is public, what is not, and for whom."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from geodp.display.drawing import Shape
from geodp.display.layers import Layer
from geodp.display.layers.visits import (
    ClusterAreasLayer,
    ReleasedPlacesLayer,
    ReplacementsLayer,
    ReportedPlacesLayer,
    TruePlacesLayer,
    by_class,
)
from geodp.display.map import build_map
from geodp.display.page import Page
from geodp.display.released_only import ReleasedOnly
from geodp.errors import UsageError
from geodp.geometry import Region
from geodp.run_folder.folder import RunFolder
from geodp.runs.run import run
from tests.small import small


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    changes: dict[str, Any] = {
        "workers.source.count": 60,
        "duration_s": 600,
        "tasks.demand.per_hour": 30,
        "workers.visit_source": {"kind": "generated_visits", "venues": 50, "mean_visits": 8},
        "publish": [{"kind": "prilocation", "cap": 10, "clusters": 6}],
        "device.history_report": {"kind": "epicrec"},
    }
    return RunFolder(run(small(changes), tmp_path_factory.mktemp("layers") / "run", draw_map=False).path)


def drawn(layer: Layer, folder: RunFolder, *, public: bool = False) -> Page:
    page = Page(folder.region, max_points=5000, public=public)
    layer.draw(ReleasedOnly(folder.path) if public else folder, page)
    return page


def test_released_places_and_clusters_are_public(folder: RunFolder) -> None:
    (places,) = drawn(ReleasedPlacesLayer(), folder, public=True).drawings
    assert len(places.data["x"]) == folder.publications[0].released["venue"].nunique()
    assert places.public
    (areas,) = drawn(ClusterAreasLayer(), folder, public=True).drawings
    assert set(areas.data["ids"].tolist()) <= set(range(6))


def test_places_that_phones_told_are_public(folder: RunFolder) -> None:
    (told,) = drawn(ReportedPlacesLayer(), folder, public=True).drawings
    items = folder.history_reports[-1].items
    assert len(told.data["x"]) == items["venue"].nunique()
    (phones,) = [fact for fact in told.data["facts"] if fact["label"] == "Told by phones"]
    assert phones["values"].sum() == len(items)


@pytest.mark.parametrize("layer", [TruePlacesLayer(), ReplacementsLayer()])
def test_true_places_and_replacements_cannot_be_drawn_on_a_public_map(layer: Layer, folder: RunFolder) -> None:
    assert not layer.public
    with pytest.raises(UsageError, match="released data only"):
        drawn(layer, folder, public=True)
    assert drawn(layer, folder).drawings


def test_a_public_map_holds_no_true_visit(folder: RunFolder) -> None:
    page = build_map(folder, public=True)
    assert "True visits" not in page
    assert "One person's visits" not in page
    assert "Published visits" in page
    assert "hides no user" in page


def test_lines_lead_from_the_true_places_of_the_chosen_person(folder: RunFolder) -> None:
    page = drawn(ReplacementsLayer(person="worker-00003"), folder)
    rows = folder.publications[0].truth("replacements")
    kept = rows[(rows["person"] == 3) & rows["survived"]]
    (lines,) = page.drawings
    assert len(lines.data["x"]) == len(kept)
    x_m, _ = folder.region.projection.to_m(lon=folder.venues.lon, lat=folder.venues.lat)
    assert lines.data["x"].tolist() == np.rint(x_m[kept["true_venue"]] / page.step_m).astype(int).tolist()
    assert any("of worker-00003 that survived" in note for note in page.notes)


def test_a_person_who_is_not_there_is_noted_and_a_publication_is_refused(folder: RunFolder) -> None:
    page = drawn(ReplacementsLayer(person="worker-3"), folder)  # a finished run is not lost over a name
    assert page.drawings == []
    assert any("nobody is called 'worker-3'" in note for note in page.notes)
    with pytest.raises(UsageError, match="no publication of visits in place 1"):
        drawn(ReleasedPlacesLayer(publication=1), folder)


def test_classes_cover_every_number() -> None:
    page = Page(Region(10.0, 50.0, 10.08, 50.05), max_points=100, public=False)
    looks: tuple[tuple[str, ...], Shape, str] = (("#ffffff", "#000000"), "square", "visits")
    marks, mark = by_class(np.array([1, 1, 1, 2, 5, 9]), page, looks)
    assert [each.name for each in marks] == ["1 visit", "2 visits", "3 to 5 visits", "6 or more visits"]
    assert mark.tolist() == [0, 0, 0, 1, 2, 3]
    again, other = by_class(np.array([1, 4, 100]), page, looks)  # another arm
    assert again == marks
    assert other.tolist() == [0, 2, 3]


def test_a_run_without_publications_draws_nothing(tmp_path: Path) -> None:
    plain = RunFolder(run(small({"duration_s": 300}), tmp_path / "run", draw_map=False).path)
    for layer in (
        ReleasedPlacesLayer(),
        ClusterAreasLayer(),
        ReplacementsLayer(),
        TruePlacesLayer(),
        ReportedPlacesLayer(),
    ):
        assert drawn(layer, plain).drawings == []
