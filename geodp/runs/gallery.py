"""Rebuilds the gallery: `python -m geodp.runs.gallery` draws the map of every shipped scenario into `maps/`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from geodp.errors import GeodpError

LARGEST_BYTES = 1_000_000


def rebuild(scenarios: Path, maps: Path) -> list[Path]:
    """Run every scenario of a folder and write its map; a map that grew too large is an error."""
    from geodp.runs.run import run

    written = []
    maps.mkdir(exist_ok=True)
    for scenario in sorted(scenarios.glob("*.yaml")):
        with tempfile.TemporaryDirectory() as folder:
            result = run(scenario, Path(folder) / scenario.stem)
            page = (result.path / "map.html").read_text(encoding="utf-8")
        size = len(page.encode())
        if size > LARGEST_BYTES:
            raise GeodpError(f"{scenario.stem}: the map has {size:,} bytes, more than {LARGEST_BYTES:,}")
        path = maps / f"{scenario.stem}.html"
        path.write_text(page, encoding="utf-8")
        written.append(path)
        sys.stdout.write(f"{path}  {size / 1e3:.0f} KB\n")
    return written


if __name__ == "__main__":
    rebuild(Path("scenarios"), Path("maps"))
