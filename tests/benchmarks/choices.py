"""Which mechanism and assignment to take: what each combination asks at the same success, on worlds of different shape.

The figures behind the page on choosing. Of every combination: how many people are asked against the oracle without a
maximum number of recipients, when the target is moved until the true mean success is 0.9 (`uncapped`: what a release is
worth), and with the default cap at the target 0.9 (`capped`). How far winners travel is not measured here. Nothing was
chosen on these seeds (41 and 42), nor on the real positions, which are read where `GEODP_DATA` has them: the last
check-ins of Gowalla users in New York.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from geodp.curator.mechanisms import Mechanism
from geodp.geometry import Region
from geodp.public.acceptance.linear import Linear
from geodp.registry import plugin
from geodp.server.assignment import Assignment
from tests.benchmarks._figure import Figure
from tests.benchmarks._planning_worlds import TARGET, WORLDS, PlanningWorld, Realised, plan

SEEDS = (41, 42)
EPSILONS = (0.1, 0.4, 1.0)
KINDS = (
    "adaptive_grid",
    "privtree",
    "uniform_grid",
    "hierarchical_grid",
    "quadtree",
    "dawa",
    "dpcube",
    "kd_tree",
    "contour",
)
ASSIGNMENTS = ("geocast", "reward_radius")
TASKS = 150
NEW_YORK = Region(-74.03, 40.68, -73.90, 40.82)
_LOOKS = 5  # halvings of the target, on the scale ln(-ln(1 - target))


def measure() -> Iterator[Figure]:
    """Measure every combination on every world."""
    worlds: dict[str, list[PlanningWorld]] = {
        name: [make(seed, TASKS) for seed in SEEDS] for name, make in WORLDS.items()
    }
    real = list(_real_positions())
    worlds |= {"new_york": real} if real else {}
    for name, made in worlds.items():
        oracle = float(np.mean([world.oracle().mean() for world in made]))
        yield Figure(f"choice_{name}_oracle", oracle)
        for kind in KINDS:
            for epsilon in EPSILONS:
                for assignment in ASSIGNMENTS:
                    yield from _combination(name, made, kind, epsilon, assignment, oracle)


def _combination(
    name: str, worlds: list[PlanningWorld], kind: str, epsilon: float, assignment: str, oracle: float
) -> Iterator[Figure]:
    mechanism = _mechanism(kind, epsilon)
    key = f"choice_{name}_{kind}_{assignment}_eps_{epsilon:g}"
    capped = [plan(world, _assignment(assignment, TARGET, capped=True), mechanism, i) for i, world in enumerate(worlds)]
    success, asked = _means(capped)
    yield Figure(f"{key}_capped_asked_over_oracle", asked / oracle, note=f"success {success:.3f}")

    def uncapped(target: float) -> tuple[float, float]:
        rules = _assignment(assignment, target, capped=False)
        return _means([plan(world, rules, mechanism, i) for i, world in enumerate(worlds)])

    found = _at_success(uncapped)
    yield Figure(f"{key}_uncapped_asked_over_oracle", None if found is None else found / oracle)


def _mechanism(kind: str, epsilon: float) -> Mechanism:
    made = plugin(kind, "mechanism", epsilon=epsilon)
    assert isinstance(made, Mechanism)
    return made


def _assignment(kind: str, target: float, *, capped: bool) -> Assignment:
    settings = {"target_success": target} | ({} if capped else {"max_recipients": None})
    made = plugin(kind, "assignment", **settings, **({"reward": "uniform"} if kind == "reward_radius" else {}))
    assert isinstance(made, Assignment)
    return made


def _means(realised: list[Realised]) -> tuple[float, float]:
    return (
        float(np.mean([each.success.mean() for each in realised])),
        float(np.mean([each.asked.mean() for each in realised])),
    )


def _at_success(plan_for: Callable[[float], tuple[float, float]]) -> float | None:
    """Return how many are asked when the true mean success is the target's; None where no target reaches it."""
    low, high = np.log(-np.log1p(-0.5)), np.log(-np.log1p(-0.9999))
    tried = [(plan_for(_target(place)), place) for place in (low, high)]
    (below, _), (above, _) = tried
    if not below[0] <= TARGET <= above[0]:
        return None
    for _ in range(_LOOKS):
        middle = (low + high) / 2
        found = plan_for(_target(middle))
        if found[0] < TARGET:
            low, below = middle, found
        else:
            high, above = middle, found
    share = (TARGET - below[0]) / max(above[0] - below[0], 1e-12)
    return below[1] + share * (above[1] - below[1])


def _target(place: float) -> float:
    return float(-np.expm1(-np.exp(place)))


def _real_positions() -> Iterator[PlanningWorld]:
    """Yield the last check-ins of Gowalla users in New York, with tasks near some of them."""
    path = Path(os.environ.get("GEODP_DATA", "")) / "gowalla" / "gowalla_nyc_checkins.parquet"
    if "GEODP_DATA" not in os.environ or not path.is_file():
        print("choices: no real positions (GEODP_DATA is not set, or has no gowalla folder)")
        return
    import pandas as pd

    people = pd.read_parquet(path).drop_duplicates("user")  # rows are newest first
    x, y = NEW_YORK.projection.to_m(lon=people["lon"].to_numpy(), lat=people["lat"].to_numpy())
    inside = NEW_YORK.contains(x, y)
    rng = np.random.default_rng(SEEDS[0])
    near = rng.choice(np.flatnonzero(inside), TASKS)
    place = NEW_YORK.clamp(x[near] + rng.normal(0, 300, TASKS), y[near] + rng.normal(0, 300, TASKS))
    willing = Linear(mar=0.1, max_travel_m=3_600.0, minimum_reward=0.0)
    yield PlanningWorld(NEW_YORK, x[inside], y[inside], *place, willing)
