"""Reports of several places, all but one of them made up: a baseline without a promise."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from geodp.device import DecoyDevice
from geodp.device.planar import check_places
from geodp.errors import NotReleasable, UsageError
from geodp.geometry import Array, Grid, Region
from geodp.privacy.noise import Noise, as_noise
from geodp.public.guarantee import Guarantee

_WHY = (
    "no ε is claimed: the true place is always among those that are sent, and whoever knows where people usually are, "
    "or how fast they move, can tell it from the others"
)


class Dummies(DecoyDevice):
    """Each phone reports k places, its own and k - 1 made-up ones that move about like people: no ε is claimed.

    All places are rounded to the centres of public cells, and those of one first report are in k different cells. Then
    each made-up place moves near its last one; with `moves: anywhere` all are drawn anew each time, evenly over the
    region, and whoever links two reports of one phone and knows how far people get tells the true one. Each phone needs
    nobody else's place, so no party is trusted; the server gets k places under each pseudonym.

    Guarantee
    ---------
    None: no ε is claimed. The true place is always among the k. With k = 5, evenly drawn, people around one centre
    (spread .15 of the region's side) and a public map of where people are, the likeliest place is the true one for
    61.7 % (blindly 20 %); after two linked reports of people who get .05 of a side away, for 92.7 % without any map.

    Reference
    ---------
    [recalled] Kido, Yanagisawa, Satoh 2005, An anonymous communication technique using dummies for location-based
    services: moving in a neighbourhood. It counts people per area to place them, which needs everyone's reports.
    """

    kind: ClassVar[str] = "dummies"
    releases: ClassVar[frozenset[str]] = frozenset({"candidates"})

    k: int = Field(default=5, ge=1)
    """Places in a report, the true one among them."""
    moves: Literal["near_last", "anywhere"] = "near_last"
    """Where made-up places go: near their last ones, or anywhere in the region each time."""
    step_m: float = Field(default=300.0, gt=0)
    """How far a made-up place moves from one report to the next at most, east to west and north to south (m)."""
    cell_m: float = Field(default=100.0, gt=0)
    """Side of the cells whose centres are reported, metres."""

    def idle_fields(self) -> dict[str, str]:
        """Return the step where places are drawn anew."""
        return {} if self.moves == "near_last" else {"step_m": "with moves: anywhere"}

    def require_room(self, region: Region) -> Grid:
        """Return the public cells, of which there must be k at least."""
        cells = Grid.fit(region, self.cell_m)
        if self.k > cells.size:
            raise UsageError(
                f"{self.k:,} places need as many cells, and the region has {cells.size:,} of {self.cell_m:g} m: use a "
                "smaller k or smaller cells"
            )
        return cells

    def candidates(
        self,
        x_m: npt.ArrayLike,
        y_m: npt.ArrayLike,
        *,
        rng: np.random.Generator | Noise,
        region: Region | None,
        last: tuple[Array, Array] | None = None,
    ) -> tuple[Array, Array]:
        """Return the k places of each phone, the true one first."""
        noise = as_noise(rng)
        if noise.releasable:
            raise NotReleasable(f"dummies promise nothing: {_WHY}. They must not be released.")
        if region is None:
            raise UsageError("dummies need a region: made-up places lie in it. Nothing was reported.")
        x, y = (place.ravel() for place in check_places(x_m, y_m, region))
        cells = self.require_room(region)
        true = cells.locate(*region.clamp(x, y))
        made_up = _draw_other_cells(cells, true, self.k - 1, noise)
        if last is not None and self.moves == "near_last":
            before = np.isfinite(last[0]).all(axis=1)
            made_up[before] = cells.locate(*self._move(last[0][before], last[1][before], region, noise))
        centre_x, centre_y = cells.centres()
        cell = np.column_stack([true, made_up])
        return centre_x[cell % cells.columns], centre_y[cell // cells.columns]

    def _move(self, x_m: Array, y_m: Array, region: Region, noise: Noise) -> tuple[Array, Array]:
        """Return the made-up places a step on, back in the region where they would leave it."""
        across, along = (2 * noise.uniform(x_m.size).reshape(x_m.shape) - 1 for _ in range(2))
        west, south, east, north = region.box_m
        x, y = x_m + across * self.step_m, y_m + along * self.step_m
        return np.clip(x, west, east), np.clip(y, south, north)

    def guarantee(self, region: Region | None = None) -> Guarantee:  # noqa: ARG002
        """Promise nothing."""
        return Guarantee.none(_WHY)


def _draw_other_cells(cells: Grid, true: npt.NDArray[np.int64], count: int, noise: Noise) -> npt.NDArray[np.int64]:
    """Return so many different cells for each phone, evenly drawn, none of them the true one."""
    draws = np.empty((true.size, 0), dtype=np.int64)
    for _ in range(count):
        taken = np.sort(np.column_stack([true, draws]), axis=1)
        free = np.floor(noise.uniform(true.size) * (cells.size - taken.shape[1])).astype(np.int64)
        for column in range(taken.shape[1]):  # the n-th free cell, counted past those that are taken
            free += free >= taken[:, column]
        draws = np.column_stack([draws, free])
    return draws
