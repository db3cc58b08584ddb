"""Tutorials are run in empty folders, fail loudly, and become pages."""

from __future__ import annotations

import ast
from pathlib import Path

import nbformat
import pytest

from docs.notebooks import Page, TutorialError, list_tutorials, read_tutorial, run_tutorial, title_of

TUTORIALS = list_tutorials(Path(__file__).parents[2] / "docs" / "tutorials")


def output(**data: str) -> nbformat.NotebookNode:
    return nbformat.v4.new_output("execute_result", {name.replace("_", "/"): text for name, text in data.items()})


def page_of(tmp_path: Path, *outputs: nbformat.NotebookNode) -> str:
    cells = [
        nbformat.v4.new_markdown_cell("# A title\n\nText."),
        nbformat.v4.new_code_cell("1 + 1", outputs=list(outputs)),
    ]
    return Page("name", tmp_path).write(nbformat.v4.new_notebook(cells=cells))


def test_there_are_six_tutorials_in_order() -> None:
    titles = [title_of(read_tutorial(path)) for path in TUTORIALS]
    assert [title.partition(".")[0] for title in titles] == ["1", "2", "3", "4", "5", "6"]


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_holds_no_outputs_and_asks_for_no_file_of_the_repository(path: Path) -> None:
    notebook = read_tutorial(path)
    assert not any(cell.get("outputs") for cell in notebook.cells)
    text = path.read_text(encoding="utf-8")
    ast.parse(text)
    assert "scenarios/" not in text
    assert "http" not in text


@pytest.mark.slow
def test_a_tutorial_runs_in_an_empty_folder_with_this_python(tmp_path: Path) -> None:
    path = tmp_path / "one.py"
    path.write_text(
        "# %% [markdown]\n# # One\n\n# %%\nimport os, sys\nprint(os.listdir(), sys.executable)\n\n"
        "# %%\n# !geodp --version\n"
    )
    import sys

    from geodp import __version__

    first, second = (cell.outputs[0].text for cell in run_tutorial(path).cells[1:])
    assert first == f"[] {sys.executable}\n"
    assert second.strip() == __version__


@pytest.mark.slow
def test_a_cell_that_fails_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_text("# %% [markdown]\n# # Bad\n\n# %%\nraise ValueError('of this cell')\n")
    with pytest.raises(TutorialError, match=r"(?s)bad\.py: .*of this cell"):
        run_tutorial(path)


def test_printed_text_is_shown_beneath_its_code_without_colours(tmp_path: Path) -> None:
    page = page_of(
        tmp_path, nbformat.v4.new_output("stream", text="\x1b[31mred"), nbformat.v4.new_output("stream", text=" text")
    )
    assert "```python\n1 + 1\n```" in page
    assert "```text\nred text\n```" in page


def test_a_map_in_a_frame_becomes_a_file_that_is_loaded_when_looked_at(tmp_path: Path) -> None:
    page = page_of(
        tmp_path,
        output(text_html='<div><iframe srcdoc="&lt;p&gt;a &amp;amp; b&lt;/p&gt;" width="100%"></iframe></div>'),
    )
    assert '<iframe class="map" src="name-1.html" title="map" loading="lazy"></iframe>' in page
    assert (tmp_path / "name-1.html").read_text() == "<p>a &amp; b</p>"


def test_a_picture_becomes_a_file(tmp_path: Path) -> None:
    page = page_of(tmp_path, output(image_png="aGVsbG8="))
    assert "![figure](name-1.png)" in page
    assert (tmp_path / "name-1.png").read_bytes() == b"hello"


def test_the_page_begins_with_its_title_and_offers_the_notebook(tmp_path: Path) -> None:
    assert page_of(tmp_path).startswith("# A title\n\n*This page is a notebook that was run")
    assert "[download it](name.ipynb)" in page_of(tmp_path)
