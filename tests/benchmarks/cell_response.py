"""A million phones answer in which of 10,000 cells they are, and the server counts; and the bound of a shuffler."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from geodp.device.cell_response import CellResponse
from geodp.errors import UsageError
from geodp.geometry import Array, Region
from geodp.privacy.noise import noise_source
from geodp.privacy.shuffling import amplify_by_shuffling
from geodp.public.cell_laws import PROTOCOLS
from geodp.server.cells_from_reports import cells_from_reports
from tests.benchmarks._figure import Figure
from tests.benchmarks._measuring import cpu_s

PEOPLE = 1_000_000
REGION = Region(10.0, 50.0, 10.98, 50.6305)
"""70 km × 70 km: 10,000 cells of 700 m."""
RELEASED = 2_000


def measure() -> Iterator[Figure]:
    """Time all phones and the server together, and single reports of release mode."""
    x_m, y_m = REGION.sample(PEOPLE, np.random.default_rng(1))
    for protocol in PROTOCOLS:
        device = _device(protocol)

        def run(device: CellResponse = device) -> int:
            told = device.respond(x_m, y_m, rng=np.random.default_rng(2), region=REGION)
            return int(cells_from_reports(told).count.size)

        spent, cells = cpu_s(run)
        note = f"{cells:,} cells"
        yield Figure(f"cell_response_{protocol}_1000000_s", spent, at_most=10.0, note=note)
    yield from _released(x_m[:RELEASED], y_m[:RELEASED])
    spent, _ = cpu_s(lambda: amplify_by_shuffling(1.0, reports=PEOPLE, delta=1e-6))
    yield Figure("shuffling_bound_1000000_s", spent)


def _device(protocol: str) -> CellResponse:
    return CellResponse.model_validate({"protocol": protocol})


def _released(x_m: Array, y_m: Array) -> Iterator[Figure]:
    """Draw releasable answers; there is nothing to compare them with."""
    for protocol in ("grr", "olh", "hr"):
        key = f"cell_response_{protocol}_release_us_per_report"
        try:
            noise = noise_source("release")
        except UsageError:
            yield Figure(key, None, note="OpenDP is not installed")
            continue
        device = _device(protocol)
        spent, _ = cpu_s(lambda device=device, noise=noise: device.respond(x_m, y_m, rng=noise, region=REGION))  # type: ignore[misc]
        yield Figure(key, spent / RELEASED * 1e6)
