"""How few points single out a person's trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from pydantic import Field

from geodp.attacks import Attack, AttackView
from geodp.attacks.findings import Findings
from geodp.attacks.slots import SlotTable
from geodp.attacks.traces import POINTS, Integers


@dataclass(frozen=True, eq=False)
class TraceIndex:
    """Who was in each cell at each slot, to be looked up: what takes the place of comparing all pairs of people."""

    slots: SlotTable
    codes: Integers
    first: Integers
    person: Integers
    keys: Integers

    @classmethod
    def of(cls, slots: SlotTable) -> TraceIndex:
        """Sort the rows by slot and cell."""
        code = slots.slot * slots.cells + slots.cell
        order = np.argsort(code, kind="stable")  # rows come by person, so those of one code stay in order of people
        codes, first = np.unique(code[order], return_index=True)
        person = slots.person[order]
        place = np.repeat(np.arange(codes.size), np.diff(np.append(first, code.size)))
        keys = place * len(slots.people) + person
        return cls(slots, codes, np.append(first, code.size), person, keys)

    def matches(self, slot: Integers, cell: Integers) -> Integers:
        """Return the people whose traces hold all of some points."""
        wanted = slot * self.slots.cells + cell
        place = np.searchsorted(self.codes, wanted)
        known = (place < self.codes.size) & (self.codes[np.minimum(place, self.codes.size - 1)] == wanted)
        if not known.all() or not wanted.size:
            return np.empty(0, dtype=np.int64)
        place = place[np.argsort(self.first[place + 1] - self.first[place], kind="stable")]  # the rarest first
        found = self.person[self.first[place[0]] : self.first[place[0] + 1]]
        people = len(self.slots.people)
        for other in place[1:]:
            if found.size == 0:
                break
            key = other * people + found
            at = np.minimum(np.searchsorted(self.keys, key), self.keys.size - 1)
            found = found[self.keys[at] == key]
        return found


def draw_points(slots: SlotTable, people: Integers, points: int, rng: np.random.Generator) -> tuple[Integers, Integers]:
    """Draw some of their own rows of each person at random, none twice: person and row, as [person, point].

    People with fewer rows are left out.
    """
    first = np.searchsorted(slots.person, np.arange(len(slots.people) + 1))
    enough = people[(first[people + 1] - first[people]) >= points]
    rows = [first[who] + rng.choice(first[who + 1] - first[who], points, replace=False) for who in enough]
    return enough, np.array(rows, dtype=np.int64).reshape(enough.size, points)


class Unicity(Attack):
    """Look for the traces that hold some points known of a person: of how many people is there one only.

    Traces are cut into slots of `hours` and cells of `cell_m`; `points` (knows) of each target are drawn from her own
    true trace. Where one trace alone holds them all, it is hers. The traces are looked up by slot and cell instead of
    compared in pairs.

    Reference
    ---------
    de Montjoye, Hidalgo, Verleysen, Blondel 2013, "Unique in the Crowd".
    """

    kind: ClassVar[str] = "unicity"
    about: ClassVar[str] = "identity"
    reads: ClassVar[frozenset[str]] = frozenset({"points", "visits", "trajectories"})
    can_know: ClassVar[frozenset[str]] = frozenset({POINTS})

    knows: tuple[str, ...] = (POINTS,)
    """What is known beforehand: `points`, true points of each target."""
    points: int = Field(default=4, ge=1, le=1000)
    """How many points of each target are known."""
    hours: float = Field(default=1.0, gt=0)
    """Length of a slot, hours."""
    cell_m: float = Field(default=1000.0, gt=0)
    """Side of a cell, metres."""

    def guess(self, view: AttackView) -> Findings:
        """Return everybody whose trace holds the points, each with the same chance."""
        traces, known = view.traces(), view.background.points
        if known is None or not known.size or not traces.size:
            return Findings.about_identities(*_NOBODY)
        slots = SlotTable.cut(traces, view.region, hours=self.hours, cell_m=self.cell_m)
        index = TraceIndex.of(slots)
        points = SlotTable.cut(known, view.region, hours=self.hours, cell_m=self.cell_m)
        target, who, rank, weight = [], [], [], []
        first = np.searchsorted(points.person, np.arange(len(points.people) + 1))
        for number, name in enumerate(points.people):
            rows = slice(first[number], first[number + 1])
            found = index.matches(points.slot[rows], points.cell[rows])
            target.append(np.repeat(name, found.size))
            who.append(slots.people[found])
            rank.append(np.ones(found.size, dtype=np.int64))
            weight.append(np.full(found.size, 1 / max(found.size, 1)))
        return Findings.about_identities(*(np.concatenate(part) for part in (target, who, rank, weight)))


_NOBODY = (np.empty(0, dtype=np.str_), np.empty(0, dtype=np.str_), np.empty(0, dtype=np.int64), np.empty(0))
