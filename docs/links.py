"""Looks for links of a built site that lead nowhere, and for anything that a page would load from elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADING = {"img": "src", "script": "src", "iframe": "src", "source": "src", "video": "src", "link": "href"}


@dataclass(frozen=True)
class Link:
    """A link of a page."""

    page: str
    target: str
    loads: bool
    """Whether the page loads it by itself."""


@dataclass
class _Reader(HTMLParser):
    links: list[tuple[str, bool]] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors |= {value for name in ("id", "name") if (value := given.get(name))}
        if tag == "a" and given.get("href") is not None:
            self.links.append((str(given["href"]), False))
        elif tag in _LOADING and given.get(_LOADING[tag]) and given.get("rel") not in {"canonical", "prev", "next"}:
            self.links.append((str(given[_LOADING[tag]]), True))


def read_page(path: Path) -> tuple[list[tuple[str, bool]], set[str]]:
    """Return the links of a page, each with whether the page loads it, and its anchors."""
    reader = _Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    return reader.links, reader.anchors


def find_problems(site: Path, *, maps: frozenset[str] = frozenset()) -> list[str]:
    """Return a sentence for each link that leads nowhere, and for whatever is loaded from elsewhere.

    Parameters
    ----------
    site
        The folder of the site.
    maps
        Pages that are maps: they are tested by themselves, and their contents are not read here.
    """
    pages = {path: read_page(path) for path in site.rglob("*.html") if path.relative_to(site).as_posix() not in maps}
    problems = []
    for path, (links, _) in pages.items():
        page = path.relative_to(site).as_posix()
        if page == "404.html":
            continue
        for target, loads in links:
            parts = urlsplit(target)
            if parts.scheme in {"data", "mailto"}:
                continue
            if parts.scheme or parts.netloc:
                if loads:
                    problems.append(f"{page}: loads {target}")
                continue
            linked = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            linked = linked / "index.html" if linked.is_dir() else linked
            if not linked.is_file():
                problems.append(f"{page}: {target} is no file")
            elif parts.fragment and linked in pages and unquote(parts.fragment) not in pages[linked][1]:
                problems.append(f"{page}: {target} has no such place")
    return problems
