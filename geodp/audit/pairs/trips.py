"""Canary trips for the auditor: a small world in which one person's trips change the counts as much as they can."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from geodp.curator.synthesis.epsilon_parts import EpsilonParts
from geodp.geometry import Array, Region
from geodp.privacy.audit_case import AuditCase
from geodp.privacy.noise import Noise
from geodp.tables.trajectories.table import Trajectories

if TYPE_CHECKING:
    from geodp.curator.trips_publication import TripModelPublication

_TOWN = Region(-0.02, -0.02, 0.02, 0.02)
_EVERYTHING_STANDS_OUT = 1e9
_CROWD = 3


@dataclass
class Witness(EpsilonParts):
    """Parts of ε that note the true counts and let everything stand out, so that all that is ever counted is seen."""

    seen: dict[str, Array] = field(default_factory=dict)
    scales: dict[str, float] = field(default_factory=dict)

    def add_noise(self, part: str, values: npt.NDArray[Any], sensitivity: float = 1.0) -> Array:
        """Note the counts and the noise that they would get."""
        self.seen[part] = np.asarray(values, dtype=np.float64).ravel()
        self.scales[part] = self.scale(part, sensitivity)
        return np.full(np.shape(values), _EVERYTHING_STANDS_OUT)


def canary_cases(publication: TripModelPublication) -> list[AuditCase]:
    """Return one pair per canary: a handful of others, with and without the canary's trips.

    Outputs are the noisy counts from which everything else follows, with exactly the noise that the release would draw.
    The canary has as many trips as the promise covers.
    """
    most = int(publication.cap or 1) if publication.unit == "person" else 1
    long = publication.most_points  # a trip so long reaches every bound
    corner = (-1500.0, 1500.0)
    still = [_trip(corner, corner, long) for _ in range(most)]
    across = [_trip((-1500.0, -1500.0), (1500.0, 1500.0), long) for _ in range(most)]
    return [
        _case("a person who waits in a corner", publication, still),
        _case("a person who crosses the town", publication, across),
    ]


def _trip(begin: tuple[float, float], end: tuple[float, float], points: int) -> Array:
    return np.column_stack([np.linspace(begin[0], end[0], points), np.linspace(begin[1], end[1], points)])


def _case(name: str, publication: TripModelPublication, canary: Sequence[Array]) -> AuditCase:
    others = [_trip((-800.0 + 400 * number, 0.0), (0.0, 900.0), 6) for number in range(_CROWD)]
    with_, scale = _counted(publication, [*((0, trip) for trip in others), *((1, trip) for trip in canary)])
    without, _ = _counted(publication, [(0, trip) for trip in others])
    if with_.size != without.size:
        return _told_by_numbers(name, publication.epsilon, with_.size, without.size)
    changed = np.flatnonzero(with_ != without)  # all other counts have the same law on both sides
    with_, without, scale = with_[changed], without[changed], scale[changed]

    def draw(noise: Noise, present: bool, samples: int) -> Array:
        noisy = noise.laplace(np.tile(scale, samples), samples * scale.size).reshape(samples, -1)
        return np.asarray(noisy + (with_ if present else without))

    def score(outputs: Array) -> Array:
        return np.asarray(((np.abs(outputs - without) - np.abs(outputs - with_)) / scale).sum(axis=1))

    most = float((np.abs(with_ - without) / scale).sum())
    return AuditCase(name, publication.epsilon, draw, score, threshold=most / 2)


def _told_by_numbers(name: str, claimed: float, with_: int, without: int) -> AuditCase:
    """Return the pair of worlds in which different numbers of counts are published: nothing else is needed."""

    def draw(noise: Noise, present: bool, samples: int) -> Array:  # noqa: ARG001 - no noise hides it
        return np.full(samples, float(with_ if present else without))

    return AuditCase(name, claimed, draw, lambda size: (size == with_).astype(np.float64), threshold=1.0)


def _counted(publication: TripModelPublication, trips: Sequence[tuple[int, Array]]) -> tuple[Array, Array]:
    """Return all true counts of a small world, and the scale of the noise on each."""
    first = np.append(0, np.cumsum([len(trip) for _, trip in trips]))
    places = np.concatenate([trip for _, trip in trips])
    time_s = np.concatenate([60.0 * np.arange(len(trip)) for _, trip in trips])
    people = np.array(["the others", "the canary"], dtype=np.object_)
    person = np.array([who for who, _ in trips])
    world = Trajectories(people, first, person, time_s, places[:, 0], places[:, 1])
    nothing: Any = None  # whoever draws here fails
    witness = Witness(noise=nothing, epsilons=publication.parts(), crowd=publication.crowd())
    publication.fit(publication.cap_trips(world, _TOWN), _TOWN, witness)
    scale = np.concatenate([np.full(values.size, witness.scales[part]) for part, values in witness.seen.items()])
    return np.concatenate(list(witness.seen.values())), scale
