"""Traces cut into hours and cells: what most attacks on histories work on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodp.attacks.traces import Integers, Names, Traces
from geodp.geometry import Array, Grid, Region


@dataclass(frozen=True, eq=False)
class SlotTable:
    """Who was in which cell in which slot of time: one row each, sorted by person and time, none twice.

    Parameters
    ----------
    people
        Names, by number.
    person, slot, cell
        Of each row.
    cells
        How many cells there are.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.attacks.slots import SlotTable
    >>> SlotTable.of_table(np.array([[0, 1], [1, 1]])).cell
    array([0, 1, 1, 1])
    """

    people: Names
    person: Integers
    slot: Integers
    cell: Integers
    cells: int

    @classmethod
    def of(cls, people: Names, person: Integers, slot: Integers, cell: Integers, cells: int) -> SlotTable:
        """Put rows in order, once each."""
        order = np.lexsort((cell, slot, person))
        person, slot, cell = (np.asarray(column, dtype=np.int64)[order] for column in (person, slot, cell))
        first = np.ones(person.size, dtype=np.bool_)
        first[1:] = (np.diff(person) != 0) | (np.diff(slot) != 0) | (np.diff(cell) != 0)
        return cls(people, person[first], slot[first], cell[first], cells)

    @classmethod
    def of_table(cls, table: Integers, cells: int | None = None) -> SlotTable:
        """Return the slots of a full table [person, slot] of cells."""
        people, slots = table.shape
        names = np.array([f"{number:06d}" for number in range(people)])
        person, slot = np.repeat(np.arange(people), slots), np.tile(np.arange(slots), people)
        size = int(table.max(initial=-1)) + 1 if cells is None else cells
        return cls(names, person, slot, np.asarray(table, dtype=np.int64).ravel(), size)

    @classmethod
    def cut(
        cls, traces: Traces, region: Region, *, hours: float, cell_m: float, people: Names | None = None
    ) -> SlotTable:
        """Cut traces into slots of time and cells of a grid; what is outside the region is left out.

        Places that are numbered stay what they are.
        """
        names = traces.people if people is None else people
        person = np.searchsorted(names, traces.who)
        slot = np.floor(traces.time_s / (3600.0 * hours)).astype(np.int64)
        if traces.size and (traces.place >= 0).all():
            return cls.of(names, person, slot, traces.place, int(traces.place.max()) + 1)
        grid = Grid.fit(region, cell_m)
        cell = grid.locate(traces.x_m, traces.y_m)
        inside = cell >= 0
        return cls.of(names, person[inside], slot[inside], cell[inside], grid.size)

    @property
    def size(self) -> int:
        """Number of rows."""
        return int(self.person.size)

    def take(self, rows: Integers) -> SlotTable:
        """Return some of the rows, of the same people."""
        return SlotTable(self.people, self.person[rows], self.slot[rows], self.cell[rows], self.cells)

    def histograms(self) -> Array:
        """Return how often each person was in each cell: [person, cell]."""
        flat = np.bincount(self.person * self.cells + self.cell, minlength=len(self.people) * self.cells)
        return flat.reshape(len(self.people), self.cells).astype(np.float64)

    def shrink(self) -> tuple[SlotTable, Integers]:
        """Return the same rows over the cells that somebody was in, and which cells those are."""
        used, cell = np.unique(self.cell, return_inverse=True)
        return SlotTable(self.people, self.person, self.slot, cell, used.size), used

    def steps(self) -> tuple[Integers, Integers, Integers]:
        """Return person, cell and next cell of every two rows of one person that follow each other."""
        same = self.person[1:] == self.person[:-1]
        return self.person[:-1][same], self.cell[:-1][same], self.cell[1:][same]
