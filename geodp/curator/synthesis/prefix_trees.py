"""Noisy prefix trees, one per grid: how often short sequences of tokens begin in each cell, and walks over them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from geodp.curator.synthesis.epsilon_parts import EpsilonParts
from geodp.curator.synthesis.grids import Integers, ReferenceSystems
from geodp.curator.synthesis.noisy_histograms import draw_whole_counts, fit_children, fit_total
from geodp.curator.synthesis.tokens import END, STAY, UP, Tokens, targets, token_count
from geodp.geometry import Array

START = "starts"
_ACROSS = np.tile([-1.0, 0.0, 1.0], 3)
_ALONG = np.repeat([-1.0, 0.0, 1.0], 3)
_NORM = np.hypot(_ACROSS, _ALONG)
_HOPS_PER_MOVE = 4


@dataclass(frozen=True, eq=False)
class Depth:
    """The expanded nodes of one depth: what follows them."""

    counts: Array
    """Row per node, column per token: how often the token follows; rows add up to the node's own count."""
    child: Integers
    """Node of the next depth that a token leads to; -1 where it was pruned."""
    target: Integers
    """Cell that a token leads to; -1 where it is impossible, or the end."""


@dataclass(frozen=True, eq=False)
class PrefixTrees:
    """The trees of all grids, and where trajectories start."""

    systems: ReferenceSystems
    starts: Array
    """Trajectories that start in each cell."""
    visits: Array
    """How often each cell is visited; 0 where it was pruned."""
    node: Integers
    """Node of depth 0 of each cell; -1 where it was pruned."""
    depths: tuple[Depth, ...]


def level_parts(order: int) -> list[str]:
    """Name the parts that the trees are paid in: the starts, the cells, and one per token of a sequence."""
    return [START, "cells", *(f"sequences of {tokens}" for tokens in range(1, order + 1))]


def grow_trees(
    tokens: Tokens, weights: Array, parts: EpsilonParts, *, order: int, bound: float, prune: bool = True
) -> PrefixTrees:
    """Count sequences with noise, depth by depth; only what stands out of the noise is followed further.

    Every trajectory adds `weights` per token, at most `bound` per depth over all grids together. All siblings of an
    expanded node get noise, those that never occur too; nodes above b·ln(K/2) are expanded (b: scale, K: siblings), so
    that less than one empty node passes on average.
    """
    systems, per_token = tokens.systems, np.repeat(weights, np.diff(tokens.first))
    # A trajectory starts once, so starts need no weights: their sensitivity is 1 where that of tokens is the bound.
    starts = parts.add_noise(START, np.bincount(tokens.starts, minlength=systems.cells))
    starts = _keep_standing_out(starts, parts.scale(START), prune=prune)
    visits = parts.add_noise("cells", np.bincount(tokens.state, per_token, systems.cells), bound)
    visits = _keep_standing_out(visits, parts.scale("cells", bound), prune=prune)
    node = _number_chosen(visits > 0)
    depths, cell_of_node, count_of_node = [], np.flatnonzero(visits > 0), visits[visits > 0]
    at_node, kinds = node[tokens.state], token_count(systems)
    following = np.arange(tokens.token.size)
    for length in range(1, order + 1):
        part = f"sequences of {length}"
        inside = np.flatnonzero(at_node >= 0)
        key = at_node[inside] * kinds + tokens.token[following[inside]]
        size = cell_of_node.size * kinds
        target = targets(systems, cell_of_node)
        possible = target >= 0
        possible[:, UP + 1] = True  # the end is possible everywhere
        noisy = parts.add_noise(part, np.bincount(key, per_token[inside], size), bound).reshape(-1, kinds)
        scale = parts.scale(part, bound)
        bar = scale * np.log(np.maximum(possible.sum(axis=1), 2) / 2) if prune else np.zeros(cell_of_node.size)
        counts = fit_children(noisy, count_of_node, possible)
        followed = (noisy > bar[:, None]) & possible & (np.arange(kinds) < UP) & (length < order)
        child = _number_chosen(followed.ravel()).reshape(-1, kinds)
        depths.append(Depth(counts, child, target))
        at_node[inside] = child.ravel()[key]
        following = np.minimum(following + 1, tokens.token.size - 1)
        cell_of_node, count_of_node = target[followed], counts[followed]
    return PrefixTrees(systems, starts, visits, node, tuple(depths))


def _keep_standing_out(noisy: Array, scale: float, *, prune: bool) -> Array:
    """Return the counts that no empty cell would have reached; the largest where none has."""
    bar = scale * math.log(max(noisy.size, 2) / 2) if prune else 0.0
    kept = np.where(noisy > bar, noisy, 0.0)
    if not kept.any():
        kept[np.argmax(noisy)] = 1.0
    return kept


def _number_chosen(chosen: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Integers:
    """Return numbers for what is chosen, in order; -1 for the rest."""
    return np.where(chosen, np.cumsum(chosen) - 1, -1)


@dataclass(frozen=True, eq=False)
class Walks:
    """Cells visited: walk i owns `first[i]` to `first[i + 1] - 1`."""

    first: Integers
    cell: Integers

    @property
    def owner(self) -> Integers:
        """Walk of each cell."""
        return np.repeat(np.arange(self.first.size - 1), np.diff(self.first))


@dataclass(frozen=True)
class Direction:
    """Preference for going on in the same direction: exp(kappa · cos of the turn), 0 switches it off."""

    kappa: float = 1.0
    window: int = 3
    """Moves over which the direction so far is averaged."""


def walk_trees(
    trees: PrefixTrees, points: Integers, direction: Direction, rng: np.random.Generator, *, ends_in_tree: bool = False
) -> Walks:
    """Draw a walk of so many points for each entry of `points`.

    The next token follows the noisy counts after the longest context that was not pruned, times the direction weight.
    The number of points is given (it was counted by itself), so the end is no token here; with `ends_in_tree` walks
    end where the tree says so, and `points` only bounds them.
    """
    walk = _Walkers(trees, points, direction, rng, ends_in_tree=ends_in_tree)
    while walk.going.size:
        walk.step()
    return walk.collect()


class _Walkers:
    """All walks at once, one token at a time."""

    def __init__(
        self,
        trees: PrefixTrees,
        points: Integers,
        direction: Direction,
        rng: np.random.Generator,
        *,
        ends_in_tree: bool,
    ) -> None:
        self.trees, self.direction, self.rng, self.ends_in_tree = trees, direction, rng, ends_in_tree
        count = points.size
        starts = draw_whole_counts(fit_total(trees.starts, float(trees.starts.sum())), count, rng)
        self.cell = np.repeat(np.arange(starts.size), starts)
        rng.shuffle(self.cell)
        self.wanted = points
        self.made = np.ones(count, dtype=np.int64)
        self.hops = np.zeros(count, dtype=np.int64)
        # context[d]: node of depth d that the last d moves and the present cell make up
        self.context = np.full((len(trees.depths), count), -1)
        self.context[0] = trees.node[self.cell]
        self.recent = np.zeros((direction.window, 2, count))
        self.moves = 0
        self.visits = [(np.arange(count), self.cell.copy())]
        self.going = np.flatnonzero(self.wanted > 1)

    def step(self) -> None:
        """Emit one token for every walk that is not over."""
        who = self.going
        weights, target, child = self._weights(who)
        if not self.ends_in_tree:
            weights[:, END] = 0.0
        tired = self.hops[who] >= _HOPS_PER_MOVE  # no hopping back and forth between grids for ever
        weights[tired, UP] = 0.0
        weights[tired, END + 1 :] = 0.0
        weights[:, :UP] *= self._direction_weights(who)
        total = weights.sum(axis=1)
        stuck = total <= 0
        weights[stuck, STAY] = 1.0
        lot = self.rng.random(who.size) * np.where(stuck, 1.0, total)
        token = np.minimum((np.cumsum(weights, axis=1) <= lot[:, None]).sum(axis=1), weights.shape[1] - 1)
        rows = np.arange(who.size)
        moved, over = token < UP, token == END
        cell = np.where(token == END, self.cell[who], target[rows, token])
        cell = np.where(cell < 0, self.cell[who], cell)
        self._follow(who, token, child)
        self.cell[who] = cell
        self.context[0][who] = self.trees.node[cell]
        self.hops[who] = np.where(moved, 0, self.hops[who] + 1)
        at = who[moved]
        self.made[at] += 1
        self.visits.append((at, cell[moved]))
        self._remember(at, token[moved])
        self.going = who[~over & (self.made[who] < self.wanted[who])]

    def collect(self) -> Walks:
        """Return what was walked, walk by walk."""
        who = np.concatenate([part[0] for part in self.visits])
        cell = np.concatenate([part[1] for part in self.visits])
        order = np.argsort(who, kind="stable")
        return Walks(np.append(0, np.cumsum(np.bincount(who, minlength=self.wanted.size))), cell[order])

    def _weights(self, who: Integers) -> tuple[Array, Integers, list[Integers]]:
        """Return weight and target of every token after the longest known context, and all contexts' children."""
        depths = self.trees.depths
        kinds = depths[0].counts.shape[1]
        weights, target = np.zeros((who.size, kinds)), np.full((who.size, kinds), -1)
        children, known = [], np.zeros(who.size, dtype=np.bool_)
        for depth, context in zip(depths, self.context, strict=True):
            here = np.flatnonzero(context[who] >= 0)
            node = context[who[here]]
            weights[here], target[here] = depth.counts[node], depth.target[node]
            known[here] = True
            follow = np.full((who.size, kinds), -1)
            follow[here] = depth.child[node]
            children.append(follow)
        lost = np.flatnonzero(~known)
        if lost.size:  # a cell that was pruned: go where there is anything, else anywhere
            target[lost] = targets(self.trees.systems, self.cell[who[lost]])
            reached = target[lost]
            weights[lost] = np.where(reached >= 0, self.trees.visits[np.maximum(reached, 0)] + 1e-9, 0.0)
        return weights, target, children

    def _follow(self, who: Integers, token: Integers, children: list[Integers]) -> None:
        rows = np.arange(who.size)
        for depth in range(len(children) - 1, 0, -1):
            self.context[depth][who] = children[depth - 1][rows, token]

    def _direction_weights(self, who: Integers) -> Array:
        """Return exp(kappa·cos) between each move and the mean of the last ones; 1 for staying and at the start."""
        if self.direction.kappa == 0:
            return np.ones((who.size, UP))
        mean = self.recent[:, :, who].sum(axis=0)
        length = np.hypot(*mean)
        cosine = np.outer(mean[0], _ACROSS) + np.outer(mean[1], _ALONG)
        cosine /= np.maximum(length[:, None] * np.maximum(_NORM, 1e-9), 1e-9)
        cosine[length == 0] = 0.0
        cosine[:, STAY] = 0.0
        return np.asarray(np.exp(self.direction.kappa * cosine))

    def _remember(self, who: Integers, token: Integers) -> None:
        slot = self.made[who] % self.direction.window
        norm = np.maximum(_NORM[token], 1.0)
        self.recent[slot, 0, who] = _ACROSS[token] / norm
        self.recent[slot, 1, who] = _ALONG[token] / norm
