"""The zoo: mechanisms with a planted defect, and healthy ones, to audit the auditor. For tests only.

Each animal claims what the sound mechanism would guarantee. Most defects were found in published location-privacy
tools; the noise of each is drawn from a `Noise`, as in a mechanism of the package.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from geodp.curator.mechanisms import Snapshot
from geodp.curator.mechanisms.adaptive_grid import AdaptiveGrid, TwoLevels
from geodp.geometry import Grid, Region
from geodp.privacy.audit_case import AuditCase, RhoCase
from geodp.privacy.noise import Noise, SimulatedNoise
from geodp.privacy.zcdp import gaussian_scale

Array = npt.NDArray[np.float64]
Sampler = Callable[[Noise, Array, int], Array]
"""Reports `n` points (n, 2) for one true place."""

EPSILON_PER_M = math.log(4) / 200
"""ln 4 within 200 m."""
BOX_M = 2000.0
"""Side of the square region, 0 <= x, y <= BOX_M, of the animals that have one."""


@dataclass(frozen=True)
class Animal:
    """A mechanism that claims too much."""

    case: AuditCase
    ratio: float
    """True epsilon over claimed epsilon at the audited pair (infinite: some outputs give the input away)."""
    published_doubles: bool = False
    """The defect lies in the bits of what is published, so tests on raw bits count."""

    @property
    def name(self) -> str:
        return self.case.name

    def noise(self, seed: int) -> Noise:
        return SimulatedNoise(np.random.default_rng(seed), releasable=self.published_doubles)


# -- sound samplers -----------------------------------------------------------------------------------------


def radius_and_angle(noise: Noise, samples: int) -> tuple[Array, Array]:
    """Draw eps·R ~ Gamma(2), as a sum of two exponentials, and an angle."""
    first, second, turn = noise.uniform(3 * samples).reshape(3, samples)
    return -np.log1p(-first) - np.log1p(-second), 2 * np.pi * turn


def polar(place: Array, radius: Array, angle: Array) -> Array:
    return place + np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def planar_laplace(noise: Noise, place: Array, samples: int, epsilon_per_m: float = EPSILON_PER_M) -> Array:
    radius, angle = radius_and_angle(noise, samples)
    return polar(place, radius / epsilon_per_m, angle)


def clamped(noise: Noise, place: Array, samples: int) -> Array:
    return np.clip(planar_laplace(noise, place, samples), 0, BOX_M)


def snapped_then_clamped(noise: Noise, place: Array, samples: int) -> Array:
    return np.clip(np.round(planar_laplace(noise, place, samples) / 100) * 100, 0, BOX_M)


# -- planted defects of planar noise ------------------------------------------------------------------------


def integer_division(noise: Noise, place: Array, samples: int) -> Array:
    """Divide whole numbers where the radius is computed: 1 - 2/e = 26.4 % of the reports are the true place."""
    radius, angle = radius_and_angle(noise, samples)
    return polar(place, np.floor(radius) / EPSILON_PER_M, angle)


def rounded_lambert_w(noise: Noise, place: Array, samples: int) -> Array:
    """Round W to six digits on the way: radii are multiples of 1e-6/eps, in doubles."""
    from scipy.special import lambertw

    share, turn = noise.uniform(2 * samples).reshape(2, samples)
    w = np.round(np.real(lambertw((share - 1) / np.e, k=-1)), 6)
    return polar(place, -(w + 1) / EPSILON_PER_M, 2 * np.pi * turn)


def wrong_frame(latitude: float) -> Sampler:
    """Add the noise in a frame that is not local: its north-south part shrinks by sin(latitude)."""

    def report(noise: Noise, place: Array, samples: int) -> Array:
        offset = planar_laplace(noise, np.zeros(2), samples)
        return place + offset * [1.0, math.sin(math.radians(latitude))]

    return report


def resampled_until_inside(noise: Noise, place: Array, samples: int) -> Array:
    """Truncate by drawing again until the report lies in the region.

    From the corner 0.250 of the reports lie inside, from 2/eps inwards 0.697: 1 + ln(0.697/0.250)/2 = 1.51 claims.
    """
    kept = np.empty((0, 2))
    while len(kept) < samples:
        drawn = planar_laplace(noise, place, 2 * samples)
        kept = np.concatenate([kept, drawn[np.all((drawn >= 0) & (drawn <= BOX_M), axis=1)]])
    return kept[:samples]


def two_laplaces(noise: Noise, place: Array, samples: int) -> Array:
    return place + noise.laplace(1 / EPSILON_PER_M, 2 * samples).reshape(samples, 2)


def short_scale(noise: Noise, place: Array, samples: int) -> Array:
    return planar_laplace(noise, place, samples, EPSILON_PER_M / 0.8)


def gaussian(noise: Noise, place: Array, samples: int) -> Array:
    """Gaussian with the variance of planar Laplace, 3/eps² on each axis."""
    return place + noise.gaussian(math.sqrt(3) / EPSILON_PER_M, 2 * samples).reshape(samples, 2)


def snapped_input(noise: Noise, place: Array, samples: int) -> Array:
    """Snap the true place to a 100 m grid before the noise instead of after it."""
    return planar_laplace(noise, np.floor(place / 100) * 100 + 50, samples)


def mean_of_five(noise: Noise, place: Array, samples: int) -> Array:
    """Charge one report and send five; anyone can take their mean."""
    return np.asarray(planar_laplace(noise, place, 5 * samples).reshape(samples, 5, 2).mean(axis=1))


def planar_case(name: str, report: Sampler, place: Array, other: Array, share: float = 0.9) -> AuditCase:
    """Claim eps·d for two places; the event is {|z - other| - |z - place| >= share·d}."""
    distance = float(np.linalg.norm(place - other))

    def score(points: Array) -> Array:
        return np.asarray(np.linalg.norm(points - other, axis=1) - np.linalg.norm(points - place, axis=1))

    return AuditCase(
        name=name,
        claimed=EPSILON_PER_M * distance,
        draw=lambda noise, present, samples: report(noise, place if present else other, samples),
        score=score,
        threshold=share * distance,
        raw=lambda points: np.column_stack([np.linalg.norm(points - end, axis=1) for end in (place, other)]),
    )


def apart(eps_d: float, bearing: float = 90.0, start: tuple[float, float] = (0.0, 0.0)) -> tuple[Array, Array]:
    """Return two places eps·d apart at a bearing (degrees clockwise from north)."""
    turn, distance = math.radians(bearing), eps_d / EPSILON_PER_M
    place = np.array(start)
    return place, place + distance * np.array([math.sin(turn), math.cos(turn)])


# -- planted defects of counts ------------------------------------------------------------------------------

EPSILON = 1.0


def count_case(name: str, draw: Callable[[Noise, bool, int], Array], threshold: float = 1.0) -> AuditCase:
    """Claim EPSILON for one worker more in a cell that is empty otherwise; the event is {noisy count >= 1}."""
    return AuditCase(name, EPSILON, draw, lambda counts: counts, threshold)


def sound_count(noise: Noise, present: bool, samples: int) -> Array:
    return float(present) + noise.laplace(1 / EPSILON, samples)


def sound_whole_count(noise: Noise, present: bool, samples: int) -> Array:
    return np.asarray(int(present) + noise.geometric(1 / EPSILON, samples), dtype=np.float64)


def empty_cells_exact(noise: Noise, present: bool, samples: int) -> Array:
    """Add noise only where the true count is not zero."""
    return sound_count(noise, present, samples) if present else np.zeros(samples)


def domain_from_data(noise: Noise, present: bool, samples: int) -> Array:
    """Publish only the cells that somebody is in; the others are missing."""
    return sound_count(noise, present, samples) if present else np.full(samples, np.nan)


def budget_overspent(noise: Noise, present: bool, samples: int) -> Array:
    """Count at two levels of a grid with eps and eps/2 where eps/2 each was meant; combine the two."""
    fine, coarse = noise.laplace(1 / EPSILON, samples), noise.laplace(2 / EPSILON, samples)
    return float(present) + np.column_stack([fine, coarse])


def log_ratio(noisy: Array, scale: float) -> Array:
    """Return ln f(z | 1) / f(z | 0) of Laplace noise."""
    return np.asarray((np.abs(noisy) - np.abs(noisy - 1)) / scale)


def replaced(noise: Noise, present: bool, samples: int) -> Array:
    """Move one worker from the second of two cells to the first, with noise for adding or removing one."""
    truth = np.array([1.0, 0.0]) if present else np.array([0.0, 1.0])
    return truth + noise.laplace(1 / EPSILON, 2 * samples).reshape(samples, 2)


def wrapping_sum(noise: Noise, present: bool, samples: int) -> Array:
    """Sum 127 workers in bytes: one more makes -128, and the sensitivity is 255, not 1."""
    total = np.full(127 + present, 1, dtype=np.int8).sum(dtype=np.int8)
    return float(total) + noise.laplace(1 / EPSILON, samples)


class NeverDividesEmpty(AdaptiveGrid):
    """Two-level grid that looks at the true count before it divides a cell: an empty one stays whole."""

    def _measure(self, snapshot: Snapshot, noise: Noise) -> TwoLevels:
        _occupied.append(snapshot.x_m.size > 0)  # in an audit all cells are occupied, or none
        return super()._measure(snapshot, noise)

    def _per_side(self, noisy: Array, fine_scale: float, coarse: Grid) -> npt.NDArray[np.int64]:
        sides = super()._per_side(noisy, fine_scale, coarse)
        return sides if _occupied.pop() else np.ones_like(sides)


_occupied: list[bool] = []


def divided_case(mechanism: AdaptiveGrid) -> AuditCase:
    """Return whether an empty cell is divided, with a worker in it or without; every coarse cell is a trial."""
    region = Region(0.0, 0.0, 0.1, 0.1)
    first = mechanism.alpha * mechanism.epsilon

    def draw(noise: Noise, present: bool, samples: int) -> Array:
        side = math.ceil(math.sqrt(samples))
        place = (np.arange(side) + 1e-3) / side  # near a corner of its cell, however that is divided
        x, y = np.meshgrid(region.box_m[0] + place * region.width_m, region.box_m[1] + place * region.height_m)
        people = slice(None) if present else slice(0)
        snapshot = Snapshot(0.0, x.ravel()[people], y.ravel()[people], region, float(samples))
        plain = mechanism.model_copy(update={"first_level": side, "least_cell_m": 1e-9})
        return plain._measure(snapshot, noise).per_side[:samples].astype(np.float64)

    return AuditCase("whether it is divided", first, draw, lambda sides: sides, threshold=2.0)


# -- a finite mechanism, exactly ----------------------------------------------------------------------------

GRID = np.array([[100.0 * i, 100.0 * j] for i in range(8) for j in range(8)])


def renormalised_row(place: int, exponent: float) -> Array:
    """Return exp(-eps·d·exponent) from one grid place to all others, scaled to sum to 1."""
    weight = np.exp(-EPSILON_PER_M * exponent * np.linalg.norm(GRID - GRID[place], axis=1))
    return np.asarray(weight / weight.sum())


def renormalised_case(name: str, exponent: float, first: int = 0, second: int = 9) -> AuditCase:
    """Claim eps·d for exp(-eps·d) normalised per place: the normalising constants differ, which costs up to eps·d more.

    With half the exponent (the exponential mechanism) the claim is true.
    """
    rows = renormalised_row(first, exponent), renormalised_row(second, exponent)
    with np.errstate(divide="ignore"):
        ratio = np.log(rows[0]) - np.log(rows[1])

    def draw(noise: Noise, present: bool, samples: int) -> Array:
        return noise.choose(np.log(rows[0 if present else 1]), samples).astype(np.float64)

    return AuditCase(
        name=name,
        claimed=EPSILON_PER_M * float(np.linalg.norm(GRID[first] - GRID[second])),
        draw=draw,
        score=lambda chosen: ratio[chosen.astype(np.int64)],
        threshold=float(ratio.max()) - 1e-9,
        exact=lambda: rows,
    )


# -- who lives here -----------------------------------------------------------------------------------------

_CORNER = (np.zeros(2), apart(2.0, bearing=45.0)[1])
_LEVELS = replace(
    count_case("budget spent 1.5 times", budget_overspent),
    score=lambda counts: log_ratio(counts[:, 0], 1 / EPSILON) + log_ratio(counts[:, 1], 2 / EPSILON),
    threshold=1.2,
)
_REPLACED = replace(
    count_case("sensitivity 1 for replacing", replaced),
    score=lambda counts: log_ratio(counts[:, 0], 1 / EPSILON) - log_ratio(counts[:, 1], 1 / EPSILON),
    threshold=1.8,
)
_ACROSS_A_BORDER = (np.array([99.0, 50.0]), np.array([101.0, 50.0]))
_DIVIDED = divided_case(NeverDividesEmpty())
_13_M = (np.zeros(2), np.array([13.0, 0.0]))

ZOO = [
    Animal(planar_case("integer-division radius", integer_division, *apart(math.log(4))), math.inf),
    Animal(planar_case("radius on a lattice", rounded_lambert_w, *_13_M), math.inf, published_doubles=True),
    Animal(planar_case("wrong frame at 39.9 N", wrong_frame(39.9), *apart(2.0, bearing=0.0)), 1.56),
    Animal(planar_case("wrong frame in Singapore", wrong_frame(1.35), *apart(2.0, bearing=0.0)), 42.0),
    Animal(planar_case("resampled until inside", resampled_until_inside, *_CORNER, share=0.7), 1.51),
    Animal(planar_case("two 1-D Laplaces, diagonal", two_laplaces, *apart(2.0, bearing=45.0)), math.sqrt(2)),
    Animal(planar_case("scale 20 % short", short_scale, *apart(2.0)), 1.25),
    Animal(planar_case("Gaussian of equal variance", gaussian, *apart(2 * math.log(4))), math.inf),
    Animal(planar_case("input snapped first", snapped_input, *_ACROSS_A_BORDER), 50.0),
    Animal(planar_case("mean of five reports", mean_of_five, *apart(2.0)), 5.0),
    Animal(renormalised_case("exp(-eps d) renormalised per place", 1.0), 1.47),
    Animal(count_case("empty cells exact", empty_cells_exact), math.inf),
    Animal(count_case("domain from the data", domain_from_data), math.inf),
    Animal(count_case("wrapping sum", wrapping_sum), 255.0),
    Animal(_LEVELS, 1.5),
    Animal(_REPLACED, 2.0),
    Animal(replace(_DIVIDED, name="true-zero cells are never divided"), math.inf),
]

HEALTHY = [
    planar_case("planar Laplace", planar_laplace, *apart(2.0)),
    planar_case("planar Laplace, clamped at a corner", clamped, *_CORNER),
    planar_case("planar Laplace, snapped and clamped at a corner", snapped_then_clamped, *_CORNER),
    count_case("Laplace count", sound_count),
    count_case("geometric count", sound_whole_count),
    renormalised_case("exponential mechanism on a grid", 0.5),
    replace(_REPLACED, name="replacing, sensitivity 2", claimed=2 * EPSILON),
    replace(_LEVELS, name="two levels, charged in full", claimed=1.5 * EPSILON),
]


# -- tables of flows, with Gaussian noise for a rho of one person's day ---------------------------------------


@dataclass(frozen=True)
class Flow:
    """A table of flows that claims a rho."""

    case: RhoCase
    ratio: float
    """True rho over claimed rho at the audited pair (infinite: some outputs give the input away; 1: sound)."""


TRIPS = 8
"""Trips of a person's day that are counted."""


def _counts(changes: Array, scale: float) -> Callable[[Noise, bool, int], Array]:
    """Return noisy counts that the person changes, and nobody else is in."""

    def draw(noise: Noise, present: bool, samples: int) -> Array:
        drawn = noise.discrete_gaussian(scale, samples * changes.size).reshape(samples, changes.size)
        return present * changes + drawn

    return draw


def _flow(name: str, rho: float, changes: Array, l2: float, ratio: float) -> Flow:
    draw = _counts(changes, gaussian_scale(rho, l2))
    return Flow(RhoCase(name, rho, draw, changes, float(changes @ changes) / 2), ratio)


def sound_flows(rho: float, *, gaussian: bool = True) -> Flow:
    """Count one trip of each pair: eight ones, L2 √8."""
    flow = _flow("one trip of each pair", rho, np.ones(TRIPS), math.sqrt(TRIPS), 1.0)
    threshold = flow.case.threshold * (1 if gaussian else 2)  # halfway, or what is expected with the person
    return replace(flow, case=replace(flow.case, gaussian=gaussian, threshold=threshold))


def repeated_pairs(rho: float) -> Flow:
    """Forget to take repeated pairs out: eight trips in one cell are 8 apart, under noise for √8."""
    return _flow(
        "repeated pairs under the noise of single ones", rho, np.array([float(TRIPS)]), math.sqrt(TRIPS), TRIPS
    )


def levels_that_share_noise(rho: float) -> Flow:
    """Give a district the noise of its first zone: their difference is the exact count of the other zone."""
    scale = gaussian_scale(rho, math.sqrt(2))  # a one in a zone, and a one in the district

    def draw(noise: Noise, present: bool, samples: int) -> Array:
        first, second = noise.discrete_gaussian(scale, 2 * samples).reshape(2, samples)
        return np.column_stack([first, present + second, present + first]).astype(np.float64)

    return Flow(RhoCase("levels that share noise", rho, draw, np.array([-1.0, 0.0, 1.0]), 0.5), math.inf)


def threshold_on_true_counts(rho: float, least: int = 15) -> Flow:
    """Publish noisy counts of cells with 15 people or more: that a cell is there tells the fifteenth."""
    scale = gaussian_scale(rho, 1.0)

    def draw(noise: Noise, present: bool, samples: int) -> Array:
        true = np.full(samples, least - 1 + int(present))
        published = true >= least
        shown = np.where(published, true + noise.discrete_gaussian(scale, samples), 0)
        return np.column_stack([shown, published]).astype(np.float64)

    return Flow(RhoCase("a threshold on true counts", rho, draw, np.array([0.0, 1.0]), 0.5), math.inf)


def stays_across_midnight(rho: float) -> Flow:
    """Find stays over the whole file: without the pings of the next day, a trip of this evening is no more.

    Trips of a day are capped at one. The day after midnight tells its own trip, and that of the evening before: twice
    what is claimed.
    """
    evening = [(23 * 60, 1), (23 * 60 + 20, 1), (23 * 60 + 50, 2)]
    next_day = [(24 * 60 + 5, 2), (32 * 60, 3), (32 * 60 + 30, 3)]
    with_, without = (_trips_by_day(pings) for pings in (evening + next_day, evening))
    changes = with_ - without
    return _flow("stays across midnight", rho, changes, 1.0, float(changes @ changes))


def _trips_by_day(pings: list[tuple[int, int]], cap: int = 1) -> Array:
    """Return trips of two days from (minute, zone): stays of ten minutes, found across midnight."""
    runs: list[list[int]] = []
    for minute, zone in pings:
        if runs and runs[-1][0] == zone:
            runs[-1][2] = minute
        else:
            runs.append([zone, minute, minute])
    stays = [run for run in runs if run[2] - run[1] >= 10]
    trips = np.zeros(2)
    for before in stays[:-1]:
        trips[before[2] // (24 * 60)] += 1
    return np.minimum(trips, cap)


BROKEN_FLOWS = (repeated_pairs, levels_that_share_noise, threshold_on_true_counts, stays_across_midnight)
