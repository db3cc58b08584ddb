"""Trajectories as columns: who moved, when and where. The truth, or a synthetic stand-in for it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from geodp.errors import DataError
from geodp.geometry import Array, Region
from geodp.privacy.keyed_choice import hash_users, user_words
from geodp.streams import GOLDEN, mix_bits
from geodp.tables.caps import keep_first, rank_in_groups

if TYPE_CHECKING:
    import pandas as pd

Integers = npt.NDArray[np.int64]
Names = npt.NDArray[np.object_]
Mask = npt.NDArray[np.bool_]
COLUMNS = ("user", "trajectory", "time_s", "lon", "lat")
"""Columns of a table of trajectories outside the house, one row per point."""


@dataclass(frozen=True, eq=False)
class Trajectories:
    """Trajectories of people in one set of columns: trajectory i owns points `first[i]` to `first[i + 1] - 1`.

    Every trajectory has at least one point and belongs to one person; times ascend within it (they may tie). Places
    are metres in the projection of the region it was made for, which the caller keeps.
    """

    people: Names
    """Names of the people. They are public; where a person went is not."""
    first: Integers
    """Offsets of the trajectories' points, one more than there are trajectories."""
    person: Integers
    """Person of each trajectory, by number."""
    time_s: Array
    """Time of each point (s)."""
    x_m: Array
    y_m: Array
    names: Names | None = None
    """Name of each trajectory; None for their numbers."""

    def __post_init__(self) -> None:
        if self.first.size != self.person.size + 1 or self.first[0] != 0 or self.first[-1] != self.x_m.size:
            raise DataError("the offsets of the trajectories do not fit their points")
        if (np.diff(self.first) < 1).any():
            raise DataError("a trajectory has no point")
        if not self.time_s.size == self.x_m.size == self.y_m.size:
            raise DataError("a point needs a time and a place")
        if self.person.size and not (self.person.min() >= 0 and self.person.max() < len(self.people)):
            raise DataError("a trajectory names a person who is not there")
        if self.names is not None and len(self.names) != self.person.size:
            raise DataError("the names of the trajectories do not fit their number")
        if (np.diff(self.time_s)[~self.starts[1:]] < 0).any():
            raise DataError("time goes backwards within a trajectory")

    @property
    def size(self) -> int:
        """Number of trajectories (private)."""
        return int(self.person.size)

    @property
    def points(self) -> int:
        """Number of points of all trajectories (private)."""
        return int(self.x_m.size)

    @cached_property
    def counts(self) -> Integers:
        """Points of each trajectory."""
        return np.diff(self.first)

    @cached_property
    def owner(self) -> Integers:
        """Trajectory of each point, by number."""
        return np.repeat(np.arange(self.size), self.counts)

    @cached_property
    def starts(self) -> Mask:
        """Whether a point is the first of its trajectory."""
        starts = np.zeros(self.points, dtype=np.bool_)
        starts[self.first[:-1]] = True
        return starts

    @cached_property
    def steps_m(self) -> Array:
        """Straight distance from each point to the next; 0 for the last point of a trajectory."""
        steps = np.zeros(self.points)
        if self.points:
            inner = ~self.starts[1:]
            steps[:-1][inner] = np.hypot(np.diff(self.x_m), np.diff(self.y_m))[inner]
        return steps

    @cached_property
    def lengths_m(self) -> Array:
        """Length of each trajectory's path, in straight lines from point to point."""
        return np.add.reduceat(self.steps_m, self.first[:-1]) if self.size else np.empty(0)

    @property
    def departures_s(self) -> Array:
        """Time of each trajectory's first point."""
        return self.time_s[self.first[:-1]]

    @property
    def durations_s(self) -> Array:
        """Time from each trajectory's first point to its last."""
        return self.time_s[self.first[1:] - 1] - self.time_s[self.first[:-1]]

    def select(self, which: Mask | Integers) -> Trajectories:
        """Return some of the trajectories (by mask, or by number in the order given); people keep their numbers."""
        wanted = np.flatnonzero(which) if which.dtype == np.bool_ else np.asarray(which, dtype=np.int64)
        counts = self.counts[wanted]
        first = np.append(0, np.cumsum(counts))
        point = np.arange(first[-1]) + np.repeat(self.first[wanted] - first[:-1], counts)
        return Trajectories(
            people=self.people,
            first=first,
            person=self.person[wanted],
            time_s=self.time_s[point],
            x_m=self.x_m[point],
            y_m=self.y_m[point],
            names=None if self.names is None else self.names[wanted],
        )

    def keep(self, kept: Mask) -> Trajectories:
        """Return the trajectories through some of their points; those left without any are gone."""
        if kept.all():
            return self
        before = np.append(0, np.cumsum(kept))
        left = np.diff(before[self.first]) > 0
        return Trajectories(
            people=self.people,
            first=np.append(before[self.first[:-1][left]], before[-1]),
            person=self.person[left],
            time_s=self.time_s[kept],
            x_m=self.x_m[kept],
            y_m=self.y_m[kept],
            names=None if self.names is None else self.names[left],
        )

    @cached_property
    def rank(self) -> Integers:
        """Place of each trajectory among those of its person, from 0 on: by departure, ties by number.

        A person's own trajectories alone decide it, so bounding by it bounds what one person can change.
        """
        order = np.lexsort((self.departures_s, self.person))
        rank = np.empty(self.size, dtype=np.int64)
        rank[order] = rank_in_groups(self.person[order])
        return rank

    def keep_at_most(self, cap: int, key: bytes = b"") -> Trajectories:
        """Return the trajectories in which everyone keeps `cap` of theirs, by chance: early trips are no better.

        The key, the person and the departures of the person's own trajectories decide. One trajectory more takes the
        place of at most one other.
        """
        seed = hash_users(user_words(self.people), key)[self.person]
        chance = mix_bits(seed ^ (self.departures_s.view(np.uint64) * GOLDEN))
        kept = keep_first(self.person, chance, cap)
        return self if kept.all() else self.select(kept)

    def inside(self, region: Region) -> Trajectories:
        """Return the trajectories without the points outside the region."""
        return self.keep(region.contains(self.x_m, self.y_m))

    def frame(self, region: Region) -> pd.DataFrame:
        """Return one row per point: user, trajectory, time_s, lon, lat."""
        import pandas as pd

        lon, lat = region.projection.to_lonlat(x_m=self.x_m, y_m=self.y_m)
        names = np.arange(self.size) if self.names is None else self.names
        return pd.DataFrame({
            "user": self.people[self.person[self.owner]],
            "trajectory": names[self.owner],
            "time_s": self.time_s,
            "lon": lon,
            "lat": lat,
        })  # fmt: skip

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, region: Region) -> Trajectories:
        """Build trajectories from rows `user, trajectory, time_s, lon, lat` in any order; all points are kept.

        A trajectory is told by user and trajectory together. People and trajectories are numbered in the order of
        their first row, so that a table written by `frame` comes back as it was.
        """
        missing = [name for name in COLUMNS if name not in frame.columns]
        if missing:
            raise DataError(
                f"the table of trajectories has no column '{missing[0]}'. Found: {', '.join(map(str, frame))}."
            )
        person, people = _number_names(frame["user"])
        label, labels = _number_names(frame["trajectory"])
        x_m, y_m = region.projection.to_m(lon=frame["lon"], lat=frame["lat"])
        return cls.from_points(
            people=people,
            person=person,
            label=label,
            time_s=np.asarray(frame["time_s"], dtype=np.float64),
            x_m=x_m,
            y_m=y_m,
            labels=labels,
        )

    @classmethod
    def from_points(
        cls,
        people: Names,
        person: npt.NDArray[np.integer],
        label: npt.NDArray[np.integer],
        time_s: Array,
        x_m: Array,
        y_m: Array,
        *,
        labels: Names | None = None,
    ) -> Trajectories:
        """Build trajectories from points in any order.

        A person's points with the same label are one trajectory; points are sorted by time, those that tie keep their
        order. Trajectories keep the order of their first point.
        """
        if not person.size:
            return nobody(people)
        known = int(label.max()) + 1
        key = person.astype(np.int64) * known + label
        if (np.diff(key) < 0).any():
            import pandas as pd

            key = pd.factorize(key)[0]  # numbers in order of first appearance
        ascending = not (np.diff(key) < 0).any()
        tidy = ascending and not ((np.diff(key) == 0) & (np.diff(time_s) < 0)).any()
        if not tidy:
            order = np.lexsort((time_s, key))
            key, person, label = key[order], person[order], label[order]
            time_s, x_m, y_m = time_s[order], x_m[order], y_m[order]
        begins = np.flatnonzero(np.append(True, np.diff(key) != 0))
        return cls(
            people=people,
            first=np.append(begins, key.size),
            person=person[begins].astype(np.int64),
            time_s=np.asarray(time_s, dtype=np.float64),
            x_m=np.asarray(x_m, dtype=np.float64),
            y_m=np.asarray(y_m, dtype=np.float64),
            names=None if labels is None else labels[label[begins]],
        )


def nobody(people: Names | None = None) -> Trajectories:
    """Return no trajectories at all, of the given people."""
    none, nowhere = np.empty(0, dtype=np.int64), np.empty(0)
    people = np.empty(0, dtype=np.object_) if people is None else people
    return Trajectories(
        people=people, first=np.zeros(1, dtype=np.int64), person=none, time_s=nowhere, x_m=nowhere, y_m=nowhere
    )


def _number_names(column: pd.Series) -> tuple[Integers, Names]:
    import pandas as pd

    codes, names = pd.factorize(column, sort=False)
    if (codes < 0).any():
        raise DataError(f"the table of trajectories has rows without {column.name}")
    return codes.astype(np.int64), np.asarray(names, dtype=np.object_)
