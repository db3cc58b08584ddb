"""Builds the site: pages and what is generated from the code go into a folder, from which MkDocs makes HTML.

Everything that depends on MkDocs is `mkdocs.yml` and this file: what is staged are Markdown pages and the files that
they show, so that another generator can take over.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

from docs import commands, files, gallery, keys, notebooks, plugin_pages, python_api, scenario_pages

HERE = Path(__file__).parent
ROOT = HERE.parent
REPOSITORY_PAGES = {
    "REPRODUCTION.md": "reproduction.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "datasets/README.md": "how-to/data-formats.md",
}
"""Pages of the repository that are pages of the site, too."""
FOLDERS = {
    "scenarios": "reference/scenarios.md",
    "scenarios/figures": "reference/scenarios.md#figures-of-papers",
    "maps": "gallery/index.md",
}
"""Pages of the site that stand for folders of the repository."""
_LINK = re.compile(r"(?<=\]\()(?!https?:|#)([^)\s#]+)(#[^)\s]*)?(?=\))")


class SiteError(Exception):
    """The site could not be built; the message says why."""


def build_site(out: Path, *, run_tutorials: bool = True) -> Path:
    """Build the whole site, which replaces `out` when it is complete, and return its first page.

    Parameters
    ----------
    out
        The folder to write.
    run_tutorials
        Whether to run the tutorials; without, their pages show the code alone.

    Raises
    ------
    SiteError
        If a tutorial fails, MkDocs has something to warn of, or `out` holds something that is no site.
    """
    out = out.resolve()
    if out.exists() and any(out.iterdir()) and not (out / "search" / "search_index.json").is_file():
        raise SiteError(f"{out}: holds something that is not a built site. Use another --out.")
    with tempfile.TemporaryDirectory() as folder:
        staged, built = Path(folder) / "source", Path(folder) / "site"
        stage(staged, run_tutorials=run_tutorials)
        _make_html(staged, built)
        out.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(built, out)
    return out / "index.html"


def stage(folder: Path, *, run_tutorials: bool = True) -> None:
    """Write everything that the site is made of into a folder: `mkdocs.yml` and `pages/`."""
    pages = folder / "pages"
    shutil.copytree(HERE / "pages", pages)
    shutil.copytree(HERE / "theme", pages / "theme")
    for source, target in REPOSITORY_PAGES.items():
        _copy_repository_page(Path(source), pages, target)
    try:
        tutorials = notebooks.write_pages(HERE / "tutorials", pages / "tutorials", run=run_tutorials)
        files.write_page(pages / "reference" / "files.md")
    except (notebooks.TutorialError, files.UndescribedFile) as error:
        raise SiteError(str(error)) from error
    keys.write_page(pages / "reference" / "scenario.md")
    commands.write_page(pages / "reference" / "commands.md")
    families = plugin_pages.write_pages(pages / "reference" / "plugins")
    python_api.write_page(pages / "reference" / "python.md")
    shown = scenario_pages.write_page(ROOT / "scenarios", pages / "reference" / "scenarios.md")
    gallery.write_page(shown, ROOT / "maps", pages / "gallery")
    settings = yaml.safe_load((HERE / "mkdocs.yml").read_text(encoding="utf-8"))
    generated = {"TUTORIALS": tutorials, "PLUGINS": families}
    settings["nav"] = _fill_nav(settings["nav"], generated)
    settings["plugins"][1]["mkdocstrings"]["handlers"]["python"]["paths"] = [str(_package_folder())]
    settings |= {"docs_dir": "pages", "site_dir": "../site"}
    text = yaml.safe_dump(settings, sort_keys=False, allow_unicode=True)
    (folder / "mkdocs.yml").write_text(text, encoding="utf-8")


def _package_folder() -> Path:
    """Return the folder in which the package lies that is documented: the installed one."""
    import geodp

    return Path(str(geodp.__file__)).parent.parent


def _fill_nav(nav: list[Any], generated: dict[str, list[Any]]) -> list[Any]:
    """Put the generated pages where the navigation has a word in capitals."""
    filled: list[Any] = []
    for entry in nav:
        if isinstance(entry, str) and entry in generated:
            filled += generated[entry]
        elif isinstance(entry, dict):
            ((title, below),) = entry.items()
            filled.append({title: _fill_nav(below, generated) if isinstance(below, list) else below})
        else:
            filled.append(entry)
    return filled


def _copy_repository_page(source: Path, pages: Path, target: str) -> None:
    """Copy a page of the repository; its links lead to pages of the site, or to copies of the files they name."""
    depth = "../" * target.count("/")

    def redirect(found: re.Match[str]) -> str:
        name, anchor = found.group(1), found.group(2) or ""
        linked = os.path.normpath(source.parent / name)
        if linked in REPOSITORY_PAGES | FOLDERS:
            return depth + (REPOSITORY_PAGES | FOLDERS)[linked] + anchor
        if linked.startswith("docs/pages/"):
            return depth + linked.removeprefix("docs/pages/") + anchor
        if not (ROOT / linked).is_file():
            raise SiteError(f"{source}: links to {name}, which is no file")
        copy = pages / "files" / linked
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / linked, copy)
        return f"{depth}files/{linked}"

    text = _LINK.sub(redirect, (ROOT / source).read_text(encoding="utf-8"))
    (pages / target).write_text(text, encoding="utf-8")


def _make_html(staged: Path, built: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-f", str(staged / "mkdocs.yml")]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, env=quiet, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise SiteError(f"MkDocs has something to say:\n{done.stdout}{done.stderr}")
    index = (built / "search" / "search_index.json").read_text(encoding="utf-8")
    # A page that is opened as a file may not fetch; it may load a script.
    (built / "search" / "search_index.js").write_text(f"var __index = {index}", encoding="utf-8")
