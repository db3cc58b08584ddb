"""`geodp publish counts` on a csv longer than anyone opens: CPU time and memory of the whole command.

Half a gigabyte by default; `GEODP_BENCHMARK_GB=5` writes one of five (22 million visits each half). Nearly all visits
differ, which is the hardest case: repeated ones are thrown out along the way. The yardstick counts distinct users with
pandas, exactly and without a cap: what a data owner would write without geodp.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tests.benchmarks._figure import Figure
from tests.benchmarks._measuring import scratch_folder, usage_of

USERS = VENUES = 1_000_000
_LINE = 23  # bytes: `u00586288,v00000092765` and the end of the line
_AT_ONCE = 2_000_000
_PANDAS = """
import sys
import pandas as pd
visits = pd.read_csv(sys.argv[1], dtype=str, engine="pyarrow")
print(len(visits.drop_duplicates()["venue"].value_counts()))
"""


def measure() -> Iterator[Figure]:
    """Publish two files, one four times as long as the other; pandas counts the longer one if it is of usual length."""
    size = float(os.environ.get("GEODP_BENCHMARK_GB", "0.5")) * 1e9
    rows = {name: int(size * part) // _LINE for name, part in (("quarter", 0.25), ("whole", 1.0))}
    venues = _venues()
    spent = {}
    for name, number in rows.items():
        visits = _visits(number)
        out = visits.with_suffix(".out.csv")
        command = ["publish", "counts", str(visits), "--venues", str(venues), "--epsilon", "0.69", "--cap", "20"]
        used = usage_of(["-m", "geodp", *command, "--seed", "1", "--out", str(out)])
        spent[name] = used.cpu_s
        if name == "whole":
            plain = usage_of(["-c", _PANDAS, str(visits)]) if size <= 1e9 else None
            note = f"{number:,} visits, {visits.stat().st_size / 1e9:.2f} GB"
            yardstick = None if plain is None else plain.cpu_s
            yield Figure("long_csv_s", used.cpu_s, against="pandas_exact_counts", yardstick=yardstick, note=note)
            yardstick = None if plain is None else plain.peak_mb
            yield Figure("long_csv_mb", used.peak_mb, against="pandas_exact_counts", yardstick=yardstick)
            yield Figure("long_csv_visits_per_s", number / used.cpu_s, better="more")
        visits.unlink()
    yield Figure("long_csv_growth_for_4x", spent["whole"] / spent["quarter"], at_most=6.0)


def _venues() -> Path:
    path = scratch_folder() / "long_csv_venues.csv"
    with path.open("w", encoding="utf-8") as file:
        file.write("venue\n")
        file.writelines(f"v{number:011d}\n" for number in range(VENUES))
    return path


def _visits(rows: int) -> Path:
    """Write visits of people some of whom go out far more than others, to places some of which are far more liked."""
    path = scratch_folder() / f"long_csv_{rows}.csv"
    rng = np.random.default_rng(5)
    with path.open("wb") as file:
        file.write(b"user,venue\n")
        for begin in range(0, rows, _AT_ONCE):
            number = min(_AT_ONCE, rows - begin)
            lines = np.empty((number, _LINE), dtype=np.uint8)
            lines[:, [0, 9, 10, 22]] = np.frombuffer(b"u,v\n", dtype=np.uint8)
            lines[:, 1:9] = _digits(USERS * rng.beta(0.8, 1.6, number), 8)
            lines[:, 11:22] = _digits(VENUES * rng.random(number) ** 2.5, 11)
            file.write(lines.tobytes())
    return path


def _digits(numbers: npt.NDArray[np.float64], width: int) -> npt.NDArray[np.uint8]:
    places = 10 ** np.arange(width - 1, -1, -1)
    return (numbers.astype(np.int64)[:, None] // places % 10 + ord("0")).astype(np.uint8)
