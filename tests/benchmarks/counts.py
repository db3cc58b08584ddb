"""Venue counts: how far all methods are off; and CPU time, memory and growth at the size of Gowalla and Checkin.

Times are the least of a few, in turn, for some are so short that a busy spell would double them. The yardstick, in the
same process on the same table, is what one would write with numpy alone: count, and add Laplace noise, without a cap.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from tests.benchmarks._count_errors import measure_errors
from tests.benchmarks._figure import Figure
from tests.benchmarks._measuring import usage_of

GOWALLA = (196_591, 1_280_969, 2_175, 6_442_890 / 1_280_969)
"""Rows, columns, largest row, mean count (check-ins are taken as distinct visits)."""
QUARTER = (49_148, 320_242, 2_175, GOWALLA[3])
CHECKIN = (196_591, 5_977_758, 2_175, 1.08)
YARDSTICK = "numpy_counts_and_noise"
METHODS = {
    "lpa": "LaplaceCounts(epsilon=0.69, cap=20)",
    "gs": "GroupingSmoothing(epsilon=0.69, cap=20)",
    "dpsense": "DPSense(epsilon=0.69)",
}


def measure() -> Iterator[Figure]:
    """Publish each shape in a process of its own; the table is drawn before the clock starts."""
    yield from measure_errors()
    gowalla, peak_mb = _published(GOWALLA, METHODS)
    for method in METHODS:
        yield Figure(f"counts_gowalla_{method}_s", gowalla[method], at_most=20.0)
        yield Figure(
            f"counts_gowalla_{method}_beside_numpy_s", gowalla[method], against=YARDSTICK, yardstick=gowalla[YARDSTICK]
        )
    yield Figure("counts_gowalla_mb", peak_mb, at_most=2000.0, note="all three in one process")
    checkin, peak_mb = _published(CHECKIN, ["gs"], repeats=1)
    yield Figure("counts_checkin_gs_s", checkin["gs"], at_most=60.0)
    yield Figure("counts_checkin_mb", peak_mb)
    quarter, _ = _published(QUARTER, METHODS)
    for method in METHODS:  # four times the rows, columns and visits: near-linear is about four times the cost
        yield Figure(f"counts_{method}_growth_for_4x", gowalla[method] / quarter[method], at_most=6.0)


def _published(
    shape: tuple[int, int, int, float], methods: Iterable[str], repeats: int = 4
) -> tuple[dict[str, float], float]:
    """Return CPU seconds of each publication alone, and the peak memory of the whole process (with the table)."""
    calls = ", ".join(f"{name!r}: {METHODS[name]}" for name in methods)
    code = f"""
import json, re, time
from types import SimpleNamespace
import numpy as np
from geodp.curator.publications.dpsense import DPSense
from geodp.curator.publications.grouping_smoothing import GroupingSmoothing
from geodp.curator.publications.laplace_counts import LaplaceCounts
from geodp.privacy.noise import SimulatedNoise
from geodp.tables.visits.generated_visits import Shape, draw_shaped_table
table = draw_shaped_table(Shape(*{shape!r}), np.random.default_rng(0))
def plain(table, noise):
    count = np.bincount(table.venue, minlength=table.venues) + noise.rng.laplace(0.0, 20 / 0.69, table.venues)
    return SimpleNamespace(count=count)
works = {{name: method.release for name, method in {{{calls}}}.items()}} | {{{YARDSTICK!r}: plain}}
spent = {{name: float("inf") for name in works}}
for _ in range({repeats}):
    for name, release in works.items():
        started = time.process_time()
        released = release(table, SimulatedNoise(np.random.default_rng(1)))
        spent[name] = min(spent[name], time.process_time() - started)
        assert released.count.size == {shape[1]}
# The peak that the system counts for a child begins with its parent's: this is the process's own.
peak_kib = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
print(json.dumps([spent, peak_kib * 1024 / 1e6]))
"""
    spent, peak_mb = json.loads(usage_of(["-c", code]).output.strip().splitlines()[-1])
    return spent, peak_mb
