"""Geo-indistinguishable reports with planar Laplace noise."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from geodp.device.planar import PlanarDevice, check_places
from geodp.errors import NotReleasable, UsageError
from geodp.geometry import Array, Region
from geodp.privacy.noise import Noise, SimulatedNoise, as_noise
from geodp.privacy.primitives import planar_laplace_offsets
from geodp.public.channels import Channel, PlanarLaplaceChannel
from geodp.public.guarantee import Guarantee
from geodp.public.lattice import Lattice


class PlanarLaplace(PlanarDevice):
    """Each phone reports its place with planar Laplace noise, to a grid and into the region when asked.

    Guarantee
    ---------
    ε-geo-indistinguishability of one report, with no trusted party: places d metres apart change the odds of any report
    by at most exp(ε·d). Rounding to the grid and clamping to the region come after the noise and cost nothing. n
    reports cost n·ε. Simulation only: doubles carry their history in their last bits; release with planar_geometric.

    Reference
    ---------
    Zhu et al. 2017, Differential Privacy and Applications, section 12.3.1, eq. (12.4, which lacks parentheses around
    its exponent) and (12.5); Andrés et al. 2013, Geo-indistinguishability.
    """

    kind: ClassVar[str] = "planar_laplace"
    audited_by: ClassVar[str] = "channel"

    cell_m: float | None = Field(default=None, gt=0)
    """Side of the grid to which reports are rounded, metres; null = no grid."""

    def report(
        self,
        x_m: npt.ArrayLike,
        y_m: npt.ArrayLike,
        *,
        rng: np.random.Generator | Noise,
        region: Region | None = None,
    ) -> tuple[Array, Array]:
        """Return each place with noise of its own; with a region, inside its box."""
        if self.levels:  # whose phones these are is not told, so that all are as careful as any
            return self._strictest().report(x_m, y_m, rng=rng, region=region)
        noise = as_noise(rng)
        if noise.releasable:
            raise NotReleasable(
                "planar_laplace reports doubles, whose last bits tell where they came from: it must not be used for a "
                "release. Use planar_geometric, which draws whole steps on a grid."
            )
        if not isinstance(noise, SimulatedNoise):
            raise UsageError("planar_laplace draws from a numpy Generator or from SimulatedNoise")
        x, y = check_places(x_m, y_m, region)
        remap = self._remap(region) if self.remap else None
        lattice = None if self.cell_m is None else Lattice(self.cell_m, self._box(region))
        east, north = planar_laplace_offsets(x.size, self.epsilon_per_m, noise.rng)
        east, north = east.reshape(x.shape), north.reshape(x.shape)
        east += x
        north += y
        if lattice is not None:
            east, north = lattice.index(east, 0) * lattice.cell_m, lattice.index(north, 1) * lattice.cell_m
        elif region is not None and self.clamp:
            east, north = region.clamp(east, north)
        return (east, north) if remap is None else remap.apply(east, north)

    def guarantee(self, region: Region | None = None) -> Guarantee:
        """Promise ε per metre for one report."""
        return self._promise(region)

    def law(self, region: Region | None = None) -> Channel:
        """Return the law of a report before the remap."""
        if self.levels:
            return self._strictest().law(region)
        return PlanarLaplaceChannel(self.epsilon_per_m, self.cell_m, self._box(region))
