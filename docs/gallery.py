"""The gallery: `python -m docs.gallery [NAME …]` draws maps of shipped scenarios, thumbnails, an index.

Runs are made in a temporary folder; with `--runs DIR` they are kept there, and those that lie there already and are
newer than their scenario are drawn as they are. The page of the site shows the same thumbnails.
"""

from __future__ import annotations

import argparse
import html
import io
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from docs.scenario_pages import Shipped, read_shipped

ROOT = Path(__file__).parents[1]
LARGEST_BYTES = 1_500_000
"""What a map of the gallery may weigh: it is kept in the repository, again after each change."""
THUMBNAILS = "thumbnails"
PICTURED = "quickstart"
"""The scenario whose map is the picture on the README."""
_PANEL_PX, _PLAYER_PX = 318, 46  # beside and below the map
_THUMBNAIL_PX = (480, 379)
_COLOURS = 128  # of the README's picture
_INTRODUCTION = """# Gallery

One map per shipped scenario. Each is a single file that opens with no network; noise is simulated, so that none of them
is a release. `python -m docs.gallery` draws them anew.
"""
_STYLE = """
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 19rem), 1fr)); gap: 1rem;
  margin: 1.2rem 0; }
.card { display: block; color: inherit; text-decoration: none; border: 1px solid var(--line); border-radius: 6px;
  padding: .6rem .7rem .7rem; background: var(--card); break-inside: avoid; }
.card:hover, .card:focus-visible { border-color: var(--accent); }
.card img { display: block; width: 100%; height: auto; aspect-ratio: 480 / 379; object-fit: cover; border-radius: 4px; }
.card b { display: block; margin: .5rem 0 .15rem; line-height: 1.3; }
.card span { display: block; color: var(--soft); font-size: .88rem; line-height: 1.4; }
.card code { display: inline-block; margin-top: .4rem; font-size: .78rem; }
@media print { .cards { grid-template-columns: repeat(4, 1fr); gap: 4mm; } }
"""


class GalleryError(Exception):
    """The gallery could not be drawn; the message says why."""


def rebuild(scenarios: Path, maps: Path, names: Sequence[str] = (), *, runs: Path | None = None) -> list[Path]:
    """Draw maps and thumbnails of the scenarios of a folder, then the index of all that are there.

    Parameters
    ----------
    scenarios
        Folder of scenarios.
    maps
        Folder to write.
    names
        Scenarios to draw (default: all).
    runs
        Folder in which runs are kept; those there that are newer than their scenario are drawn (default: none is kept).

    Returns
    -------
    list of Path
        The maps that were drawn.

    Raises
    ------
    GalleryError
        If there is no scenario of a name, or a map grew too large.
    """
    shipped = read_shipped(scenarios)
    unknown = set(names) - {one.name for one in shipped}
    if unknown:
        raise GalleryError(f"{scenarios}: has no scenario called {', '.join(sorted(unknown))}")
    maps.mkdir(exist_ok=True)
    drawn = [_draw(scenarios / f"{one.name}.yaml", maps, runs) for one in shipped if not names or one.name in names]
    for kind in ("*.html", f"{THUMBNAILS}/*.webp"):
        for path in maps.glob(kind):
            if path.stem not in {"index", *(one.name for one in shipped)}:
                path.unlink()  # of a scenario that is gone
    (maps / "index.html").write_text(_index(shipped, maps), encoding="utf-8")
    return drawn


def _draw(scenario: Path, maps: Path, runs: Path | None) -> Path:
    """Draw the map of one scenario and its thumbnail."""
    import geodp
    from geodp.display.map import build_map
    from geodp.run_folder.folder import RunFolder

    with tempfile.TemporaryDirectory() as temporary:
        folder = (runs or Path(temporary)) / scenario.stem
        if not _is_newer(folder / "manifest.json", scenario):
            geodp.run(scenario, folder, force=True, draw_map=False, summarise=False)
        page = build_map(RunFolder(folder))
    size = len(page.encode())
    if size > LARGEST_BYTES:
        raise GalleryError(f"{scenario.stem}: the map has {size:,} bytes, more than {LARGEST_BYTES:,}")
    path = maps / f"{scenario.stem}.html"
    path.write_text(page, encoding="utf-8")
    _picture(page, maps, scenario.stem)
    sys.stdout.write(f"{path}  {size / 1e3:.0f} KB\n")
    sys.stdout.flush()
    return path


def _is_newer(made: Path, source: Path) -> bool:
    return made.is_file() and made.stat().st_mtime >= source.stat().st_mtime


def _picture(page: str, maps: Path, name: str) -> None:
    """Write the thumbnail of a map, without panel and player, where there is a browser to take it."""
    from PIL import Image

    from geodp.display.picture import SIZE, find_browser, take_picture

    if find_browser() is None:
        sys.stderr.write(f"{name}: no thumbnail, because no browser was found\n")
        return
    whole = Image.open(io.BytesIO(take_picture(page))).convert("RGB")
    seen = whole.crop((_PANEL_PX, 0, SIZE[0], SIZE[1] - _PLAYER_PX))
    (maps / THUMBNAILS).mkdir(exist_ok=True)
    small = seen.resize(_THUMBNAIL_PX, Image.Resampling.LANCZOS)
    small.save(maps / THUMBNAILS / f"{name}.webp", quality=72, method=6)
    if name == PICTURED:
        whole.quantize(_COLOURS).save(maps / f"{name}.png", optimize=True)


def _index(shipped: Sequence[Shipped], maps: Path) -> str:
    """Return a page with a card for every map of the folder, which opens with no network."""
    from geodp.pages.html import Html, build_element
    from geodp.pages.parts import build_header

    cards = []
    for one in shipped:
        if not (maps / f"{one.name}.html").is_file():
            continue
        picture = maps / THUMBNAILS / f"{one.name}.webp"
        shown = build_element("img", src=f"{THUMBNAILS}/{picture.name}", alt="", loading="lazy", width=480, height=379)
        words = (build_element("b", one.question), build_element("span", one.more), build_element("code", one.name))
        cards.append(
            build_element("a", shown if picture.is_file() else None, *words, class_="card", href=f"{one.name}.html")
        )
    header = build_header(
        "What can be asked, and what came out",
        kicker="geodp: gallery of maps",
        question="One map per shipped scenario. Every map is one file that opens with no network.",
        facts="Noise is simulated: none of these is a release, and all of the people are generated.",
    )
    body = Html(f"{header}\n{build_element('main', *cards, class_='cards')}")
    return _frame("Gallery of geodp", body)


def _frame(title: str, body: str) -> str:
    from importlib.resources import files

    style = (files("geodp.pages") / "assets" / "page.css").read_text(encoding="utf-8") + _STYLE
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{style}</style></head>\n<body>{body}</body></html>\n"
    )


def write_page(shown: list[Shipped], maps: Path, folder: Path) -> None:
    """Write the site's page of the gallery, and copy the maps and pictures beside it."""
    folder.mkdir(parents=True)
    cards = []
    for one in shown:
        if not (maps / f"{one.name}.html").is_file():
            continue
        shutil.copyfile(maps / f"{one.name}.html", folder / f"{one.name}.html")
        picture = maps / THUMBNAILS / f"{one.name}.webp"
        shown_as = ""
        if picture.is_file():
            shutil.copyfile(picture, folder / picture.name)
            shown_as = f'<img src="{picture.name}" alt="" loading="lazy">'
        words = f"<b>{html.escape(one.question)}</b><span>{html.escape(one.more)}</span><code>{one.name}</code>"
        cards.append(f'<a href="{one.name}.html">{shown_as}{words}</a>')
    if (maps / f"{PICTURED}.png").is_file():
        shutil.copyfile(maps / f"{PICTURED}.png", folder / f"{PICTURED}.png")
    page = "\n".join([_INTRODUCTION, '<div class="gallery">', *cards, "</div>", ""])
    (folder / "index.md").write_text(page, encoding="utf-8")


def main() -> int:
    """Draw the gallery as the command line asks; exit codes: 0 drawn, 1 not drawn."""
    parser = argparse.ArgumentParser(prog="python -m docs.gallery", description="Draw the maps of shipped scenarios.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="scenario to draw [all]")
    parser.add_argument("--runs", type=Path, metavar="DIR", help="keep the runs here, and draw those that are there")
    asked = parser.parse_args()
    try:
        rebuild(ROOT / "scenarios", ROOT / "maps", asked.names, runs=asked.runs)
    except GalleryError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
