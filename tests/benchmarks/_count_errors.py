"""Mean errors of all publications of counts, side by side: which of them is nearest to the truth, and how often.

The sets are those of `tests/visits/judged_sets.py` (ten generated ones, and real ones where GEODP_DATA names a folder),
at three ε and three caps; every number is the mean over two seeds of |published - true count|, over all venues.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks._figure import Figure

METHODS: dict[str, dict[str, Any]] = {
    "grouping_smoothing_geodp": {"kind": "grouping_smoothing", "variant": "geodp"},
    "grouping_smoothing": {"kind": "grouping_smoothing"},
    "fourier_counts": {"kind": "fourier_counts"},
    "dpsense": {"kind": "dpsense"},
    "dpsense_max_theta_200": {"kind": "dpsense", "max_theta": 200},
    "laplace_counts": {"kind": "laplace_counts"},
    "uniform": {"kind": "uniform"},
    "zeros": {"kind": "zeros"},
}
BASELINES = ("uniform", "zeros")
"""They tell no venue from another, so they are no candidates for a default."""
EPSILONS, CAPS, SEEDS = (0.1, 0.69, 2.0), (10, 20, 50), (1, 2)
SHOWN = (0.69, 20)


def measure_errors() -> Iterator[Figure]:
    """Yield the errors at one setting, then how often each method is the nearest, and how far from the nearest."""
    won: Counter[str] = Counter()
    beside_best: dict[str, list[float]] = {name: [] for name in METHODS}
    for data, sets in _sets():
        for epsilon in EPSILONS:
            for cap in CAPS:
                errors = {name: _error(sets, fields, epsilon, cap) for name, fields in METHODS.items()}
                candidates = {name: error for name, error in errors.items() if name not in BASELINES}
                won[min(candidates, key=lambda name: candidates[name])] += 1
                for name, error in errors.items():
                    beside_best[name].append(error / min(candidates.values()))
                    if (epsilon, cap) == SHOWN:
                        yield Figure(f"counts_error_{data}_{name}", error)
    for name, ratios in beside_best.items():
        yield Figure(f"counts_error_beside_nearest_{name}", float(np.exp(np.mean(np.log(ratios)))))
        if name not in BASELINES:
            yield Figure(f"counts_nearest_{name}", won[name], better="more", note=f"of {won.total()}")


def _sets() -> Iterator[tuple[str, Any]]:
    from tests.tables.visits.judged_sets import REAL, judged_sets, real_set

    yield from judged_sets()
    if "GEODP_DATA" in os.environ:
        yield from ((name, real_set(name, Path(os.environ["GEODP_DATA"]))) for name in REAL)


def _error(sets: Any, fields: dict[str, Any], epsilon: float, cap: int) -> float:
    from geodp.privacy.noise import SimulatedNoise
    from geodp.registry import plugin, plugins

    known = plugins("publication")[fields["kind"]].model_fields
    public = {name: value for name, value in (("epsilon", epsilon), ("cap", cap)) if name in known}
    method: Any = plugin(fields["kind"], "publication", **{k: v for k, v in fields.items() if k != "kind"}, **public)
    released = [method.release(sets, SimulatedNoise(np.random.default_rng([41, seed]))) for seed in SEEDS]
    return float(np.mean([np.abs(told.count - sets.counts()).mean() for told in released]))
