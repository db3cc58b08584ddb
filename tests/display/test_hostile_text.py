"""Words of a scenario, a table or a run folder are only ever shown: no template engine or browser runs them."""

from __future__ import annotations

import html as markup
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from geodp.display.caption import title_of
from geodp.display.map import build_map
from geodp.display.packing import inline_json
from geodp.public.guarantee import Guarantee
from geodp.publish.counts_plan import CountsOptions, publish_counts
from geodp.publish.request import Request
from geodp.run_folder.folder import RunFolder
from geodp.sweeps.sweep import sweep
from tests.display.conftest import Browser, Made
from tests.display.map_contents import contents
from tests.sweeps.small_sweep import sweep_file

TRAP = "{{{{ cycler.__init__.__globals__.os.mkdir({path!r}) }}}}"
TEXTS = [
    "{{ 7077*7077 }}",
    "{% of }",
    "{# a comment",
    "<script>document.title='caught'</script>",
    "</script><script>document.title='caught'</script>",
    "<!--<script>",
    "<img src=x onerror=\"document.title='caught'\">",
    "a\u2028b & 'c' \"d\" $x_$",
]


def trap(folder: Path) -> tuple[str, Path]:
    """Return a template that makes a folder when it is run, and that folder."""
    made = folder / "caught"
    return TRAP.format(path=str(made)), made


def everything(folder: Path) -> str:
    return " ".join([*TEXTS, trap(folder)[0]])


@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize("arms", [(), ("one", "two")])
def test_what_a_scenario_says_about_itself_is_shown_as_written(
    make_run: Made, tmp_path: Path, public: bool, arms: tuple[str, ...]
) -> None:
    text = everything(tmp_path)
    run = make_run(about=text, arms=arms, tasks=5, movers=5, releases=1)
    page = build_map(run, public=public)
    assert markup.escape(text) in page
    assert "50083929" not in page.split('id="geodp-caption"')[1].split("<script")[0]
    assert "document.title='caught'" not in page
    assert not trap(tmp_path)[1].exists()


def test_what_a_run_folder_says_about_its_releases_is_shown_as_written(make_run: Made, tmp_path: Path) -> None:
    text = everything(tmp_path)
    run = make_run(tasks=5, movers=5, releases=1, guarantee=Guarantee.none(text))
    assert markup.escape(text) in build_map(run)
    assert not trap(tmp_path)[1].exists()


def published(folder: Path, name: str, out: str) -> str:
    """Publish counts of venues called `name`, and return the map."""
    pd.DataFrame({"user": range(40), "venue": [name] * 40}).to_csv(folder / "in.csv", index=False)
    venues = {"venue": [name, "plain"], "lon": [10.01, 10.02], "lat": [50.01, 50.02]}
    pd.DataFrame(venues).to_csv(folder / "venues.csv", index=False)
    request = Request(folder / "in.csv", folder / out, 1.0, cap=1, map=folder / "map.html")
    publish_counts(request, CountsOptions(venues=folder / "venues.csv"))
    return (folder / "map.html").read_text(encoding="utf-8")


def test_names_of_venues_and_files_are_shown_as_written(tmp_path: Path) -> None:
    text = everything(tmp_path)
    out = "{{ 7*7 }}<b>&{% of }.csv"
    page = published(tmp_path, text, out)
    assert f"<h1>{markup.escape(out)}</h1>" in page
    words = [fact["words"] for data in contents(page) for fact in data.get("facts", []) if "words" in fact]
    assert text in words[0]
    assert "document.title='caught'" not in page  # it is packed: plain markup in the page would be run
    assert not trap(tmp_path)[1].exists()


def test_a_sweep_shows_what_it_is_about_as_written(tmp_path: Path) -> None:
    text = everything(tmp_path)
    short = r"</svg><script> $\no$"  # between dollars, matplotlib would read a formula
    plot = {"y": "success_rate", "title": short, "x_label": short, "y_label": short}
    file = sweep_file(
        tmp_path / "files", {"about": text, "seeds": [1, 2], "plot": plot, "grids": [{"about": ["a", text]}]}
    )
    result = sweep(file, tmp_path / "out", workers=1)
    page = (result.path / "report.html").read_text(encoding="utf-8")
    assert f'<p class="question">{markup.escape(text)}</p>' in page
    assert page.count("<script") == page.count("</script>") == 1  # ours alone, named by its hash in the policy
    assert "<img" not in page
    assert "Content-Security-Policy" in page
    assert not trap(tmp_path)[1].exists()


@pytest.mark.parametrize("text", TEXTS)
def test_json_in_a_page_cannot_end_its_element(text: str) -> None:
    written = inline_json({"text": text})
    assert not set(written) & set("<>\u2028\u2029")
    assert json.loads(written) == {"text": text}


@pytest.mark.browser
@pytest.mark.parametrize("public", [False, True])
def test_a_browser_runs_nothing_of_what_it_shows(
    browser: Browser, make_run: Made, tmp_path: Path, public: bool
) -> None:
    text = everything(tmp_path)
    run = make_run(about=text, arms=("one", "two"), tasks=5, movers=5, releases=1)
    browser.open(build_map(run, public=public))
    assert browser.run("return document.title") == f"{title_of(text, 'downtown')} (geodp)"
    shown: Any = browser.run("return document.querySelector('#geodp-about p').textContent")
    assert shown == text
    assert browser.run("return document.querySelectorAll('#geodp-caption script, #geodp-caption img').length") == 0
    assert browser.problems() == []


@pytest.mark.browser
def test_a_browser_shows_the_name_of_a_venue_as_text(browser: Browser, tmp_path: Path) -> None:
    text = everything(tmp_path)
    browser.open(published(tmp_path, text, "counts.csv"))
    place = """const style = geodp.stage.entries.find(e => e.spec.kind === 'reports').layer.style;
        const name = style.data.facts.find(f => f.label === 'Name');
        const i = [...name.values].findIndex(v => name.words[v] !== 'plain');
        const at = geodp.stage.projection.latLng(style.places.x[i], style.places.y[i]);
        const point = geodp.stage.map.latLngToContainerPoint(at);
        const frame = geodp.stage.map.getContainer().getBoundingClientRect();
        return [point.x + frame.left, point.y + frame.top];"""
    browser.point_at(*browser.run(place))
    browser.wait("document.querySelector('.geodp-tooltip td')")
    assert browser.run("return document.querySelector('.geodp-tooltip td').textContent") == text
    assert browser.run("return document.title") == "counts.csv (geodp)"
    assert browser.problems() == []


def test_a_folder_that_names_arms_elsewhere_is_refused(make_run: Made, tmp_path: Path) -> None:
    run = make_run(arms=("one", "two"), tasks=5, movers=5, releases=1)
    for name in ("../../elsewhere", "..", "", "a/b", "{{ 7*7 }}", 7):
        (run.path / "manifest.json").write_text(json.dumps({"arms": [name]}))
        with pytest.raises(Exception, match="manifest.json"):
            build_map(RunFolder(run.path))
