"""Turns on a public network: how trips go on from one part of it to the next, counted with noise.

The crossings are divided in parts of about equally many: that is public, and so is which parts streets join. A turn is
a part, the next one that a trip comes to, and the one after that. Where trips go is known from densities; which way
they turn there is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from geodp.curator.synthesis.epsilon_parts import EpsilonParts, round_down
from geodp.curator.synthesis.grids import Integers
from geodp.curator.synthesis.shrinkage import shrink
from geodp.geometry import Array
from geodp.public.streets import StreetNetwork
from geodp.tables.trajectories.table import Trajectories

TURNS = "turns"
_LEAST_PARTS, _MOST_PARTS = 4, 64
_TURNS_PER_PART = 25
"""About: a part has some five neighbours."""
_TURNS_PER_WORTH = 0.5


@dataclass(frozen=True, eq=False)
class NetworkParts:
    """A division of a network's crossings, and the turns that its streets allow."""

    label: Integers
    """Part of each crossing."""
    count: int
    tail: Integers
    """Crossings at the ends of each street."""
    head: Integers

    @cached_property
    def code(self) -> Integers:
        """Turns that streets allow, ascending: three parts as digits; the first and the last may be the same."""
        one, other = self.label[self.tail], self.label[self.head]
        link = np.unique(np.concatenate([one * self.count + other, other * self.count + one])[np.tile(one != other, 2)])
        begin, end = np.divmod(link, self.count)
        first = np.searchsorted(begin, np.arange(self.count + 1))
        onward = np.diff(first)[end]
        rank = np.arange(onward.sum()) - np.repeat(np.cumsum(onward) - onward, onward)
        third = end[np.repeat(first[end], onward) + rank]
        return np.sort(np.repeat(begin * self.count**2 + end * self.count, onward) + third)

    def find_turns(self, first: Integers, part: Integers) -> tuple[Integers, Integers]:
        """Return the turns of ways through parts: of each its way and its number; what streets do not join is none."""
        owner = np.repeat(np.arange(first.size - 1), np.diff(first))
        new = np.append(True, (np.diff(part) != 0) | (np.diff(owner) != 0))[: part.size]
        owner, part = owner[new], part[new].astype(np.int64)
        if part.size < 3 or not self.code.size:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        whole = owner[2:] == owner[:-2]
        turn = (part[:-2] * self.count**2 + part[1:-1] * self.count + part[2:])[whole]
        place = np.minimum(np.searchsorted(self.code, turn), self.code.size - 1)
        known = self.code[place] == turn
        return owner[:-2][whole][known], place[known]


@dataclass(frozen=True, eq=False)
class Turns:
    """Noisy numbers of trips by the turns they take; a trip counts once, shared out over its turns."""

    parts: NetworkParts
    noisy: Array
    """What the noise left, negative counts too."""
    scale: float

    def share(self, expected: Array) -> Array:
        """Return the share of each turn: what is expected, drawn towards the noisy counts where they say more."""
        total = max(float(self.noisy.sum()), 1.0)
        if not expected.sum() > 0:
            return np.full(expected.size, 1 / max(expected.size, 1))
        better = shrink(self.noisy, expected / expected.sum() * total, self.scale, total)
        return np.asarray(better / max(better.sum(), 1e-12))


def divide_network(network: StreetNetwork, count: int) -> NetworkParts:
    """Divide the crossings in two equally large halves, across the longer side, again and again: `count` parts."""
    waiting: list[npt.NDArray[np.int64]] = [np.arange(network.size)]
    while len(waiting) < count:
        waiting.sort(key=len)
        nodes = waiting.pop()
        if nodes.size < 2:
            waiting.append(nodes)
            break
        x_m, y_m = network.x_m[nodes], network.y_m[nodes]
        along = x_m if np.ptp(x_m) >= np.ptp(y_m) else y_m
        order = nodes[np.argsort(along, kind="stable")]
        waiting += [order[: order.size // 2], order[order.size // 2 :]]
    label = np.empty(network.size, dtype=np.int64)
    for number, nodes in enumerate(waiting):
        label[nodes] = number
    return NetworkParts(label, len(waiting), network.tail, network.head)


def count_turns(
    trajectories: Trajectories,
    network: StreetNetwork,
    parts: EpsilonParts,
    total: float,
    weights: Array | None = None,
) -> Turns:
    """Count every trip once, shared out over its turns; parts are as many as the noise allows."""
    worth = _TURNS_PER_WORTH * total / parts.scale(TURNS) / _TURNS_PER_PART
    divided = divide_network(network, int(np.clip(worth, _LEAST_PARTS, _MOST_PARTS)))
    node = network.nearest(trajectories.x_m, trajectories.y_m) if trajectories.points else np.empty(0, np.int64)
    owner, turn = divided.find_turns(trajectories.first, divided.label[node])
    worth_of_trip = 1 / np.maximum(np.bincount(owner, minlength=trajectories.size), 1)
    worth_of_trip = worth_of_trip if weights is None else worth_of_trip * weights
    worth_of_trip = round_down(worth_of_trip, parts.scale(TURNS))
    counts = np.bincount(turn, worth_of_trip[owner], divided.code.size).astype(np.float64)
    return Turns(divided, parts.add_noise(TURNS, counts), parts.scale(TURNS))
