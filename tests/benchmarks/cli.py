"""The command line answers at once: `--help` and `list` stay clear of heavy imports."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.benchmarks._figure import Figure
from tests.benchmarks._measuring import usage_of

HEAVY = ("numpy", "pandas", "scipy", "geopandas")
REPEATS = 5


def measure() -> Iterator[Figure]:
    """Time `geodp --help` and `geodp list`, best of five."""
    yield Figure("cli_help_cpu_s", _best("--help"), at_most=0.5)
    trace = usage_of(["-X", "importtime", "-m", "geodp", "--help"]).output
    imported = set(re.findall(r"^import time:.*\|\s+(\w+)$", trace, flags=re.MULTILINE))
    yield Figure("cli_help_heavy_imports", float(len(imported.intersection(HEAVY))), at_most=0)
    yield Figure("cli_list_cpu_s", _best("list"), at_most=1.1)


def _best(command: str) -> float:
    return min(usage_of(["-m", "geodp", command]).cpu_s for _ in range(REPEATS))
