"""Snapshots on which whole releases are followed, question by question, with one worker more, less, or elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from geodp.audit.pairs import chosen_pairs, random_pairs
from geodp.curator.household_counts import HouseholdCounts
from geodp.curator.mechanisms import Mechanism, Snapshot
from geodp.geometry import Region
from geodp.privacy.audit_case import LARGE_EPSILON, TranscriptCase
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Neighbours
from geodp.public.release import Cells

_TOWN = Region(-0.02, -0.02, 0.02, 0.02)
_EXPECTED = 60.0
_SERIES, _EVERY_S = 5, 600.0
"""Releases of a series, where later ones are made otherwise than the first, and the time between them."""
HOUSEHOLD = 3
"""People of a household that is followed where a mechanism hides single people by default."""
Place = tuple[float, float]


@chosen_pairs.of(Mechanism)
def choose_releases(mechanism: Mechanism) -> list[TranscriptCase]:
    """Return pairs of snapshots; where later releases are made otherwise than the first, a series is followed, too."""
    found = choose_snapshots(mechanism)
    if type(mechanism).release_next is Mechanism.release_next:
        return found
    crowd = _make_crowd()
    paid = sum(mechanism.measures(number) for number in range(_SERIES)) * mechanism.guarantee().epsilon
    release = partial(_release, mechanism, [crowd[0], *crowd], crowd, Neighbours.ADD_REMOVE, releases=_SERIES)
    return [*found, TranscriptCase(f"a worker over {_SERIES} releases", paid, release, runs=2)]


def choose_snapshots(mechanism: Mechanism) -> list[TranscriptCase]:
    """Return pairs of snapshots: a worker in the crowd, one in an empty corner, the only one, and one who moved."""
    crowd = _make_crowd()
    corner: Place = (_TOWN.box_m[2] - 1.0, _TOWN.box_m[1] + 1.0)
    pairs = {
        "a worker in the crowd": ([crowd[0], *crowd], crowd, Neighbours.ADD_REMOVE),
        "a worker in an empty corner": ([corner, *crowd], crowd, Neighbours.ADD_REMOVE),
        "the only worker": ([corner], [], Neighbours.ADD_REMOVE),
        "a worker who moved": ([*crowd, crowd[0]], [*crowd, corner], Neighbours.REPLACE),
    }
    tried = {"": mechanism, f" (ε = {LARGE_EPSILON:g})": mechanism.with_epsilon(LARGE_EPSILON)}
    single = [
        TranscriptCase(
            name + at,
            method.guarantee(neighbours).epsilon,
            partial(_release, method, with_, without, neighbours),
            rho=method.guarantee(neighbours).rho,
        )
        for at, method in tried.items()
        for name, (with_, without, neighbours) in pairs.items()
    ]
    return single + choose_households(mechanism)  # of pairs that ask for as much, the first is tried with samples


def choose_households(mechanism: Mechanism) -> list[TranscriptCase]:
    """Return pairs of snapshots with all people of a household or none, or all of them elsewhere."""
    if not isinstance(mechanism, HouseholdCounts):
        return []
    grouped = mechanism if mechanism.household > 1 else mechanism.model_copy(update={"household": HOUSEHOLD})
    size, crowd = grouped.household, _make_crowd()
    west, south, east, north = _TOWN.box_m
    home, away = [(east - 1.0, south + 1.0)] * size, [(west + 1.0, north - 1.0)] * size
    apart = [(west + (east - west) * (each + 0.5) / size, south + 1.0) for each in range(size)]
    pairs = {
        "a household in one place": ([*home, *crowd], crowd, Neighbours.ADD_REMOVE),
        "a household in many places": ([*apart, *crowd], crowd, Neighbours.ADD_REMOVE),
        "a household that moved": ([*crowd, *home], [*crowd, *away], Neighbours.REPLACE),
    }
    tried = {"": grouped, f" (ε = {LARGE_EPSILON:g})": grouped.with_epsilon(LARGE_EPSILON)}  # one cell, and many
    return [
        TranscriptCase(
            f"{name}, {size} people{at}",
            method.guarantee(neighbours).epsilon,
            partial(_release, method, with_, without, neighbours),
            rho=method.guarantee(neighbours).rho,
        )
        for at, method in tried.items()
        for name, (with_, without, neighbours) in pairs.items()
    ]


def _make_crowd() -> list[Place]:
    rng = np.random.default_rng(0)
    return [(float(x), float(y)) for x, y in rng.normal((-400.0, 300.0), 250.0, (40, 2))]


@random_pairs.of(Mechanism)
def random_releases(mechanism: Mechanism, rng: np.random.Generator, count: int) -> list[TranscriptCase]:
    """Return pairs of random snapshots: one worker more anywhere, or one who moved; any public number, any ε."""
    found = []
    for number in range(count):
        crowd = _random_places(rng, int(rng.choice([0, 1, 2, 7, 40])))
        one, other = _random_places(rng, 2, near=crowd)
        moved = bool(rng.random() < 0.3)
        neighbours = Neighbours.REPLACE if moved else Neighbours.ADD_REMOVE
        at = int(rng.integers(len(crowd) + 1))
        with_ = [*crowd[:at], one, *crowd[at:]]
        without = [*crowd[:at], other, *crowd[at:]] if moved else crowd
        epsilon = float(rng.choice([mechanism.guarantee().epsilon, LARGE_EPSILON, 10 ** rng.uniform(-2, 1)]))
        method = mechanism.with_epsilon(epsilon)
        expected = float(rng.choice([1.0, _EXPECTED, 1e4]))
        release = partial(_release, method, with_, without, neighbours, expected=expected)
        name = f"random snapshot {number + 1} of {len(crowd)}, one {'moved' if moved else 'more'} (ε = {epsilon:.3g})"
        promise = method.guarantee(neighbours)
        found.append(TranscriptCase(name, promise.epsilon, release, runs=1, rho=promise.rho))
    return found


def _random_places(rng: np.random.Generator, count: int, near: Sequence[Place] = ()) -> list[Place]:
    """Return places anywhere, in one spot, on the edge, in a corner, or where somebody is already."""
    west, south, east, north = _TOWN.box_m
    spot = rng.uniform((west, south), (east, north))
    found: list[Place] = []
    for _ in range(count):
        how = rng.integers(5)
        x, y = rng.uniform((west, south), (east, north))
        if how == 1:
            x, y = np.clip(rng.normal(spot, 150.0), (west, south), (east, north))
        elif how == 2:
            x = west
        elif how == 3:
            x, y = east - 1.0, north - 1.0
        elif how == 4 and near:
            x, y = near[int(rng.integers(len(near)))]
        found.append((float(x), float(y)))
    return found


def _release(
    mechanism: Mechanism,
    with_: list[Place],
    without: list[Place],
    neighbours: Neighbours,
    noise: Noise,
    present: bool,
    *,
    expected: float = _EXPECTED,
    releases: int = 1,
) -> list[npt.ArrayLike]:
    places = np.array(with_ if present else without).reshape(-1, 2)
    snapshot = Snapshot(
        time_s=0.0, x_m=places[:, 0], y_m=places[:, 1], region=_TOWN, expected_workers=expected, neighbours=neighbours
    )
    released = mechanism.release(snapshot, noise)
    series = [released]
    for number in range(1, releases):
        later = replace(snapshot, time_s=_EVERY_S * number)
        released = mechanism.release_next(released, later, noise, number=number)
        series.append(released)
    return list_numbers(series)


def list_numbers(releases: Sequence[Cells]) -> list[npt.ArrayLike]:
    """Return all numbers in releases."""
    values = [getattr(each, field.name) for each in releases for field in fields(each)]
    return [value for value in values if isinstance(value, np.ndarray | float | int | tuple)]
