"""EpicRec on a catalogue of the size of MovieLens: calibration, one person's report, and everybody's on two cores."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np

from geodp.device.category_counts import calibrate_scales, load
from geodp.device.history_reports import Flags
from geodp.device.history_reports.epicrec import EpicRec
from geodp.tables.visits.catalogue import Catalogue
from tests.benchmarks._figure import Figure
from tests.benchmarks._measuring import best_cpu_s

ITEMS, PEOPLE, CORES = 4_000, 6_040, 2
SHARES = np.array([30, 28, 20, 15, 12, 11, 10, 8, 8, 6, 5, 5, 4, 4, 3, 3, 2, 2]) / 100
TYPICAL = 165
"""Items of a person on average, as in MovieLens."""


def measure() -> Iterator[Figure]:
    """Calibrate, then protect one history, then all of them."""
    catalogue = films()
    (calibration,) = best_cpu_s(lambda: calibrate_scales(catalogue.membership, 1.0))
    yield Figure("epicrec_calibration_4000x18_s", calibration, at_most=1.0)
    worst = float(load(catalogue.membership, calibrate_scales(catalogue.membership, 1.0)).max())
    yield Figure("epicrec_calibration_largest_load", worst, at_most=1.0, note="feasible in doubles")
    ours = _report_s(catalogue)
    yield Figure("epicrec_one_person_ms", 1000 * float(np.median(ours)), at_most=50.0)
    yield Figure("epicrec_slowest_person_ms", 1000 * float(np.max(ours)))
    with ProcessPoolExecutor(CORES, mp_context=get_context("spawn")) as pool:
        spent = list(pool.map(_many, np.array_split(np.arange(PEOPLE), CORES)))
    # CPU seconds of the busier of two processes: what the wall shows on a machine that does nothing else.
    yield Figure("epicrec_6040_people_2_cores_s", max(spent), at_most=300.0)


def films() -> Catalogue:
    """Return a public catalogue of the shape of MovieLens, with long-tailed popularity."""
    rng = np.random.default_rng(1)
    table = (rng.random((ITEMS, SHARES.size)) < SHARES).astype(float)
    bare = table.sum(axis=1) == 0
    table[bare, rng.integers(0, SHARES.size, bare.sum())] = 1
    return Catalogue(
        table, popularity=np.asarray((np.arange(ITEMS) + 10.0) ** -0.8, dtype=np.float64), typical_items=TYPICAL
    )


def history(catalogue: Catalogue, person: int) -> Flags:
    """Return a person's history: lognormal in length, popular items first."""
    rng = np.random.default_rng(person)
    share = catalogue.prior * rng.lognormal(-0.5, 1.0)
    return np.asarray(rng.random(ITEMS) < share)


def _report_s(catalogue: Catalogue) -> list[float]:
    device, found = EpicRec(epsilon=1.0), []
    device.protect(history(catalogue, 0), catalogue, rng=np.random.default_rng(0))  # the scales are shared by everyone
    for person in range(1, 41):
        owned = history(catalogue, person)
        started = time.process_time()
        device.protect(owned, catalogue, rng=np.random.default_rng(person))
        found.append(time.process_time() - started)
    return found


def _many(people: np.ndarray) -> float:
    started = time.process_time()
    catalogue, device = films(), EpicRec(epsilon=1.0)
    for person in people.tolist():
        device.protect(history(catalogue, person), catalogue, rng=np.random.default_rng(person))
    return time.process_time() - started
