"""Pins the numbers of one whole run: `python -m tests.runs.baseline` writes them anew, on purpose only."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import geodp
from tests.small import small

PINNED = Path(__file__).parent / "baseline.json"


def measured(folder: Path) -> dict[str, float | None]:
    """Run the small scenario and return its metrics."""
    return geodp.run(small(), folder / "small", seed=5, draw_map=False).metrics


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        PINNED.write_text(json.dumps(measured(Path(folder)), indent=2) + "\n", encoding="utf-8")
