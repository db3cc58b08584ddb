"""Knowing somebody again by the few places where she is most."""

from __future__ import annotations

from collections import defaultdict
from typing import ClassVar

import numpy as np
from pydantic import Field

from geodp.attacks import Attack, AttackView
from geodp.attacks.findings import Findings
from geodp.attacks.slots import SlotTable
from geodp.attacks.traces import PAST
from geodp.geometry import Array


def top_cells(histograms: Array, number: int) -> list[frozenset[int]]:
    """Return the set of each person's most visited cells; of equals the first, and none that she never was in."""
    order = np.argsort(-histograms, axis=1, kind="stable")[:, :number]
    visited = np.take_along_axis(histograms, order, axis=1) > 0
    return [frozenset(cells[some].tolist()) for cells, some in zip(order, visited, strict=True)]


class TopN(Attack):
    """Take a trace for that of whom the same `number` of cells were the most visited before; ties share.

    Reference
    ---------
    Zang, Bolot 2011, "Anonymization of Location Data Does Not Work" (top N locations).
    """

    kind: ClassVar[str] = "top_n"
    about: ClassVar[str] = "identity"
    reads: ClassVar[frozenset[str]] = frozenset({"points", "visits", "trajectories"})
    can_know: ClassVar[frozenset[str]] = frozenset({PAST})

    knows: tuple[str, ...] = (PAST,)
    """What is known beforehand: `past`, everybody's traces of an earlier period."""
    number: int = Field(default=5, ge=1, le=100)
    """How many cells make the set."""
    cell_m: float = Field(default=1000.0, gt=0)
    """Side of a cell, metres."""

    def guess(self, view: AttackView) -> Findings:
        """Compare the sets."""
        traces, past = view.traces(), view.background.past
        nobody = np.empty(0, dtype=np.str_)
        if past is None or not past.size or not traces.size:
            return Findings.about_identities(nobody, nobody, np.empty(0, dtype=np.int64), np.empty(0))
        before = SlotTable.cut(past, view.region, hours=1.0, cell_m=self.cell_m)
        now = SlotTable.cut(traces, view.region, hours=1.0, cell_m=self.cell_m)
        return match_sets(before, now, self.number)


def match_sets(before: SlotTable, now: SlotTable, number: int) -> Findings:
    """Return for each person now everybody who had the same set before, with equal chances."""
    known = defaultdict(list)
    for who, cells in zip(before.people, top_cells(before.histograms(), number), strict=True):
        known[cells].append(str(who))
    target, who, weight = [], [], []
    for name, cells in zip(now.people, top_cells(now.histograms(), number), strict=True):
        same = known.get(cells, [])
        target += [str(name)] * len(same)
        who += same
        weight += [1 / max(len(same), 1)] * len(same)
    ones = np.ones(len(target), dtype=np.int64)
    return Findings.about_identities(
        np.array(target, dtype=np.str_), np.array(who, dtype=np.str_), ones, np.array(weight, dtype=np.float64)
    )
