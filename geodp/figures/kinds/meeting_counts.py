"""How many pairs of people met, when a person is hidden: against how many meetings of a person count."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from geodp.figures.kinds import FigureKind, Making, points_table
from geodp.privacy.noise import SimulatedNoise

if TYPE_CHECKING:
    import pandas as pd

    from geodp.curator.meeting_graph import MeetingGraph

ERROR = "relative error"
KEPT, FLOW, PAIR = "person hidden: edges kept in order", "person hidden: largest flow", "one pair hidden"
LEFT_OUT = "edges kept in order, without noise"


class MeetingCounts(FigureKind):
    """Error of the number of pairs that met, |released - exact|/exact.

    People stand anywhere in a square and meet those who are near; some of them (`hubs`) meet many others besides.
    Publication `meetings` at ε: hiding a person, with edges kept in a public order or the largest flow, and hiding
    one pair.

    Reference
    ---------
    Zhu et al. 2017, Differential Privacy and Applications, chapter 9; the publication is described with `meetings`.
    """

    kind: ClassVar[str] = "meeting_counts"

    lines: tuple[str, ...] = (KEPT, FLOW, PAIR, LEFT_OUT)
    """The lines."""
    people: int = Field(default=1000, ge=2)
    """People of the graph."""
    mean_degree: float = Field(default=20.0, gt=0)
    """How many others are near a person, on average."""
    hubs: int = Field(default=0, ge=0)
    """People who meet others everywhere."""
    hub_degree: int = Field(default=300, ge=1)
    """How many of them."""
    max_degrees: tuple[int, ...] = (5, 10, 20, 40, 80, 160)
    """Meetings of a person that count, at most (θ)."""
    epsilon: float = Field(default=1.0, gt=0)
    """ε of the number."""
    repeats: int = Field(default=8, ge=1)
    """Graphs that are drawn."""
    draws: int = Field(default=200, ge=1)
    """Numbers released of each."""

    def points(self, making: Making) -> pd.DataFrame:  # noqa: ARG002 - everything is in the fields
        """Count pairs of every graph in all ways."""
        rows: list[tuple[str, str, float, int, float]] = []
        for repeat in range(self.repeats):
            graph = self._draw_graph(np.random.default_rng([15, repeat]))
            for most in self.max_degrees:
                noise = SimulatedNoise(np.random.default_rng([16, repeat, most]))
                for line, error in self.measure_errors(graph, most, noise).items():
                    rows.append((ERROR, line, float(most), repeat, error))
        return points_table(rows)

    def measure_errors(self, graph: MeetingGraph, most: int, noise: SimulatedNoise) -> dict[str, float]:
        """Return the mean error of every line for one graph and θ; noise is drawn often, the graph bounded once."""
        from geodp.curator.publications.meetings import Meetings

        kept = float(graph.bound_degrees(most).edges)
        found = {LEFT_OUT: abs(kept - graph.edges)}
        for line, statistic, count in ((KEPT, "edges", kept), (FLOW, "flow_edges", graph.flow(most) / 2)):
            method = Meetings.model_validate({"statistic": statistic, "max_degree": most, "epsilon": self.epsilon})
            found[line] = self._add_noise(count - graph.edges, method.sensitivity, noise)
        pair = Meetings.model_validate({"statistic": "edges", "hides": "pair", "epsilon": self.epsilon})
        found[PAIR] = self._add_noise(0.0, pair.sensitivity, noise)
        return {line: error / graph.edges for line, error in found.items()}

    def _add_noise(self, left_out: float, sensitivity: float, noise: SimulatedNoise) -> float:
        draws = noise.laplace(sensitivity / self.epsilon, self.draws)
        return float(np.abs(left_out + draws).mean())

    def _draw_graph(self, luck: np.random.Generator) -> MeetingGraph:
        from scipy.spatial import cKDTree

        from geodp.curator.meeting_graph import MeetingGraph

        radius = float(np.sqrt(self.mean_degree / (np.pi * self.people)))
        near = cKDTree(luck.random((self.people, 2))).query_pairs(radius, output_type="ndarray").astype(np.int64)
        others = [luck.choice(self.people, min(self.hub_degree, self.people - 1), False) for _ in range(self.hubs)]
        met = [np.column_stack([np.full(each.size, hub), each]) for hub, each in enumerate(others)]
        pairs = np.sort(np.concatenate([near, *met]), axis=1)
        pairs = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
        names = np.array([f"p{number}" for number in range(self.people)], dtype=np.object_)
        return MeetingGraph(names, pairs[:, 0], pairs[:, 1])
