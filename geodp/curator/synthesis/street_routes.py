"""Trips along public streets: quickest routes over a few places, chosen so that lengths and the noisy density are met.

Streets are public, so nothing here costs anything: all of it follows from noisy counts and the network. Trees of
quickest ways lead to some hundred places (roots), each in a traffic of its own, drawn from a small pool, in which
streets are the quicker the more points the noisy density has there. A trip goes from its first place towards a root and
from there to its last one; what it would go to and fro is left out. A trip that detours far passes several roots.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from geodp.curator.synthesis.densities import FLOOR, Density
from geodp.curator.synthesis.grids import Integers
from geodp.curator.synthesis.paths import WantedTrips, draw_on_ellipse, draw_over_several_places
from geodp.curator.synthesis.points_on_paths import place_points
from geodp.curator.synthesis.trip_ends import choose_columns
from geodp.curator.synthesis.turns import NetworkParts, Turns
from geodp.geometry import Array, Region
from geodp.public.streets import StreetNetwork

Nodes = npt.NDArray[np.int32]
_ROOTS = 384
_TRAFFICS = 8
_TRAFFIC_SPREAD = 0.25
_PULL = 0.1
"""How much quicker streets are in popular cells: a power of how many points they have."""
_MOST_PULL = 2.0
_SEVERAL_LEGS_FROM = 1.6
"""Length along streets over the distance of the ends from which a trip passes several roots."""
_DIRECT, _ROAMING = 6, 6
_NEAR_ROOTS = 4
_BENT = 1.2
"""Length of a street over the distance, about."""
_LENGTH_SPREAD, _EXTENT_SPREAD = 0.04, 0.1
_DENSITY_STRENGTH, _TURN_STRENGTH = 6.0, 0.5
_BLOCK, _EXPANDED = 1_000, 500
_FITTED_TRIPS = 3_000
_PILOT_TRIPS, _PILOT_ROOTS = 5_000, 192
_UNSEEN = 0.05
_ROUNDS, _LEARNING = 8, 0.5
_CUT_CLASSES = 8
_LONGER = (0.9, 1.2)
_WALKERS = 1 << 15


@dataclass(frozen=True, eq=False)
class Trees:
    """Quickest ways to roots, each in one of a few states of the traffic."""

    network: StreetNetwork
    root: Integers
    """Crossing of each root."""
    following: Nodes
    """Row per root: the next crossing on the way there; the root itself at the root."""

    @cached_property
    def _near(self) -> Integers:
        """Roots nearest to every crossing, a row each."""
        from scipy.spatial import cKDTree

        places = np.column_stack([self.network.x_m, self.network.y_m])
        count = min(_NEAR_ROOTS, self.root.size)
        _, found = cKDTree(places[self.root]).query(places, k=count)
        return np.asarray(found, dtype=np.int64).reshape(-1, count)

    def near(self, x_m: Array, y_m: Array, rng: np.random.Generator) -> Integers:
        """Return, for each place, one of the roots next to it."""
        node = self.network.nearest(x_m.ravel(), y_m.ravel())
        pick = rng.integers(0, self._near.shape[1], node.size)
        return self._near[node, pick].reshape(x_m.shape)


def grow_trees_on(network: StreetNetwork, density: Density, rng: np.random.Generator, roots: int = _ROOTS) -> Trees:
    """Find the quickest ways from everywhere to some roots, more of them where more points are."""
    from scipy.sparse.csgraph import dijkstra

    cell = density.grid.locate(network.x_m, network.y_m)
    nodes_in = np.bincount(cell, minlength=density.grid.size)
    pull = (density.share + FLOOR / density.grid.size)[cell] / nodes_in[cell]
    count = min(roots, network.size)
    root = rng.choice(network.size, count, replace=False, p=np.sqrt(pull) / np.sqrt(pull).sum())
    per_street = pull / pull.mean()
    liking = np.sqrt(per_street[network.tail] * per_street[network.head]) ** _PULL
    travel_s = network.travel_s / np.clip(liking, 1 / _MOST_PULL, _MOST_PULL)
    following = np.empty((count, network.size), dtype=np.int32)
    for traffic in range(min(_TRAFFICS, count)):
        some = np.arange(traffic, count, _TRAFFICS)
        graph = network.graph(travel_s * rng.lognormal(0.0, _TRAFFIC_SPREAD, travel_s.size))
        _, found = dijkstra(graph, directed=True, indices=root[some], return_predecessors=True)
        following[some] = found
    following[np.arange(count), root] = root
    return Trees(network, root, following)


@dataclass(frozen=True, eq=False)
class StreetPaths:
    """Ways along streets: way i owns streets `first[i]` to `first[i + 1] - 1`."""

    network: StreetNetwork
    first: Integers
    street: Nodes
    backwards: npt.NDArray[np.bool_]
    begin_m: Array
    """How far along its first street each way begins."""
    spare_m: Array
    """How far before the end of its last street it ends."""

    @property
    def size(self) -> int:
        """Number of ways."""
        return int(self.first.size - 1)

    @cached_property
    def _reached_m(self) -> Array:
        """Length of all ways together up to the beginning of each street."""
        return np.append(0.0, np.cumsum(self.network.length_m[self.street]))

    @property
    def whole_m(self) -> Array:
        """Length of each way."""
        return self._reached_m[self.first[1:]] - self._reached_m[self.first[:-1]] - self.begin_m - self.spare_m

    def at(self, share: Array, path: Integers) -> tuple[Array, Array]:
        """Return the place on a way at a share of its length."""
        gone = self._reached_m[self.first[path]] + self.begin_m[path] + share * self.whole_m[path]
        hop = np.searchsorted(self._reached_m, gone, side="right") - 1
        hop = np.clip(hop, self.first[path], self.first[path + 1] - 1)
        street, network = self.street[hop], self.network
        along = np.clip(gone - self._reached_m[hop], 0.0, network.length_m[street])
        along = np.where(self.backwards[hop], network.length_m[street] - along, along)
        keys, gap = _line_up(network)
        corner = np.searchsorted(keys, along + gap[street], side="right") - 1
        corner = np.clip(corner, network.first[street], network.first[street + 1] - 2)
        low, high = network.reached_m[corner], network.reached_m[corner + 1]
        share = np.clip((along - low) / np.maximum(high - low, 1e-9), 0.0, 1.0)
        x_m, y_m = network.corner_x_m, network.corner_y_m
        return (
            x_m[corner] + share * (x_m[corner + 1] - x_m[corner]),
            y_m[corner] + share * (y_m[corner + 1] - y_m[corner]),
        )

    def bends(self, path: Integers) -> Array:
        """Return no bends: points of trips lie anywhere along streets."""
        return np.ones((path.size, 0))


def _line_up(network: StreetNetwork) -> tuple[Array, Array]:
    """Return lengths up to all corners as one ascending sequence, and where each street begins in it."""
    gap = np.append(0.0, np.cumsum(network.length_m + 1.0))[:-1]
    return network.reached_m + np.repeat(gap, np.diff(network.first)), gap


@dataclass(frozen=True, eq=False)
class _RouteCandidates:
    """Some ways for each trip: the roots they pass, in order, and how well each fits apart from density."""

    root: Integers
    """Trips × candidates × roots; those beyond `count` are not passed."""
    count: Integers
    """Trips × candidates: number of roots."""
    score: Array

    def select(self, which: Integers) -> _RouteCandidates:
        return _RouteCandidates(self.root[which], self.count[which], self.score[which])


def choose_routes(
    wanted: WantedTrips,
    density: Density,
    region: Region,
    network: StreetNetwork,
    rng: np.random.Generator,
    turns: Turns | None = None,
) -> StreetPaths:
    """Return ways along streets of about the lengths wanted, along which the noisy density and turns are met.

    Lengths are those of lines from point to point, which cut corners: how much, for points so far apart, is measured
    on some trips first.
    """
    ends = wanted.ends
    begin, end = network.nearest(ends.from_x_m, ends.from_y_m), network.nearest(ends.to_x_m, ends.to_y_m)
    size = wanted.points.size
    pilot = np.arange(min(size, _PILOT_TRIPS))
    some = wanted.select(pilot)
    flat = density.flatten()
    nothing = np.zeros(flat.grid.size)
    asked = _Asked(some, begin[pilot], end[pilot], np.ones(pilot.size))
    rough = grow_trees_on(network, flat, rng, roots=_PILOT_ROOTS)
    tried = _choose(asked, _Town(rough, flat, region), _Weights(nothing), rng)
    del rough  # trees are large: one set of them at a time
    cut = _measure_cuts(some, tried, density)
    density = density.sharpen(_density_along(tried, some.points, flat))
    trees = grow_trees_on(network, density, rng)
    asked = _Asked(wanted, begin, end, cut(wanted))
    fitted = asked.select(np.arange(min(size, _FITTED_TRIPS)))
    usual = None if turns is None else turns.share(_turns_along(tried, some.points, turns.parts))
    town = _Town(trees, density, region, None if turns is None else turns.parts)
    log_weight = _fit_weights(fitted, town, rng, usual)
    # Ways can be longer than asked for, but not shorter than the quickest one: so much less is asked of all.
    longer = float(_choose(fitted, town, log_weight, rng).whole_m.sum()) / max(float(fitted.length_m.sum()), 1.0)
    asked = replace(asked, stretch=asked.stretch / float(np.clip(longer, *_LONGER)))
    return _choose(asked, town, log_weight, rng)


@dataclass(frozen=True, eq=False)
class _Town:
    """Quickest ways, and where points are to be."""

    trees: Trees
    density: Density
    region: Region
    parts: NetworkParts | None = None
    """Parts of the network between which turns are counted, if they are."""


@dataclass(frozen=True, eq=False)
class _Weights:
    """How much better than others ways are, in logarithms: by the cells they pass, and by the turns they take."""

    of_cell: Array
    of_turn: Array | None = None


def _turns_along(paths: StreetPaths, points: Integers, parts: NetworkParts) -> Array:
    """Return how often ways take each turn, where a way counts once."""
    owner, turn = _find_turns(paths.network, paths.first, (paths.street, paths.backwards), points, parts)
    each = 1 / np.maximum(np.bincount(owner, minlength=paths.size), 1)
    return np.asarray(np.bincount(turn, each[owner], parts.code.size), dtype=np.float64)


def _find_turns(
    network: StreetNetwork,
    first: Integers,
    streets: tuple[Nodes, npt.NDArray[np.bool_]],
    points: Integers,
    parts: NetworkParts,
) -> tuple[Integers, Integers]:
    """Return the turns of ways that are seen at so many points, as those of real trips are."""
    street, backwards = streets
    reached = np.append(0.0, np.cumsum(network.length_m[street]))
    counts = np.diff(first)
    apart_m = np.maximum((reached[first[1:]] - reached[first[:-1]]) / np.maximum(points - 1, 1), 1e-9)
    step = np.floor((reached[1:] - np.repeat(reached[first[:-1]], counts)) / np.repeat(apart_m, counts) + 1e-9)
    owner = np.repeat(np.arange(counts.size), counts)
    seen = np.append(True, (np.diff(step) != 0) | (np.diff(owner) != 0))[: owner.size]
    seen[first[:-1][counts > 0]] = True
    node = np.where(backwards, network.tail[street], network.head[street])
    return parts.find_turns(np.append(0, np.cumsum(seen))[first], parts.label[node[seen]])


def _density_along(paths: StreetPaths, points: Integers, density: Density) -> Density:
    """Return the density of points spread evenly along ways: what ends and streets alone make likely."""
    network = paths.network
    counts = np.diff(paths.first)
    per_m = density.worth(points) / np.maximum(paths.whole_m, 1.0)
    x_m, y_m = network.middles
    cell = density.grid.locate(x_m, y_m)[paths.street]
    mass = np.bincount(cell, network.length_m[paths.street] * np.repeat(per_m, counts), density.grid.size)
    there = np.bincount(density.grid.locate(x_m, y_m), network.length_m, density.grid.size)
    mass = mass / max(mass.sum(), 1e-9) + _UNSEEN * there / there.sum()
    return replace(density, share=mass / mass.sum())


@dataclass(frozen=True, eq=False)
class _Asked:
    """Trips that are wanted, the crossings at their ends, and how much longer the street is than their lines."""

    wanted: WantedTrips
    begin: Integers
    end: Integers
    stretch: Array

    def select(self, which: Integers) -> _Asked:
        return _Asked(self.wanted.select(which), self.begin[which], self.end[which], self.stretch[which])

    @property
    def length_m(self) -> Array:
        return self.wanted.length_m * self.stretch


def _measure_cuts(some: WantedTrips, paths: StreetPaths, density: Density) -> Callable[[WantedTrips], Array]:
    """Return how much longer streets are than lines between points so far apart, as a function of trips."""
    first, x_m, y_m = place_points(paths, some.points, density)
    step = np.append(np.hypot(np.diff(x_m), np.diff(y_m)), 0.0)
    step[first[1:] - 1] = 0.0
    found = np.add.reduceat(step, first[:-1]) / np.maximum(paths.whole_m, 1e-9)
    spacing = some.length_m / np.maximum(some.points - 1, 1)
    edges = np.unique(np.quantile(spacing, np.linspace(0, 1, _CUT_CLASSES + 1)))[1:-1]
    place = np.searchsorted(edges, spacing)
    mean = np.array([
        np.median(found[place == number]) if (place == number).any() else 1.0 for number in range(edges.size + 1)
    ])  # fmt: skip

    def stretch(trips: WantedTrips) -> Array:
        asked = trips.length_m / np.maximum(trips.points - 1, 1)
        return np.asarray(1 / np.clip(mean[np.searchsorted(edges, asked)], 0.5, 1.0))

    return stretch


def _propose(asked: _Asked, town: _Town, rng: np.random.Generator) -> _RouteCandidates:
    """Return candidates for every trip: over one root on the ellipse or near an end, or over several in a disc."""
    wanted, length_m, trees = asked.wanted, asked.length_m, town.trees
    roaming = length_m > _SEVERAL_LEGS_FROM * np.maximum(wanted.ends.apart_m, 1.0)
    root = np.zeros((length_m.size, _DIRECT, 6), dtype=np.int64)
    count, score = np.ones(root.shape[:2], dtype=np.int64), np.zeros(root.shape[:2])
    direct, far = np.flatnonzero(~roaming), np.flatnonzero(roaming)
    root[direct, :, 0] = _over_one_root(asked.select(direct), trees, rng)
    if far.size:
        lines = WantedTrips(
            wanted.ends.select(far), length_m[far] / _BENT, wanted.extent_m[far], np.full(far.size, 1000)
        )
        x_m, y_m, legs = draw_over_several_places(lines, town.density, town.region, rng, candidates=_ROAMING)
        root[far], count[far] = trees.near(x_m, y_m, rng), legs
        extent = _extent_over(trees, root[far], count[far], asked.begin[far], asked.end[far])
        off = np.log(np.maximum(extent, 1.0) / np.maximum(wanted.extent_m[far], 1.0)[:, None])
        score[far] = -0.5 * (off / _EXTENT_SPREAD) ** 2
    return _RouteCandidates(root, count, score)


def _over_one_root(asked: _Asked, trees: Trees, rng: np.random.Generator) -> Integers:
    ends, size = asked.wanted.ends, asked.begin.size
    every = ends.select(np.repeat(np.arange(size), _DIRECT))
    line_m = np.maximum(np.repeat(asked.length_m, _DIRECT) / _BENT, every.apart_m)
    x_m, y_m = (values.reshape(size, _DIRECT) for values in draw_on_ellipse(every, line_m, rng))
    x_m[:, 0], y_m[:, 0] = ends.from_x_m, ends.from_y_m
    x_m[:, 1:3], y_m[:, 1:3] = ends.to_x_m[:, None], ends.to_y_m[:, None]
    return trees.near(x_m, y_m, rng)


def _extent_over(trees: Trees, root: Integers, count: Integers, begin: Integers, end: Integers) -> Array:
    """Return the greatest distance between two of the places that ways pass."""
    network, node = trees.network, trees.root[root]
    passed = np.arange(root.shape[2]) < count[:, :, None]
    node = np.where(passed, node, end[:, None, None])
    node = np.concatenate([np.broadcast_to(begin[:, None, None], (*root.shape[:2], 1)), node], axis=2)
    node = np.concatenate([node, np.broadcast_to(end[:, None, None], (*root.shape[:2], 1))], axis=2)
    x_m, y_m = network.x_m[node], network.y_m[node]
    best = np.zeros(root.shape[:2])
    for apart in range(1, node.shape[2]):
        away = np.hypot(x_m[:, :, apart:] - x_m[:, :, :-apart], y_m[:, :, apart:] - y_m[:, :, :-apart])
        best = np.maximum(best, away.max(axis=2))
    return best


def _trace(trees: Trees, root: Integers, node: Integers) -> tuple[Integers, Nodes]:
    """Follow the ways from crossings to roots; return offsets and the crossings passed, both ends included."""
    counts, passed = [np.zeros(1, dtype=np.int64)], [np.empty(0, dtype=np.int32)]
    for start in range(0, node.size, _WALKERS):
        block = slice(start, start + _WALKERS)
        count, found = _trace_block(trees, root[block], node[block])
        counts.append(count)
        passed.append(found)
    return np.cumsum(np.concatenate(counts)), np.concatenate(passed)


def _trace_block(trees: Trees, root: Integers, node: Integers) -> tuple[Integers, Nodes]:
    walker, at, goal = np.arange(node.size), node.astype(np.int32), trees.root[root].astype(np.int32)
    steps, who = [at], [walker]
    flat, width = trees.following.ravel(), trees.network.size
    row = root * width
    while True:
        going = at != goal
        walker, row, goal, at = walker[going], row[going], goal[going], at[going]
        if not walker.size:
            break
        at = flat[row + at]
        steps.append(at)
        who.append(walker)
    walkers, nodes = np.concatenate(who), np.concatenate(steps)
    return np.bincount(walkers, minlength=node.size), nodes[np.argsort(walkers, kind="stable")]


def _expand_in_blocks(
    asked: _Asked, candidates: _RouteCandidates, trees: Trees
) -> tuple[Integers, Nodes, npt.NDArray[np.bool_]]:
    """Expand some trips at a time: what is worked out on the way is many times as large as the streets."""
    hops, street = [np.zeros(1, dtype=np.int64)], [np.empty(0, dtype=np.int32)]
    backwards = [np.empty(0, dtype=np.bool_)]
    for begin in range(0, asked.begin.size, _EXPANDED):
        some = np.arange(begin, min(begin + _EXPANDED, asked.begin.size))
        first, passed, turned = _expand(asked.select(some), candidates.select(some), trees)
        hops.append(hops[-1][-1] + first[1:])
        street.append(passed)
        backwards.append(turned)
    return np.concatenate(hops), np.concatenate(street), np.concatenate(backwards)


def _expand(asked: _Asked, candidates: _RouteCandidates, trees: Trees) -> tuple[Integers, Nodes, npt.NDArray[np.bool_]]:
    """Return the streets of every candidate way: offsets, streets, and whether they are followed backwards."""
    shape = candidates.count.shape
    ways = int(candidates.count.size)
    count, root = candidates.count.ravel(), candidates.root.reshape(ways, -1)
    begin, end = np.repeat(asked.begin, shape[1]), np.repeat(asked.end, shape[1])
    legs = count + 1  # one to each root, and from the last root on
    first_leg = np.append(0, np.cumsum(legs))
    way = np.repeat(np.arange(ways), legs)
    number = np.arange(way.size) - first_leg[way]
    last = number == count[way]
    leg_root = root[way, np.minimum(number, count[way] - 1)]
    before = root[way, np.maximum(number - 1, 0)]
    node = np.where(last, end[way], np.where(number == 0, begin[way], trees.root[before]))
    first, nodes = _trace(trees, leg_root, node)
    length = np.diff(first)
    shared = _find_shared_ends(first, nodes, first_leg, count)
    kept = length - np.where(last | ((number == 0) & (count[way] == 1)), shared[way], 0)
    offset = np.append(0, np.cumsum(kept))
    rank = np.arange(offset[-1]) - np.repeat(offset[:-1], kept)
    of_leg = np.repeat(np.arange(kept.size), kept)
    # The last leg is traced towards its root and followed from there.
    taken = np.where(last[of_leg], first[of_leg] + kept[of_leg] - 1 - rank, first[of_leg] + rank)
    passed, owner = nodes[taken], way[of_leg]
    hop = np.flatnonzero((owner[1:] == owner[:-1]) & (passed[1:] != passed[:-1]))
    street, backwards = trees.network.street_between(passed[hop].astype(np.int64), passed[hop + 1].astype(np.int64))
    hops = np.append(0, np.cumsum(np.bincount(owner[hop], minlength=ways)))
    return hops, street.astype(np.int32), backwards


def _find_shared_ends(first: Integers, nodes: Nodes, first_leg: Integers, count: Integers) -> Integers:
    """Return, for ways over one root, how many crossings before the root both their legs share (less one: the fork)."""
    shared = np.zeros(count.size, dtype=np.int64)
    way = np.flatnonzero(count == 1)
    one, two = first[first_leg[way] + 1] - 1, first[first_leg[way] + 2] - 1
    low_one, low_two = first[first_leg[way]], first[first_leg[way] + 1]
    while way.size:
        same = (one > low_one) & (two > low_two)
        way, one, two, low_one, low_two = way[same], one[same] - 1, two[same] - 1, low_one[same], low_two[same]
        same = nodes[one] == nodes[two]
        way, one, two, low_one, low_two = way[same], one[same], two[same], low_one[same], low_two[same]
        shared[way] += 1
    return shared


@dataclass(frozen=True, eq=False)
class _Traced:
    """Candidate ways with their streets, the cells these are in, and scores apart from density."""

    first: Integers
    street: Nodes
    backwards: npt.NDArray[np.bool_]
    cell: Nodes
    part: npt.NDArray[np.float32]
    """Share of its way's length that each street has."""
    score: Array
    turning: Integers
    """Ways that take turns (a way with many stands here many times), and those turns."""
    turn: Integers

    def chances(self, weights: _Weights) -> Array:
        """Return the probability of each candidate of a trip."""
        along = np.append(0.0, np.cumsum(weights.of_cell[self.cell] * self.part))
        mean = (along[self.first[1:]] - along[self.first[:-1]]).reshape(self.score.shape)
        total = self.score + _DENSITY_STRENGTH * mean
        if weights.of_turn is not None:
            of_turns = np.bincount(self.turning, weights.of_turn[self.turn], self.score.size)
            total = total + _TURN_STRENGTH * of_turns.reshape(self.score.shape)
        chance = np.exp(total - total.max(axis=1, keepdims=True))
        return np.asarray(chance / chance.sum(axis=1, keepdims=True))


def _trace_candidates(asked: _Asked, town: _Town, rng: np.random.Generator) -> _Traced:
    candidates, network = _propose(asked, town, rng), town.trees.network
    first, street, backwards = _expand_in_blocks(asked, candidates, town.trees)
    hop_m = network.length_m[street]
    reached = np.append(0.0, np.cumsum(hop_m))
    length_m = reached[first[1:]] - reached[first[:-1]]
    cell = town.density.grid.locate(*network.middles).astype(np.int32)[street]
    part = (hop_m / np.repeat(np.maximum(length_m, 1e-9), np.diff(first))).astype(np.float32)
    off = np.log(np.maximum(length_m, 1.0).reshape(candidates.count.shape) / np.maximum(asked.length_m, 1.0)[:, None])
    score = candidates.score - 0.5 * (off / _LENGTH_SPREAD) ** 2
    score = np.where(np.diff(first).reshape(score.shape) > 0, np.maximum(score, -300.0), -1000.0)
    turning, turn = np.empty(0, np.int64), np.empty(0, np.int64)
    if town.parts is not None:
        points = np.repeat(asked.wanted.points, candidates.count.shape[1])
        turning, turn = _find_turns(network, first, (street, backwards), points, town.parts)
    return _Traced(
        first=first,
        street=street,
        backwards=backwards,
        cell=cell,
        part=part,
        score=score,
        turning=turning,
        turn=turn,
    )


def _fit_weights(asked: _Asked, town: _Town, rng: np.random.Generator, usual: Array | None = None) -> _Weights:
    """Return weights under which the chosen ways have the density, where they count by their points, and the turns.

    `usual` are the shares of turns that are wanted, if any.
    """
    traced, density = _trace_candidates(asked, town, rng), town.density
    floor = FLOOR / density.grid.size
    log_weight = np.log(density.share + 2 * floor)
    log_weight -= log_weight.mean()
    of_turn = None if usual is None else np.zeros(usual.size)
    worth = density.worth(asked.wanted.points)
    share = (worth / worth.sum())[:, None]
    number = np.diff(traced.first)
    turns_of = np.maximum(np.bincount(traced.turning, minlength=traced.score.size), 1)
    for _ in range(_ROUNDS):
        chance = traced.chances(_Weights(log_weight, of_turn))
        mass = (chance * share).ravel()
        now = np.bincount(traced.cell, np.repeat(mass, number) * traced.part, density.grid.size)
        log_weight += _LEARNING * np.clip(np.log((density.share + floor) / (now + floor)), -2.0, 2.0)
        if usual is not None and of_turn is not None:
            each = (chance.ravel() / turns_of)[traced.turning]
            found = np.bincount(traced.turn, each, usual.size)
            drawn, least = found / max(float(found.sum()), 1e-12), FLOOR / usual.size
            of_turn += _LEARNING * np.clip(np.log((usual + least) / (drawn + least)), -2.0, 2.0)
    return _Weights(log_weight, of_turn)


def _choose(asked: _Asked, town: _Town, log_weight: _Weights, rng: np.random.Generator) -> StreetPaths:
    """Choose one way per trip, a block of trips at a time: candidates are many times as large as what is chosen."""
    blocks = [np.arange(start, min(start + _BLOCK, asked.begin.size)) for start in range(0, asked.begin.size, _BLOCK)]
    return _concatenate(
        town.trees.network, [_choose_block(asked.select(block), town, log_weight, rng) for block in blocks]
    )


def _choose_block(asked: _Asked, town: _Town, log_weight: _Weights, rng: np.random.Generator) -> StreetPaths:
    """Choose one way per trip, and where on its first and last street it begins and ends."""
    traced, trees = _trace_candidates(asked, town, rng), town.trees
    pick = choose_columns(traced.chances(log_weight), rng)
    way = np.arange(pick.size) * traced.score.shape[1] + pick
    counts = np.diff(traced.first)[way]
    first = np.append(0, np.cumsum(counts))
    hop = np.arange(first[-1]) + np.repeat(traced.first[way] - first[:-1], counts)
    street, backwards = traced.street[hop], traced.backwards[hop]
    stuck = np.flatnonzero(counts == 0)
    if stuck.size:  # both ends at one crossing: along a street there, and no further
        leaving = _any_street(trees.network, asked.begin[stuck])
        street, backwards = (
            np.insert(street, first[stuck], leaving).astype(np.int32),
            np.insert(backwards, first[stuck], trees.network.head[leaving] == asked.begin[stuck]),
        )
        counts[stuck] = 1
        first = np.append(0, np.cumsum(counts))
    length = trees.network.length_m
    begin_m = rng.random(pick.size) / 2 * length[street[first[:-1]]]
    spare_m = rng.random(pick.size) / 2 * length[street[first[1:] - 1]]
    return StreetPaths(
        network=trees.network, first=first, street=street, backwards=backwards, begin_m=begin_m, spare_m=spare_m
    )


def _any_street(network: StreetNetwork, node: Integers) -> Integers:
    """Return one of the streets at each crossing."""
    ends = np.concatenate([network.tail, network.head])
    order = np.argsort(ends, kind="stable")
    return np.asarray(order[np.searchsorted(ends[order], node)] % network.tail.size)


def _concatenate(network: StreetNetwork, parts: list[StreetPaths]) -> StreetPaths:
    counts = [np.zeros(0, np.int64), *(np.diff(part.first) for part in parts)]
    return StreetPaths(
        network=network,
        first=np.append(0, np.cumsum(np.concatenate(counts))),
        street=np.concatenate([np.empty(0, np.int32), *(part.street for part in parts)]),
        backwards=np.concatenate([np.empty(0, np.bool_), *(part.backwards for part in parts)]),
        begin_m=np.concatenate([np.empty(0), *(part.begin_m for part in parts)]),
        spare_m=np.concatenate([np.empty(0), *(part.spare_m for part in parts)]),
    )
