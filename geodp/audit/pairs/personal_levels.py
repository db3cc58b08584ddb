"""People of groups with levels of their own: each is held against her own ε, by samples, exact laws, or followed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from geodp.audit.pairs import chosen_pairs, random_pairs
from geodp.audit.pairs.snapshots import choose_snapshots, list_numbers
from geodp.curator.mechanisms import Mechanism, Snapshot
from geodp.curator.mechanisms.pdp_exponential import PdpExponential
from geodp.curator.mechanisms.pdp_sample import PdpSample
from geodp.curator.mechanisms.uniform_grid import UniformGrid
from geodp.curator.personal_levels import CountLevel
from geodp.device.graph_exponential import GraphExponential
from geodp.geometry import EARTH_RADIUS_M, Array, Region
from geodp.privacy.audit_case import AnyCase, AuditCase, CheckedCase, ExactCase, TranscriptCase
from geodp.privacy.noise import Noise

_TOWN = Region(-0.02, -0.02, 0.02, 0.02)
_ONE_BY_ONE = 1_500
"""Outputs of mechanisms whose cells are not independent of one another: each is a release of its own."""
_LARGEST_EXACT = 30.0
"""Laplace noise is compared in bins up to so many scales from the count."""


@chosen_pairs.of(PdpSample)
def choose_people(mechanism: PdpSample) -> list[AnyCase]:
    """Return one person more of each group: sampled releases, which toss the coin, and the exact laws of a count."""
    found: list[AnyCase] = []
    for name, epsilon in mechanism.guarantee().by_group:
        many = type(mechanism.cells) is UniformGrid  # its cells are independent: one release is many outputs
        draw = partial(_draw_cells if many else _draw_releases, mechanism, name)
        most = None if many else _ONE_BY_ONE
        found.append(AuditCase(f"one person of '{name}'", epsilon, draw, lambda counts: counts, 0.5, most=most))
        laws = partial(_sample_laws, mechanism.bound, mechanism.kept_shares[name])
        found.append(ExactCase(f"one person of '{name}', the law of her cell's count", epsilon, laws))
    return found


@random_pairs.of(PdpSample)
def random_people(mechanism: PdpSample, rng: np.random.Generator, count: int) -> Sequence[CheckedCase]:
    """Return the exact laws of counts for random levels and thresholds."""
    found: list[CheckedCase] = []
    for number in range(count):
        threshold, share = float(10 ** rng.uniform(-1.5, 0.7)), float(rng.uniform(0.02, 1.0))
        levels = {
            "one": CountLevel(epsilon=threshold * share, share=0.5),
            "other": CountLevel(epsilon=threshold, share=0.5),
        }
        sampling = PdpSample(levels=levels, cells=mechanism.cells)
        laws = partial(_sample_laws, sampling.bound, sampling.kept_shares["one"])
        found.append(ExactCase(f"random levels {number + 1} (ε = {threshold * share:.3g})", threshold * share, laws))
    return found


def _draw_cells(mechanism: PdpSample, name: str, noise: Noise, present: bool, samples: int) -> Array:
    """Return one count per cell, each cell with one person of a group or with nobody."""
    side = math.ceil(math.sqrt(samples))
    cell_m = min(_TOWN.width_m, _TOWN.height_m) / side
    fine = mechanism.model_copy(update={"cells": mechanism.cells.model_copy(update={"cell_m": cell_m})})
    step = np.arange(side) + 0.5
    x, y = np.tile(step, side) / side * _TOWN.width_m, np.repeat(step, side) / side * _TOWN.height_m
    west, south, _, _ = _TOWN.box_m
    people = side * side if present else 0
    made = fine.release(_snapshot(x[:people] + west, y[:people] + south, name), noise)
    return np.asarray(made.count[:samples] * fine.mean_kept())


def _draw_releases(mechanism: PdpSample, name: str, noise: Noise, present: bool, samples: int) -> Array:
    """Return the count where one person of a group is, or is not, release after release."""
    place = np.array([1.0]) if present else np.empty(0)
    counts = [mechanism.release(_snapshot(place, place, name), noise) for _ in range(samples)]
    return np.array([made.count[made.locate([1.0], [1.0])[0]] * mechanism.mean_kept() for made in counts])


def _snapshot(x_m: Array, y_m: Array, group: str) -> Snapshot:
    return Snapshot(0.0, x_m, y_m, _TOWN, expected_workers=60.0, group=np.full(x_m.size, group))


def _sample_laws(threshold: float, kept: float) -> tuple[Array, Array]:
    """Return the law of a noisy count of one person who is kept by a coin, and of nobody, in narrow bins."""
    reach = _LARGEST_EXACT / threshold
    edges = np.concatenate(
        [np.linspace(-reach, 0.0, 2_000), np.linspace(0.0, 1.0, 200)[1:], np.linspace(1, 1 + reach, 2_000)[1:]]
    )
    nobody, one = (_laplace_mass(edges - shift, threshold) for shift in (0.0, 1.0))
    return (1 - kept) * nobody + kept * one, nobody


def _laplace_mass(edges: Array, rate: float) -> Array:
    """Return the probability of each bin, the tails included."""
    low, high = np.concatenate([[-np.inf], edges]), np.concatenate([edges, [np.inf]])
    # on either side by what is small there: differences of distribution functions near 1 have no digits left
    below = (np.exp(rate * np.minimum(high, 0)) - np.exp(rate * np.minimum(low, 0))) / 2
    above = (np.exp(-rate * np.maximum(low, 0)) - np.exp(-rate * np.maximum(high, 0))) / 2
    return np.asarray(below + above)


@chosen_pairs.of(PdpExponential)
def choose_toggles(mechanism: PdpExponential) -> list[AnyCase]:
    """Return snapshots, one person more of each group, and the exact laws of a count with and without her."""
    found: list[AnyCase] = [*choose_snapshots(mechanism)]
    rng = np.random.default_rng(0)
    crowd = rng.normal(0.0, 200.0, (40, 2))
    names = list(mechanism.group_shares)
    others = np.array(names)[rng.integers(0, len(names), 40)]
    small = mechanism.model_copy(update={"cell_m": mechanism.cell_m or 1000.0, "slots": mechanism.slots or 30})
    ladder = small.ladder()
    for name, epsilon in mechanism.guarantee().by_group:
        release = partial(_release_groups, small, np.vstack([crowd, crowd[:1]]), np.append(others, name))
        found.append(TranscriptCase(f"one person of '{name}'", epsilon, release))
        place = sorted(small.levels, key=lambda one: small.levels[one].epsilon).index(name)
        held = np.array([min(2, room - 1) for room in ladder.room])
        if held[place] >= 0:
            more = held + (np.arange(held.size) == place)
            found.append(
                ExactCase(f"one person of '{name}', exactly", epsilon, partial(_count_laws, small, held, more))
            )
    return found


def _count_laws(
    mechanism: PdpExponential, held: npt.NDArray[np.int64], more: npt.NDArray[np.int64]
) -> tuple[Array, Array]:
    ladder = mechanism.ladder()
    return ladder.probabilities(more)[0], ladder.probabilities(held)[0]


def _release_groups(
    mechanism: Mechanism, places: Array, groups: npt.NDArray[np.str_], noise: Noise, present: bool
) -> list[npt.ArrayLike]:
    """Release with the last person, or without."""
    size = len(places) if present else len(places) - 1
    town = Snapshot(0.0, places[:size, 0], places[:size, 1], _TOWN, expected_workers=60.0, group=groups[:size])
    return list_numbers([mechanism.release(town, noise)])


@chosen_pairs.of(GraphExponential)
def choose_steps(device: GraphExponential) -> Sequence[AnyCase]:
    """Return places one, two, … steps apart in one district: followed, and by their exact laws."""
    return _steps(device, [(0, steps) for steps in (1, 2, 4)])


@random_pairs.of(GraphExponential)
def random_steps(device: GraphExponential, rng: np.random.Generator, count: int) -> Sequence[CheckedCase]:
    """Return random places of one district."""
    return [
        case
        for case in _steps(device, [(int(rng.integers(0, 50)), int(rng.integers(1, 5))) for _ in range(count)])
        if not isinstance(case, AuditCase)
    ]


def _steps(device: GraphExponential, wanted: list[tuple[int, int]]) -> list[CheckedCase]:
    """Return pairs so many steps apart, from some cells on: the first that there are."""
    town, district_m = device, device.district_m
    if device.districts_file is not None:  # a region of its own: areas of a file lie elsewhere
        town = device.model_copy(update={"districts_file": None, "district_m": 4 * device.cell_m})
        district_m = town.district_m
    half_m = max(3.0 * device.cell_m, district_m or 0.0, 1.0)
    half = math.degrees(half_m / EARTH_RADIUS_M)
    region = Region(-half, -half, half, half)
    law, found = town.law(region), list[CheckedCase]()
    x, y = law.cells.all_centres()
    for start, steps in wanted:
        here = start % law.cells.size
        at = np.flatnonzero(law.graph.hops[here] == steps)
        if not at.size:
            continue
        there = int(at[start % at.size])
        claimed = town.guarantee(region).at_distance(steps * device.cell_m)
        ends = [(float(x[cell]), float(y[cell])) for cell in (here, there)]
        name = f"{steps} step{'s' if steps > 1 else ''} apart, from cell {here} to {there}"
        found.append(TranscriptCase(name, claimed, partial(_report_one, town, ends, region)))
        found.append(ExactCase(f"{name}, exactly", claimed, partial(_rows, law.table, here, there)))
    return found


def _report_one(
    device: GraphExponential, ends: list[tuple[float, float]], region: Region, noise: Noise, present: bool
) -> list[npt.ArrayLike]:
    x, y = ends[0 if present else 1]
    return list(device.report([x], [y], rng=noise, region=region))


def _rows(table: Array, here: int, there: int) -> tuple[Array, Array]:
    return table[here], table[there]
