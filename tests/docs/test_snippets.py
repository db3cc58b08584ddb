"""Everything that a page asks a reader to type works, in an empty folder, with the package alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.snippets import INSTALLS, PAGES, Snippet, cut_snippets, run_snippets

FOUND = {str(path.relative_to(PAGES)): cut_snippets(path.read_text(encoding="utf-8")) for path in PAGES.rglob("*.md")}
RUN = {name: found for name, found in sorted(FOUND.items()) if any(one.language in {"sh", "python"} for one in found)}


@pytest.mark.slow
@pytest.mark.parametrize("page", RUN)
def test_the_snippets_of_a_page_run_in_an_empty_folder(page: str, tmp_path: Path) -> None:
    run_snippets(RUN[page], tmp_path)


def test_only_installs_are_not_run() -> None:
    blocks = [one for found in FOUND.values() for one in found if one.language in INSTALLS]
    shown = [line for one in blocks for line in one.text.splitlines()]
    assert shown
    assert [line for line in shown if not line.startswith(("pip install ", "python3 -m venv "))] == []


def test_a_snippet_that_fails_is_named_with_its_line(tmp_path: Path) -> None:
    page = "Text.\n\n```sh\ngeodp check nowhere.yaml\n```\n"
    with pytest.raises(AssertionError, match=r"line 3: .*nowhere\.yaml"):
        run_snippets(cut_snippets(page), tmp_path)


def test_a_snippet_that_must_fail_and_does_not_is_an_error(tmp_path: Path) -> None:
    page = "```sh expect=1\ngeodp --version\n```\n"
    with pytest.raises(AssertionError, match="line 1"):
        run_snippets(cut_snippets(page), tmp_path)


def test_python_blocks_share_their_names_and_files_are_saved(tmp_path: Path) -> None:
    saved = "```yaml\n# some.yaml\nkey: 1\n```\n\n"
    page = f"```python\na = 1\n```\n\n{saved}```python\nassert open('some.yaml').read() and a == 1\n```\n"
    snippets = cut_snippets(page)
    assert [(one.language, one.line) for one in snippets] == [("python", 1), ("yaml", 5), ("python", 10)]
    run_snippets(snippets, tmp_path)


def test_a_block_of_a_language_that_nobody_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="what is bash"):
        run_snippets([Snippet("bash", "rm -rf /\n", 1)], tmp_path)


def test_a_python_block_that_fails_is_named_with_its_line_and_its_error(tmp_path: Path) -> None:
    page = "```python\nimport sys\nprint('fine')\n```\n\n```python\nraise ValueError('of this block')\n```\n"
    with pytest.raises(AssertionError, match=r"(?s)line 6: .*of this block"):
        run_snippets(cut_snippets(page), tmp_path)
