"""Where somebody lives and works, from what she reported at night and by day."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from geodp.attacks import Attack, AttackView
from geodp.attacks.findings import Findings
from geodp.attacks.traces import POINTS, Traces
from geodp.geometry import Array

_DAY_S = 86_400.0
_STEPS = 200
_NEAR_M = 1e-3


def is_night(hour: Array) -> npt.NDArray[np.bool_]:
    """Tell which hours of the day belong to the night: from 22 to 7."""
    return (hour >= 22) | (hour < 7)


def is_work(hour: Array, day: Array) -> npt.NDArray[np.bool_]:
    """Tell which hours are working ones: 9 to 17 of days 0 to 4 of each week."""
    return (hour >= 9) & (hour < 17) & (day % 7 < 5)


def geometric_median(x_m: Array, y_m: Array, weight: Array) -> tuple[float, float]:
    """Return the place with the least weighted sum of distances (Weiszfeld's steps, from the weighted mean).

    Of planar Laplace reports of one place with weights ε it is the likeliest place.
    """
    x, y = float(np.average(x_m, weights=weight)), float(np.average(y_m, weights=weight))
    for _ in range(_STEPS):
        pull = weight / np.maximum(np.hypot(x_m - x, y_m - y), _NEAR_M)
        next_x, next_y = float(np.average(x_m, weights=pull)), float(np.average(y_m, weights=pull))
        moved = np.hypot(next_x - x, next_y - y)
        x, y = next_x, next_y
        if moved < _NEAR_M:
            break
    return x, y


class HomeWork(Attack):
    """Take the place that a person's reports of the night (or of working hours) lie around for her home (or work).

    Reports: the geometric median, each weighted by its ε per metre. Places that are numbered, exact reports and
    synthetic trips: the commonest place; of synthetic trips, of the one nearest to the target's known points. Nights
    are from 22 to 7, working hours from 9 to 17 of Monday to Friday; the first day is day `first_weekday`.

    Reference
    ---------
    Golle, Partridge 2009, "On the Anonymity of Home/Work Location Pairs" (the pairs; the estimator is the usual one).
    """

    kind: ClassVar[str] = "home_work"
    about: ClassVar[str] = "place"
    reads: ClassVar[frozenset[str]] = frozenset({"points", "visits", "trajectories"})
    can_know: ClassVar[frozenset[str]] = frozenset({POINTS})

    knows: tuple[str, ...] = ()
    """What is known beforehand: nothing, or `points` where releases name nobody."""
    place: Literal["home", "work"] = "home"
    """Which of the two is looked for."""
    first_weekday: int = Field(default=0, ge=0, le=6)
    """Day of the week on which time 0 falls (0: Monday)."""
    points: int = Field(default=4, ge=1, le=1000)
    """How many points of each target are known, with `knows: [points]`."""
    people: int = Field(default=500, ge=1)
    """Maximum number of people attacked."""

    def guess(self, view: AttackView) -> Findings:
        """Guess one place per person."""
        traces = view.traces()
        if not traces.size:
            return Findings.about_places(np.empty(0, dtype=np.str_), np.empty(0), np.empty(0))
        time_s = traces.time_s + view.start_s
        hour, day = time_s % _DAY_S / 3600, np.floor(time_s / _DAY_S) + self.first_weekday
        chosen = is_night(hour) if self.place == "home" else is_work(hour, day)
        if not chosen.any():
            return Findings.about_places(np.empty(0, dtype=np.str_), np.empty(0), np.empty(0))
        weight = view.weights()[chosen]
        mine = traces.take(chosen)
        guesses = _guess_each(mine, weight, exact=view.exact, people=self.people)
        known = view.background.points
        if known is None:
            return Findings.about_places(*guesses)
        return _for_targets(known, traces, guesses)


def _guess_each(
    traces: Traces, weight: Array, *, exact: bool, people: int
) -> tuple[npt.NDArray[np.str_], Array, Array]:
    order = np.argsort(traces.who, kind="stable")
    names, first = np.unique(traces.who[order], return_index=True)
    bounds = np.append(first, traces.size)
    names = names[:people]
    found = np.empty((names.size, 2))
    for number in range(names.size):
        rows = order[bounds[number] : bounds[number + 1]]
        if exact:
            place = np.stack([traces.x_m[rows], traces.y_m[rows]], axis=1)
            places, times = np.unique(np.round(place, 3), axis=0, return_counts=True)
            found[number] = places[np.argmax(times)]
        else:
            found[number] = geometric_median(traces.x_m[rows], traces.y_m[rows], weight[rows])
    return names, found[:, 0], found[:, 1]


def _for_targets(known: Traces, released: Traces, guesses: tuple[npt.NDArray[np.str_], Array, Array]) -> Findings:
    """Take for each target the guess of the released trace that lies nearest to her known points."""
    names, x, y = guesses
    number = np.searchsorted(names, released.who)
    kept = (number < names.size) & (names[np.minimum(number, names.size - 1)] == released.who)
    number, released = number[kept], released.take(kept)
    targets = known.people
    best = np.empty(targets.size, dtype=np.int64)
    for row, name in enumerate(targets):
        mine = known.take(known.who == name)
        total = np.zeros(names.size)
        for at in range(mine.size):
            late = np.abs(released.time_s - mine.time_s[at])
            far = np.hypot(released.x_m - mine.x_m[at], released.y_m - mine.y_m[at]) + late / 3600 * 1000.0
            least = np.full(names.size, np.inf)
            np.minimum.at(least, number, far)
            total += least
        best[row] = int(np.argmin(total))
    return Findings.about_places(targets, x[best], y[best])
