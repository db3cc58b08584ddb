"""Venue counts at the size of Gowalla and of the Checkin data of the papers: CPU time, memory, growth."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

from tests.benchmarks._figure import Figure
from tests.benchmarks._measuring import usage_of

GOWALLA = (196_591, 1_280_969, 2_175, 6_442_890 / 1_280_969)
"""Rows, columns, largest row, mean count (entries are check-ins, taken as distinct)."""
CHECKIN = (196_591, 5_977_758, 2_175, 1.08)
METHODS = {
    "lpa": "LaplaceCounts(epsilon=0.69, cap=20)",
    "gs": "GroupingSmoothing(epsilon=0.69, cap=20)",
    "dpsense": "DPSense(epsilon=0.69)",
}


def measure() -> Iterator[Figure]:
    """Publish each shape with each method, in a process of its own; the table is drawn before the clock starts."""
    for method in METHODS:
        seconds, peak_mb = _published("gowalla", GOWALLA, method)
        yield Figure(f"counts_gowalla_{method}_s", seconds, at_most=20.0)
        yield Figure(f"counts_gowalla_{method}_mb", peak_mb, at_most=2000.0)
    seconds, peak_mb = _published("checkin", CHECKIN, "gs")
    yield Figure("counts_checkin_gs_s", seconds, at_most=60.0)
    yield Figure("counts_checkin_gs_mb", peak_mb)
    yield from _growth()


def _growth() -> Iterator[Figure]:
    """Four times the rows and columns: near-linear cost is about four times as much."""
    small = _published("quarter", (49_148, 320_242, 2_175, GOWALLA[3]), "gs")[0]
    whole = _published("whole", GOWALLA, "gs")[0]
    yield Figure("counts_gs_growth_for_4x", whole / small, at_most=6.0)


def _published(name: str, shape: tuple[int, int, int, float], method: str) -> tuple[float, float]:
    """Return CPU seconds of the publication alone, and the peak memory of the whole process."""
    code = f"""
import json, time
import numpy as np
from geodp.curator.publications.dpsense import DPSense
from geodp.curator.publications.grouping_smoothing import GroupingSmoothing
from geodp.curator.publications.laplace_counts import LaplaceCounts
from geodp.privacy.noise import SimulatedNoise
from geodp.visits.data_shapes import Shape, shaped_table
table = shaped_table(Shape(*{shape!r}), np.random.default_rng(0))
started = time.process_time()
released = {METHODS[method]}.release(table, SimulatedNoise(np.random.default_rng(1)))
print(json.dumps({{"cpu_s": time.process_time() - started, "venues": released.count.size}}))
"""
    used = usage_of(["-c", code])
    told = json.loads(used.output.strip().splitlines()[-1])
    if told["venues"] != shape[1]:
        raise RuntimeError(f"{name}: {told['venues']} counts for {shape[1]} venues")
    return float(told["cpu_s"]), used.peak_mb


if __name__ == "__main__":
    for figure in measure():
        sys.stdout.write(figure.line() + "\n")
