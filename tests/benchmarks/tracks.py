"""Tracks in and out: files of as many fixes as published sets hold, generated trips, and scores of published ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from geodp.geometry import Region
from geodp.run_folder.trip_scores import SCORES, memorisation
from geodp.tables.trajectories.generated_trips import BRINKHOFF_TRIPS, TAXI_TRIPS, generate_trips
from geodp.tables.trajectories.table import Trajectories
from tests.benchmarks._figure import Figure
from tests.benchmarks._measuring import cpu_s, scratch_folder, usage_of

TOWN = Region(-8.70, 41.10, -8.55, 41.20)
TAXIS, FIXES_PER_TAXI = 10_357, 1_450
"""As many as T-Drive: 10,357 files, 15 million fixes."""


def measure() -> Iterator[Figure]:
    """Generate, score, and convert a week of taxis as T-Drive publishes them."""
    for name, sizes in (("taxi", TAXI_TRIPS), ("brinkhoff", BRINKHOFF_TRIPS)):
        spent, trips = cpu_s(lambda sizes=sizes: generate_trips(sizes, TOWN, np.random.default_rng(1)))  # type: ignore[misc]
        yield Figure(f"tracks_generated_{name}_s", spent, note=f"{trips.points:,} points")
        yield Figure(f"tracks_scored_{name}_s", _scored(trips), note="all scores and memorisation")
    yield from _converted()


def _scored(trips: Trajectories) -> float:
    half = np.random.default_rng(0).random(trips.size) < 0.5
    real, made = trips.select(half), trips.select(~half)
    spent = sum(cpu_s(lambda score=score: score(real, made, TOWN))[0] for score in SCORES.values())  # type: ignore[misc]
    return spent + cpu_s(lambda: memorisation(real, made))[0]


def _converted() -> Iterator[Figure]:
    folder = scratch_folder() / "tdrive"
    folder.mkdir()
    rng = np.random.default_rng(2)
    seconds = 1_201_910_400 + np.arange(FIXES_PER_TAXI) * 400
    times = np.char.replace(np.datetime_as_string(seconds.astype("datetime64[s]")), "T", " ")
    for taxi in range(TAXIS):
        east, north = np.cumsum(rng.normal(0, 0.003, (2, FIXES_PER_TAXI)), axis=1)
        rows = zip(times.tolist(), east.tolist(), north.tolist(), strict=True)
        text = "".join(f"{taxi},{time},{116.4 + x:.5f},{39.9 + y:.5f}\n" for time, x, y in rows)
        (folder / f"{taxi}.txt").write_text(text, encoding="utf-8")
    out = str(scratch_folder() / "converted")
    used = usage_of(["-m", "geodp", "datasets", "convert", str(folder), "--format", "tdrive", "--out", out])
    points = TAXIS * FIXES_PER_TAXI
    yield Figure("tracks_tdrive_convert_s", used.cpu_s, note=f"{points:,} fixes in {TAXIS:,} files")
    yield Figure("tracks_tdrive_convert_mb", used.peak_mb, at_most=4000.0)
