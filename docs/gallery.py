"""Writes the gallery: every shipped map with its question, and a copy of the map itself."""

from __future__ import annotations

import html
import shutil
from pathlib import Path

from docs.scenario_pages import Shipped

_INTRODUCTION = """# Gallery

One map per shipped scenario. Each is a single file that opens with no network; noise is simulated, so that none of them
is a release. `python -m geodp.runs.gallery` draws them anew.
"""


def write_page(shown: list[Shipped], maps: Path, folder: Path) -> None:
    """Write the page and copy the maps and pictures beside it."""
    folder.mkdir(parents=True)
    cards = []
    for one in shown:
        if not (maps / f"{one.name}.html").is_file():
            continue
        shutil.copyfile(maps / f"{one.name}.html", folder / f"{one.name}.html")
        picture = next((path for path in sorted(maps.rglob(f"{one.name}.*")) if path.suffix in {".png", ".webp"}), None)
        shown_as = ""
        if picture is not None:
            shutil.copyfile(picture, folder / picture.name)
            shown_as = f'<img src="{picture.name}" alt="" loading="lazy">'
        about = html.escape(one.about.partition(". ")[0].rstrip("."))
        cards.append(f'<a href="{one.name}.html">{shown_as}<b>{one.name}</b><span>{about}.</span></a>')
    page = "\n".join([_INTRODUCTION, '<div class="gallery">', *cards, "</div>", ""])
    (folder / "index.md").write_text(page, encoding="utf-8")
