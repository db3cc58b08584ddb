"""Venue counts at the size of Gowalla and of the Checkin data of the papers: CPU time, memory, growth."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from tests.benchmarks._figure import Figure
from tests.benchmarks._measuring import usage_of

GOWALLA = (196_591, 1_280_969, 2_175, 6_442_890 / 1_280_969)
"""Rows, columns, largest row, mean count (check-ins are taken as distinct visits)."""
QUARTER = (49_148, 320_242, 2_175, GOWALLA[3])
CHECKIN = (196_591, 5_977_758, 2_175, 1.08)
METHODS = {
    "lpa": "LaplaceCounts(epsilon=0.69, cap=20)",
    "gs": "GroupingSmoothing(epsilon=0.69, cap=20)",
    "dpsense": "DPSense(epsilon=0.69)",
}


def measure() -> Iterator[Figure]:
    """Publish each shape in a process of its own; the table is drawn before the clock starts."""
    gowalla, peak_mb = _published(GOWALLA, METHODS)
    for method in METHODS:
        yield Figure(f"counts_gowalla_{method}_s", gowalla[method], at_most=20.0)
    yield Figure("counts_gowalla_mb", peak_mb, at_most=2000.0, note="all three in one process")
    checkin, peak_mb = _published(CHECKIN, ["gs"])
    yield Figure("counts_checkin_gs_s", checkin["gs"], at_most=60.0)
    yield Figure("counts_checkin_mb", peak_mb)
    quarter, _ = _published(QUARTER, METHODS)
    for method in METHODS:  # four times the rows, columns and visits: near-linear is about four times the cost
        yield Figure(f"counts_{method}_growth_for_4x", gowalla[method] / quarter[method], at_most=6.0)


def _published(shape: tuple[int, int, int, float], methods: Iterable[str]) -> tuple[dict[str, float], float]:
    """Return CPU seconds of each publication alone, and the peak memory of the whole process (with the table)."""
    calls = ", ".join(f"{name!r}: {METHODS[name]}" for name in methods)
    code = f"""
import json, time
import numpy as np
from geodp.curator.publications.dpsense import DPSense
from geodp.curator.publications.grouping_smoothing import GroupingSmoothing
from geodp.curator.publications.laplace_counts import LaplaceCounts
from geodp.privacy.noise import SimulatedNoise
from geodp.visits.data_shapes import Shape, shaped_table
table = shaped_table(Shape(*{shape!r}), np.random.default_rng(0))
spent = {{}}
for name, method in {{{calls}}}.items():
    started = time.process_time()
    released = method.release(table, SimulatedNoise(np.random.default_rng(1)))
    spent[name] = time.process_time() - started
    assert released.count.size == {shape[1]}
print(json.dumps(spent))
"""
    used = usage_of(["-c", code])
    return json.loads(used.output.strip().splitlines()[-1]), used.peak_mb
