"""Synthetic trips at ε = 1 for one trip: scores, CPU time and memory, on generated trips of two much used sizes.

The targets are figures measured with another synthesiser on real taxi trips and on Brinkhoff's trips of these sizes;
the data here are generated, so they are a mark to reach and no comparison. What is compared in the same run, on the
same data and at the same ε, is the chain on one grid (`grid_markov`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from geodp.curator.publications.synthetic_trips import SyntheticTrips
from geodp.geometry import Region
from geodp.privacy.noise import SimulatedNoise
from geodp.registry import plugin
from geodp.run_folder.trip_scores import SCORES
from geodp.tables.trajectories.generated_trips import BRINKHOFF_TRIPS, TAXI_TRIPS, generate_trips
from geodp.tables.trajectories.table import Trajectories
from tests.benchmarks._figure import Figure
from tests.benchmarks._measuring import best_cpu_s, cpu_s, scratch_folder, usage_of
from tests.tables.trajectories.hand_made import save_trajectories

CITY = Region(-0.07, -0.07, 0.07, 0.07)
SETS = {"taxi": TAXI_TRIPS, "brinkhoff": BRINKHOFF_TRIPS}
PUBLISHED = {
    "taxi": {
        "density_jsd": 0.045,
        "query_are_pts": 0.244,
        "trip_jsd": 0.024,
        "diameter_jsd": 0.008,
        "length_jsd": 0.017,
        "pattern_f1": 0.85,
        "kendall_tau": 0.71,
    },
    "brinkhoff": {
        "density_jsd": 0.126,
        "query_are_pts": 0.476,
        "trip_jsd": 0.040,
        "diameter_jsd": 0.029,
        "length_jsd": 0.050,
        "pattern_f1": 0.75,
        "kendall_tau": 0.72,
    },
}
MORE_IS_BETTER = {"pattern_f1", "kendall_tau"}
SLACK = 1.3
MOST_CPU_S = {"taxi": 23 / 5, "brinkhoff": 11 / 5}
MOST_MB = {"taxi": 665 / 2, "brinkhoff": 1000 / 2}
SEEDS = 3
_COMMAND = """
import re, sys
from geodp.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit as done:
    if done.code:
        raise
print(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
"""


def measure() -> Iterator[Figure]:
    """Score, time and weigh both sets, then grow the data to ten million points."""
    for name, sizes in SETS.items():
        real = generate_trips(sizes, CITY, np.random.default_rng(1))
        yield from _scores(name, real)
        yield from _costs(name, real)
    yield from _growth()


def _scores(name: str, real: Trajectories) -> Iterator[Figure]:
    ours, chain = _mean_scores(real, "synthetic_trips"), _mean_scores(real, "grid_markov")
    of_person = _mean_scores(real, "synthetic_trips", unit="person")
    won = 0
    for key, mark in PUBLISHED[name].items():
        more = key in MORE_IS_BETTER
        won += ours[key] >= mark if more else ours[key] <= mark
        least, most = (mark / SLACK, None) if more else (None, mark * SLACK)
        better: Literal["less", "more"] = "more" if more else "less"
        yield Figure(f"trajectories_{name}_{key}", ours[key], better, at_least=least, at_most=most)
        yield Figure(
            f"trajectories_{name}_{key}_one_run",
            ours[key],
            better,
            "grid_markov",
            chain[key],
            note="same data, same ε",
        )
        yield Figure(f"trajectories_{name}_{key}_person", of_person[key], note="ε = 1 for a person, 10 trips each")
    yield Figure(f"trajectories_{name}_better_of_7", won, "more", at_least=5)
    yield Figure(f"trajectories_{name}_path_length_ratio", ours["path_length_ratio"], at_least=0.9, at_most=1.1)


def _mean_scores(real: Trajectories, kind: str, unit: str = "trajectory") -> dict[str, float]:
    publication = plugin(kind, "publication", unit=unit)
    found: dict[str, list[float]] = {key: [] for key in SCORES}
    for seed in range(SEEDS):
        synthetic = publication.release(real, CITY, SimulatedNoise(np.random.default_rng(seed)))
        for key, score in SCORES.items():
            found[key].append(score(real, synthetic, CITY) or 0.0)
    return {key: float(np.mean(values)) for key, values in found.items()}


def _costs(name: str, real: Trajectories) -> Iterator[Figure]:
    (seconds,) = best_cpu_s(lambda: _publish(real))
    yield Figure(f"trajectories_{name}_cpu_s", seconds, at_most=MOST_CPU_S[name])
    folder = scratch_folder()
    source, out = folder / f"{name}.parquet", folder / f"{name}-synthetic.parquet"
    save_trajectories(source, real, CITY)
    box = f"--region={CITY.west},{CITY.south},{CITY.east},{CITY.north}"
    words = ["publish", "trajectories", str(source), "--out", str(out), "--epsilon", "1", box, "--unit", "trajectory"]
    used = usage_of(["-c", _COMMAND, *words])
    # The peak that the system counts for a child begins with its parent's; the child's own is the last word it says.
    peak_mb = float(used.output.split()[-1]) * 1024 / 1e6
    yield Figure(f"trajectories_{name}_command_peak_mb", peak_mb, at_most=MOST_MB[name])
    yield Figure(f"trajectories_{name}_command_cpu_s", used.cpu_s, note="start, reading and writing included")


def _growth() -> Iterator[Figure]:
    """Publish a million points and ten million: cost per point must not grow."""
    real = generate_trips(TAXI_TRIPS, CITY, np.random.default_rng(1))
    per_point = {}
    for millions in (1, 10):
        grown = _repeated(real, round(millions * 1e6 / real.points))
        seconds, _ = cpu_s(lambda grown=grown: _publish(grown))  # type: ignore[misc]
        per_point[millions] = seconds / grown.points
        yield Figure(f"trajectories_{millions}_million_points_cpu_s", seconds)
    yield Figure("trajectories_cost_per_point_10_over_1_million", per_point[10] / per_point[1], at_most=1.5)


def _repeated(real: Trajectories, times: int) -> Trajectories:
    first = np.append(0, np.cumsum(np.tile(real.counts, times)))
    time_s, x_m, y_m = (np.tile(values, times) for values in (real.time_s, real.x_m, real.y_m))
    return Trajectories(real.people, first, np.tile(real.person, times), time_s, x_m, y_m)


def _publish(real: Trajectories) -> Trajectories:
    noise = SimulatedNoise(np.random.default_rng(0))
    return SyntheticTrips(unit="trajectory").release(real, CITY, noise)
