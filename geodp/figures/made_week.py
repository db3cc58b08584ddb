"""A made-up week of people with homes, work and habits on 10 × 5 cells of a kilometre: world W of attacks.

Popularity p ∝ 1/rank; home ∝ √p, work and 3 favourites ∝ p. From 22 to 7: home .95, else any ∝ p; weekdays from 9 to
17: work .90, favourite .05, any .05; else home .5, favourite .4, any .1. Hour 0 is Monday 0:00.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

COLUMNS, ROWS, HOURS = 10, 5, 168
CELLS = COLUMNS * ROWS
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class MadeWeek:
    """People with habits, and where each was at every hour of a week."""

    home: Integers
    work: Integers
    favourites: Integers
    popularity: npt.NDArray[np.float64]

    @classmethod
    def people(cls, number: int, rng: np.random.Generator) -> MadeWeek:
        """Draw people with their habits."""
        rank = rng.permutation(CELLS) + 1.0
        p = (1 / rank) / (1 / rank).sum()
        root = np.sqrt(p) / np.sqrt(p).sum()
        return cls(
            rng.choice(CELLS, number, p=root),
            rng.choice(CELLS, number, p=p),
            rng.choice(CELLS, (number, 3), p=p),
            p,
        )

    def walk(self, rng: np.random.Generator, hours: int = HOURS) -> Integers:
        """Draw a week: [person, hour] of cells."""
        n = self.home.size
        table = np.empty((n, hours), dtype=np.int64)
        for hour in range(hours):
            of_day, day = hour % 24, hour // 24
            draw = rng.random(n)
            anywhere = rng.choice(CELLS, n, p=self.popularity)
            favourite = self.favourites[np.arange(n), rng.integers(0, 3, n)]
            if of_day >= 22 or of_day < 7:
                here = np.where(draw < 0.95, self.home, anywhere)
            elif day % 7 < 5 and 9 <= of_day < 17:
                here = np.where(draw < 0.90, self.work, np.where(draw < 0.95, favourite, anywhere))
            else:
                here = np.where(draw < 0.5, self.home, np.where(draw < 0.9, favourite, anywhere))
            table[:, hour] = here
        return table


def count_people(table: Integers) -> Integers:
    """Return how many people are in each cell at each hour: [hour, cell]."""
    people, hours = table.shape
    flat = np.tile(np.arange(hours) * CELLS, people) + table.ravel()
    return np.bincount(flat, minlength=hours * CELLS).reshape(hours, CELLS)


def middles() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the middles of the cells, metres."""
    cell = np.arange(CELLS)
    x_m, y_m = (cell % COLUMNS + 0.5) * 1000.0, (cell // COLUMNS + 0.5) * 1000.0
    return x_m.astype(np.float64), y_m.astype(np.float64)


def coarsen(table: Integers, hours: int, cells: int) -> tuple[Integers, Integers, Integers]:
    """Return person, slot and cell of a table cut into slots of hours and cells of so many kilometres, once each."""
    people, length = table.shape
    column, row = table % COLUMNS // cells, table // COLUMNS // cells
    person = np.repeat(np.arange(people), length)
    slot = np.tile(np.arange(length) // hours, people)
    rows = np.column_stack([person, slot, (row * (-(-COLUMNS // cells)) + column).ravel()])
    unique = np.unique(rows, axis=0)
    return unique[:, 0], unique[:, 1], unique[:, 2]
