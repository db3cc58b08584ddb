"""Who met whom: a graph whose edges are pairs of people that were near each other, and what can be counted in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array
from geodp.privacy.keyed_choice import hash_users, user_words
from geodp.streams import mix_bits
from geodp.tables.trajectories.table import Integers, Names, Trajectories

_PUBLIC_KEY = b"order of meetings"
"""Edges are added in an order that everybody may know: it must be stable, not secret."""
_PAIRS_AT_ONCE = 5_000_000


@dataclass(frozen=True, eq=False)
class MeetingGraph:
    """People, and the pairs of them that met; each pair once, the smaller number first."""

    people: Names
    """Names of the people who were under way."""
    first: Integers
    second: Integers

    @property
    def edges(self) -> int:
        """Number of pairs that met."""
        return int(self.first.size)

    def count_degrees(self) -> Integers:
        """Return how many others each person met."""
        return np.bincount(np.concatenate([self.first, self.second]), minlength=len(self.people))

    def bound_degrees(self, most: int) -> MeetingGraph:
        """Return the graph in which edges were added in a public order while both ends had fewer than `most`.

        The order of two edges follows from the names at their ends alone. So one person more, with any edges, changes
        the number of edges that are kept by at most `most` (Day, Li and Lyu 2016): each of that person's kept edges
        may push out one edge, which lets in another one, and so on along one path.
        """
        words = hash_users(user_words(self.people), _PUBLIC_KEY)
        low = np.minimum(words[self.first], words[self.second])
        high = np.maximum(words[self.first], words[self.second])
        order = np.lexsort((high, low, mix_bits(low ^ mix_bits(high))))
        degree = [0] * len(self.people)
        kept = []
        ends = zip(order.tolist(), self.first[order].tolist(), self.second[order].tolist(), strict=True)
        for edge, one, other in ends:
            if degree[one] < most and degree[other] < most:
                degree[one] += 1
                degree[other] += 1
                kept.append(edge)
        which = np.sort(np.array(kept, dtype=np.int64))
        return MeetingGraph(self.people, self.first[which], self.second[which])

    def flow(self, most: int) -> int:
        """Return the largest flow from everyone to everyone through the edges, `most` for each person.

        Every person sends and receives at most `most`, every edge carries one in either direction. Where nobody met
        more than `most` others, it is twice the number of edges; one person more changes it by at most 2·`most`,
        because all flow that is new goes through that person (Kasiviswanathan et al. 2013).
        """
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import maximum_flow

        if not self.edges:
            return 0
        number, source, sink = len(self.people), 2 * len(self.people), 2 * len(self.people) + 1
        everyone = np.arange(number)
        begins = [np.full(number, source), self.first, self.second, everyone + number]
        ends = [everyone, self.second + number, self.first + number, np.full(number, sink)]
        wide, single = np.full(number, most), np.ones(self.edges, dtype=np.int64)
        capacity = np.concatenate([wide, single, single, wide]).astype(np.int32)
        shape = (2 * number + 2, 2 * number + 2)
        network = csr_array((capacity, (np.concatenate(begins), np.concatenate(ends))), shape=shape)
        return int(maximum_flow(network, source, sink).flow_value)


def count_by_degree(degrees: Integers, most: int) -> Integers:
    """Return how many people met 0, 1, …, `most` others (more than `most` counts as `most`)."""
    return np.bincount(np.minimum(degrees, most), minlength=most + 1)


def find_meetings(trajectories: Trajectories, *, radius_m: float, every_s: float, gap_s: float) -> MeetingGraph:
    """Return who was within a distance of whom at one of the steps of a public clock.

    Parameters
    ----------
    trajectories
        Where people were.
    radius_m
        How near two people are when they meet, metres.
    every_s
        Steps of the clock, seconds: at its multiples everyone is looked at, between two points on the straight line.
    gap_s
        Between two points that are further apart in time nobody knows where the person was: nothing is met there.
    """
    from scipy.spatial import cKDTree

    person, step, x_m, y_m = _look_at_steps(trajectories, every_s, gap_s)
    bounds = (
        np.append(np.flatnonzero(np.append(True, np.diff(step) != 0)), step.size) if step.size else np.zeros(1, int)
    )
    seen, person = np.unique(person, return_inverse=True)
    number = max(seen.size, 1)
    found, waiting, size = np.empty(0, dtype=np.int64), [], 0
    for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        if high - low < 2:
            continue
        pairs = cKDTree(np.column_stack([x_m[low:high], y_m[low:high]])).query_pairs(radius_m, output_type="ndarray")
        one, other = person[low:high][pairs[:, 0]], person[low:high][pairs[:, 1]]
        apart = one != other  # a person with two trips at once meets nobody by that
        waiting.append(np.unique(np.minimum(one, other)[apart] * number + np.maximum(one, other)[apart]))
        size += waiting[-1].size
        if size > _PAIRS_AT_ONCE:
            found, waiting, size = np.unique(np.concatenate([found, *waiting])), [], 0
    found = np.unique(np.concatenate([found, *waiting]))
    return MeetingGraph(trajectories.people[seen], found // number, found % number)


def _look_at_steps(trajectories: Trajectories, every_s: float, gap_s: float) -> tuple[Integers, Integers, Array, Array]:
    """Return person, step and place of everyone who is under way at a step of the clock, in the order of the steps."""
    inner = np.flatnonzero(~trajectories.starts[1:]) if trajectories.points else np.empty(0, dtype=np.int64)
    begin_s, end_s = trajectories.time_s[inner], trajectories.time_s[inner + 1]
    near = end_s - begin_s <= gap_s
    inner, begin_s, end_s = inner[near], begin_s[near], end_s[near]
    # a step at a point belongs to the leg that begins there, or to the last leg of the trip
    is_last = ~np.append(np.diff(inner) == 1, False) if inner.size else np.empty(0, dtype=np.bool_)
    low = np.ceil(begin_s / every_s).astype(np.int64)
    high = np.where(is_last, np.floor(end_s / every_s), np.ceil(end_s / every_s) - 1).astype(np.int64)
    count = np.maximum(high - low + 1, 0)
    leg = np.repeat(np.arange(inner.size), count)
    step = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count) + low[leg]
    long_s = np.maximum(end_s - begin_s, 1e-9)[leg]
    part = np.clip((step * every_s - begin_s[leg]) / long_s, 0.0, 1.0)
    x_m = _between(trajectories.x_m, inner[leg], part)
    y_m = _between(trajectories.y_m, inner[leg], part)
    person = trajectories.person[trajectories.owner[inner[leg]]]
    order = np.argsort(step, kind="stable")
    return person[order], step[order], x_m[order], y_m[order]


def _between(values: Array, point: npt.NDArray[np.int64], part: Array) -> Array:
    if not point.size:
        return np.empty(0)
    return np.asarray(values[point] + part * (values[point + 1] - values[point]))
