"""Small private files, and what is asked about them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from geodp.publish.request import Request
from geodp.tables.usual_columns import candidates
from tests.display.conftest import browser  # noqa: F401 - the browser that opens maps of runs opens these too

TOWN = "10.0,50.0,10.08,50.05"
"""A public region of 5.7 km by 5.6 km."""
LEDGER = "geodp-ledger.json"
Make = Callable[..., Request]


def places(count: int, seed: int = 0) -> pd.DataFrame:
    """Return places in the middle of the town, sorted by longitude, as a careless export might be."""
    rng = np.random.default_rng(seed)
    lon, lat = rng.uniform(10.02, 10.06, count), rng.uniform(50.0125, 50.0375, count)
    return pd.DataFrame({"lon": np.sort(lon), "lat": lat})


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Return a function that writes a private file and asks for its publication.

    Where the file names no users, every row is stated to be a person of its own.
    """

    def ask(frame: pd.DataFrame | str | None = None, out: str = "out.csv", **options: Any) -> Request:
        source = tmp_path / options.pop("source", "in.csv")
        if isinstance(frame, str):
            source.write_text(frame)
            named = frame.partition("\n")[0].split(",")
        else:
            data = places(200) if frame is None else frame
            named = list(data.columns)
            data.to_parquet(source) if source.suffix == ".parquet" else data.to_csv(source, index=False)
        alone = not candidates("user", named) and "user" not in options.get("columns", {})
        options = {"epsilon": 0.05, "region": TOWN, "one_row_per_person": alone, **options}
        if options.get("mode") == "release":
            options = {"ledger": source.parent / LEDGER, **options}
        return Request(source, tmp_path / out, **options)

    return ask


@pytest.fixture
def opendp() -> None:
    """Skip where the extra `release` is not installed."""
    pytest.importorskip("opendp", reason="needs the extra release (OpenDP)")


def with_ledger(source: Path, *words: str) -> list[str]:
    """Return words of a command line with a ledger, which a release needs."""
    needed = "release" in words and "--ledger" not in words
    return [*words, *(["--ledger", str(source.parent / LEDGER)] if needed else [])]


def files(folder: Path) -> set[str]:
    """Return the names of what lies in a folder, locks apart."""
    return {path.name for path in folder.iterdir() if not path.name.endswith(".lock")}
