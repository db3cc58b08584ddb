"""Laplace noise on either coordinate, as wide as a set of k places needs."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from geodp.device import Device
from geodp.device.planar import check_places
from geodp.errors import NotReleasable, UsageError
from geodp.geometry import Array, Grid, Region
from geodp.privacy.noise import Noise, as_noise
from geodp.privacy.primitives import with_laplace
from geodp.public.coordinate_laplace import CoordinateLaplaceChannel
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit

_ONLY_INSIDE = (
    "the k places are a set around each person's own: two places that are further apart than such a set is wide change "
    "the odds by more than e^ε, as fast as their distance grows"
)


class Dewri(Device):
    """Each phone reports its place with Laplace noise on either coordinate, as wide as a set of k places needs.

    Places are rounded to the centres of public cells of `place_m`; a set is a block of k such cells, as near to a
    square as k divides. Noise is Lap(2·extent/ε) on either coordinate, extent being how far apart the places of a set
    are.

    Guarantee
    ---------
    Any two places of one public set change the odds of any report by at most e^ε, with no trusted party: either
    coordinate differs by its extent at most, which costs ε/2. That is all a set gives, and sets are the same for
    everybody only because their cells are public. Between any two places the same noise promises sqrt(1/b_x² + 1/b_y²)
    per metre, which is what is charged. `variant: literal` claims ε for the place itself, hidden among the k around
    each person: it does not hold. Simulation only: noise is drawn with doubles.

    Reference
    ---------
    [recalled] Dewri 2013, Local differential perturbations: location privacy under approximate knowledge attackers.
    """

    kind: ClassVar[str] = "dewri"
    releases: ClassVar[frozenset[str]] = frozenset({"points"})
    audited_by: ClassVar[str] = "channel"

    epsilon: float = Field(default=1.0, gt=0)
    """ε for any two places of one set."""
    k: int = Field(default=9, ge=2)
    """Places in a set."""
    place_m: float = Field(default=100.0, gt=0)
    """Side of the public cells whose centres are the places, metres."""
    variant: Literal["public", "literal"] = "public"
    """`literal`: the claim is about a set around each person's own place. It does not hold for places beyond."""

    @property
    def shape(self) -> tuple[int, int]:
        """Columns and rows of a set: as near to a square as k divides."""
        rows = max(number for number in range(1, math.isqrt(self.k) + 1) if self.k % number == 0)
        return self.k // rows, rows

    def scales_m(self, places: Grid | None = None) -> tuple[float, float]:
        """Return the scales of the noise across and along; places in one row only get that of a single step along."""
        sides = (self.place_m, self.place_m) if places is None else (places.cell_x_m, places.cell_y_m)
        extents = [max(number - 1, 1) * side for number, side in zip(self.shape, sides, strict=True)]
        return 2 * extents[0] / self.epsilon, 2 * extents[1] / self.epsilon

    def report(
        self,
        x_m: npt.ArrayLike,
        y_m: npt.ArrayLike,
        *,
        rng: np.random.Generator | Noise,
        region: Region | None = None,
    ) -> tuple[Array, Array]:
        """Return each place, rounded and with noise of its own, inside the region's box."""
        noise = as_noise(rng)
        if noise.releasable:
            raise NotReleasable(
                "dewri draws noise with doubles: it must not be used for a release. Use planar_geometric, which draws "
                "whole steps on a grid."
            )
        x, y = check_places(x_m, y_m, region)
        law = self.law(region)
        west, south, east, north = law.box_m
        across, along = law.round_places(x, y)
        reported_x, reported_y = with_laplace(across, law.scale_x_m, noise), with_laplace(along, law.scale_y_m, noise)
        return np.clip(reported_x, west, east), np.clip(reported_y, south, north)

    def guarantee(self, region: Region | None = None) -> Guarantee:
        """Promise ε per metre for one report; of the literal variant state its claim."""
        if self.variant == "literal":
            return Guarantee(
                self.epsilon,
                Unit.SNAPSHOT,
                Neighbours.REPLACE,
                Trust.LOCAL,
                holds=False,
                why_not=_ONLY_INSIDE,
            )
        places = None if region is None else self.require_room(region)
        rate = math.hypot(*(1 / scale for scale in self.scales_m(places)))
        cell_m = (self.place_m, self.place_m) if places is None else (places.cell_x_m, places.cell_y_m)
        # two places a hair apart may be rounded to centres a diagonal apart
        return Guarantee.per_metre(rate * (1.0 if region is None else region.stretch), extra_m=math.hypot(*cell_m))

    def channel(self, region: Region | None = None) -> CoordinateLaplaceChannel | None:
        """Return the public law of a report; without a region there are no cells, hence no law."""
        return None if region is None else self.law(region)

    def law(self, region: Region | None) -> CoordinateLaplaceChannel:
        """Return the law of a report in a region."""
        if region is None:
            raise UsageError("dewri needs a region: its public places lie in it. Nothing was reported.")
        places = self.require_room(region)
        return CoordinateLaplaceChannel(*self.scales_m(places), places, region.box_m)

    def require_room(self, region: Region) -> Grid:
        """Return the public places as cells, of which there must be a set at least."""
        places = Grid.fit(region, self.place_m)
        columns, rows = self.shape
        if columns > places.columns or rows > places.rows:
            raise UsageError(
                f"a set of {self.k:,} places is {columns} × {rows} cells of {self.place_m:g} m, more than the "
                "region has: use a smaller k or smaller cells"
            )
        return places
