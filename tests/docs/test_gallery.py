import re
from pathlib import Path

import pytest

import docs.gallery
from docs.gallery import LARGEST_BYTES, GalleryError, rebuild
from docs.links import read_page
from docs.scenario_pages import Shipped, read_shipped
from geodp.display.picture import find_browser
from tests.small import small_file

ROOT = Path(__file__).parents[2]
SHIPPED = read_shipped(ROOT / "scenarios")


@pytest.mark.parametrize("scenario", SHIPPED, ids=lambda one: one.name)
def test_every_shipped_scenario_asks_a_question_and_has_a_small_map_with_a_thumbnail(scenario: Shipped) -> None:
    name = scenario.name
    page = ROOT / "maps" / f"{name}.html"
    assert page.stat().st_size <= LARGEST_BYTES
    assert 2_000 < (ROOT / "maps" / "thumbnails" / f"{name}.webp").stat().st_size < 60_000
    assert scenario.question.endswith("?")
    assert "geodp.openPage" in page.read_text(encoding="utf-8")


def test_the_index_shows_every_map_with_its_question_and_asks_nothing_of_the_network() -> None:
    index = ROOT / "maps" / "index.html"
    text = index.read_text(encoding="utf-8")
    links, _ = read_page(index)
    pages = {target for target, loads in links if not loads}
    pictures = {target for target, loads in links if loads}
    assert pages == {f"{one.name}.html" for one in SHIPPED}
    assert pictures == {f"thumbnails/{one.name}.webp" for one in SHIPPED}
    assert all((ROOT / "maps" / target).is_file() for target in pages | pictures)
    assert all(one.question in re.sub(r"&#x27;", "'", text) for one in SHIPPED)
    assert {path.stem for path in (ROOT / "maps").glob("*.html")} == {"index", *(one.name for one in SHIPPED)}


def test_one_command_rebuilds_the_gallery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, maps, runs = tmp_path / "scenarios", tmp_path / "maps", tmp_path / "runs"
    source.mkdir()
    small = small_file(source)
    small.write_text("# How small is <it>? Very.\n" + small.read_text(encoding="utf-8"), encoding="utf-8")
    maps.mkdir()
    (maps / "gone.html").touch()
    (page,) = rebuild(source, maps, runs=runs)
    assert page.name == "small.html"
    assert not (maps / "gone.html").exists()
    assert "How small is &lt;it&gt;?" in (maps / "index.html").read_text(encoding="utf-8")
    assert (maps / "thumbnails" / "small.webp").is_file() == (find_browser() is not None)
    made = (runs / "small" / "manifest.json").stat().st_mtime_ns
    rebuild(source, maps, ["small"], runs=runs)
    assert (runs / "small" / "manifest.json").stat().st_mtime_ns == made
    with pytest.raises(GalleryError, match="no scenario called large"):
        rebuild(source, maps, ["large"])
    monkeypatch.setattr(docs.gallery, "LARGEST_BYTES", 10_000)
    with pytest.raises(GalleryError, match="more than 10,000"):
        rebuild(source, maps, runs=runs)
