"""Exact radii of 100,000 tasks at once, against one `scipy.optimize.brentq` per task."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import expm1, log1p, pi, tanh

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq

from geodp.geometry import Array
from geodp.public.acceptance.tanh_reward import TanhReward
from geodp.server.assignment.reward_radius import solve_printed_radius_m
from tests.benchmarks._figure import Figure
from tests.benchmarks._measuring import best_cpu_s, cpu_s

TASKS = 100_000
ONE_BY_ONE = {"printed": 3_000, "poisson": 300}
CEILING = 0.25
AGREE = 1e-8


def measure() -> Iterator[Figure]:
    """Solve both models for densities of 1 to 1000 per km² and pulls of 10 m to 10 km, evenly in the logarithm."""
    rng = np.random.default_rng(0)
    density_per_m2 = 10 ** rng.uniform(-6, -3, TASKS)
    pull_m = 10 ** rng.uniform(1, 4, TASKS)
    need_m2 = -np.log1p(-rng.uniform(0.8, 0.99, TASKS)) / density_per_m2
    willing = TanhReward(ceiling=CEILING, metres_per_reward=1.0, max_travel_m=1e9, minimum_reward=0.0)
    yield from _compared(
        "printed", lambda: solve_printed_radius_m(3 * pull_m, need_m2 / pi), _printed_one, 3 * pull_m, need_m2 / pi
    )
    yield from _compared(
        "poisson", lambda: willing.radius_for(pull_m, need_m2), _poisson_one, pull_m, need_m2 / (pi * CEILING)
    )


def _compared(
    model: str, ours: Callable[[], Array], one: Callable[[float, float], float], k: Array, load: Array
) -> Iterator[Figure]:
    ours()  # builds the table, once per process
    [spent] = best_cpu_s(ours, repeats=5)
    tasks = ONE_BY_ONE[model]
    yardstick, solved = cpu_s(
        lambda: [one(*task) for task in zip(k[:tasks].tolist(), load[:tasks].tolist(), strict=True)]
    )
    difference = float(np.max(np.abs(ours()[:tasks] / np.array(solved) - 1)))
    scaled = yardstick * TASKS / tasks
    yield Figure(f"radius_{model}_100000_s", spent, against="brentq", yardstick=scaled, at_least=50)
    yield Figure(f"radius_{model}_worst_difference", difference, at_most=AGREE)


def _printed_one(k: float, load: float) -> float:
    """Solve r² ln((e^(k/r) + 1)/2) = A, the book's (13.13), inside its bracket [A/k, 2A/k]."""

    def excess(radius: float) -> float:
        u = k / radius
        return radius * radius * (u + log1p(0.5 * expm1(-u))) - load

    return float(brentq(excess, load / k * (1 - 1e-9), 2 * load / k * (1 + 1e-9)))


def _poisson_one(pull: float, load: float) -> float:
    """Solve ∫ 2s tanh(cw/s) ds = A; tanh <= 1 and tanh(cw/s) >= cw/(cw + s) put the root in a bracket."""

    def excess(radius: float) -> float:
        return float(quad(lambda s: 2 * s * tanh(pull / s), 0.0, radius, epsrel=1e-11, epsabs=0.0, limit=200)[0]) - load

    low = load**0.5
    return float(brentq(excess, low * (1 - 1e-9), 2 * low + 2 * load / pull))
