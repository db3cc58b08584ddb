"""Public policy graphs: which places may be told apart a little, step by step, and which are told to everyone.

Places are the cells of a grid. An edge says that two places must stay alike up to a factor of e^ε; cells that are h
steps apart up to e^(ε·h). Places without a path between them need not stay alike: which of the components somebody is
in is told to everyone. Here the edges lead between neighbouring cells of one district.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.errors import UsageError
from geodp.geometry import Array, Grid
from geodp.public.channels import FiniteChannel

Ids = npt.NDArray[np.int64]
MOST_PLACES = 2_500
"""Every place is compared with every other of its component."""
_MOST_NAMED = 5


@dataclass(frozen=True, eq=False)
class PolicyGraph:
    """Cells, and the edges between them.

    Parameters
    ----------
    cells
        The places.
    edges
        Pairs of cells, as [edge, end].

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.geometry import Grid
    >>> from geodp.public.policy_graph import PolicyGraph
    >>> line = PolicyGraph(Grid(0.0, 0.0, 100.0, 100.0, columns=3, rows=1), np.array([[0, 1], [1, 2]]))
    >>> line.hops.tolist()
    [[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]
    """

    cells: Grid
    edges: Ids

    @cached_property
    def component(self) -> Ids:
        """Number of the component of each cell: what is told to everyone."""
        from scipy.sparse.csgraph import connected_components

        return np.asarray(connected_components(self._matrix(), directed=False)[1], dtype=np.int64)

    @cached_property
    def hops(self) -> Array:
        """Steps between every two cells; infinite between components."""
        from scipy.sparse.csgraph import shortest_path

        return np.asarray(shortest_path(self._matrix(), directed=False, unweighted=True))

    def require_company(self) -> None:
        """Refuse places without an edge: whoever is there would be told to everyone."""
        alone = np.flatnonzero(np.bincount(self.component)[self.component] == 1)
        if alone.size:
            x, y = self.cells.all_centres()
            named = ", ".join(f"({x[cell]:,.0f}, {y[cell]:,.0f})" for cell in alone[:_MOST_NAMED].tolist())
            raise UsageError(
                f"the policy graph has {alone.size:,} isolated place{'s' if alone.size > 1 else ''} (at {named} m"
                f"{', …' if alone.size > _MOST_NAMED else ''}): whoever is there would be told to everyone. Use larger "
                "districts or smaller cells. Nothing was reported."
            )

    def _matrix(self) -> Any:
        from scipy import sparse

        ones, size = np.ones(len(self.edges)), self.cells.size
        return sparse.csr_array((ones, (self.edges[:, 0], self.edges[:, 1])), shape=(size, size))


def join_neighbours(cells: Grid, district: Ids) -> PolicyGraph:
    """Return the graph with an edge between every two cells of one district that share a side.

    Parameters
    ----------
    cells
        The places.
    district
        Number of the district of each cell.
    """
    number = np.arange(cells.size).reshape(cells.rows, cells.columns)
    pairs = [(number[:, :-1], number[:, 1:]), (number[:-1], number[1:])]
    edges = np.concatenate([np.column_stack([here.ravel(), there.ravel()]) for here, there in pairs])
    return PolicyGraph(cells, edges[district[edges[:, 0]] == district[edges[:, 1]]])


@dataclass(frozen=True, eq=False)
class GraphChannel(FiniteChannel):
    """The law of a report along a policy graph: P(z|x) ∝ exp(-ε·hops/2) inside the component of x."""

    graph: PolicyGraph
    epsilon: float

    def displacement_quantiles(self, count: int) -> Array:
        """Return evenly weighted distances between places and reports, over evenly spread places."""
        x, y = self.cells.all_centres()
        distance = np.hypot(x[:, None] - x, y[:, None] - y).ravel()
        order = np.argsort(distance)
        weight = np.cumsum(self.table.ravel()[order])
        level = (np.arange(count) + 0.5) / count * weight[-1]
        return np.asarray(distance[order][np.searchsorted(weight, level)])
