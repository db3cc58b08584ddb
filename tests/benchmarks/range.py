"""Which of a million workers are in which circles, against building a KD-tree and asking it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree

from geodp.scenario.schema import load_scenario
from geodp.simulation.range_join import range_join
from geodp.streams import Streams
from tests.benchmarks._figure import Figure
from tests.benchmarks._measuring import CITY_MILLION, best_cpu_s

Places = npt.NDArray[np.float64]
SIDE_M = 30_000.0
TREES: dict[str, dict[str, Any]] = {
    "ckdtree": {},
    "ckdtree_fast_build": {"balanced_tree": False, "compact_nodes": False, "leafsize": 32},
}


@dataclass(frozen=True)
class Case:
    """Some circles over some points; both searches find places laid out in memory as they like them."""

    name: str
    points: Places
    centres: Places
    radius_m: float

    @cached_property
    def columns(self) -> tuple[Places, ...]:
        """The x and y of points and centres, each contiguous."""
        return tuple(column.copy() for column in (*self.points.T, *self.centres.T))

    def joined(self) -> int:
        """Return the number of pairs our search finds; it returns distances, too."""
        x_m, y_m, centre_x_m, centre_y_m = self.columns
        return int(range_join(x_m, y_m, centre_x_m, centre_y_m, np.full(centre_x_m.size, self.radius_m))[0].size)

    def asked(self, tree: str) -> int:
        """Return the number of pairs that a tree built for the purpose finds."""
        built = cKDTree(self.points, **TREES[tree])
        found: Any = built.query_ball_point(self.centres, self.radius_m, return_sorted=False)
        return sum(map(len, found))


def measure() -> Iterator[Figure]:
    """Compare with both trees: workers move, so a batch of offers has to pay for the build."""
    for case in _cases():
        ours, *theirs = best_cpu_s(case.joined, *(partial(case.asked, tree) for tree in TREES))
        if case.joined() != case.asked("ckdtree"):
            raise AssertionError(f"{case.name}: the searches disagree")
        for tree, yardstick in zip(TREES, theirs, strict=True):
            yield Figure(f"range_{case.name}_s", ours, against=tree, yardstick=yardstick, at_least=1)


def _cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    points, centres = rng.uniform(0, SIDE_M, (1_000_000, 2)), rng.uniform(0, SIDE_M, (10_000, 2))
    yield Case("batch_166x150m", points, centres[:166], 150.0)
    yield Case("uniform_10000x100m", points, centres, 100.0)
    yield Case("uniform_10000x500m", points, centres, 500.0)
    scenario = load_scenario(CITY_MILLION)
    people = scenario.workers.source.load(scenario.area, Streams(0).generator("world.source"))
    homes = np.column_stack([people.x_m, people.y_m])
    yield Case("city_10000x100m", homes, rng.choice(homes, 10_000, replace=False), 100.0)
