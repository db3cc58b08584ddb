"""Knowing somebody again by how she moves: a chain per person, learnt from an earlier period."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from geodp.attacks import Attack, AttackView
from geodp.attacks.findings import Findings, rank_candidates
from geodp.attacks.slots import SlotTable
from geodp.attacks.traces import PAST, Integers
from geodp.geometry import Array

_OWN_SHARE = 0.9
_PRIOR_STEPS = 2.0


def log_likelihoods(before: SlotTable, now: SlotTable, popularity: Array, *, order: int = 1) -> Array:
    """Return ln of how likely each present trace is under each past one: [now, before].

    q(b|a) = (M_ab + 2π(b))/(M_a + 2) with π = .9 own histogram + .1 popularity; of order 0, π alone.
    """
    cells = popularity.size
    own = before.histograms()
    own /= np.maximum(own.sum(axis=1, keepdims=True), 1.0)
    base = _OWN_SHARE * own + (1 - _OWN_SHARE) * popularity
    if order == 0:
        return now.histograms() @ np.log(np.maximum(base, 1e-300)).T
    scores = np.zeros((len(now.people), len(before.people)))
    person, start, end = before.steps()
    now_person, now_start, now_end = now.steps()
    for cell in np.unique(now_start):  # one row of everybody's matrix at a time keeps memory small
        mine, theirs = start == cell, now_start == cell
        moves = np.bincount(person[mine] * cells + end[mine], minlength=len(before.people) * cells).astype(np.float64)
        moves = moves.reshape(-1, cells)
        logs = np.log(
            np.maximum((moves + _PRIOR_STEPS * base) / (moves.sum(axis=1, keepdims=True) + _PRIOR_STEPS), 1e-300)
        )
        seen = np.bincount(now_person[theirs] * cells + now_end[theirs], minlength=len(now.people) * cells)
        scores += seen.reshape(-1, cells).astype(np.float64) @ logs.T
    return scores


def match_one_to_one(scores: Array) -> Integers:
    """Return for each row the column that a matching with the greatest sum gives it (-1: none)."""
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(-scores)
    found = np.full(len(scores), -1, dtype=np.int64)
    found[rows] = columns
    return found


class MarkovLinkage(Attack):
    """Take a trace for that of whom a first-order chain of her earlier moves makes it likeliest.

    q(b|a) = (M_ab + 2π(b))/(M_a + 2), π = .9 of her own histogram + .1 of everybody's; Σ ln q over the steps.
    `order: 0` looks at the histogram alone, which can win; `one_to_one` gives every trace another person.

    Reference
    ---------
    Gambs, Killijian, Núñez del Prado Cortez 2014, "De-anonymization attack on geolocated data".
    """

    kind: ClassVar[str] = "markov_linkage"
    about: ClassVar[str] = "identity"
    reads: ClassVar[frozenset[str]] = frozenset({"points", "visits", "trajectories"})
    can_know: ClassVar[frozenset[str]] = frozenset({PAST})

    knows: tuple[str, ...] = (PAST,)
    """What is known beforehand: `past`, everybody's traces of an earlier period."""
    order: Literal[0, 1] = 1
    """Of the chain; 0: the histogram alone."""
    one_to_one: bool = False
    """Whether no two traces are given the same person."""
    hours: float = Field(default=1.0, gt=0)
    """Length of a step, hours."""
    cell_m: float = Field(default=1000.0, gt=0)
    """Side of a cell, metres."""
    people: int = Field(default=1000, ge=1)
    """Maximum number of traces attacked."""

    def guess(self, view: AttackView) -> Findings:
        """Rank everybody for each trace."""
        traces, past = view.traces(), view.background.past
        if past is None or not past.size or not traces.size:
            nobody = np.empty(0, dtype=np.str_)
            return Findings.about_identities(nobody, nobody, np.empty(0, dtype=np.int64), np.empty(0))
        traces = traces.take(np.isin(traces.who, traces.people[: self.people]))
        before = SlotTable.cut(past, view.region, hours=self.hours, cell_m=self.cell_m)
        now = SlotTable.cut(traces, view.region, hours=self.hours, cell_m=self.cell_m)
        before, now = _on_the_same_cells(before, now)
        popularity = before.histograms().sum(axis=0) + 1.0
        scores = log_likelihoods(before, now, popularity / popularity.sum(), order=self.order)
        if not self.one_to_one:
            return rank_candidates(scores, now.people, before.people)
        chosen = match_one_to_one(scores)
        found = np.flatnonzero(chosen >= 0)
        ones = np.ones(found.size)
        return Findings.about_identities(now.people[found], before.people[chosen[found]], ones.astype(np.int64), ones)


def _on_the_same_cells(before: SlotTable, now: SlotTable) -> tuple[SlotTable, SlotTable]:
    """Give the cells that anybody was in new numbers, the same in both."""
    used, cell = np.unique(np.concatenate([before.cell, now.cell]), return_inverse=True)
    parts = cell[: before.size], cell[before.size :]
    return (
        SlotTable(before.people, before.person, before.slot, parts[0], used.size),
        SlotTable(now.people, now.person, now.slot, parts[1], used.size),
    )
