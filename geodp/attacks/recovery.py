"""Everybody's track, from counts alone."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from geodp.attacks import Attack, AttackView
from geodp.attacks.findings import Findings
from geodp.attacks.traces import Integers
from geodp.geometry import Array
from geodp.public.release import Cells

_STAY, _SEEN, _ELSEWHERE, _PER_KM = 0.0, 1.0, 2.0, 0.01
_DISTANCE_UNTIL = 6


def to_people(counts: Array, people: int) -> Integers:
    """Return whole numbers that sum to a number of people: clipped at 0, in proportion, by largest remainders."""
    positive = np.maximum(counts, 0.0)
    share = positive / positive.sum() if positive.sum() > 0 else np.full(counts.size, 1 / counts.size)
    exact = share * people
    whole = np.floor(exact + 1e-9).astype(np.int64)
    rest = exact - whole
    missing = people - int(whole.sum())
    if missing > 0:
        whole[np.argsort(-rest, kind="stable")[:missing]] += 1
    return whole


def recover(
    counts: Array, x_m: Array, y_m: Array, people: int, *, literal: bool = False, per_day: int = 24
) -> Integers:
    """Return tracks as cells: [track, slot].

    Every slot's counts are made whole numbers that sum to the number of people, and each slot the tracks are given
    the next places so that the sum of costs is least. Days are recovered one by one and joined by how alike their
    histograms are: H((F + G)/2) - (H(F) + H(G))/2.

    Parameters
    ----------
    counts
        As released: [slot, cell].
    x_m, y_m
        Middles of the cells.
    people
        How many tracks.
    literal
        Costs of the paper: distance in the first hours of a day, then how far a place lies off the straight line.
    per_day
        SlotTable of a day.
    """
    days = []
    for begin in range(0, len(counts), per_day):
        places = [np.repeat(np.arange(x_m.size), to_people(row, people)) for row in counts[begin : begin + per_day]]
        days.append(_recover_day(places, x_m, y_m, literal=literal))
    whole = days[0]
    for day in days[1:]:
        whole = np.hstack([whole, day[_join_days(whole, day, x_m.size)]])
    return whole


def _recover_day(places: list[Integers], x_m: Array, y_m: Array, *, literal: bool) -> Integers:
    from scipy.optimize import linear_sum_assignment

    people = places[0].size
    track = places[0][:, None]
    far_km = np.hypot(x_m[:, None] - x_m, y_m[:, None] - y_m) / 1000
    seen = np.zeros((people, x_m.size), dtype=np.bool_)
    everyone = np.arange(people)
    seen[everyone, track[:, 0]] = True
    for hour, slots in enumerate(places[1:], start=1):
        now = track[:, -1]
        if not literal:
            cost = _ELSEWHERE + _PER_KM * far_km[now]
            cost[seen] = _SEEN
            cost[everyone, now] = _STAY
        elif hour <= _DISTANCE_UNTIL or track.shape[1] < 2:
            cost = far_km[now]
        else:
            before = track[:, -2]
            ahead_x, ahead_y = 2 * x_m[now] - x_m[before], 2 * y_m[now] - y_m[before]
            cost = np.hypot(ahead_x[:, None] - x_m, ahead_y[:, None] - y_m) / 1000
        if literal:
            chosen = np.empty(people, dtype=np.int64)
            row, column = linear_sum_assignment(cost[:, slots])
            chosen[row] = slots[column]
        else:
            chosen = _assign_stays_first(cost, now, slots)
        track = np.hstack([track, chosen[:, None]])
        seen[everyone, chosen] = True
    return track


def _assign_stays_first(cost: Array, now: Integers, slots: Integers) -> Integers:
    """Return the cheapest assignment, where staying costs nothing and everything else at least 1.

    Where there is room for all who are in a cell, all stay: moving one of them away to let another in costs two moves,
    and saves less than one. The people of crowded cells, and the places that are left, are matched.
    """
    from scipy.optimize import linear_sum_assignment

    cells = cost.shape[1]
    room, there = np.bincount(slots, minlength=cells), np.bincount(now, minlength=cells)
    crowded = there > room
    chosen = np.where(crowded[now], -1, now)
    movers = np.flatnonzero(crowded[now])
    if movers.size:
        left = np.where(crowded, room, room - there)
        free = np.repeat(np.arange(cells), left)
        row, column = linear_sum_assignment(cost[movers][:, free])
        chosen[movers[row]] = free[column]
    return chosen


def _entropy(shares: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(-np.sum(np.where(shares > 0, shares * np.log(shares), 0.0), axis=-1))


def _join_days(before: Integers, day: Integers, cells: int) -> Integers:
    """Return which track of the day goes on from each track before."""
    from scipy.optimize import linear_sum_assignment

    first, second = (_shares(track, cells) for track in (before, day))
    own, other = _entropy(first), _entropy(second)
    cost = np.empty((len(first), len(second)))
    for row in range(len(first)):
        cost[row] = _entropy((first[row] + second) / 2) - (own[row] + other) / 2
    return np.asarray(linear_sum_assignment(cost)[1], dtype=np.int64)


def _shares(tracks: Integers, cells: int) -> Array:
    people, slots = tracks.shape
    flat = np.repeat(np.arange(people), slots) * cells + tracks.ravel()
    return np.asarray(np.bincount(flat, minlength=people * cells).reshape(people, cells) / slots)


class Recovery(Attack):
    """Make tracks from counts alone: the places of one hour are given to those of the last so that it costs least.

    Staying costs 0, a place seen on the same day 1, any other 2 and 1 for each 100 km (the best of three that were
    tried on a made-up week; `literal` has the costs of the paper). Scored by hours right, after the best one-to-one
    matching of tracks to people, beside tracks through the same places at random.

    Reference
    ---------
    Xu, Tu, Li, Zhang, Fu, Jin 2017, "Trajectory Recovery From Ash".
    """

    kind: ClassVar[str] = "recovery"
    about: ClassVar[str] = "track"
    reads: ClassVar[frozenset[str]] = frozenset({"cells", "contours", "counts"})

    costs: Literal["habits", "literal"] = "habits"
    """Of a step: by habits, or those of the paper."""
    people: int = Field(default=1000, ge=1, le=2000)
    """Maximum number of tracks."""
    per_day: int = Field(default=24, ge=2, le=1440)
    """Releases of a day."""

    def guess(self, view: AttackView) -> Findings:
        """Return the tracks, one row per track and release."""
        counts = [(number, release) for number, release in enumerate(view.releases) if isinstance(release, Cells)]
        nobody = Findings.about_places(np.empty(0, dtype=np.str_), np.empty(0), np.empty(0))
        if len(counts) < 2 or len({release.count.size for _, release in counts}) > 1:
            return nobody
        first = counts[0][1]
        table = np.stack([release.count for _, release in counts])
        people = min(self.people, max(1, round(float(np.median(table.sum(axis=1))))))
        x, y = (first.west_m + first.east_m) / 2, (first.south_m + first.north_m) / 2
        tracks = recover(table, x, y, people, literal=self.costs == "literal", per_day=self.per_day)
        target = np.repeat(np.array([f"track {number}" for number in range(people)]), len(counts))
        release = np.tile(np.array([number for number, _ in counts]), people)
        return Findings.about_places(target, x[tracks].ravel(), y[tracks].ravel(), release)
