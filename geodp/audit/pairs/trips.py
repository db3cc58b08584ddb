"""Small worlds of trips on which whole releases are followed, with one person, or one trip, more or less."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from geodp.audit.pairs import chosen_pairs, random_pairs
from geodp.curator.publications.local_markov import LocalMarkov
from geodp.curator.trips_publication import TripModelPublication
from geodp.geometry import Array, Region
from geodp.privacy.audit_case import LARGE_EPSILON, TranscriptCase
from geodp.privacy.noise import Noise
from geodp.tables.trajectories.table import Trajectories

TimedTrip = tuple[str, Array, float]
"""Person, places (m) and time of the first of them (s)."""
_TOWN = Region(-0.02, -0.02, 0.02, 0.02)
_CANARY = "canary"
_DRAWN = 100
"""Most synthetic trips that are drawn: at a small ε there may be very many, and these tell as much."""


@chosen_pairs.of(TripModelPublication)
def choose_releases(publication: TripModelPublication) -> list[TranscriptCase]:
    """Return pairs of small worlds on which the whole release is followed, down to the synthetic trips.

    The person (or trip) that comes and goes is more extreme than all others: the longest trip, the farthest places, the
    latest time, more trips than count; or it stands still in a corner. It comes first in the table, and one of the
    others has more trips than count, too: whose trips are left out must not depend on who else is there. Under a cap
    on trips one trip more pushes another one out.
    """
    west, south, east, north = _TOWN.box_m
    cap = publication.cap
    others = [
        (f"p{who}", _trip((-700.0 + 150 * who, -300.0), (100.0 * who, 900.0 - 90 * trip), 3 + who), 600.0 * trip)
        for who in range(6)
        for trip in range(2)
    ]
    if cap is not None:
        others += [("p3", _trip((-250.0, -300.0), _turn_away(trip), 3 + trip % 20), 2000.0 + 600.0 * trip)
                   for trip in range(min(cap, 50) + 1)]  # fmt: skip
    across = _there_and_back((west + 1, south + 1), (east - 1, north - 1), publication.most_points + 10)
    corner = _trip((east - 5, south + 5), (east - 5, south + 5), 2)
    many = int(cap or 1) + 2 if publication.unit == "person" else 1
    beyond = [(_CANARY, across, 9e6 + 86_000.0 * trip) for trip in range(many)]
    pairs = {
        "a person beyond all others": (others, beyond),
        "a person who stands still in a corner": (others, [(_CANARY, corner, 50.0 * trip) for trip in range(many)]),
        "the only person": ([], beyond),
    }
    if publication.unit == "trajectory" and cap is not None:
        busy = [(_CANARY, _trip((0.0, 0.0), (500.0, 80.0 * (n % 20)), 4), 500.0 + n) for n in range(cap)]
        pairs["a trip that pushes another one out"] = ([*others, *busy], [(_CANARY, across, -1000.0)])
    tried = {"": publication}
    tried[f" (ε = {LARGE_EPSILON:g})"] = publication.model_copy(update={"epsilon": LARGE_EPSILON})
    return [
        TranscriptCase(name + at, method.epsilon, partial(_release, method, rest, more), runs=2)
        for at, method in tried.items()
        for name, (rest, more) in pairs.items()
    ]


@random_pairs.of(TripModelPublication)
def random_releases(publication: TripModelPublication, rng: np.random.Generator, count: int) -> list[TranscriptCase]:
    """Return random worlds with one person, or one trip, more; any cap, any ε."""
    found = []
    for number in range(math.ceil(count / 4)):  # a release takes longer than others do
        epsilon = float(rng.choice([publication.epsilon, LARGE_EPSILON, 10 ** rng.uniform(0, 1)]))
        cap = None if publication.trajectories_per_person is None and rng.random() < 0.5 else int(rng.integers(1, 4))
        method = publication.model_copy(update={"epsilon": epsilon, "trajectories_per_person": cap})
        people = int(rng.choice([0, 1, 5]))
        others = [trip for who in range(people) for trip in random_trips(rng, f"p{who}", int(rng.integers(1, 5)))]
        who = str(rng.choice(["", "p0", "q"] if method.unit == "trajectory" else ["", "oo", "q"]))
        more = random_trips(rng, who, int(rng.integers(1, 6)) if method.unit == "person" else 1)
        name = f"random world {number + 1} of {len(others)} trips, one {method.unit} more (ε = {epsilon:.3g})"
        found.append(TranscriptCase(name, method.epsilon, partial(_release, method, others, more), runs=1))
    return found


@chosen_pairs.of(LocalMarkov)
def choose_answers(publication: LocalMarkov) -> list[TranscriptCase]:
    """Return pairs of small worlds in which one who answers made quite another trip."""
    west, south, east, north = _TOWN.box_m
    others = [
        (f"p{who}", _trip((-700.0 + 150 * who, -300.0), (100.0 * who, 900.0), 3 + who), 600.0) for who in range(6)
    ]
    across = (_CANARY, _there_and_back((west + 1, south + 1), (east - 1, north - 1), 40), 86_000.0)
    corner = (_CANARY, _trip((east - 5, south + 5), (east - 5, south + 5), 2), 50.0)
    found = []
    for epsilon in (publication.epsilon, LARGE_EPSILON):
        method = publication.model_copy(update={"epsilon": epsilon})
        for name, rest in (("a trip across the town or none to speak of", others), ("the only one who answers", [])):
            release = partial(_release_instead, method, rest, ([across], [corner]))
            found.append(TranscriptCase(f"{name} (ε = {epsilon:g})", epsilon, release, runs=4))
    return found


@random_pairs.of(LocalMarkov)
def random_answers(publication: LocalMarkov, rng: np.random.Generator, count: int) -> list[TranscriptCase]:
    """Return random worlds in which one who answers made other trips."""
    found = []
    for number in range(math.ceil(count / 4)):
        epsilon = float(rng.choice([publication.epsilon, LARGE_EPSILON, 10 ** rng.uniform(0, 1)]))
        method = publication.model_copy(update={"epsilon": epsilon})
        others = [trip for who in range(int(rng.choice([0, 5]))) for trip in random_trips(rng, f"p{who}", 2)]
        most = 4 if method.unit == "person" else 1
        either = [random_trips(rng, "q", int(rng.integers(1, most + 1))) for _ in range(2)]
        name = f"random world {number + 1} of {len(others)} trips, one {method.unit} another (ε = {epsilon:.3g})"
        release = partial(_release_instead, method, others, (either[0], either[1]))
        found.append(TranscriptCase(name, epsilon, release, runs=1))
    return found


def _release_instead(
    publication: TripModelPublication,
    others: Sequence[TimedTrip],
    either: tuple[Sequence[TimedTrip], Sequence[TimedTrip]],
    noise: Noise,
    present: bool,
) -> list[npt.ArrayLike]:
    return _release(publication, others, either[0 if present else 1], noise, present=True)


def random_trips(rng: np.random.Generator, who: str, count: int) -> list[TimedTrip]:
    """Return trips of any length, standing still or crossing the town, at any time."""
    west, south, east, north = _TOWN.box_m
    low, high = (west + 1, south + 1), (east - 1, north - 1)
    trips = []
    for _ in range(count):
        begin, end = rng.uniform(low, high), rng.uniform(low, high)
        end = begin if rng.random() < 0.2 else end
        points = int(rng.choice([2, int(rng.integers(2, 12)), 200]))
        when = float(rng.choice([0.0, rng.uniform(0, 90_000), 9e8, -5.0]))
        trips.append((who, _trip((begin[0], begin[1]), (end[0], end[1]), points), when))
    return trips


def _trip(begin: tuple[float, float], end: tuple[float, float], points: int) -> Array:
    return np.column_stack([np.linspace(begin[0], end[0], points), np.linspace(begin[1], end[1], points)])


def _turn_away(number: int) -> tuple[float, float]:
    """Return a place 1.5 km from the middle, in another direction for every number: no two trips there look alike."""
    angle = number * math.pi * (3 - math.sqrt(5))  # the golden angle
    return 1500 * math.cos(angle), 1500 * math.sin(angle)


def _there_and_back(begin: tuple[float, float], end: tuple[float, float], points: int) -> Array:
    """Return a trip from one corner to another and half of the way back: nothing else is as long, or detours as far."""
    out = _trip(begin, end, 2 * points // 3)
    back = _trip(end, ((begin[0] + end[0]) / 2, (begin[1] + end[1]) / 2), points - len(out))
    return np.concatenate([out, back])


def _release(
    publication: TripModelPublication,
    others: Sequence[TimedTrip],
    more: Sequence[TimedTrip],
    noise: Noise,
    present: bool,
) -> list[npt.ArrayLike]:
    model = publication.fit_model(world_of([*more, *others] if present else others), _TOWN, noise)
    trips = model.draw(min(model.number, _DRAWN))
    receipts = [(receipt.part, receipt.epsilon, receipt.sensitivity, receipt.size) for receipt in model.receipts]
    names = np.array([] if trips.names is None else trips.names, dtype=str)
    people = trips.people[trips.person].astype(str)
    return [model.number, np.array(receipts, dtype=str), trips.first, trips.time_s, trips.x_m, trips.y_m, people, names]


def world_of(trips: Sequence[TimedTrip]) -> Trajectories:
    """Return trips as a table."""
    first = np.append(0, np.cumsum([len(places) for _, places, _ in trips])).astype(np.int64)
    places = np.concatenate([np.empty((0, 2)), *(places for _, places, _ in trips)])
    time_s = np.concatenate([np.empty(0), *(begin + 60.0 * np.arange(len(places)) for _, places, begin in trips)])
    people = sorted({who for who, _, _ in trips})
    person = np.array([people.index(who) for who, _, _ in trips], dtype=np.int64)
    return Trajectories(
        people=np.array(people, dtype=np.object_),
        first=first,
        person=person,
        time_s=time_s,
        x_m=places[:, 0],
        y_m=places[:, 1],
    )
