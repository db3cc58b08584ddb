"""A made-up city: no data needed, and nobody's privacy at stake.

All lengths of its plan scale with the region, so that it looks like a city in a box of two kilometres and like a
metropolitan area in one of a hundred.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from geodp.geometry import Array, Region
from geodp.model import bound_field
from geodp.world.population import Population
from geodp.world.sources import Source

_PEOPLE_PER_BLOCK = 1 << 16  # keeps the temporary arrays in the processor's cache
_MAX_REDRAWS = 40
_WORK_REACH = 0.45  # jobs lie this much closer to a centre's middle than homes
_WORK_SIZE_POWER = 1.25  # jobs concentrate in the larger centres
_COMMUTE_REACH = 0.22  # distance over which a centre's pull falls by e, in city scales
_NEAR_HOME_SHARE = 0.18  # work near home: shops, schools
_NEAR_HOME_REACH = 0.03
Indices = npt.NDArray[np.intp]
_CANDIDATES = 24  # a new centre is the best of this many random places
_HOODS_PER_CENTRE = 12
_CORE_SHARE, _SUBURB_SHARE = 0.3, 0.4  # of a centre's people; the rest live in its neighbourhoods
_DOMINANT_REACH = 0.035  # e-folding distance of the dominant centre's core, in city scales
_SUBURB_REACH = 2.5  # of a centre's suburbs, in reaches of its core
_HOOD_REACH = 0.013
_CORRIDOR_WIDTH = 0.015
_EDGE = 0.08  # centres keep this far from the region's edge, in city scales
_APART = 0.35  # further apart than this, centres no longer repel each other, in city scales
_AWAY = 0.35  # how much less a sub-centre likes the far end of the region


class SyntheticCity(Source):
    """A made-up city of several centres, with corridors between them and a thin background.

    One dominant centre and some sub-centres of differing size, each with a dense core, suburbs and
    neighbourhoods; corridors along which people live; a uniform background. Everyone has a home and a
    workplace: most work in a centre, chosen by its size and nearness, some near home. The plan is drawn
    before the people, so the same seed gives the same city for any number of workers. All lengths scale with
    the region.

    Reference
    ---------
    Clark 1951, Urban population densities (exponential decline from a centre); Zipf's rank-size rule for the
    centres.
    """

    kind: ClassVar[str] = "synthetic_city"

    count: int = bound_field("people are kept in memory", default=10_000, ge=1, le=50_000_000)
    """Number of workers (public)."""
    centres: int = Field(default=7, ge=1, le=100)
    """Number of centres, the dominant one included."""
    corridor_share: float = Field(default=0.2, ge=0, le=1)
    """Share of the homes that lie along corridors."""
    background_share: float = Field(default=0.12, ge=0, le=1)
    """Share of the homes that lie anywhere in the region."""

    @model_validator(mode="after")
    def _shares_fit(self) -> Self:
        if self.corridor_share + self.background_share > 1:
            raise ValueError(
                "corridor_share and background_share must not exceed 1 together, got "
                f"{self.corridor_share:g} + {self.background_share:g}"
            )
        return self

    def idle_fields(self) -> dict[str, str]:
        """Return the corridors where there is nothing to join."""
        return {"corridor_share": "with centres: 1"} if self.centres == 1 else {}

    def has_times(self) -> bool:
        """Tell that there are no recorded fixes."""
        return False

    def has_trips(self) -> bool:
        """Tell whether there are trips."""
        return False

    def public_count(self) -> int:
        """Return the number of workers, which the scenario states."""
        return self.count

    def load(self, region: Region, rng: np.random.Generator) -> Population:
        """Draw the city, then its people."""
        layout = draw_layout(region, self.centres - 1, rng)
        home_x, home_y, work_x, work_y = columns = [np.empty(self.count) for _ in range(4)]
        for begin in range(0, self.count, _PEOPLE_PER_BLOCK):
            block = slice(begin, min(begin + _PEOPLE_PER_BLOCK, self.count))
            home = self._homes(block.stop - begin, layout, region, rng)
            for column, values in zip(columns, [*home, *_workplaces(*home, layout, region, rng)], strict=True):
                column[block] = values
        return Population(home_x, home_y, work_x, work_y)

    def _homes(self, count: int, layout: Layout, region: Region, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draw homes: in clusters around the centres, along corridors, or anywhere."""
        clusters, roads = layout.homes.share.size, layout.corridors.share.size
        corridor_share = self.corridor_share if roads else 0.0
        cluster_share = max(1 - self.background_share - corridor_share, 0.0)
        shares = [
            *(cluster_share * layout.homes.share),
            *(corridor_share * layout.corridors.share),
            self.background_share,
        ]
        edges = np.cumsum(shares)

        def draw(people: Indices) -> tuple[Array, Array]:
            which = np.searchsorted(edges, rng.random(people.size) * edges[-1], side="right")
            x_m, y_m = np.empty(people.size), np.empty(people.size)
            near = np.flatnonzero(which < clusters)
            x_m[near], y_m[near] = layout.homes.sample(which[near], rng)
            along = np.flatnonzero((which >= clusters) & (which < clusters + roads))
            x_m[along], y_m[along] = layout.corridors.sample(which[along] - clusters, rng)
            anywhere = np.flatnonzero(which >= clusters + roads)
            x_m[anywhere], y_m[anywhere] = region.sample(anywhere.size, rng)
            return x_m, y_m

        return _inside(count, draw, region, rng)


def _workplaces(
    home_x: Array, home_y: Array, layout: Layout, region: Region, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Draw workplaces: in a centre, the likelier the larger and nearer it is, or near home."""
    centres, people = layout.centres, home_x.size
    pull = np.empty((centres.x_m.size, people))
    for k, (x_m, y_m, share) in enumerate(zip(centres.x_m, centres.y_m, centres.share, strict=True)):
        away_m = np.hypot(home_x - x_m, home_y - y_m)
        pull[k] = share**_WORK_SIZE_POWER * np.exp(away_m / (-_COMMUTE_REACH * layout.scale_m))
    edges = np.cumsum(pull, axis=0)
    mark = rng.random(people) * edges[-1]
    which = np.minimum(np.count_nonzero(edges <= mark, axis=0), centres.x_m.size - 1)
    near_home = rng.random(people) < _NEAR_HOME_SHARE
    x_m = np.where(near_home, home_x, centres.x_m[which])
    y_m = np.where(near_home, home_y, centres.y_m[which])
    reach_m = np.where(near_home, _NEAR_HOME_REACH * layout.scale_m, _WORK_REACH * centres.reach_m[which])
    return _inside(people, lambda who: around(x_m[who], y_m[who], reach_m[who], rng), region, rng)


def _inside(
    count: int, draw: Callable[[Indices], tuple[Array, Array]], region: Region, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Draw a place per person, again for those who fall outside the region."""
    outside = np.arange(count)
    x_m, y_m = draw(outside)
    for _ in range(_MAX_REDRAWS):
        outside = outside[~region.contains(x_m[outside], y_m[outside])]
        if outside.size == 0:
            return x_m, y_m
        x_m[outside], y_m[outside] = draw(outside)
    outside = outside[~region.contains(x_m[outside], y_m[outside])]
    x_m[outside], y_m[outside] = region.sample(outside.size, rng)  # a sliver of a region: anywhere in it
    return x_m, y_m


@dataclass(frozen=True)
class Kernels:
    """Round clusters whose density falls exponentially with the distance from their middle (Clark's law)."""

    x_m: Array
    y_m: Array
    reach_m: Array
    """Distance over which the density falls by e."""
    share: Array

    def sample(self, which: Indices, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draw one place in each of the given clusters."""
        return around(self.x_m[which], self.y_m[which], self.reach_m[which], rng)


def around(x_m: Array, y_m: Array, reach_m: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw one place around each of the given ones, with density falling as exp(-distance / reach)."""
    # In the plane that density makes the distance a sum of two exponentials.
    radius = reach_m * rng.standard_gamma(2.0, x_m.size)
    angle = rng.uniform(0.0, 2 * math.pi, x_m.size)
    return x_m + radius * np.cos(angle), y_m + radius * np.sin(angle)


@dataclass(frozen=True)
class Corridors:
    """Bent roads between centres (quadratic curves), with people on both sides."""

    x_m: Array
    """Start, control point and end of each curve."""
    y_m: Array
    width_m: float
    share: Array

    def sample(self, which: Indices, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draw one place along each of the given corridors."""
        along = rng.random(which.size)
        start, control, end = (1 - along) ** 2, 2 * along * (1 - along), along**2
        x, y = self.x_m[which].T, self.y_m[which].T
        aside_x, aside_y = self.width_m * rng.standard_normal((2, which.size))
        return (
            start * x[0] + control * x[1] + end * x[2] + aside_x,
            start * y[0] + control * y[1] + end * y[2] + aside_y,
        )


@dataclass(frozen=True)
class Layout:
    """The plan: centres (where people work), homes around them, corridors between them."""

    scale_m: float
    centres: Kernels
    homes: Kernels
    corridors: Corridors


def city_scale_m(region: Region) -> float:
    """Return the length on which a city in this region is built."""
    return min(math.sqrt(region.area_m2), 2 * min(region.width_m, region.height_m))


def draw_layout(region: Region, centres: int, rng: np.random.Generator) -> Layout:
    """Draw the plan of a city with one dominant centre and some sub-centres."""
    scale = city_scale_m(region)
    x, y = _draw_centres(region, centres, scale, rng)
    # Rank-size rule: the k-th sub-centre has about 1/(k+1) of the dominant one's people.
    share = 1 / (np.arange(centres + 1) + 1.0) ** 0.9
    share[1:] *= 0.7 * rng.lognormal(0.0, 0.25, centres)
    share[1:] = np.minimum(share[1:], 0.75)  # the first one stays dominant
    share /= share.sum()
    reach = _DOMINANT_REACH * scale * np.sqrt(share / share[0])
    core = Kernels(x, y, reach, share)
    return Layout(scale, core, _draw_homes(core, scale, rng), _draw_corridors(core, scale, rng))


def _draw_centres(region: Region, sub_centres: int, scale: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Place the dominant centre near the middle, and each further one far from those before it."""
    aim_x, aim_y = rng.normal(_middle(region), 0.06 * scale)
    x, y = region.sample(4 * _CANDIDATES, rng)
    best = int(np.argmin(np.hypot(x - aim_x, y - aim_y) + _edge_penalty_m(region, x, y, scale)))
    places = [(x[best], y[best])]
    diagonal = math.hypot(region.width_m, region.height_m)
    for _ in range(sub_centres):
        x, y = region.sample(_CANDIDATES, rng)
        apart = np.min([np.hypot(x - px, y - py) for px, py in places], axis=0)
        away = np.hypot(x - places[0][0], y - places[0][1]) / diagonal
        # Far from the others, not at the edge, and rather near the dominant centre than in a far corner.
        score = np.minimum(apart, _APART * scale) - _AWAY * away * scale
        best = int(np.argmax(score - _edge_penalty_m(region, x, y, scale)))
        places.append((x[best], y[best]))
    centre_x, centre_y = np.array(places).T
    return centre_x, centre_y


def _edge_penalty_m(region: Region, x_m: Array, y_m: Array, scale: float) -> Array:
    """Return nothing for places well inside the region, and more the nearer to its edge."""
    return 5 * np.maximum(_EDGE * scale - _edge_distance_m(region, x_m, y_m), 0.0)


def _edge_distance_m(region: Region, x_m: Array, y_m: Array) -> Array:
    west, south, east, north = region.box_m
    margin: Array = np.min([x_m - west, east - x_m, y_m - south, north - y_m], axis=0)
    if region.polygon is None:
        return margin
    import shapely

    to_outline: Array = shapely.distance(region.polygon_m.boundary, shapely.points(x_m, y_m))
    return np.minimum(margin, to_outline)


def _middle(region: Region) -> tuple[float, float]:
    if region.polygon is None:
        west, south, east, north = region.box_m
        return (west + east) / 2, (south + north) / 2
    point = region.polygon_m.centroid  # the sample's nearest point lies inside even where this does not
    return float(point.x), float(point.y)


def _draw_homes(core: Kernels, scale: float, rng: np.random.Generator) -> Kernels:
    """Surround every centre with suburbs, and with neighbourhoods of unequal size."""
    size = (core.x_m.size, _HOODS_PER_CENTRE)
    radius = rng.gamma(3.0, 1.3, size) * core.reach_m[:, None]
    angle = rng.uniform(0.0, 2 * math.pi, size)
    weight = rng.lognormal(0.0, 0.8, size)
    hood_share = 1 - _CORE_SHARE - _SUBURB_SHARE
    share = hood_share * core.share[:, None] * weight / weight.sum(axis=1, keepdims=True)
    reach = _HOOD_REACH * scale * rng.uniform(0.6, 1.4, size)
    hood_x, hood_y = core.x_m[:, None] + radius * np.cos(angle), core.y_m[:, None] + radius * np.sin(angle)
    return Kernels(
        np.concatenate([core.x_m, core.x_m, hood_x.ravel()]),
        np.concatenate([core.y_m, core.y_m, hood_y.ravel()]),
        np.concatenate([core.reach_m, _SUBURB_REACH * core.reach_m, reach.ravel()]),
        np.concatenate([_CORE_SHARE * core.share, _SUBURB_SHARE * core.share, share.ravel()]),
    )


def _draw_corridors(core: Kernels, scale: float, rng: np.random.Generator) -> Corridors:
    """Join every sub-centre to the nearest larger one, and the three largest to the dominant one as well."""
    count = core.x_m.size
    ends = {
        (int(np.argmin(np.hypot(core.x_m[:k] - core.x_m[k], core.y_m[:k] - core.y_m[k]))), k) for k in range(1, count)
    } | {(0, k) for k in range(1, min(count, 4))}
    pairs = np.array(sorted(ends), dtype=np.intp).reshape(-1, 2)
    start_x, start_y = core.x_m[pairs[:, 0]], core.y_m[pairs[:, 0]]
    end_x, end_y = core.x_m[pairs[:, 1]], core.y_m[pairs[:, 1]]
    bend = rng.normal(0.0, 0.16, len(pairs))  # the control point lies this share of the length to the side
    control_x = (start_x + end_x) / 2 - bend * (end_y - start_y)
    control_y = (start_y + end_y) / 2 + bend * (end_x - start_x)
    weight = np.hypot(end_x - start_x, end_y - start_y) * np.sqrt(core.share[pairs].prod(axis=1))
    return Corridors(
        np.column_stack([start_x, control_x, end_x]),
        np.column_stack([start_y, control_y, end_y]),
        _CORRIDOR_WIDTH * scale,
        weight / max(weight.sum(), 1e-300),
    )
