"""People who move together: households that go everywhere in common, and convoys one after the other."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from pydantic import Field, SerializeAsAny, field_validator

from geodp.geometry import Region
from geodp.registry import Slot
from geodp.tables.notices import notice
from geodp.tables.positions import FirstRows
from geodp.tables.trajectories.table import Trajectories
from geodp.world.bounds import MOST_TOGETHER
from geodp.world.mobility import Mobility, PlaceList
from geodp.world.motion import Ids, LivedMotion, Motion, ReplayedMotion, worker_names
from geodp.world.population import Population

_ROUNDING = 1e-9


def _mobility() -> Any:
    return Slot("mobility").build("commuter")


class Companions(Mobility):
    """Households and convoys: people who move together, as the first of them moves by another model.

    Workers are numbered household by household: who lives with whom is public, as a neighbour knows it. Everyone starts
    where the first of the household does. Each of the others follows the first with the chance `together`, `lag_s`
    behind whoever is next in front, and otherwise moves alone by the same model. Who takes a task leaves the others
    for as long. People who are left over, because shares are no whole numbers of households, live alone.
    """

    kind: ClassVar[str] = "companions"
    single: ClassVar[bool] = False

    sizes: dict[int, float] = Field(default={1: 0.4, 2: 0.3, 4: 0.3})
    """People in a household → share of the households that are so large; shares add up to 1. Public."""
    mobility: Annotated[SerializeAsAny[Mobility], Slot("mobility", "commuter", only="single")] = Field(
        default_factory=_mobility
    )
    """How the first of every household moves, and whoever goes alone."""
    together: float = Field(default=1.0, ge=0, le=1)
    """Chance with which each of the others follows the first, all through the run."""
    lag_s: float = Field(default=0.0, ge=0, le=1e6)
    """How long each one is behind whoever is next in front (s): 0 for a household, more for a convoy."""

    @field_validator("sizes")
    @classmethod
    def _shares_fit(cls, sizes: dict[int, float]) -> dict[int, float]:
        wrong = sorted(size for size in sizes if not 1 <= size <= MOST_TOGETHER)
        if wrong or not sizes:
            got = f"got {wrong[0]}" if wrong else "got none"
            raise ValueError(f"households have 1 to {MOST_TOGETHER:,} people, {got}")
        if min(sizes.values()) < 0:
            raise ValueError(f"a share must not be negative, got {min(sizes.values()):g}")
        total = math.fsum(sizes.values())
        if abs(total - 1) > _ROUNDING:
            raise ValueError(f"the shares of households must add up to 1, got {total:g}")
        return sizes

    def idle_fields(self) -> dict[str, str]:
        """Return the lag where nobody follows, and all that is about followers where everyone lives alone."""
        if self.largest == 1:
            return dict.fromkeys(("together", "lag_s"), "where everyone lives alone")
        return {} if self.together else {"lag_s": "with together: 0"}

    @property
    def largest(self) -> int:
        """People of the largest household (public)."""
        return max(size for size, share in self.sizes.items() if share > 0)

    def list_households(self, people: int) -> Ids:
        """Return the household of each of so many people, by number: public.

        Households of different sizes take turns, so that any stretch of the numbers holds about their shares.

        Parameters
        ----------
        people
            How many people there are.

        Examples
        --------
        >>> import geodp
        >>> geodp.plugin("companions", sizes={1: 0.5, 2: 0.5}).list_households(7).tolist()
        [0, 1, 1, 2, 3, 3, 4]
        """
        sizes = np.array(sorted(size for size, share in self.sizes.items() if share > 0), dtype=np.int64)
        shares = np.array([self.sizes[int(size)] for size in sizes])
        number = np.floor(people / float(shares @ sizes) * shares + _ROUNDING).astype(np.int64)
        alone = people - int(number @ sizes)
        turn = np.concatenate([(np.arange(each) + 0.5) / each for each in number.tolist() if each] or [np.empty(0)])
        members = np.repeat(sizes, number)[np.argsort(turn, kind="stable")]
        members = np.concatenate([members, np.ones(alone, dtype=np.int64)])
        return np.repeat(np.arange(members.size), members)

    def move(
        self, population: Population, region: Region, *, start_s: float, duration_s: float, rng: np.random.Generator
    ) -> Motion:
        """Move everyone by the other model, and put followers on the ways of those whom they follow."""
        household = self.list_households(population.size)
        first = np.searchsorted(household, household)
        if population.size and self.largest > int(np.bincount(household).max()):
            notice(f"companions: {population.size:,} people are too few for households of {self.largest}.")
        alone = self.mobility.move(
            _live_together(population, first), region, start_s=start_s, duration_s=duration_s, rng=rng
        )
        everyone = np.arange(population.size)
        follows = (rng.random(population.size) < self.together) | (first == everyone)
        behind_s = np.where(follows, self.lag_s * (everyone - first), 0.0)
        return _follow(alone, np.where(follows, first, everyone), behind_s)

    def files(self) -> list[Path]:
        """Return the files of the other model."""
        return self.mobility.files()

    def anchor(self, folder: Path) -> Self:
        """Return a copy whose files are found from the given folder."""
        return self.model_copy(update={"mobility": self.mobility.anchor(folder)})

    def look(self, region: Region) -> FirstRows | None:
        """Look at the files of the other model."""
        return self.mobility.look(region)

    def list_places(self) -> PlaceList | None:
        """Return what the other model says about its places."""
        return self.mobility.list_places()

    def turns(self, region: Region, duration_s: float) -> float:
        """Return as many points as the other model needs."""
        return self.mobility.turns(region, duration_s)


def _live_together(population: Population, first: Ids) -> Population:
    """Return people who start, and where that is known work, where the first of their household does."""
    work = (population.work_x_m, population.work_y_m)
    work_x, work_y = (None if column is None else column[first] for column in work)
    return replace(population, x_m=population.x_m[first], y_m=population.y_m[first], work_x_m=work_x, work_y_m=work_y)


def _follow(motion: Motion, whom: Ids, behind_s: np.ndarray) -> Motion:
    """Return the movement in which everyone is on the way of another, or on her own, so long behind."""
    counts = np.diff(motion.first)[whom]
    first = np.append(0, np.cumsum(counts))
    knot = np.arange(first[-1]) + np.repeat(motion.first[whom] - first[:-1], counts)
    time_s = motion.time_s[knot] + np.repeat(behind_s, counts)
    x_m, y_m = motion.x_m[knot], motion.y_m[knot]
    if isinstance(motion, LivedMotion) and motion.told is not None:
        told = motion.told.follow(whom, behind_s)
        return LivedMotion(first, time_s, x_m, y_m, told=told, venues=motion.venues)
    if not isinstance(motion, ReplayedMotion) or motion.trips is None:
        return Motion(first, time_s, x_m, y_m)
    return ReplayedMotion(first, time_s, x_m, y_m, _follow_trips(motion.trips, whom, behind_s))


def _follow_trips(trips: Trajectories, whom: Ids, behind_s: np.ndarray) -> Trajectories:
    by_person = np.argsort(trips.person, kind="stable")
    begin = np.searchsorted(trips.person[by_person], np.arange(len(trips.people) + 1))
    counts = np.diff(begin)[whom]
    offset = np.append(0, np.cumsum(counts))
    which = by_person[np.arange(offset[-1]) + np.repeat(begin[whom] - offset[:-1], counts)]
    taken, person = trips.select(which), np.repeat(np.arange(whom.size), counts)
    return replace(
        taken,
        people=worker_names(whom.size),
        person=person,
        time_s=taken.time_s + np.repeat(behind_s[person], taken.counts),
    )
