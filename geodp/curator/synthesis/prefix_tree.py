"""Noisy prefix trees, one per grid: how often each short sequence of tokens begins in each cell."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from geodp.curator.synthesis.consistency import fitted_children
from geodp.curator.synthesis.epsilon_parts import Purse
from geodp.curator.synthesis.mapping import UP, Tokens, targets, token_count
from geodp.curator.synthesis.reference_systems import Integers, ReferenceSystems
from geodp.geometry import Array

START = "starts"


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


def grown(tokens: Tokens, weights: Array, purse: Purse, *, order: int, bound: float, prune: bool = True) -> PrefixTrees:
    """Count sequences with noise, depth by depth; only what stands out of the noise is followed further.

    Every trajectory adds `weights` per token, at most `bound` per depth over all grids together. All siblings of an
    expanded node get noise, those that never occur too; nodes above b·ln(K/2) are expanded (b: scale, K: siblings), so
    that less than one empty node passes on average.
    """
    systems, per_token = tokens.systems, np.repeat(weights, np.diff(tokens.first))
    # A trajectory starts once, so starts need no weights: their sensitivity is 1 where that of tokens is the bound.
    starts = purse.counts(START, np.bincount(tokens.starts, minlength=systems.cells))
    starts = _standing_out(starts, purse.scale(START), prune=prune)
    visits = purse.counts("cells", np.bincount(tokens.state, per_token, systems.cells), bound)
    visits = _standing_out(visits, purse.scale("cells", bound), prune=prune)
    node = _numbered(visits > 0)
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
        noisy = purse.counts(part, np.bincount(key, per_token[inside], size), bound).reshape(-1, kinds)
        scale = purse.scale(part, bound)
        bar = scale * np.log(np.maximum(possible.sum(axis=1), 2) / 2) if prune else np.zeros(cell_of_node.size)
        counts = fitted_children(noisy, count_of_node, possible)
        followed = (noisy > bar[:, None]) & possible & (np.arange(kinds) < UP) & (length < order)
        child = _numbered(followed.ravel()).reshape(-1, kinds)
        depths.append(Depth(counts, child, target))
        at_node[inside] = child.ravel()[key]
        following = np.minimum(following + 1, tokens.token.size - 1)
        cell_of_node, count_of_node = target[followed], counts[followed]
    return PrefixTrees(systems, starts, visits, node, tuple(depths))


def _standing_out(noisy: Array, scale: float, *, prune: bool) -> Array:
    """Return the counts that no empty cell would have reached; the largest where none has."""
    bar = scale * math.log(max(noisy.size, 2) / 2) if prune else 0.0
    kept = np.where(noisy > bar, noisy, 0.0)
    if not kept.any():
        kept[np.argmax(noisy)] = 1.0
    return kept


def _numbered(chosen: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Integers:
    """Return numbers for what is chosen, in order; -1 for the rest."""
    return np.where(chosen, np.cumsum(chosen) - 1, -1)
