"""Snapshots on which whole releases are followed, question by question, with one worker more, less, or elsewhere."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from geodp.geometry import Region
from geodp.privacy.audit_case import LARGE_EPSILON, TranscriptCase
from geodp.privacy.guarantee import Neighbours
from geodp.privacy.noise import Noise

if TYPE_CHECKING:
    from geodp.curator.mechanisms import Mechanism

_TOWN = Region(-0.02, -0.02, 0.02, 0.02)
_EXPECTED = 60.0
Place = tuple[float, float]


def followed_releases(mechanism: Mechanism) -> list[TranscriptCase]:
    """Return pairs of snapshots: a worker in the crowd, one in an empty corner, the only one, and one who moved."""
    rng = np.random.default_rng(0)
    crowd = [(float(x), float(y)) for x, y in rng.normal((-400.0, 300.0), 250.0, (40, 2))]
    corner: Place = (_TOWN.box_m[2] - 1.0, _TOWN.box_m[1] + 1.0)
    pairs = {
        "a worker in the crowd": ([crowd[0], *crowd], crowd, Neighbours.ADD_REMOVE),
        "a worker in an empty corner": ([corner, *crowd], crowd, Neighbours.ADD_REMOVE),
        "the only worker": ([corner], [], Neighbours.ADD_REMOVE),
        "a worker who moved": ([*crowd, crowd[0]], [*crowd, corner], Neighbours.REPLACE),
    }
    tried = {"": mechanism, f" (ε = {LARGE_EPSILON:g})": mechanism.with_epsilon(LARGE_EPSILON)}
    return [
        TranscriptCase(
            name + at, method.guarantee(neighbours).epsilon, partial(_released, method, with_, without, neighbours)
        )
        for at, method in tried.items()
        for name, (with_, without, neighbours) in pairs.items()
    ]


def _released(
    mechanism: Mechanism,
    with_: list[Place],
    without: list[Place],
    neighbours: Neighbours,
    noise: Noise,
    present: bool,
) -> list[npt.ArrayLike]:
    from geodp.curator.mechanisms import Snapshot

    places = np.array(with_ if present else without).reshape(-1, 2)
    snapshot = Snapshot(0.0, places[:, 0], places[:, 1], _TOWN, _EXPECTED, neighbours)
    released = mechanism.release(snapshot, noise)
    values = [getattr(released, field.name) for field in fields(released)]
    return [value for value in values if isinstance(value, np.ndarray | float | int | tuple)]
