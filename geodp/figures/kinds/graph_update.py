"""Degrees of a graph, asked one by one, from a synthetic graph that is corrected on the way, or all at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from geodp.figures.kinds import FigureKind, Making, points_table
from geodp.geometry import Array
from geodp.privacy.noise import SimulatedNoise
from geodp.privacy.primitives import laplace_counts
from geodp.tables.trajectories.table import Integers

if TYPE_CHECKING:
    import pandas as pd

    from geodp.curator.meeting_graph import MeetingGraph
    from geodp.figures.figure_file import FigureFile

ERROR, SPENT = "mae", "epsilon of m answers that are not shown"
LAPLACE, UPDATED, AT_ONCE = "Laplace, ε/m each", "Graph Update", "all degrees in one release"


class GraphUpdate(FigureKind):
    """Answers about degrees: noise for each, the Graph Update method, and one release of all degrees.

    The method compares an answer with that of a synthetic graph and shows whichever is near enough. Algorithm 3 prints
    the test as |true answer| > η₀, which has no noise in it and keeps no promise; here it is the one of its text,
    |noisy answer - synthetic answer| > η₀. Each of the m noisy answers decides something that is seen, so each costs
    ε/m whether it is shown or not: no answer is free, and m of them have noise of scale m/ε. All degrees together
    change by two when one edge does, so one release of them has noise of scale 2/ε, whatever m is.

    Reference
    ---------
    Zhu et al. 2017, Differential Privacy and Applications, section 9.4, fig. 9.9.
    """

    kind: ClassVar[str] = "graph_update"

    lines: tuple[str, ...] = (LAPLACE, UPDATED, AT_ONCE)
    """The lines."""
    people: int = Field(default=1000, ge=2)
    """People of the graph."""
    mean_degree: float = Field(default=20.0, gt=0)
    """How many others a person met, on average."""
    queries: tuple[int, ...] = (20, 50, 100, 200)
    """Numbers of degrees that are asked for (m)."""
    epsilon: float = Field(default=1.0, gt=0)
    """ε of all answers together, for one edge."""
    rounds: int = Field(default=1, ge=1)
    """How often each of them is asked for: the m answers are about m/rounds people."""
    threshold: float = Field(default=100.0, gt=0)
    """Answers further from the synthetic graph than this are shown with noise (η₀)."""
    step: float = Field(default=0.5, gt=0, lt=1)
    """How much of a degree an update takes or gives (θ)."""
    repeats: int = Field(default=50, ge=1)
    """How often everything is drawn."""

    def points(self, making: Making) -> pd.DataFrame:  # noqa: ARG002 - everything is in the fields
        """Ask for the degrees of some people, in three ways, with the same graph and people for each."""
        rows: list[tuple[str, str, float, int, float]] = []
        for repeat in range(self.repeats):
            luck = np.random.default_rng([9, repeat])
            degrees = self._draw_graph(luck).count_degrees().astype(np.float64)
            noise = SimulatedNoise(np.random.default_rng([10, repeat]))
            for number in self.queries:
                asked = np.tile(luck.permutation(self.people)[: number // self.rounds], self.rounds)
                true = degrees[asked]
                noisy = laplace_counts(true, epsilon=self.epsilon / number, sensitivity=1, noise=noise)
                answers = self.answer_by_update(asked, noisy)
                once = laplace_counts(degrees, epsilon=self.epsilon, sensitivity=2, noise=noise)[asked]
                for line, given in ((LAPLACE, noisy), (UPDATED, answers), (AT_ONCE, once)):
                    rows.append((ERROR, line, float(number), repeat, float(np.abs(given - true).mean())))
        rows += [(SPENT, UPDATED, float(number), 0, self.cost_of_hiding(number)) for number in self.queries]
        return points_table(rows)

    def draw(self, file: FigureFile, points: Mapping[str, pd.DataFrame]) -> Any:
        """Draw the errors; that answers which are not shown cost all of ε is one number, in the table."""
        from geodp.figures.drawing import lines_figure

        return lines_figure(file, {name: own[own["y_name"] == ERROR] for name, own in points.items()})

    def answer_by_update(self, asked: Integers, noisy: Array) -> Array:
        """Return the answers that are shown: noisy ones, or those of the synthetic graph.

        The synthetic graph begins with everyone connected with everyone. Algorithm 4 multiplies the degree of the
        person asked about by 1 + θ or by θ; that helps an answer about the same person later, so the people are
        asked about in `rounds` rounds.
        """
        synthetic = np.full(asked.max() + 1, float(self.people - 1))
        answers = noisy.copy()
        for number, (who, answer) in enumerate(zip(asked.tolist(), noisy.tolist(), strict=True)):
            gap = answer - synthetic[who]
            if abs(gap) > self.threshold:
                synthetic[who] *= 1 + self.step if gap > 0 else self.step
            else:
                answers[number] = synthetic[who]
        return answers

    def cost_of_hiding(self, number: int) -> float:
        """Return what `number` noisy answers tell that are not shown, as an ε: m times that of one.

        That it was not shown tells that the noisy answer was near the synthetic graph: the largest log-ratio of that
        between degrees that differ by one, at the beginning, when the graph has everyone connected.
        """
        from scipy.stats import laplace

        degrees, near = np.arange(self.people), self.people - 1
        law = laplace(degrees, number / self.epsilon)
        hidden = np.log(law.sf(near - self.threshold) - law.sf(near + self.threshold))  # 1 - cdf would be rounded to 0
        return float(number * np.abs(np.diff(hidden)).max())

    def _draw_graph(self, luck: np.random.Generator) -> MeetingGraph:
        """Return who meets whom when people stand anywhere in a square and meet those who are near."""
        from scipy.spatial import cKDTree

        from geodp.curator.meeting_graph import MeetingGraph

        radius = float(np.sqrt(self.mean_degree / (np.pi * self.people)))
        pairs = cKDTree(luck.random((self.people, 2))).query_pairs(radius, output_type="ndarray")
        names = np.array([f"p{number}" for number in range(self.people)], dtype=np.object_)
        return MeetingGraph(names, pairs[:, 0].astype(np.int64), pairs[:, 1].astype(np.int64))
