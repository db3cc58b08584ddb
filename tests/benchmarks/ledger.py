"""A million charges: recorded, refused when they do not fit, and summed per person."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from geodp.privacy.ledger import Account, Ledger
from geodp.public.guarantee import Guarantee
from tests.benchmarks._figure import Figure
from tests.benchmarks._measuring import cpu_s

CHARGES = 1_000_000
PEOPLE = 100_000
BATCHES = 100
REPORT = Guarantee.per_metre(0.006931471805599453)


def measure() -> Iterator[Figure]:
    """Charge 10,000 people a hundred times, with a budget for ever, per day and in any hour."""
    rng = np.random.default_rng(0)
    batches = rng.integers(0, PEOPLE, (BATCHES, CHARGES // BATCHES))
    for name, ledger in (
        ("run", Ledger(1.0)),
        ("day", Ledger(1.0, per="day")),
        ("window", Ledger(1.0, window_s=3600.0)),
    ):
        spent, total = cpu_s(lambda ledger=ledger: _charge(ledger, batches))  # type: ignore[misc]
        if abs(total - CHARGES * REPORT.epsilon) > 1e-6 * total:
            raise RuntimeError(f"the ledger holds {total}, not {CHARGES} charges")
        yield Figure(f"ledger_1000000_charges_per_{name}_s", spent, at_most=2.0)


def _charge(ledger: Ledger, batches: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> float:
    for number, who in enumerate(batches):
        ledger.charge(REPORT, time_s=600.0 * number, mechanism="planar_geometric", who=who)
    return float(ledger.per_person(Account.METRIC).sum())
