"""Where people go: to a new place as far away as the law of distances says, or back to one where they have been.

Exploration and preferential return (Song et al. 2010): with probability ρ·S^-γ, where S is how many places one has
found, a person explores; else she returns to one of her places, the likelier the more often she has been there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array
from geodp.world.weekly_diaries import HOME, OUT, Diaries

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.floating]
_LEAST_M, _STEPS = 1.0, 512
_TRIES = 6
"""Places looked at, each about as far away as drawn, in directions at random: popular ones are chosen more often."""
_STRICT = 4.0
"""How strongly a place counts less the more its distance differs from the one drawn."""
_SAME_M = 25.0
_THOUGHTS = 3
"""Places of hers that somebody who is out already thinks of before she goes on to the nearest."""


@dataclass(frozen=True)
class DistanceLaw:
    """Density of the distance r of a new place: (r + near)^-power · exp(-r / reach), a truncated power law."""

    power: float
    near_m: float
    reach_m: float
    furthest_m: float

    @cached_property
    def _table(self) -> tuple[Array, Array]:
        r = np.geomspace(_LEAST_M, max(self.furthest_m, 2 * _LEAST_M), _STEPS)
        density = (r + self.near_m) ** -self.power * np.exp(-r / self.reach_m)
        summed = np.append(0.0, np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(r)))
        return summed / summed[-1], r

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        """Draw distances (m)."""
        return np.asarray(np.interp(rng.random(count), *self._table))


@dataclass(frozen=True, eq=False)
class PlacesToGo:
    """Public places to go to, and how popular each is."""

    x_m: Array
    y_m: Array
    pull: Array

    @cached_property
    def _tree(self) -> Any:
        from scipy.spatial import cKDTree

        return cKDTree(np.column_stack([self.x_m, self.y_m]))

    def nearest(self, x_m: Floats, y_m: Floats) -> Integers:
        """Return the place nearest to each of the given ones."""
        return np.asarray(self._tree.query(np.column_stack([x_m, y_m]))[1], dtype=np.int64)

    def explore(self, x_m: Floats, y_m: Floats, away_m: Array, rng: np.random.Generator) -> Integers:
        """Draw a place about so far away from each of the given ones, and not there."""
        angle = rng.uniform(0.0, 2 * np.pi, (_TRIES, x_m.size))
        found = self.nearest((x_m + away_m * np.cos(angle)).ravel(), (y_m + away_m * np.sin(angle)).ravel())
        found = found.reshape(angle.shape)
        true_m = np.hypot(self.x_m[found] - x_m, self.y_m[found] - y_m)
        differs = np.abs(np.log((true_m + _SAME_M) / (away_m + _SAME_M)))
        weight = self.pull[found] * np.exp(-_STRICT * differs) * (true_m > 0) + 1e-300
        summed = np.cumsum(weight, axis=0)
        chosen = np.minimum((summed <= rng.random(x_m.size) * summed[-1]).sum(axis=0), _TRIES - 1)
        return np.asarray(found[chosen, np.arange(x_m.size)], dtype=np.int64)


def choose_places(
    diary: Diaries,
    town: PlacesToGo,
    *,
    bases: tuple[Array, Array],
    rho: float,
    gamma: float,
    law: DistanceLaw,
    reach: Array,
    rng: np.random.Generator,
) -> Integers:
    """Return the place of every row of the diaries that is about going out; -1 for home and work.

    Parameters
    ----------
    diary
        What people mean to do, in order.
    town
        Where one can go.
    bases
        Coordinates of each row's home or workplace (of rows about going out they do not matter).
    rho, gamma
        Of the probability of exploring.
    law
        How far away new places are.
    reach
        Each person's factor of these distances.
    rng
        Where luck comes from.
    """
    out = np.flatnonzero(diary.kind == OUT)
    place = np.full(diary.kind.size, -1, dtype=np.int64)
    person = diary.person[out]
    begin = np.searchsorted(person, np.arange(diary.first.size))
    number = np.diff(begin)
    by_number = np.argsort(-number, kind="stable")
    going = np.searchsorted(-number[by_number], -np.arange(int(number.max(initial=0))), side="left")
    found = np.zeros(number.size)
    visited = np.empty(out.size, dtype=np.int64)
    for nth, count in enumerate(going.tolist()):
        who = by_number[:count]
        row = out[begin[who] + nth]
        before = row - 1
        chained = diary.kind[before] == OUT
        here = np.where(chained, place[before], -1)
        back = _return(visited, begin[who], nth, here=here, town=town, rng=rng) if nth else here
        explores = (rng.random(count) < rho * np.maximum(found[who], 1.0) ** -gamma) | (nth == 0) | (back == here)
        new = np.flatnonzero(explores)
        if new.size:
            from_x = np.where(chained[new], town.x_m[here[new]], bases[0][before[new]])
            from_y = np.where(chained[new], town.y_m[here[new]], bases[1][before[new]])
            away_m = law.draw(new.size, rng) * reach[who[new]]
            back = back.copy()
            back[new] = town.explore(from_x, from_y, away_m, rng)
            found[who[new]] += 1
        visited[begin[who] + nth] = back
        place[row] = back
    return place


def _return(
    visited: Integers, begin: Integers, nth: int, *, here: Integers, town: PlacesToGo, rng: np.random.Generator
) -> Integers:
    """Draw a place among each one's visits so far; of those on an outing, the nearest of a few that she thinks of."""
    back = visited[begin + (rng.random(begin.size) * nth).astype(np.int64)]
    on = np.flatnonzero(here >= 0)
    at = here[on]
    nearest, least_m = back[on], np.full(on.size, np.inf)
    for number in range(_THOUGHTS):
        draw = (rng.random(on.size) * nth).astype(np.int64)
        other = back[on] if number == 0 else visited[begin[on] + draw]
        away_m = np.hypot(town.x_m[other] - town.x_m[at], town.y_m[other] - town.y_m[at])
        better = (away_m < least_m) & (other != at)
        nearest, least_m = np.where(better, other, nearest), np.where(better, away_m, least_m)
    back[on] = nearest
    return back


def find_bases(diary: Diaries, home: tuple[Floats, Floats], work: tuple[Floats, Floats]) -> tuple[Array, Array]:
    """Return the coordinates of every row's home or workplace; those of home where one is out."""
    person, at_home = diary.person, (diary.kind == HOME) | (diary.kind == OUT)
    x_m, y_m = (np.where(at_home, own[person], other[person]) for own, other in zip(home, work, strict=True))
    return x_m, y_m
