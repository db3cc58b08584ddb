"""A made-up city: no data needed, and nobody's privacy at stake."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from geodp.geometry import Array, Region
from geodp.model import bounded
from geodp.world.population import Population
from geodp.world.sources import Source
from geodp.world.sources._city_layout import Indices, Layout, around, draw_layout

_PEOPLE_PER_BLOCK = 1 << 16  # keeps the temporary arrays in the processor's cache
_MAX_REDRAWS = 40
_WORK_REACH = 0.45  # jobs lie this much closer to a centre's middle than homes
_WORK_SIZE_POWER = 1.25  # jobs concentrate in the larger centres
_COMMUTE_REACH = 0.22  # distance over which a centre's pull falls by e, in city scales
_NEAR_HOME_SHARE = 0.18  # work near home: shops, schools
_NEAR_HOME_REACH = 0.03


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

    count: int = bounded("people are kept in memory", default=10_000, ge=1, le=50_000_000)
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
    count: int,
    draw: Callable[[Indices], tuple[Array, Array]],
    region: Region,
    rng: np.random.Generator,
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
