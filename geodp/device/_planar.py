"""What the planar mechanisms on the phone share: their epsilon, their checks, their promise, their audit."""

from __future__ import annotations

import math
from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from geodp.device import Device
from geodp.errors import DataError, UsageError
from geodp.geometry import Array, Grid, Region
from geodp.privacy.audit_case import AuditCase
from geodp.privacy.noise import Noise
from geodp.privacy.primitives import DEFAULT_PLANAR_EPSILON_PER_M
from geodp.public.channels import Channel
from geodp.public.guarantee import Guarantee

if TYPE_CHECKING:
    from geodp.device._remap import Remap

AUDITED_EPSILON = 2.0
"""ε·d of the audited pairs: large enough to tell them apart, small enough for the rare side to be seen."""
EVENT_SHARE = 0.9
"""The audited event is {|z - x'| - |z - x| ≥ 0.9 d}: nearly all that the triangle inequality allows, yet not rare."""
_OUTSIDE_M = 1.0  # a place this far beyond the edge is rounding, not a mistake


class PlanarDevice(Device):
    """A mechanism whose report depends on the true place through its distance alone."""

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

    def anchored(self, folder: Path) -> Self:
        """Return a copy whose prior file is found from the given folder."""
        if self.prior_file is None:
            return self
        return self.model_copy(update={"prior_file": str((folder / self.prior_file).resolve())})

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

    def _cases(self, pairs: list[tuple[str, Place, Place, float]], region: Region) -> list[AuditCase]:
        """Return an audit case per pair of places: name, x, x', and the ε claimed between them."""
        return [self._case(name, here, there, claimed, region) for name, here, there, claimed in pairs]

    def _case(self, name: str, here: Place, there: Place, claimed: float, region: Region) -> AuditCase:
        def draw(noise: Noise, present: bool, samples: int) -> Array:
            x_m, y_m = here if present else there
            return np.column_stack(self.report(np.full(samples, x_m), np.full(samples, y_m), rng=noise, region=region))

        def score(reports: Array) -> Array:
            from_there = np.hypot(reports[:, 0] - there[0], reports[:, 1] - there[1])
            return np.asarray(from_there - np.hypot(reports[:, 0] - here[0], reports[:, 1] - here[1]))

        def raw(reports: Array) -> Array:
            distances = [np.hypot(reports[:, 0] - x_m, reports[:, 1] - y_m) for x_m, y_m in (here, there)]
            return np.column_stack([reports, *distances])

        def exact() -> tuple[Array, Array]:
            return self.exact_row(here, region), self.exact_row(there, region)

        threshold = EVENT_SHARE * math.dist(here, there)
        return AuditCase(name, claimed, draw, score, threshold, exact=exact, raw=raw)

    def exact_row(self, place: Place, region: Region) -> Array:
        """Return the exact probability of a report in each of up to 61 × 61 cells of the region."""
        west, south, east, north = region.box_m
        cell_m = getattr(self, "cell_m", None) or 0.0
        lines = min(61, max(1, round((east - west) / cell_m))) if cell_m else 61
        reports = Grid(west, south, (east - west) / lines, (north - south) / lines, lines, lines)
        here = Grid(place[0] - 0.5, place[1] - 0.5, 1.0, 1.0, 1, 1)
        return np.asarray(self.law(region).matrix(here, reports)[0])


Place = tuple[float, float]


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


def pairs_around(
    epsilon_per_m: float, half_side_m: float, *, on_lattice_of_m: float | None = None
) -> list[tuple[str, Place, Place]]:
    """Return pairs of places at ε·d = 2 on eight bearings, from the centre, an edge and a corner of a box."""
    apart = AUDITED_EPSILON / epsilon_per_m
    starts = {"centre": (0.0, 0.0), "edge": (half_side_m, 0.0), "corner": (half_side_m, half_side_m)}
    found = []
    for name, start in starts.items():
        for eighth in range(8):
            bearing = math.radians(45 * eighth)
            end = (start[0] + apart * math.sin(bearing), start[1] + apart * math.cos(bearing))
            if max(map(abs, end)) > half_side_m * (1 + 1e-9):
                continue  # only places inside the region are true places
            here, there = start, end
            if on_lattice_of_m is not None:
                here, there = _on_lattice(here, on_lattice_of_m), _on_lattice(there, on_lattice_of_m)
            found.append((f"{name}, bearing {45 * eighth}°", here, there))
    return found


def _on_lattice(place: Place, step_m: float) -> Place:
    return round(place[0] / step_m) * step_m, round(place[1] / step_m) * step_m


def audit_region(half_side_m: float) -> Region:
    """Return a box on the equator with sides of twice `half_side_m`, where the projection is nearly exact."""
    from geodp.geometry import EARTH_RADIUS_M

    half = math.degrees(half_side_m / EARTH_RADIUS_M)
    return Region(-half, -half, half, half)
