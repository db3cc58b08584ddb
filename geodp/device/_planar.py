"""What the planar mechanisms on the phone share: their epsilon, their checks, their promise."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from geodp.device import Device
from geodp.errors import DataError, UsageError
from geodp.geometry import Array, Region
from geodp.privacy.primitives import DEFAULT_PLANAR_EPSILON_PER_M
from geodp.public.channels import Channel
from geodp.public.guarantee import Guarantee

if TYPE_CHECKING:
    from geodp.device._remap import Remap

_OUTSIDE_M = 1.0  # a place this far beyond the edge is rounding, not a mistake


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
        from geodp.device._remap import remap_for

        law: Any = self.law(region)  # a frozen dataclass, hence hashable
        return remap_for(law, region, self.epsilon_per_m, self.prior_file)

    def _promise(self, region: Region | None, extra_m: float = 0.0) -> Guarantee:
        """Return the promise of one report: with a region, per metre on the ground.

        The projection may show places further apart than they are; epsilon is multiplied by the most it does so.
        """
        stretch = 1.0 if region is None else region.stretch
        return Guarantee.per_metre(self.epsilon_per_m * stretch, extra_m=extra_m)


def checked_places(x_m: npt.ArrayLike, y_m: npt.ArrayLike, region: Region | None) -> tuple[Array, Array]:
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
