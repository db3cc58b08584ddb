"""What the planar mechanisms on the phone share: their epsilon, their checks, their promise, and the optimal remap.

The remap is post-processing of a report with a public prior, free of charge. Given a report z, the posterior over true
places is prior(x)·f(z|x). The phone then reports the cell with the least expected distance under it (Chatzikokolakis et
al. 2017): everyone could do the same to z, so nothing more is disclosed.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, field_validator, model_validator

from geodp.device import Device
from geodp.errors import DataError, UsageError
from geodp.geometry import Array, Grid, Region, read_places
from geodp.model import Model
from geodp.privacy.primitives import DEFAULT_PLANAR_EPSILON_PER_M
from geodp.public.channels import Channel, FiniteChannel
from geodp.public.guarantee import Guarantee
from geodp.public.levels import OTHERS, complete_shares
from geodp.storage.files import is_regular
from geodp.storage.names import require_name

_OUTSIDE_M = 1.0  # a place this far beyond the edge is rounding, not a mistake
MOST_GROUPS = 50
"""Groups of phones: more could not be told apart in any table."""
MOST_CELLS = 2_500
"""The remap compares every cell with every other: this many take about a second."""


class PlanarLevel(Model):
    """What one group of phones wants: a level of privacy l within r metres."""

    l: float = Field(default=math.log(4), gt=0)  # noqa: E741 - the letter of the papers
    """Level of privacy within `r_m`: places so far apart change the odds of a report by at most exp(l)."""
    r_m: float = Field(default=1000.0, gt=0)
    """Radius within which `l` is promised, metres."""
    share: float = Field(default=0.5, ge=0, le=1)
    """Share of the phones, by lot."""

    @property
    def epsilon_per_m(self) -> float:
        """ε per metre: l / r."""
        return self.l / self.r_m


class PlanarDevice(Device):
    """A mechanism whose report depends on the true place through its distance alone."""

    file_fields: ClassVar[tuple[str, ...]] = ("prior_file",)

    releases: ClassVar[frozenset[str]] = frozenset({"points"})

    epsilon_per_m: float = Field(default=DEFAULT_PLANAR_EPSILON_PER_M, gt=0)
    """ε per metre; default ln 4 within 200 m. Or give `level` and `radius_m`."""
    level: float | None = Field(default=None, gt=0)
    """Level of privacy l within `radius_m`: ε per metre is l / radius."""
    radius_m: float | None = Field(default=None, gt=0)
    """Radius within which `level` is promised, metres."""
    clamp: bool = True
    """Move reports that fall outside the region's box to its nearest point; it costs nothing."""
    remap: bool = False
    """Report the likeliest place instead of the noisy one: the cell with the least expected distance, given the noisy
    report and a public prior; it costs nothing. Needs a region."""
    prior_file: str | None = None
    """Public places for the remap: csv or Parquet with lon, lat and optionally count; null = every place alike."""
    levels: dict[str, PlanarLevel] = Field(default_factory=dict, max_length=MOST_GROUPS)
    """Groups of phones with levels of their own, by name: `{careful: {l: 1.386, r_m: 1000, share: 0.2}}`. Who is in
    which is public and drawn by lot, never from places; phones that no share is for keep the ε above (`others`)."""

    @field_validator("levels")
    @classmethod
    def _shares_add_up(cls, value: dict[str, PlanarLevel]) -> dict[str, PlanarLevel]:
        for name in value:
            require_name(name, "the name of a level")
        try:
            complete_shares({name: level.share for name, level in value.items()})
        except UsageError as error:
            raise ValueError(str(error)) from None
        return value

    @model_validator(mode="before")
    @classmethod
    def _level_within_radius(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("epsilon_per_m") is None:
            level, radius = data.get("level"), data.get("radius_m")
            data = {key: value for key, value in data.items() if key != "epsilon_per_m"}
            if isinstance(level, int | float) and isinstance(radius, int | float) and radius > 0:
                data["epsilon_per_m"] = level / radius
        return data

    @model_validator(mode="after")
    def _one_epsilon(self) -> Self:
        if self.remap and not self.clamp:
            raise ValueError("remap needs clamp: true, since what lies outside the region has no cell")
        if (self.level is None) != (self.radius_m is None):
            raise ValueError("level and radius_m go together: ε per metre is level / radius_m")
        if self.level is not None and self.radius_m is not None:
            stated = self.level / self.radius_m
            if not math.isclose(stated, self.epsilon_per_m, rel_tol=1e-9):
                raise ValueError(
                    f"epsilon_per_m ({self.epsilon_per_m:g}) is not level / radius_m ({stated:g}): give only one"
                )
        return self

    def idle_fields(self) -> dict[str, str]:
        """Return the prior where nothing is remapped."""
        return {} if self.remap else {"prior_file": "without remap: true"}

    @abstractmethod
    def law(self, region: Region | None = None) -> Channel:
        """Return the law of a report before the remap."""

    def channel(self, region: Region | None = None) -> Channel:
        """Return the law of the finished report (without a region, that before clamping and remap)."""
        return self.law(region) if region is None or not self.remap else self._remap(region).channel

    def _box(self, region: Region | None) -> tuple[float, float, float, float] | None:
        return region.box_m if region is not None and self.clamp else None

    def _remap(self, region: Region | None) -> Remap:
        if region is None:
            raise UsageError(f"{self.kind} with remap needs a region: its prior lives there. Nothing was reported.")
        law: Any = self.law(region)  # a frozen dataclass, hence hashable
        return remap_for(law, region, self.epsilon_per_m, self.prior_file)

    def _promise(self, region: Region | None, extra_m: float = 0.0) -> Guarantee:
        """Return the promise of one report: with a region, per metre on the ground.

        The projection may show places further apart than they are; epsilon is multiplied by the most it does so.
        """
        stretch = 1.0 if region is None else region.stretch
        if not self.levels:
            return Guarantee.per_metre(self.epsilon_per_m * stretch, extra_m=extra_m)
        each = tuple((name, self.for_group(name).epsilon_per_m * stretch) for name in self.group_shares)
        return Guarantee.per_metre(max(epsilon for _, epsilon in each), extra_m=extra_m, by_group=each)

    @property
    def group_shares(self) -> dict[str, float]:
        """Share of the phones in each group (none where all are alike)."""
        shares = {name: level.share for name, level in self.levels.items()}
        return complete_shares(shares) if shares else {}

    def for_group(self, name: str) -> Self:
        """Return what runs on the phones of one group: the same mechanism at the group's own ε."""
        alike: dict[str, Any] = {"levels": {}}
        if name in self.levels:
            alike |= {"epsilon_per_m": self.levels[name].epsilon_per_m, "level": None, "radius_m": None}
        elif name != OTHERS:
            raise UsageError(f"no group of phones called '{name}': {', '.join(self.group_shares) or 'all are alike'}")
        return self.model_copy(update=alike)

    def _strictest(self) -> Self:
        """Return what a phone runs whose group nobody told: the level of the most careful one."""
        groups = [self.for_group(name) for name in self.group_shares]
        return min(groups, key=lambda device: device.epsilon_per_m, default=self)


def check_places(x_m: npt.ArrayLike, y_m: npt.ArrayLike, region: Region | None) -> tuple[Array, Array]:
    """Return true places as arrays of one shape, or refuse them before anything is drawn."""
    x, y = np.broadcast_arrays(np.asarray(x_m, dtype=np.float64), np.asarray(y_m, dtype=np.float64))
    finite = np.isfinite(x).all() and np.isfinite(y).all()
    if not finite:
        wrong = int(np.count_nonzero(~(np.isfinite(x) & np.isfinite(y))))
        raise DataError(f"{wrong:,} of {x.size:,} places have NaN or infinite coordinates. Nothing was reported.")
    if region is not None:
        west, south, east, north = region.box_m
        edge = _OUTSIDE_M
        inside = (x >= west - edge) & (x <= east + edge) & (y >= south - edge) & (y <= north + edge)
        if not inside.all():
            raise DataError(
                f"{int(np.count_nonzero(~inside)):,} of {x.size:,} places lie outside the region, where its projection "
                "does not measure distances rightly. Drop them or enlarge the region. Nothing was reported."
            )
    return x, y


@dataclass(frozen=True, eq=False)
class Remap:
    """For every cell a report can fall in, the cell to report instead."""

    cells: Grid
    target: npt.NDArray[np.int64]
    channel: FiniteChannel
    """The law of the remapped report."""

    @classmethod
    def build(cls, channel: Channel, cells: Grid, prior: npt.ArrayLike) -> Remap:
        """Find the best answer for every reported cell: one matrix product."""
        from scipy import sparse

        weight = np.asarray(prior, dtype=np.float64).ravel()
        if weight.size != cells.size or not np.isfinite(weight).all() or (weight < 0).any() or weight.sum() <= 0:
            raise DataError(f"a prior needs {cells.size} finite weights of at least 0, not all of them 0")
        table = channel.matrix(cells, cells)
        x, y = cells.centres()
        x, y = np.tile(x, cells.rows), np.repeat(y, cells.columns)
        distance = np.hypot(x[:, None] - x, y[:, None] - y)
        expected = distance @ (table * (weight / weight.sum())[:, None])  # a row per answer, a column per report
        target = np.argmin(expected, axis=0).astype(np.int64)
        every = np.arange(cells.size)
        merge: Any = sparse.csr_array((np.ones(cells.size), (every, target)), shape=table.shape)
        remapped = np.asarray(table @ merge)  # reports with the same answer are one output
        return cls(cells, target, FiniteChannel(channel.epsilon_per_m, cells, remapped))

    def apply(self, x_m: Array, y_m: Array) -> tuple[Array, Array]:
        """Return the centres of the cells to report instead."""
        cell = self.target[self.cells.locate(x_m, y_m)]
        x, y = self.cells.centres()
        return x[cell % self.cells.columns], y[cell // self.cells.columns]


def remap_grid(region: Region, epsilon_per_m: float) -> Grid:
    """Return cells of a third of 1/ε, or larger ones when the region would need too many."""
    area = region.width_m * region.height_m
    return Grid.fit(region, max(1 / (3 * epsilon_per_m), float(np.sqrt(area / MOST_CELLS)) * 1.02))


@lru_cache(maxsize=8)
def remap_for(channel: Any, region: Region, epsilon_per_m: float, prior_file: str | None) -> Remap:
    """Return the remap for a region and a public prior: a file of places, or every place alike."""
    cells = remap_grid(region, epsilon_per_m)
    prior = np.ones(cells.size) if prior_file is None else prior_from_file(Path(prior_file), region, cells)
    return Remap.build(channel, cells, prior)


def prior_from_file(path: Path, region: Region, cells: Grid) -> Array:
    """Count the public places of a file (lon, lat and optionally count; or a geographic file of points) per cell.

    A thousandth of the weight is spread evenly, so that no place is impossible.
    """
    if not is_regular(path):
        raise DataError(f"{path}: no such file")
    places = read_places(path)
    if not {"lon", "lat"} <= set(places.columns):
        raise DataError(f"{path}: a prior needs columns lon and lat (and optionally count)")
    x, y = region.projection.to_m(lon=places["lon"].to_numpy(np.float64), lat=places["lat"].to_numpy(np.float64))
    weight = places["count"].to_numpy(np.float64) if "count" in places.columns else np.ones(len(places))
    cell = cells.locate(x, y)
    inside = (cell >= 0) & np.isfinite(weight) & (weight > 0)
    if not inside.any():
        raise DataError(f"{path}: no place lies in the region, so it says nothing about where people are")
    counts = np.bincount(cell[inside], weights=weight[inside], minlength=cells.size)
    return np.asarray(counts + 1e-3 * counts.sum() / cells.size)
