"""Snapshots for tests of mechanisms: a clustered crowd in a city-sized box."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.curator.mechanisms import Snapshot
from geodp.geometry import Region
from geodp.privacy.noise import SimulatedNoise
from geodp.public.guarantee import Neighbours

REGION = Region(-122.5135, 37.7113, -122.3627, 37.8327)


def crowd(workers: int, neighbours: Neighbours = Neighbours.ADD_REMOVE, *, expected: float | None = None) -> Snapshot:
    """Return half of the workers around the centre, half all over the region."""
    rng = np.random.default_rng(1)
    x, y = REGION.sample(workers, rng)
    half = workers // 2
    x[:half], y[:half] = REGION.clamp(rng.normal(0, 800, half), rng.normal(500, 600, half))
    return Snapshot(0.0, x, y, REGION, float(workers) if expected is None else expected, neighbours)


def without_first(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot with one worker less."""
    return Snapshot(
        snapshot.time_s,
        snapshot.x_m[1:],
        snapshot.y_m[1:],
        snapshot.region,
        snapshot.expected_workers,
        snapshot.neighbours,
        snapshot.counts,
    )


def noise(seed: int) -> SimulatedNoise:
    return SimulatedNoise(np.random.default_rng(seed))


@dataclass
class RecordingNoise:
    """Draws nothing but zeros and remembers what was asked for."""

    laplaces: list[tuple[npt.NDArray[np.float64], int]] = field(default_factory=list)
    choices: list[npt.NDArray[np.float64]] = field(default_factory=list)
    mode: str = "simulate"
    releasable: bool = False

    def laplace(self, scale: npt.ArrayLike, size: int) -> npt.NDArray[np.float64]:
        self.laplaces.append((np.broadcast_to(np.asarray(scale, dtype=np.float64), (size,)), size))
        return np.zeros(size)

    def choose(self, logits: npt.ArrayLike, size: int | None = None) -> npt.NDArray[np.int64]:
        table = np.atleast_2d(np.asarray(logits, dtype=np.float64))
        self.choices.append(table)
        return np.asarray(table.argmax(axis=1), dtype=np.int64) if size is None else np.zeros(size, dtype=np.int64)

    def geometric(self, scale: npt.ArrayLike, size: int) -> Any:
        raise NotImplementedError

    def gaussian(self, scale: npt.ArrayLike, size: int) -> Any:
        raise NotImplementedError

    def discrete_gaussian(self, scale: npt.ArrayLike, size: int) -> Any:
        raise NotImplementedError

    def uniform(self, size: int) -> Any:
        raise NotImplementedError
