"""Dead links, dead anchors and files from elsewhere are found."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.links import find_problems


@pytest.fixture
def small(tmp_path: Path) -> Path:
    (tmp_path / "below").mkdir()
    (tmp_path / "index.html").write_text('<h2 id="here">Here</h2><a href="below/other.html#there">x</a>')
    (tmp_path / "below" / "other.html").write_text(
        '<p id="there"><a href="../index.html#here">x</a><a href="#there">y</a>'
    )
    return tmp_path


def test_a_site_whose_links_lead_somewhere_has_no_problems(small: Path) -> None:
    assert find_problems(small) == []


@pytest.mark.parametrize(
    ("added", "problem"),
    [
        ('<a href="gone.html">x</a>', "index.html: gone.html is no file"),
        ('<a href="below/other.html#gone">x</a>', "index.html: below/other.html#gone has no such place"),
        ('<a href="#gone">x</a>', "index.html: #gone has no such place"),
        ('<img src="gone.png">', "index.html: gone.png is no file"),
        ('<script src="https://elsewhere.example/x.js"></script>', "index.html: loads https://elsewhere.example/x.js"),
        ('<link rel="stylesheet" href="//elsewhere.example/x.css">', "index.html: loads //elsewhere.example/x.css"),
        ('<iframe src="https://elsewhere.example/"></iframe>', "index.html: loads https://elsewhere.example/"),
    ],
)
def test_each_problem_is_named_with_its_page(small: Path, added: str, problem: str) -> None:
    with (small / "index.html").open("a") as page:
        page.write(added)
    assert find_problems(small) == [problem]


def test_links_to_elsewhere_that_nothing_loads_are_no_problem(small: Path) -> None:
    with (small / "index.html").open("a") as page:
        page.write('<a href="https://elsewhere.example/paper">x</a>')
    assert find_problems(small) == []
