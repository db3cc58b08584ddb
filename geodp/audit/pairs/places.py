"""Places on which reports of a phone are followed, or their laws compared, with one place moved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from geodp.audit.pairs import random_pairs
from geodp.device import Device
from geodp.device._planar import PlanarDevice, audit_region
from geodp.geometry import Array, Region
from geodp.privacy.audit_case import CheckedCase, ExactCase, TranscriptCase
from geodp.privacy.noise import Noise

Places = npt.NDArray[np.float64]
_HALF_SIDE_M = 3000.0
_EXACT = 3
"""Pairs of laws that are compared at most: each takes as long as many followed reports."""


@random_pairs.of(Device)
def random_reports(device: Device, rng: np.random.Generator, count: int) -> Sequence[CheckedCase]:
    """Return random places of a few phones, one of which is elsewhere: a hair, a step or a town away."""
    region = audit_region(_HALF_SIDE_M)
    exact = isinstance(device, PlanarDevice) and device.audited_by == "channel"
    found: list[CheckedCase] = []
    for number in range(min(count, _EXACT) if exact else count):
        places = rng.uniform(-_HALF_SIDE_M, _HALF_SIDE_M, (int(rng.integers(1, 4)), 2))
        far = rng.normal(0.0, float(rng.choice([0.01, 50.0, 2000.0])), 2)
        moved = places.copy()
        which = int(rng.integers(len(places)))
        moved[which] = np.clip(places[which] + far, -_HALF_SIDE_M, _HALF_SIDE_M)
        apart = float(math.dist(places[which], moved[which]))
        claimed = device.guarantee().at_distance(apart)
        name = f"random places {number + 1}, one of them {apart:.3g} m away"
        if exact and isinstance(device, PlanarDevice):
            here, there = ((float(at[which, 0]), float(at[which, 1])) for at in (places, moved))
            found.append(ExactCase(name, claimed, partial(_laws, device, here, there, region)))
        else:
            found.append(TranscriptCase(name, claimed, partial(_reported, device, places, moved, region), runs=1))
    return found


def _laws(
    device: PlanarDevice, here: tuple[float, float], there: tuple[float, float], region: Region
) -> tuple[Array, Array]:
    one, other = (device.exact_row(place, region) for place in (here, there))
    if device.clamp:
        return one, other
    return np.append(one, 1 - one.sum()), np.append(other, 1 - other.sum())  # outside: an output of its own


def _reported(
    device: Device, places: Places, moved: Places, region: Region, noise: Noise, present: bool
) -> Sequence[npt.ArrayLike]:
    true = places if present else moved
    return device.report(true[:, 0], true[:, 1], rng=noise, region=region)
