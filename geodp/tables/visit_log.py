"""Who was where when, visit by visit: what laws of movement are measured on, from visits, tracks and samples alike."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array, Region
from geodp.tables.reader import Numbering
from geodp.tables.visits.histories import Venues

if TYPE_CHECKING:
    import pyarrow as pa

Integers = npt.NDArray[np.int64]
STAY_M, STAY_S = 200.0, 1200.0
"""Who is still within so many metres after so many seconds has stayed; stays in such a square are at one place."""
_APART_S = 10_000_000
_LATEST_S = 1e11
"""Beyond this (3,000 years) a number is no time; whole seconds up to it add up exactly for any number of people."""


@dataclass(frozen=True, eq=False)
class VisitLog:
    """Visits in order: person by person, each in order of time.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.tables.visit_log import order_visits
    >>> nowhere = np.zeros(3)
    >>> log = order_visits(np.array([1, 0, 1]), np.array([5.0, 1.0, 2.0]), np.array([7, 7, 8]), nowhere, nowhere)
    >>> log.people, log.person.tolist(), log.place.tolist()
    (2, [0, 1, 1], [7, 8, 7])
    """

    person: Integers
    time_s: Array
    place: Integers
    x_m: Array
    y_m: Array
    monday_s: float = 345_600.0
    """A moment, in the log's own seconds, at which a Monday began; the default is that of Unix time."""

    @cached_property
    def first(self) -> Integers:
        """Offsets: person i has the visits `first[i]` to `first[i + 1] - 1`."""
        changes = np.flatnonzero(np.diff(self.person)) + 1
        return np.concatenate([[0], changes, [self.person.size]]) if self.person.size else np.zeros(1, dtype=np.int64)

    @property
    def people(self) -> int:
        """Number of people with a visit."""
        return int(self.first.size - 1)

    @property
    def size(self) -> int:
        """Number of visits."""
        return int(self.person.size)

    @cached_property
    def owner(self) -> Integers:
        """Place of each visit's person among those with a visit."""
        return np.repeat(np.arange(self.people), np.diff(self.first))

    @cached_property
    def follows(self) -> npt.NDArray[np.bool_]:
        """Whether a visit follows the one before it in the life of the same person."""
        return np.append(False, self.person[1:] == self.person[:-1])[: self.size]

    def choose(self, people: Integers) -> VisitLog:
        """Return the visits of some of the people, by their place among those with a visit."""
        kept = np.isin(self.owner, people)
        return self._take(kept)

    def _take(self, rows: npt.NDArray[np.bool_] | Integers) -> VisitLog:
        return VisitLog(
            person=self.person[rows],
            time_s=self.time_s[rows],
            place=self.place[rows],
            x_m=self.x_m[rows],
            y_m=self.y_m[rows],
            monday_s=self.monday_s,
        )

    def sort(self) -> VisitLog:
        """Return the visits person by person, each in order of time; of equal times the order given counts."""
        return self._take(np.lexsort((self.time_s, self.person)))


def order_visits(
    person: Integers, time_s: Array, place: Integers, x_m: Array, y_m: Array, *, monday_s: float = 345_600.0
) -> VisitLog:
    """Return visits in order; of equal times the order given counts."""
    return VisitLog(person=person, time_s=time_s, place=place, x_m=x_m, y_m=y_m, monday_s=monday_s).sort()


def read_log(
    batches: Iterable[pa.RecordBatch],
    *,
    zone: str = "UTC",
    region: Region | None = None,
    listed: Venues | None = None,
) -> tuple[VisitLog, Region]:
    """Read a loader's batches as one log, and the box around its places.

    Visits are taken as they stand. Of trajectories the stays are: 20 minutes within 200 m, silences included; stays in
    one square of 200 m are stays at one place.

    Parameters
    ----------
    batches
        Tables with the columns of visits or trajectories.
    zone
        Time zone by whose clocks people live: times are moved by what it is ahead of UTC.
    region
        The public region around whose middle places are laid out in metres; None: it follows from the data.
    listed
        A list of venues that says where visits were whose rows do not.
    """
    users, venues = Numbering(), Numbering()
    parts: list[tuple[npt.NDArray[Any], ...]] = []
    are_visits = True
    for batch in batches:
        if not batch.num_rows:
            continue
        are_visits = "venue" in batch.schema.names
        user = users.number(batch.column("user"))
        place = venues.number(batch.column("venue")) if are_visits else np.zeros(user.size, dtype=np.int64)
        columns = (np.asarray(batch.column(name).to_numpy(zero_copy_only=False)) for name in ("time_s", "lon", "lat"))
        parts.append((user, place, *columns))
    none: tuple[npt.NDArray[Any], ...] = (*np.empty((2, 0), dtype=np.int64), *np.empty((3, 0)))
    user, place, time_s, lon, lat = (np.concatenate(column) for column in zip(*(parts or [none]), strict=True))
    parts.clear()
    if listed is not None and are_visits:
        lon, lat = _look_up(venues, listed, place, lon, lat)
    usable = (np.abs(time_s) <= _LATEST_S) & np.isfinite(lon) & np.isfinite(lat)
    if not usable.any():
        return VisitLog(none[0], none[2], none[1], none[3], none[4]), region or Region(-1.0, -1.0, 1.0, 1.0)
    user, place, time_s, lon, lat = (column[usable] for column in (user, place, time_s, lon, lat))
    region = region or _usual_box(lon, lat)
    x_m, y_m = region.projection.to_m(lon=lon, lat=lat)
    time_s = time_s + _ahead_s(time_s, zone)
    log = order_visits(user, time_s, place, x_m, y_m)
    return (log if are_visits else find_stays(log)), region


def find_stays(fixes: VisitLog, *, stay_m: float = STAY_M, stay_s: float = STAY_S) -> VisitLog:
    """Return where people stayed, of fixes in order: still near half of `stay_s` later, and after all of it.

    Who was not heard of meanwhile and is then found near the place has stayed there. Nobody's stays, to the last digit,
    depend on anybody else's fixes.
    """
    if not fixes.size:
        return fixes
    second = np.floor(fixes.time_s).astype(np.int64)
    clock = second - second.min() + fixes.owner * (int(np.ptp(second)) + _APART_S)
    end_of = fixes.first[fixes.owner + 1]
    begin = np.arange(fixes.size)
    for share in (0.5, 1.0):
        later = np.searchsorted(clock, clock[begin] + round(share * stay_s))
        there = later < end_of[begin]
        begin, later = begin[there], later[there]
        near = np.hypot(fixes.x_m[later] - fixes.x_m[begin], fixes.y_m[later] - fixes.y_m[begin]) <= stay_m
        begin, later = begin[near], later[near]
    covered = np.bincount(begin, minlength=fixes.size + 1) - np.bincount(later, minlength=fixes.size + 1)
    inside = np.cumsum(covered)[:-1] > 0
    starts = inside & ~np.append(False, inside[:-1] & ~np.diff(fixes.owner).astype(bool))
    stay = np.cumsum(starts) - 1
    of = stay[inside]
    count = np.bincount(of)  # sums run over one person's fixes only, in their order
    x_m, y_m = np.bincount(of, fixes.x_m[inside]) / count, np.bincount(of, fixes.y_m[inside]) / count
    row = np.flatnonzero(starts)
    # A square by its two whole numbers; for each person her place in it lies amid her own stays there.
    square = np.column_stack([np.floor(x_m / stay_m), np.floor(y_m / stay_m)]).astype(np.int64)
    place = np.unique(square, axis=0, return_inverse=True)[1].ravel()
    own = np.unique(np.column_stack([fixes.person[row], place]), axis=0, return_inverse=True)[1].ravel()
    number = np.bincount(own)
    middle_x, middle_y = np.bincount(own, x_m) / number, np.bincount(own, y_m) / number
    return order_visits(
        fixes.person[row], fixes.time_s[row], place, middle_x[own], middle_y[own], monday_s=fixes.monday_s
    )


def _look_up(names: Numbering, listed: Venues, place: Integers, lon: Array, lat: Array) -> tuple[Array, Array]:
    """Return places of visits, from the list where the rows have none."""
    import pyarrow as pa

    number = listed.numbers_of(pa.array(names.names, pa.string()))[place]
    lacks = (number >= 0) & ~(np.isfinite(lon) & np.isfinite(lat))
    return np.where(lacks, listed.lon[number], lon), np.where(lacks, listed.lat[number], lat)


def _usual_box(lon: Array, lat: Array) -> Region:
    """Return the box of all but the outermost hundredths, with a margin: a stray place must not tilt the plane."""
    west, east = np.quantile(lon, (0.01, 0.99))
    south, north = np.quantile(lat, (0.01, 0.99))
    margin = 0.01
    return Region(
        max(float(west) - margin, -180.0),
        max(float(south) - margin, -85.0),
        min(float(east) + margin, 180.0),
        min(float(north) + margin, 85.0),
    )


def _ahead_s(time_s: Array, zone: str) -> Array | float:
    """Return how much the clocks of a zone are ahead of UTC at each moment (s)."""
    if zone == "UTC" or not time_s.size:
        return 0.0
    from datetime import UTC, datetime
    from zoneinfo import ZoneInfo

    from geodp.errors import UsageError

    try:
        place = ZoneInfo(zone)
    except (KeyError, ValueError, OSError) as error:
        raise UsageError(f"--zone: there is no time zone '{zone}'; write it as America/New_York.") from error
    day, which = np.unique(np.floor(time_s / 86_400.0), return_inverse=True)
    ahead = [datetime.fromtimestamp(float(one) * 86_400.0 + 43_200.0, UTC).astimezone(place).utcoffset() for one in day]
    return np.array([0.0 if one is None else one.total_seconds() for one in ahead])[which.ravel()]
