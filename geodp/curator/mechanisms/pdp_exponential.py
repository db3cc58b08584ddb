"""A count that costs everyone her own ε: numbers are the less likely, the more it takes to get there."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from geodp.curator.decomposition import guideline_cell_m
from geodp.curator.mechanisms import Mechanism, Snapshot
from geodp.curator.personal_levels import CountLevel, default_levels, require_levels
from geodp.geometry import Array, Grid
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit
from geodp.public.release import GridCells
from geodp.registry import PublicFacts

Whole = npt.NDArray[np.int64]
_MANY_TERMS = 1000.0
_SLOTS_PER_MEAN = 4.0
_LEAST_SLOTS = 20
MOST_SLOTS = 2_000
"""The law of every number on every count is worked out: this many take a second."""


class PdpExponential(Mechanism):
    """Counts per cell drawn by what the cheapest change of people to each number would cost: everyone her own ε.

    Guarantee
    ---------
    Personal differential privacy for one worker's position in one release (snapshot), against everyone but the
    curator: person i gets her own ε_i when she is added or removed (twice that when she is moved). In a cell a number r
    is drawn with probability ∝ exp(-cost(r)/2), where cost(r) is the sum of the smallest ε whose owners must come or go
    to make the count r. One person more or less changes every cost by at most her ε, and cells are disjoint. There is
    no coin: nobody is left out. In every cell there is room for a public number of people of each group (`slots`);
    beyond it they are not counted. No noise is added, Laplace or Gaussian.

    To come is to be drawn from those of the group who are not there, so the careful, who are the cheapest, pull counts
    towards the middle of the slots. What is published is the number r worked back to the count that leads one to expect
    r, with the variance of that, for groups mixed as their public shares say.

    Reference
    ---------
    [recalled] Jorgensen, Yu, Cormode 2015, Conservative or liberal? Personalized differential privacy (ICDE): the PE
    mechanism for counts; Zhu et al. 2017, section 15.2, which cites it.
    """

    kind: ClassVar[str] = "pdp_exponential"
    absent: ClassVar[Mapping[str, str]] = {
        "noise": "pdp_exponential adds none. Numbers are drawn by what they cost each person, in her own ε"
    }
    releases: ClassVar[frozenset[str]] = frozenset({"cells"})
    counts_anyone: ClassVar[bool] = False

    levels: dict[str, CountLevel] = Field(default_factory=default_levels, min_length=1, max_length=50)
    """Groups of people by name: `{careful: {epsilon: 0.1, share: 0.5}, …}`; shares add up to 1."""
    cell_m: float | None = Field(default=None, gt=0)
    """Side of a cell, metres. Default: the guideline at the mean ε, sqrt(N ε / 10) cells per side."""
    slots: int | None = Field(default=None, ge=1, le=MOST_SLOTS)
    """Most people who can be counted in a cell, public; groups have their shares of it. Default: four times as many as
    a cell is expected to hold, and at least 20."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        require_levels(self.levels)
        return self

    @property
    def group_shares(self) -> dict[str, float]:
        """Share of the people in each group."""
        return {name: level.share for name, level in self.levels.items()}

    def resolve(self, facts: PublicFacts) -> Self:
        """Write out cells and slots."""
        mean = math.fsum(level.share * level.epsilon for level in self.levels.values())
        cell_m = self.cell_m or guideline_cell_m(facts, mean)
        held = facts.expected_workers * cell_m**2 / facts.area_m2
        slots = self.slots or min(MOST_SLOTS, max(_LEAST_SLOTS, math.ceil(_SLOTS_PER_MEAN * held)))
        return self.model_copy(update={"cell_m": cell_m, "slots": slots})

    def with_epsilon(self, epsilon: float) -> Self:
        """Return the same mechanism with all levels scaled, so that the least careful group gets another ε."""
        factor = epsilon / max(level.epsilon for level in self.levels.values())
        levels = {
            name: level.model_copy(update={"epsilon": level.epsilon * factor}) for name, level in self.levels.items()
        }
        return self.model_copy(update={"levels": levels})

    def fit_grid(self, snapshot: Snapshot) -> Grid:
        """Return the grid that follows from public settings."""
        return Grid.fit(snapshot.region, self._resolve_for(snapshot).cell_m or 1.0)

    def release(self, snapshot: Snapshot, noise: Noise) -> GridCells:
        """Count each group in each cell, and draw a number by its cost."""
        made = self._resolve_for(snapshot)
        grid = Grid.fit(snapshot.region, made.cell_m or 1.0)
        ladder = made.ladder()
        draws = noise.choose(-ladder.cost(made.count_groups(snapshot, grid)) / 2)
        law = ladder.law()
        return GridCells(
            count=law.count[draws],
            noise_scale=np.sqrt(law.variance[draws] / 2),
            noise_terms=np.full(grid.size, _MANY_TERMS),
            grid=grid,
            **self.release_fields(snapshot, grid.edges()),
        )

    def count_groups(self, snapshot: Snapshot, grid: Grid) -> Whole:
        """Return how many people of each group every cell holds, as [cell, group]; unnamed ones are the most careful.

        Groups are in the order of their ε.
        """
        names = [name for name, _ in self._by_epsilon()]
        place = np.zeros(snapshot.x_m.size, dtype=np.int64)
        if snapshot.group is not None:
            known = {name: number for number, name in enumerate(names)}
            each, which = np.unique(snapshot.group, return_inverse=True)
            place = np.array([known.get(name, 0) for name in each.tolist()], dtype=np.int64)[which]
        cell = grid.locate(snapshot.x_m, snapshot.y_m)
        inside = cell >= 0
        flat = np.bincount(cell[inside] * len(names) + place[inside], minlength=grid.size * len(names))
        return flat.reshape(grid.size, len(names))

    def ladder(self) -> Ladder:
        """Return the costs of numbers, from the public levels and slots."""
        by_epsilon = self._by_epsilon()
        slots = self.slots or _LEAST_SLOTS
        ends = np.rint(np.cumsum([level.share for _, level in by_epsilon]) * slots).astype(np.int64)
        room = np.diff(ends, prepend=0)
        return Ladder(tuple(level.epsilon for _, level in by_epsilon), tuple(room.tolist()))

    def guarantee(self, neighbours: Neighbours = Neighbours.ADD_REMOVE, counts: str = "all") -> Guarantee:
        """Promise each group its own ε, and everyone the largest."""
        each = tuple((name, level.epsilon) for name, level in self.levels.items())
        most = max(epsilon for _, epsilon in each)
        promise = Guarantee(most, Unit.SNAPSHOT, Neighbours.ADD_REMOVE, Trust.CENTRAL, counts=counts, by_group=each)
        return promise.for_replacement() if neighbours is Neighbours.REPLACE else promise

    def expected_noise(self, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> float | None:  # noqa: ARG002
        """Return the root mean square error of a count, halfway up the slots (a number of them must be known)."""
        if self.slots is None:
            return None
        law = self.ladder().law()
        return float(np.sqrt(law.variance[len(law.variance) // 4]))

    def _by_epsilon(self) -> list[tuple[str, CountLevel]]:
        return sorted(self.levels.items(), key=lambda item: item[1].epsilon)

    def _resolve_for(self, snapshot: Snapshot) -> Self:
        if self.cell_m is not None and self.slots is not None:
            return self
        region = snapshot.region
        return self.resolve(
            PublicFacts(
                expected_workers=snapshot.expected_workers,
                expected_tasks=0.0,
                mean_reward=1.0,
                minimum_reward=0.0,
                width_m=region.width_m,
                height_m=region.height_m,
            )
        )


class Ladder:
    """What it costs to change a count: groups in the order of their ε, each with room for so many people.

    Parameters
    ----------
    epsilons
        ε of each group, ascending.
    room
        How many people of each group there can be.
    """

    def __init__(self, epsilons: Sequence[float], room: Sequence[int]) -> None:
        self.epsilons, self.room = tuple(epsilons), tuple(room)

    def cost(self, held: npt.ArrayLike) -> Array:
        """Return the least sum of ε that makes each number r = 0, 1, … of each count.

        Parameters
        ----------
        held
            How many people of each group a cell holds, as [cell, group]; beyond the room they are not counted.

        Returns
        -------
        Array
            Costs, as [cell, r].
        """
        inside = np.minimum(np.atleast_2d(np.asarray(held, dtype=np.int64)), self.room)
        outside = np.array(self.room) - inside
        number = np.arange(sum(self.room) + 1)
        count = inside.sum(axis=1)
        up, down = number - count[:, None], count[:, None] - number
        return self._climb(outside, np.maximum(up, 0)) + self._climb(inside, np.maximum(down, 0))

    def law(self) -> ReleasedLaw:
        """Return how each drawn number is read, for groups mixed as their room says."""
        return _law(self.epsilons, self.room)

    def probabilities(self, held: npt.ArrayLike) -> Array:
        """Return the probability of each number, as [cell, r]."""
        weight = -self.cost(held) / 2
        weight = np.exp(weight - weight.max(axis=1, keepdims=True))
        return np.asarray(weight / weight.sum(axis=1, keepdims=True))

    def _climb(self, available: Whole, steps: Whole) -> Array:
        """Return the sum of the smallest ε of so many people, of those who are available."""
        cost, left = np.zeros(steps.shape), steps.copy()
        for number, epsilon in enumerate(self.epsilons):
            taken = np.minimum(left, available[:, number, None])
            cost += epsilon * taken
            left -= taken
        return cost


class ReleasedLaw:
    """The count that each drawn number stands for, and the variance of that."""

    def __init__(self, count: Array, variance: Array) -> None:
        self.count, self.variance = count, variance


@lru_cache(maxsize=8)
def _law(epsilons: tuple[float, ...], room: tuple[int, ...]) -> ReleasedLaw:
    """Work back from each number to the count that leads one to expect it.

    The mean number rises with the count, so it can be inverted; beyond its ends the last steps go on.
    """
    total = sum(room)
    counts = np.arange(total + 1)
    ends = np.rint(np.cumsum(room) / max(total, 1) * counts[:, None]).astype(np.int64)
    law = Ladder(epsilons, room).probabilities(np.diff(ends, prepend=0, axis=1))
    mean = law @ counts
    slope = np.maximum(np.gradient(mean) if total else np.ones(1), 1e-3)
    rising = np.maximum.accumulate(mean + 1e-12 * counts)
    read = np.interp(counts, rising, counts)
    read = np.where(counts < rising[0], (counts - rising[0]) / slope[0], read)
    read = np.where(counts > rising[-1], total + (counts - rising[-1]) / slope[-1], read)
    error = (law * (read - counts[:, None]) ** 2).sum(axis=1)  # of a count n, over the numbers that may be drawn
    at = np.clip(np.rint(read), 0, total).astype(np.int64)
    return ReleasedLaw(read, error[at])
