"""Places for whatever runs on a phone: reports of two places are sampled, followed, or their exact laws compared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from geodp.audit.pairs import chosen_pairs, random_pairs
from geodp.device import Device
from geodp.device.planar import PlanarDevice
from geodp.device.planar_geometric import PlanarGeometric
from geodp.device.tree_obfuscation import TreeObfuscation
from geodp.geometry import EARTH_RADIUS_M, Array, Grid, Region
from geodp.privacy.audit_case import AnyCase, AuditCase, CheckedCase, ExactCase, TranscriptCase
from geodp.privacy.noise import Noise, SimulatedNoise
from geodp.public.guarantee import Guarantee, Unit

Place = tuple[float, float]
_HALF_SIDE_M = 3000.0
_MOST_EXACT = 3
"""Random pairs of laws that are compared at most: each takes as long as many followed reports."""
_AUDITED_EPSILON = 2.0
"""ε·d of the chosen pairs: large enough to tell them apart, small enough for the rare side to be seen."""
_EVENT_SHARE = 0.9
"""The audited event is {|z - x'| - |z - x| ≥ 0.9 d}: nearly all that the triangle inequality allows, yet not rare."""
_LINES = 61
"""Cells per side of the region in which exact laws are compared."""


@chosen_pairs.of(Device)
def choose_places(device: Device) -> list[AnyCase]:
    """Return pairs at ε·d = 2 on eight bearings, from the centre, an edge and a corner of a region that clamps."""
    if isinstance(device, PlanarDevice) and device.levels:
        return _of_each_group(device)
    promise = device.guarantee()
    metric = promise.unit is Unit.POINT
    half_m = 10 / promise.epsilon if metric else _HALF_SIDE_M
    around = _around(_AUDITED_EPSILON / promise.epsilon if metric else half_m / 2, half_m)
    pairs = {name: (here, there, _between(promise, math.dist(here, there))) for name, (here, there) in around.items()}
    return _cases(device, pairs, build_box(half_m))


def _of_each_group(device: PlanarDevice) -> list[AnyCase]:
    """Return the pairs of what runs on the phones of each group, at what that group is promised."""
    return [
        replace(case, name=f"{name}: {case.name}")
        for name in device.group_shares
        for case in chosen_pairs(device.for_group(name))
    ]


@chosen_pairs.of(PlanarGeometric)
def choose_grid_points(device: PlanarGeometric) -> list[AnyCase]:
    """Return pairs of grid points at ε·d near 2, and two places a hair apart that round to different grid points."""
    if device.levels:
        return _of_each_group(device)
    step_m, rate = device.cell_m, device.epsilon_per_m
    half_m = math.ceil(10 / rate / step_m) * step_m
    pairs = {}
    for name, ends in _around(_AUDITED_EPSILON / rate, half_m).items():
        here, there = ((round(x / step_m) * step_m, round(y / step_m) * step_m) for x, y in ends)
        if here != there:
            pairs[name] = (here, there, rate * math.dist(here, there))
    before, after = 0.499 * step_m, 0.501 * step_m
    hair = device.guarantee().at_distance(math.sqrt(2) * (after - before))
    return _cases(device, {**pairs, "a hair apart": ((before, before), (after, after), hair)}, build_box(half_m))


@chosen_pairs.of(TreeObfuscation)
def choose_leaves(device: TreeObfuscation) -> list[AnyCase]:
    """Return pairs that meet at each level of the tree, from a corner and from beside the first cut."""
    region = build_box(10 / device.epsilon_per_m)
    tree = device.law(region).tree
    side, found = tree.grid.columns, list[AnyCase]()
    for name, start in {"corner": 0, "beside the first cut": side * (side // 2) + side // 2 - 1}.items():
        for level in range(1, tree.levels + 1):
            other = start ^ (1 << (level - 1)) * (side + 1)  # in the opposite quarter, at the same place of it
            ends = [(float(x[0]), float(y[0])) for x, y in (tree.centres(np.array([leaf])) for leaf in (start, other))]
            found.append(_leaf_case(device, f"{name}, meeting at level {level}", ends[0], ends[1], region))
    return found


def _leaf_case(device: TreeObfuscation, name: str, here: Place, there: Place, region: Region) -> AuditCase:
    """Return two leaves to sample: the event is that a report is nearer to the first by all their distance."""
    law = device.law(region)
    leaves = tuple(int(law.tree.locate(*place)) for place in (here, there))

    def draw(noise: Noise, present: bool, samples: int) -> Array:
        places = np.full((samples, 2), here if present else there)
        return np.column_stack(
            _report(device=device, places=places, moved=places, region=region, noise=noise, present=present)
        )

    def nearer(reports: Array) -> Array:
        leaf = law.tree.locate(reports[:, 0], reports[:, 1])
        far = [law.tree.distance_m[law.tree.find_meeting_level(leaf, end)] for end in leaves]
        return np.asarray(far[1] - far[0])

    apart_m = law.tree.between_m(here, there)
    claimed = device.guarantee(region).at_distance(apart_m)
    laws = partial(_leaf_laws, device, here, there, region)
    return AuditCase(name, claimed, draw, nearer, threshold=0.99 * apart_m, exact=laws)


def _leaf_laws(device: TreeObfuscation, here: Place, there: Place, region: Region) -> tuple[Array, Array]:
    """Return the exact probability of every leaf on either place."""
    law = device.law(region)
    first, second = (law.law_of(int(law.tree.locate(*place))) for place in (here, there))
    return first, second


@random_pairs.of(TreeObfuscation)
def random_leaves(device: TreeObfuscation, rng: np.random.Generator, count: int) -> Sequence[CheckedCase]:
    """Return random places, a hair, a step or a town apart, with the exact laws of their reports."""
    region, found = build_box(_HALF_SIDE_M), list[CheckedCase]()
    tree = device.law(region).tree
    for number in range(count):
        x, y = rng.uniform(-_HALF_SIDE_M, _HALF_SIDE_M, 2)
        away = rng.normal(0.0, float(rng.choice([0.01, 50.0, 2000.0])), 2)
        here = (float(x), float(y))
        there = (
            float(np.clip(x + away[0], -_HALF_SIDE_M, _HALF_SIDE_M)),
            float(np.clip(y + away[1], -_HALF_SIDE_M, _HALF_SIDE_M)),
        )
        apart_m = tree.between_m(here, there)
        name = f"random places {number + 1}, {math.dist(here, there):.3g} m apart, {apart_m:.3g} m along the tree"
        claimed = device.guarantee(region).at_distance(apart_m)
        found.append(ExactCase(name, claimed, partial(_leaf_laws, device, here, there, region)))
    return found


@random_pairs.of(Device)
def random_places(device: Device, rng: np.random.Generator, count: int) -> Sequence[CheckedCase]:
    """Return random places of a few phones, one of which is elsewhere: a hair, a step or a town away."""
    region, found = build_box(_HALF_SIDE_M), list[CheckedCase]()
    exact = device.audited_by == "channel"
    for number in range(min(count, _MOST_EXACT) if exact else count):
        places = rng.uniform(-_HALF_SIDE_M, _HALF_SIDE_M, (int(rng.integers(1, 4)), 2))
        far = rng.normal(0.0, float(rng.choice([0.01, 50.0, 2000.0])), 2)
        moved = places.copy()
        which = int(rng.integers(len(places)))
        moved[which] = np.clip(places[which] + far, -_HALF_SIDE_M, _HALF_SIDE_M)
        apart = float(math.dist(places[which], moved[which]))
        claimed = _between(device.guarantee(), apart)
        name = f"random places {number + 1}, one of them {apart:.3g} m away"
        if exact and device.channel(region) is not None:
            here, there = ((float(at[which, 0]), float(at[which, 1])) for at in (places, moved))
            found.append(ExactCase(name, claimed, partial(_laws, device, here, there, region)))
        else:
            found.append(TranscriptCase(name, claimed, partial(_report, device, places, moved, region), runs=1))
    return found


def _between(promise: Guarantee, apart_m: float) -> float:
    """Return what is claimed for two places so far apart."""
    return promise.at_distance(apart_m) if promise.unit is Unit.POINT else promise.epsilon


def _cases(device: Device, pairs: dict[str, tuple[Place, Place, float]], region: Region) -> list[AnyCase]:
    """Return every pair of places (and the ε claimed between them) to sample and, without an exact law, to follow."""
    sampled = [
        _make_sampled_case(device=device, name=name, here=here, there=there, claimed=claimed, region=region)
        for name, (here, there, claimed) in pairs.items()
    ]
    if device.audited_by == "channel":
        return list(sampled)
    followed = [
        TranscriptCase(name, claimed, partial(_report, device, np.array([here]), np.array([there]), region))
        for name, (here, there, claimed) in pairs.items()
    ]
    return [*sampled, *followed]


def _make_sampled_case(
    device: Device, name: str, here: Place, there: Place, claimed: float, region: Region
) -> AuditCase:
    def draw(noise: Noise, present: bool, samples: int) -> Array:
        places = np.full((samples, 2), here if present else there)
        return np.column_stack(
            _report(device=device, places=places, moved=places, region=region, noise=noise, present=present)
        )

    def away(reports: Array, place: Place) -> Array:
        return np.asarray(np.hypot(reports[:, 0] - place[0], reports[:, 1] - place[1]))

    return AuditCase(
        name,
        claimed,
        draw,
        lambda reports: away(reports, there) - away(reports, here),
        threshold=_EVENT_SHARE * math.dist(here, there),
        exact=None if device.channel(region) is None else partial(_laws, device, here, there, region),
        raw=lambda reports: np.column_stack([reports, away(reports, here), away(reports, there)]),
    )


def _laws(device: Device, here: Place, there: Place, region: Region) -> tuple[Array, Array]:
    """Return the exact probability of a report in every cell of the region, and outside of it, on either place."""
    law = device.law(region) if isinstance(device, PlanarDevice) else device.channel(region)
    assert law is not None  # noqa: S101 - for the type checker
    west, south, east, north = region.box_m
    cell_m = getattr(device, "cell_m", None)
    lines = min(_LINES, max(1, round((east - west) / cell_m))) if cell_m else _LINES
    reports = Grid(
        west_m=west,
        south_m=south,
        cell_x_m=(east - west) / lines,
        cell_y_m=(north - south) / lines,
        columns=lines,
        rows=lines,
    )
    rows = [
        law.matrix(Grid(west_m=x - 0.5, south_m=y - 0.5, cell_x_m=1.0, cell_y_m=1.0, columns=1, rows=1), reports)[0]
        for x, y in (here, there)
    ]
    outside = [1 - float(row.sum()) for row in rows]
    if max(outside) > 1e-9:  # an output of its own, unless reports are clamped
        rows = [np.append(row, max(rest, 0.0)) for row, rest in zip(rows, outside, strict=True)]
    return rows[0], rows[1]


def _report(
    device: Device, places: Array, moved: Array, region: Region, noise: Noise, present: bool
) -> tuple[npt.ArrayLike, npt.ArrayLike]:
    true = places if present else moved
    source = noise.rng if isinstance(noise, SimulatedNoise) and not noise.releasable else noise
    return device.report(true[:, 0], true[:, 1], rng=source, region=region)


def _around(apart_m: float, half_side_m: float) -> dict[str, tuple[Place, Place]]:
    """Return pairs of places on eight bearings, from the centre, an edge and a corner of a box."""
    starts = {"centre": (0.0, 0.0), "edge": (half_side_m, 0.0), "corner": (half_side_m, half_side_m)}
    found = {}
    for name, (x, y) in starts.items():
        for bearing in range(0, 360, 45):
            turn = math.radians(bearing)
            end = (x + apart_m * math.sin(turn), y + apart_m * math.cos(turn))
            if max(map(abs, end)) <= half_side_m * (1 + 1e-9):  # only places inside the region are true places
                found[f"{name}, bearing {bearing}°"] = ((x, y), end)
    return found


def build_box(half_side_m: float) -> Region:
    """Return a box on the equator with sides of twice `half_side_m`, where the projection is nearly exact."""
    half = math.degrees(half_side_m / EARTH_RADIUS_M)
    return Region(-half, -half, half, half)
