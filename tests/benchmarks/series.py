"""Counts over time: 192 releases of 400 cells for 100,000 people, long series of many cells, and leakage over time.

Everyone has a home and a workplace and goes there and back at times of their own; one in a hundred is somewhere else in
every release. Figures are of the series alone: the snapshots are made before.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.curator.mechanisms import Mechanism, Snapshot
from geodp.errors import UsageError
from geodp.geometry import Region
from geodp.metrics.temporal_leakage import measure_leakage
from geodp.privacy.noise import Noise, SimulatedNoise
from geodp.registry import plugin
from tests.benchmarks._figure import Figure
from tests.benchmarks._measuring import cpu_s, usage_of

REGION = Region(-122.5, 37.6, -122.318, 37.744)
"""16 km wide and high."""
PEOPLE, SERIES_S, PEAK_MB, LONG_S = 100_000, 5.0, 1_000.0, 60.0
PLACES, STEPS, LEAKAGE_S = 400, 200, 10.0
SHAPES = {"day": (192, 20), "long": (1_000, 100)}
"""Releases, and cells per side."""
SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "tree_stays": ("tree_counts", {"epsilon": 2.0}),
    "tree_cap_3": ("tree_counts", {"epsilon": 2.0, "cap": 3}),
    "tree_plain": ("tree_counts", {"epsilon": 2.0, "cap": 3, "variant": "plain"}),
    "bd": ("w_event_counts", {"epsilon": 2.0, "window": 24}),
    "ba": ("w_event_counts", {"epsilon": 2.0, "window": 24, "scheme": "ba"}),
    "pegasus": ("pegasus", {"epsilon": 2.0 / 24}),
    "kalman_fixed": ("kalman_counts", {"epsilon": 0.25, "measure_every": 24}),
    "pid": ("kalman_counts", {"epsilon": 2.0, "sampling": "pid", "samples": 8}),
}


def measure() -> Iterator[Figure]:
    """Make every series in a process of its own: time of the series, and the most memory of the process."""
    for name in SETTINGS:
        used = usage_of(["-m", "tests.benchmarks.series", name, "day", "simulate"])
        yield Figure(f"series_{name}_s", float(used.output), at_most=SERIES_S)
        yield Figure(f"series_{name}_peak_mb", used.peak_mb, at_most=PEAK_MB)
    for name in ("tree_stays", "tree_cap_3", "bd"):
        used = usage_of(["-m", "tests.benchmarks.series", name, "long", "simulate"])
        yield Figure(f"series_10000_cells_1000_releases_{name}_s", float(used.output), at_most=LONG_S)
    yield from _released()
    yield from _leakage()


def _leakage() -> Iterator[Figure]:
    """Measure what 200 releases tell together about someone who moves among 400 places: at random, and step by step."""
    rng = np.random.default_rng(0)
    for name, chain in (("random", rng.dirichlet(np.ones(PLACES), PLACES)), ("neighbours", _walk())):
        spent, leakage = cpu_s(partial(measure_leakage, chain, [0.1] * STEPS))
        note = f"{leakage.max():.3g} of at most {0.1 * STEPS:.3g}"
        yield Figure(f"temporal_leakage_{name}_{PLACES}_states_{STEPS}_steps_s", spent, at_most=LEAKAGE_S, note=note)


def _walk() -> npt.NDArray[np.float64]:
    """Return the chances of someone who stays six times in ten, and else goes to a neighbouring place of a square."""
    column, row = np.divmod(np.arange(PLACES), round(PLACES**0.5))
    away = np.maximum(abs(column[:, None] - column), abs(row[:, None] - row))
    near = np.asarray(away == 1, dtype=np.float64)
    chain: npt.NDArray[np.float64] = 0.6 * np.eye(PLACES) + 0.4 * near / near.sum(axis=1, keepdims=True)
    return chain


def _released() -> Iterator[Figure]:
    """Make series with noise that may be released, which has no target."""
    try:
        from geodp.privacy.release_noise import ReleaseNoise

        ReleaseNoise()
    except UsageError:
        yield Figure("series_release_s", None, note="OpenDP is not installed")
        return
    for name in ("tree_cap_3", "bd", "pegasus", "pid"):
        used = usage_of(["-m", "tests.benchmarks.series", name, "day", "release"])
        yield Figure(f"series_release_{name}_s", float(used.output))


def draw_day(releases: int, people: int = PEOPLE, seed: int = 0) -> Iterator[Snapshot]:
    """Return where everyone is in each of the releases of sixteen hours."""
    rng = np.random.default_rng(seed)
    west, south, east, north = REGION.box_m
    home = rng.uniform((west, south), (east, north), (people, 2))
    work = np.clip(rng.normal(0.0, 1500.0, (people, 2)), (west, south), (east, north))
    leaves = rng.normal(0.2, 0.05, people) * releases
    returns = rng.normal(0.7, 0.08, people) * releases
    for number in range(releases):
        at_work = (leaves <= number) & (number < returns)
        place = np.where(at_work[:, None], work, home)
        astray = rng.choice(people, people // 100, replace=False)
        place[astray] = rng.uniform((west, south), (east, north), (astray.size, 2))
        yield Snapshot(
            57_600.0 * number / releases,
            place[:, 0],
            place[:, 1],
            REGION,
            expected_workers=float(people),
            who=np.arange(people),
        )


def series_s(mechanism: Mechanism, releases: int, day: Iterator[Snapshot], noise: Noise) -> float:
    """Return the CPU seconds of a whole series, without those in which the snapshots were made."""
    series, spent = mechanism.begin_series(releases), 0.0
    for snapshot in day:
        started = time.process_time()
        series.release(snapshot, noise)
        spent += time.process_time() - started
    return spent


def main(words: Sequence[str]) -> None:
    """Print the CPU seconds of one series."""
    name, shape, mode = words
    releases, per_side = SHAPES[shape]
    kind, fields = SETTINGS[name]
    cells = {"kind": "uniform_grid", "cell_m": REGION.width_m / per_side * 1.0001}
    mechanism: Mechanism = plugin(kind, cells=cells, **fields)
    if mode == "release":
        from geodp.privacy.release_noise import ReleaseNoise

        source: Noise = ReleaseNoise()
    else:
        source = SimulatedNoise(np.random.default_rng(1))
    print(series_s(mechanism, releases, draw_day(releases), source))


if __name__ == "__main__":
    main(sys.argv[1:])
