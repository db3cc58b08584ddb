"""Laws of human movement as numbers: how far, how often, how many places, how predictable, at which hours.

Pure functions of a log of visits. Numbers per person are of people with at least ten visits: fewer say little.

References
----------
González et al. 2008 (jump lengths, radius of gyration), Song et al. 2010 (distinct places, visits by rank, entropy and
predictability, exploration and preferential return).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array
from geodp.tables.visit_log import Integers, VisitLog

LEAST_VISITS = 10
"""Visits that a person needs to count in laws of single people."""
RANKS = 10
"""The exponent of Zipf is fitted over so many ranks."""
NEAR_M = 100.0
MOST_PEOPLE = 4_000
"""Entropies are worked out for so many people at most, evenly chosen."""
_DAY_S, _HOUR_S = 86_400.0, 3_600.0
_HALVINGS = 4
_QUANTILES = (0.1, 0.5, 0.9)
_KM = 1e-3


@dataclass(frozen=True)
class Law:
    """One summary: what it is called in words, and its unit."""

    label: str
    unit: str = ""


LAWS: dict[str, Law] = {
    "jump_p10_km": Law("jump, 10 % quantile", "km"),
    "jump_p50_km": Law("jump, median", "km"),
    "jump_p90_km": Law("jump, 90 % quantile", "km"),
    "jumps_below_100_m": Law("jumps below 100 m", "share"),
    "gyration_p50_km": Law("radius of gyration, median", "km"),
    "gyration_spread": Law("radius of gyration, 90 % over 10 % quantile"),
    "zipf_exponent": Law("visits by rank of the place, exponent"),
    "top_place_share": Law("visits to one's first place", "share"),
    "places_exponent": Law("growth of distinct places, exponent"),
    "entropy_random_bits": Law("entropy, random", "bits"),
    "entropy_uncorrelated_bits": Law("entropy, uncorrelated", "bits"),
    "entropy_real_bits": Law("entropy, real", "bits"),
    "predictability": Law("predictability", "share"),
    "night_share": Law("visits from midnight to 6", "share"),
    "weekend_share": Law("visits at weekends", "share"),
    "wait_p10_h": Law("time between visits, 10 % quantile", "h"),
    "wait_p50_h": Law("time between visits, median", "h"),
    "wait_p90_h": Law("time between visits, 90 % quantile", "h"),
}
"""Every summary of the laws, by its key."""


def measure_laws(log: VisitLog) -> dict[str, float | None]:
    """Return every summary of a log; None where it is undefined.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.tables.movement_laws import measure_laws
    >>> from geodp.tables.visit_log import order_visits
    >>> away_m = np.array([0.0, 3_000.0] * 6)
    >>> days = np.arange(12) * 86_400.0
    >>> log = order_visits(np.zeros(12, int), days, np.tile([0, 1], 6), away_m, np.zeros(12))
    >>> found = measure_laws(log)
    >>> found["jump_p50_km"], found["gyration_p50_km"], found["wait_p50_h"], found["entropy_uncorrelated_bits"]
    (3.0, 1.5, 24.0, 1.0)
    """
    jump, wait = _quantiles(jumps_m(log) * _KM), _quantiles(waits_s(log) / _HOUR_S)
    known = log.choose(np.flatnonzero(np.diff(log.first) >= LEAST_VISITS))
    radius = gyrations_m(known) * _KM
    low, middle, high = _quantiles(radius)
    shares = shares_by_rank(known)
    few = known.choose(_evenly(known.people, MOST_PEOPLE))
    places, real = distinct_places(few), real_entropies(few)
    jumps = jumps_m(log)
    hours = count_hours(log)
    values = {
        **dict(zip(("jump_p10_km", "jump_p50_km", "jump_p90_km"), jump, strict=True)),
        "jumps_below_100_m": _mean(jumps < NEAR_M),
        "gyration_p50_km": middle,
        "gyration_spread": high / low if low > 0 else math.nan,
        "zipf_exponent": fit_exponent(np.arange(1.0, shares.size + 1), shares) * -1,
        "top_place_share": float(shares[0]) if shares.size else math.nan,
        "places_exponent": fit_exponent(*grow_places(known)),
        "entropy_random_bits": _mean(np.log2(distinct_places(known))),
        "entropy_uncorrelated_bits": _mean(place_entropies(known)),
        "entropy_real_bits": _mean(real),
        "predictability": _mean(bound_predictability(real, places)),
        "night_share": float(hours[:6].sum() / hours.sum()) if log.size else math.nan,
        "weekend_share": _mean(weekdays(log) >= 5),
        **dict(zip(("wait_p10_h", "wait_p50_h", "wait_p90_h"), wait, strict=True)),
    }
    return {key: float(values[key]) if math.isfinite(values[key]) else None for key in LAWS}


def jumps_m(log: VisitLog) -> Array:
    """Return the distances between one visit of a person and the next at another place."""
    moved = np.flatnonzero(log.follows & (np.diff(log.place, prepend=-1) != 0))
    return np.hypot(log.x_m[moved] - log.x_m[moved - 1], log.y_m[moved] - log.y_m[moved - 1])


def waits_s(log: VisitLog) -> Array:
    """Return the times between one visit of a person and the next."""
    return np.diff(log.time_s, prepend=0.0)[log.follows]


def gyrations_m(log: VisitLog) -> Array:
    """Return every person's radius of gyration: root mean square distance of her visits from their middle."""
    count = np.diff(log.first)
    square = np.zeros(log.people)
    for values in (log.x_m, log.y_m):
        middle = np.bincount(log.owner, values, log.people) / count
        square += np.bincount(log.owner, (values - middle[log.owner]) ** 2, log.people) / count
    return np.asarray(np.sqrt(square))


def distinct_places(log: VisitLog) -> Integers:
    """Return how many places each person has been to."""
    return np.bincount(_visits_per_place(log)[0], minlength=log.people)


def shares_by_rank(log: VisitLog) -> Array:
    """Return the mean share of visits to a person's first, second, … place, up to the tenth; [] without anyone."""
    if not log.people:
        return np.empty(0)
    owner, count = _visits_per_place(log)
    order = np.lexsort((-count, owner))
    begin = np.searchsorted(owner[order], np.arange(log.people))
    rank = np.arange(order.size) - begin[owner[order]]
    share = count[order] / np.diff(log.first)[owner[order]]
    shares = np.bincount(np.minimum(rank, RANKS), share, RANKS + 1)[:RANKS] / log.people
    return np.asarray(shares[shares > 0])


def grow_places(log: VisitLog) -> tuple[Array, Array]:
    """Return parts of everyone's record (1/16 to 1), and the mean number of distinct places seen up to there."""
    parts = 0.5 ** np.arange(_HALVINGS, -1.0, -1.0)
    if not log.people:
        return parts, np.full(parts.size, np.nan)
    begin_s = log.time_s[log.first[:-1]]
    lasts_s = log.time_s[log.first[1:] - 1] - begin_s
    since = (log.time_s - begin_s[log.owner]) / np.maximum(lasts_s, 1e-9)[log.owner]
    new = find_new(log)
    return parts, np.array([np.count_nonzero(new & (since <= part + 1e-12)) / log.people for part in parts])


def find_new(log: VisitLog) -> npt.NDArray[np.bool_]:
    """Tell which visits are their person's first ones at a place."""
    order = np.lexsort((np.arange(log.size), log.place, log.owner))
    again = (np.diff(log.place[order], prepend=-1) == 0) & (np.diff(log.owner[order], prepend=-1) == 0)
    new = np.empty(log.size, dtype=np.bool_)
    new[order] = ~again
    return new


def place_entropies(log: VisitLog) -> Array:
    """Return the entropy of every person's shares of visits to her places (bits)."""
    owner, count = _visits_per_place(log)
    share = count / np.diff(log.first)[owner]
    return np.asarray(np.bincount(owner, -share * np.log2(share), log.people) + 0.0)


def real_entropies(log: VisitLog) -> Array:
    """Return the entropy rate of every person's order of visits (bits): n·log2 n over the sum of match lengths.

    Reference
    ---------
    Lempel and Ziv; the estimator of Kontoyiannis et al. 1998 as Song et al. 2010 use it.
    """
    count = np.diff(log.first).astype(np.float64)
    matched = np.bincount(log.owner, match_lengths(log), log.people)
    return np.asarray(count * np.log2(count) / np.maximum(matched, 1.0))


def match_lengths(log: VisitLog) -> Integers:
    """Return for every visit the length of the shortest run of visits from it on that was never seen wholly before it.

    Where a person's visits end inside such a run, the run is one longer than what is left.
    """
    _, letter = np.unique(log.owner * (int(log.place.max(initial=0)) + 1) + log.place, return_inverse=True)
    letter = letter.ravel()
    found = np.ones(log.size, dtype=np.int64)
    at, name, length = np.arange(log.size), letter, 1
    end = log.first[log.owner + 1] if log.size else log.person
    while at.size:
        kinds, earliest, name, many = np.unique(name, return_index=True, return_inverse=True, return_counts=True)
        name = name.ravel()
        seen = at[earliest][name] + length <= at  # positions ascend: the first of a kind is the earliest
        found[at[seen]] = length + 1
        useful = np.zeros(kinds.size, dtype=np.bool_)
        useful[name[seen]] = True
        kept = useful[name] & (at + length < end[at]) & (many[name] > 1)
        at, name = at[kept], name[kept] * (int(letter.max(initial=0)) + 1)
        name = name + letter[at + length]
        length += 1
    return found


def bound_predictability(entropy_bits: Array, places: npt.ArrayLike) -> Array:
    """Return the greatest share of visits that anyone could foretell, by Fano's inequality.

    Solves S = H(p) + (1 - p)·log2(N - 1) for p between 1/N and 1.

    Examples
    --------
    >>> from geodp.tables.movement_laws import bound_predictability
    >>> bound_predictability([0.0, 1.0, 2.0], [5, 2, 4]).round(6).tolist()
    [1.0, 0.5, 0.25]
    """
    number = np.maximum(np.asarray(places, dtype=np.float64), 1.0)
    entropy = np.minimum(np.asarray(entropy_bits, dtype=np.float64), np.log2(number))
    others = np.log2(np.maximum(number - 1.0, 1.0))
    low, high = 1.0 / number, np.ones(number.size)
    for _ in range(60):
        p = (low + high) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            own = -np.where(p > 0, p * np.log2(p), 0.0) - np.where(p < 1, (1 - p) * np.log2(1 - p), 0.0)
        more = own + (1 - p) * others > entropy  # it falls with p
        low, high = np.where(more, p, low), np.where(more, high, p)
    return np.asarray((low + high) / 2)


def count_hours(log: VisitLog) -> Integers:
    """Return how many visits begin in each hour of the day."""
    hour = np.mod(log.time_s - log.monday_s, _DAY_S) / _HOUR_S
    return np.bincount(np.minimum(hour.astype(np.int64), 23), minlength=24)


def weekdays(log: VisitLog) -> Integers:
    """Return the day of the week of every visit: 0 is Monday."""
    return np.mod(np.floor((log.time_s - log.monday_s) / _DAY_S), 7).astype(np.int64)


def fit_exponent(size: Array, value: Array) -> float:
    """Return the slope of log(value) over log(size) by least squares; NaN where two values are not there."""
    usable = np.isfinite(value) & (value > 0)
    if np.count_nonzero(usable) < 2:
        return math.nan
    return float(np.polyfit(np.log(size[usable]), np.log(value[usable]), 1)[0])


def _visits_per_place(log: VisitLog) -> tuple[Integers, Integers]:
    """Return person and number of visits of every pair of a person and a place of hers."""
    width = int(log.place.max(initial=0)) + 1
    pair, count = np.unique(log.owner * width + log.place, return_counts=True)
    return pair // width, count


def _evenly(people: int, most: int) -> Integers:
    return (
        np.unique(np.linspace(0, people - 1, min(people, most)).astype(np.int64)) if people else np.empty(0, np.int64)
    )


def _quantiles(values: Array) -> npt.NDArray[np.float64]:
    return np.quantile(values, _QUANTILES) if values.size else np.full(len(_QUANTILES), np.nan)


def _mean(values: npt.NDArray[np.floating | np.bool_]) -> float:
    return float(np.mean(values)) if values.size else math.nan
