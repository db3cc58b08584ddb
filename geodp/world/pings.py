"""What the operator sees of people who move: pings, each the zone in which a phone was at some moment.

Phones are seen at random moments, a Poisson number an hour, wherever they are. With towers, what is known of a ping is
which tower served it: the zone of that tower's site, not where the phone was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array
from geodp.streams import GOLDEN, Words, mix_bits, uniforms
from geodp.world.motion import Motion

Integers = npt.NDArray[np.int64]
FindZone = Callable[[Array, Array, Words], Integers]
"""Zones of places in metres, each with a random word of its own; -1 where nobody sees a phone."""
UNSEEN = -1
_RADIO = np.uint64(0xD6E8FEB86659FD93)
"""Tells the words that say what walls and load do from those that say when."""
_AT_ONCE = 2_000_000
"""Pings of a block of people, about."""


@dataclass(frozen=True, eq=False)
class Seen:
    """Pings of some people: whose, when (s from the start of the run), and in which zone."""

    person: Integers
    time_s: Array
    zone: Integers


def watch_people(
    motion: Motion,
    duration_s: float,
    *,
    per_hour: float,
    find_zone: FindZone,
    key: int,
    is_fixed: bool = True,
) -> Iterator[Seen]:
    """Yield the pings of everyone, all of a person in one part.

    Parameters
    ----------
    motion
        Where everyone is.
    duration_s
        Length of the run.
    per_hour
        Pings of a phone an hour, on average.
    find_zone
        Says in which zone a phone at a place is seen; its word follows from the person and the number of the ping.
    key
        Decides when, and the words: of each person by herself, whoever else there is.
    is_fixed
        Whether a place is always seen in the same zone: who stands still is then looked up once.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.world.motion import stand_still
    >>> from geodp.world.pings import watch_people
    >>> two = stand_still(np.array([-5.0, 5.0]), np.zeros(2))
    >>> side = lambda x, y, word: (x > 0).astype(np.int64)
    >>> seen = next(watch_people(two, 3600.0, per_hour=50, find_zone=side, key=1))
    >>> bool((seen.zone == seen.person).all())
    True
    """
    each = max(per_hour * duration_s / 3600, 1e-9)
    block = max(int(_AT_ONCE / each), 1)
    for begin in range(0, motion.workers, block):
        people = np.arange(begin, min(begin + block, motion.workers))
        many = _draw_numbers(people, each, key)
        person = np.repeat(people, many)
        rank = np.arange(person.size) - np.repeat(np.cumsum(many) - many, many) + 1
        time_s = _draw_uniforms(person, rank, key) * duration_s
        words = _draw_words(person, rank, key ^ int(_RADIO))
        zone = _find_zones(
            motion=motion,
            person=person,
            time_s=time_s,
            words=words,
            duration_s=duration_s,
            find_zone=find_zone,
            is_fixed=is_fixed,
        )
        seen = zone != UNSEEN
        yield Seen(person[seen], time_s[seen], zone[seen])


def _draw_words(person: Integers, rank: npt.ArrayLike, key: int) -> Words:
    """Return a word that follows from a person, a rank and the key alone."""
    with np.errstate(over="ignore"):
        word = mix_bits(person.astype(np.uint64) * GOLDEN + np.uint64(key))
        return mix_bits((word ^ np.asarray(rank).astype(np.uint64)) * GOLDEN + np.uint64(key))


def _draw_uniforms(person: Integers, rank: npt.ArrayLike, key: int) -> Array:
    """Return a number from 0 to 1 that follows from them."""
    return uniforms(_draw_words(person, rank, key))


def _draw_numbers(people: Integers, mean: float, key: int) -> Integers:
    """Return a Poisson number for every person."""
    from scipy.stats import poisson

    return np.asarray(poisson.ppf(_draw_uniforms(people, 0, key), mean), dtype=np.int64)


def _find_zones(
    motion: Motion,
    person: Integers,
    time_s: Array,
    words: Words,
    *,
    duration_s: float,
    find_zone: FindZone,
    is_fixed: bool,
) -> Integers:
    """Return the zone of every ping of consecutive people."""
    if not person.size:
        return np.empty(0, dtype=np.int64)
    low, high = int(motion.first[person[0]]), int(motion.first[person[-1] + 1])
    knots = slice(low, high)
    of = np.repeat(np.arange(person[0], person[-1] + 1), np.diff(motion.first[person[0] : person[-1] + 2]))
    # All knots in one row, one person after the other: times before the run begin at it, so nobody's reach another's.
    when = np.clip(motion.time_s[knots], 0.0, duration_s)
    apart_s = 2 * duration_s + 1
    at = np.searchsorted(when + (of - person[0]) * apart_s, time_s + (person - person[0]) * apart_s, side="right") - 1
    at = np.maximum(at, motion.first[person] - low)
    following = np.minimum(at + 1, motion.first[person + 1] - 1 - low)
    x, y = motion.x_m[knots].astype(np.float64), motion.y_m[knots].astype(np.float64)
    moves = (x[at] != x[following]) | (y[at] != y[following])
    if not is_fixed:
        moves[:] = True
    zone = np.empty(person.size, dtype=np.int64)
    if not moves.all():
        zone[~moves] = find_zone(x, y, np.zeros(x.size, dtype=np.uint64))[at[~moves]]  # fixed: the word plays no part
    if moves.any():
        zone[moves] = find_zone(*motion.at_times(time_s[moves], person[moves]), words[moves])
    return zone
