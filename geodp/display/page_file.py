"""The file of a map: one HTML page."""

from __future__ import annotations

from pathlib import Path

from geodp.errors import UsageError

SUFFIXES = (".html", ".htm")


def require_page(path: Path, done: str = "") -> Path:
    """Return the path of a map, or refuse one that does not name a page; `done` ends the message."""
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(
            f"{path}: a map is a page to open in a browser, so its file must end in .html "
            f"(take a picture of it there for anything else). {done}".rstrip()
        )
    return path
