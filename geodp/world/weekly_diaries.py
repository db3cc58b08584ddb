"""Weekly diaries: when people mean to be at home, at work, and out at some other place; where is decided elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array

Integers = npt.NDArray[np.int64]
HOME, WORK, OUT = 0, 1, 2
"""What a row of a diary is about."""
DAY_S, HOUR_S = 86_400.0, 3_600.0
_WORKDAYS = 5
_MOST_STOPS = 8


@dataclass(frozen=True)
class Week:
    """How weeks go: public settings, alike for everybody apart from what each draws for herself."""

    outings_per_day: float
    outing_spread: float
    weekend_factor: float
    chain: float
    stay_s: float
    stay_spread: float
    hours: tuple[float, ...]
    morning_peak_h: float
    evening_peak_h: float
    peak_spread_h: float
    commuting_share: float


@dataclass(frozen=True, eq=False)
class Diaries:
    """What people mean to do, row by row: person by person, each in order of time."""

    first: Integers
    """Offsets: person i has the rows `first[i]` to `first[i + 1] - 1`."""
    kind: npt.NDArray[np.int8]
    wanted_s: Array
    """When one means to arrive, in seconds from the start of the run."""
    least_s: Array
    """How long one stays at least."""

    @property
    def person(self) -> Integers:
        """Person of each row."""
        return np.repeat(np.arange(self.first.size - 1), np.diff(self.first))


def write_diaries(
    people: int, week: Week, days: range, *, midnight_s: float, first_weekday: int, rng: np.random.Generator
) -> Diaries:
    """Draw everyone's diary of some days: nights at home, work days, and outings of one stop or several.

    Parameters
    ----------
    people
        How many people write one.
    week
        How weeks go.
    days
        Days, counted from the one on which the run begins.
    midnight_s
        When that day began, in seconds from the start of the run (0 or negative).
    first_weekday
        Its day of the week: 0 is Monday.
    """
    day = np.asarray(days, dtype=np.int64)
    begins_s: Array = midnight_s + day.astype(np.float64) * DAY_S
    weekend = (day + first_weekday) % 7 >= _WORKDAYS
    commutes = (rng.random(people) < week.commuting_share)[:, None] & ~weekend
    leaves_s = begins_s + HOUR_S * _around(week.morning_peak_h, week.peak_spread_h, (people, day.size), rng)
    returns_s = begins_s + HOUR_S * _around(week.evening_peak_h, week.peak_spread_h, (people, day.size), rng)
    returns_s = np.maximum(returns_s, leaves_s + 2 * HOUR_S)
    outing = _draw_outings(people, week, begins_s, weekend, rng)
    who, at, when_s, lasts_s, ends = outing
    who_day = who * day.size + at
    # Back from an outing one goes to work in working hours, else home.
    over_s = when_s[ends] + lasts_s[ends]
    back = who_day[ends]
    working = commutes.ravel()[back] & (over_s > leaves_s.ravel()[back]) & (over_s < returns_s.ravel()[back])
    worker, workday = np.nonzero(commutes)
    person = np.concatenate([np.arange(people), worker, worker, who, who[ends]])
    wanted_s = np.concatenate(
        [np.full(people, begins_s[0]), leaves_s[worker, workday], returns_s[worker, workday], when_s, over_s]
    )
    kind = np.concatenate(
        [
            np.full(people, HOME, dtype=np.int8),
            np.full(worker.size, WORK, dtype=np.int8),
            np.full(worker.size, HOME, dtype=np.int8),
            np.full(who.size, OUT, dtype=np.int8),
            np.where(working, WORK, HOME).astype(np.int8),
        ]
    )
    least_s = np.concatenate([np.zeros(people + 2 * worker.size), lasts_s, np.zeros(back.size)])
    order = np.lexsort((wanted_s, person))
    person, kind, wanted_s, least_s = person[order], kind[order], wanted_s[order], least_s[order]
    again = np.append(False, (kind[1:] == kind[:-1]) & (kind[1:] != OUT) & (person[1:] == person[:-1]))
    person, kind, wanted_s, least_s = person[~again], kind[~again], wanted_s[~again], least_s[~again]
    return Diaries(np.searchsorted(person, np.arange(people + 1)), kind, wanted_s, least_s)


def _around(
    peak_h: float, spread_h: float, shape: tuple[int, int], rng: np.random.Generator
) -> npt.NDArray[np.float64]:
    """Draw hours around a peak, never more than three standard deviations away."""
    return peak_h + spread_h * np.clip(rng.standard_normal(shape), -3.0, 3.0)


def _draw_outings(
    people: int, week: Week, begins_s: Array, weekend: npt.NDArray[np.bool_], rng: np.random.Generator
) -> tuple[Integers, Integers, Array, Array, Integers]:
    """Draw stops out of home and work: person, number of the day, arrival, stay; and the last stop of each outing."""
    spread = week.outing_spread
    own = np.exp(rng.normal(-(spread**2) / 2, spread, people)) if spread else np.ones(people)
    rate = week.outings_per_day * np.where(weekend, week.weekend_factor, 1.0)
    number = rng.poisson(own[:, None] * rate).ravel()
    who_day = np.repeat(np.arange(number.size), number)
    weight = np.cumsum(np.asarray(week.hours, dtype=np.float64))
    hour = np.interp(rng.random(who_day.size), np.append(0.0, weight / weight[-1]), np.arange(25.0))
    stops = np.minimum(rng.geometric(1.0 - week.chain, who_day.size), _MOST_STOPS)
    outing = np.repeat(np.arange(who_day.size), stops)
    lasts_s = np.exp(rng.normal(np.log(week.stay_s), week.stay_spread, outing.size))
    lasts_s = np.clip(lasts_s, 30.0, 8 * HOUR_S)
    last = np.cumsum(stops) - 1
    before_s = np.cumsum(lasts_s) - lasts_s
    before_s -= np.repeat(before_s[last - stops + 1], stops)
    begin_s = begins_s[who_day % begins_s.size] + hour * HOUR_S
    return (
        who_day[outing] // begins_s.size,
        who_day[outing] % begins_s.size,
        begin_s[outing] + before_s,
        lasts_s,
        np.asarray(last, dtype=np.int64),
    )


def keep_diaries(diary: Diaries, travel_s: Array) -> tuple[Array, Array]:
    """Return when everyone sets out for each row's place, and when she arrives there.

    Nobody leaves before she has stayed as long as she meant to, nor arrives before she has travelled; who is late is
    late for what follows, until there is time.

    Parameters
    ----------
    diary
        What people mean to do.
    travel_s
        Time of the way to each row's place from that of the row before; 0 for everyone's first row.
    """
    starts = np.zeros(diary.kind.size, dtype=np.bool_)
    starts[diary.first[:-1]] = True
    takes_s = np.append(0.0, diary.least_s[:-1]) + travel_s
    takes_s[starts] = 0.0
    # arrival = max(wanted, arrival before + stay + way): a running maximum of what is wanted less what has been taken.
    taken_s = np.cumsum(takes_s)
    taken_s -= np.repeat(taken_s[diary.first[:-1]], np.diff(diary.first))
    slack_s = diary.wanted_s - taken_s
    apart_s = float(np.ptp(slack_s)) + 1.0 if slack_s.size else 0.0
    person = diary.person
    arrive_s = np.maximum.accumulate(slack_s + person * apart_s) - person * apart_s + taken_s
    depart_s = arrive_s - travel_s
    later = ~starts[1:]
    depart_s[1:][later] = np.maximum(depart_s[1:], arrive_s[:-1])[later]  # a rounding must not turn time back
    return depart_s, arrive_s
