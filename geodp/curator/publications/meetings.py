"""How many people met: counts of a graph of meetings, for a pair or for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from geodp.curator.meeting_graph import MeetingGraph, count_by_degree, find_meetings
from geodp.curator.publications import Publication, Published, Records
from geodp.geometry import Array
from geodp.privacy.noise import Noise
from geodp.privacy.primitives import laplace_counts
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit

if TYPE_CHECKING:
    import pandas as pd

_OF_PAIRS = ("edges", "degrees", "degree_histogram")
_OF_PEOPLE = ("edges", "flow_edges", "degree_histogram", "cumulative_histogram")


class Meetings(Publication):
    """How many pairs of people met, or how many people met how many others.

    Two people have met when they were within `radius_m` of each other at one step of a public clock. Who was not under
    way at any step is not counted, not even among those who met nobody.

    Guarantee
    ---------
    `hides: person` (default): ε-differential privacy for everything one person did, with all meetings of that person.
    Edges are added in a public order while both ends have fewer than `max_degree`; then one person more changes the
    number of edges by at most θ, the histogram of degrees by 2θ + 1, the cumulative one by θ + 1, and half the largest
    flow by θ. `hides: pair`: ε for whether one pair of people met, and nothing for a person who met many.

    Reference
    ---------
    Zhu et al. 2017, Differential Privacy and Applications, chapter 9; projection: Day, Li and Lyu 2016, Publishing
    graph degree distribution with node differential privacy; flow: Kasiviswanathan et al. 2013, Analyzing graphs
    with node differential privacy (both recalled, and checked here on all graphs of five people).
    """

    kind: ClassVar[str] = "meetings"
    reads: ClassVar[frozenset[str]] = frozenset({"trajectories"})
    releases: ClassVar[frozenset[str]] = frozenset({"meetings"})

    epsilon: float = Field(default=1.0, gt=0)
    """ε of the table."""
    statistic: Literal["edges", "flow_edges", "degrees", "degree_histogram", "cumulative_histogram"] = (
        "degree_histogram"
    )
    """`edges`, `flow_edges`: pairs that met. `degree_histogram`: people by the number of others they met;
    `cumulative_histogram`: people up to each number. `degrees`: one number per person, by name (pairs only)."""
    hides: Literal["person", "pair"] = "person"
    """What the promise is about: everything one person did, or whether one pair met."""
    max_degree: int = Field(default=20, ge=1, le=10_000)
    """Maximum number of meetings with which someone counts (θ); histograms end here. Public."""
    radius_m: float = Field(default=10.0, gt=0)
    """How near two people are when they meet, metres."""
    every_s: float = Field(default=60.0, gt=0)
    """Steps of the clock at which everyone is looked at, seconds."""
    gap_s: float = Field(default=1800.0, gt=0)
    """Between points further apart in time nobody is looked at, seconds."""

    @model_validator(mode="after")
    def _statistic_fits(self) -> Self:
        known = _OF_PEOPLE if self.hides == "person" else _OF_PAIRS
        if self.statistic not in known:
            raise ValueError(f"statistic: with hides: {self.hides} there are {', '.join(known)}, not {self.statistic}")
        return self

    def idle_fields(self) -> dict[str, str]:
        """Return the maximum degree where nothing is bounded by it."""
        if self.hides == "pair" and self.statistic != "degree_histogram":
            return {"max_degree": f"with hides: pair and statistic: {self.statistic}, which bounds nobody"}
        return {}

    @property
    def sensitivity(self) -> int:
        """How much the released numbers change together, at most."""
        if self.hides == "pair":
            return {"edges": 1, "degrees": 2, "degree_histogram": 4}[self.statistic]
        most = self.max_degree
        return {
            "edges": most,
            "flow_edges": most,
            "degree_histogram": 2 * most + 1,
            "cumulative_histogram": most + 1,
        }[self.statistic]

    def publish(self, records: Records, noise: Noise) -> Published:
        """Publish the table of a run's or a file's trips; the exact graph stays behind."""
        import pandas as pd

        trips = records.trajectories()
        graph = find_meetings(trips, radius_m=self.radius_m, every_s=self.every_s, gap_s=self.gap_s)
        exact = self._tabulate(graph, self._count(graph))
        released = self._tabulate(graph, self.count_with_noise(graph, noise))
        facts = {"noise_scale": self.sensitivity / self.epsilon, "statistic": self.statistic}
        met = pd.DataFrame({"first": graph.people[graph.first], "second": graph.people[graph.second]})
        return Published(released, {"meetings": met, "counts": exact}, facts)

    def count_with_noise(self, graph: MeetingGraph, noise: Noise) -> Array:
        """Return the numbers that are released, with noise from `noise` alone."""
        bounded = graph.bound_degrees(self.max_degree) if self._is_projected else graph
        # a flow is twice as large as the number it stands for: it stays whole, and is halved after the noise
        twice = 2 if self.statistic == "flow_edges" else 1
        noisy = laplace_counts(
            twice * self._count(bounded), epsilon=self.epsilon, sensitivity=twice * self.sensitivity, noise=noise
        )
        return noisy / twice

    @property
    def _is_projected(self) -> bool:
        return self.hides == "person" and self.statistic != "flow_edges"

    def _count(self, graph: MeetingGraph) -> Array:
        if self.statistic == "edges":
            return np.array([float(graph.edges)])
        if self.statistic == "flow_edges":
            return np.array([graph.flow(self.max_degree) / 2])
        degrees = graph.count_degrees()
        if self.statistic == "degrees":
            return degrees.astype(np.float64)
        people = count_by_degree(degrees, self.max_degree).astype(np.float64)
        return np.cumsum(people) if self.statistic == "cumulative_histogram" else people

    def _tabulate(self, graph: MeetingGraph, numbers: Array) -> pd.DataFrame:
        import pandas as pd

        if self.statistic in ("edges", "flow_edges"):
            return pd.DataFrame({"pairs": numbers})
        if self.statistic == "degrees":
            return pd.DataFrame({"user": graph.people.astype(str), "met": numbers})
        return pd.DataFrame({"met": np.arange(self.max_degree + 1), "people": numbers})

    def expected_error(self) -> tuple[str, dict[str, float]]:
        """Say how large the noise of each number is, and what is left out without it."""
        scale = self.sensitivity / self.epsilon
        left_out = ""
        if self.hides == "person":
            left_out = f", and meetings of people who met more than {self.max_degree} others are left out"
        return f"Each number is wrong by {scale:.3g} on average{left_out}.", {"mean_absolute_noise": scale}

    def guarantee(self) -> Guarantee:
        """Promise ε for a person, or for whether one pair met."""
        if self.hides == "person":
            return Guarantee(self.epsilon, Unit.USER, Neighbours.ADD_REMOVE, Trust.CENTRAL)
        return Guarantee(self.epsilon, Unit.PAIR, Neighbours.ADD_REMOVE, Trust.CENTRAL)

    def together(self) -> str:
        """Say what a promise about pairs is worth to a person with many meetings."""
        if self.hides == "person":
            return ""
        return "Nothing is promised about all meetings of one person together: there is no cap on how many they are."
