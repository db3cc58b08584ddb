"""Reports of phones in made-up worlds, for tests of the server and of attacks."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from geodp import plugin
from geodp.geometry import Array, Region
from geodp.public.guarantee import Guarantee
from geodp.public.release import Points

REGION = Region(-122.5135, 37.7113, -122.3627, 37.8327)  # 13.3 by 13.5 km


def names(count: int) -> npt.NDArray[np.str_]:
    """Return so many pseudonyms in ascending order."""
    return np.array([f"w{number:06d}" for number in range(count)])


def reported(
    x_m: Array,
    y_m: Array,
    rng: np.random.Generator,
    *,
    kind: str = "planar_laplace",
    time_s: float = 0.0,
    region: Region = REGION,
    **fields: Any,
) -> Points:
    """Return what phones at these places report."""
    device = plugin(kind, "device", **fields)
    x, y = device.report(x_m, y_m, rng=rng, region=region)
    floor = x_m.size / (10 * region.area_m2)
    return Points(
        time_s, kind, Guarantee.none("a test"), names(x_m.size), np.array(x), np.array(y), device.channel(region), floor
    )


class Hills:
    """Three round hills of workers on an even plain, with the density known everywhere."""

    centres = np.array([[0.0, 0.0], [-3500.0, 3000.0], [3800.0, -3200.0]])
    spread_m = np.array([600.0, 350.0, 450.0])
    share = np.array([0.4, 0.2, 0.2])

    def sample(self, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draw workers."""
        which = rng.choice(4, count, p=[*self.share, 1 - self.share.sum()])
        hill = np.minimum(which, 2)
        x, y = rng.normal(self.centres[hill], self.spread_m[hill, None]).T
        even_x, even_y = REGION.sample(count, rng)
        return REGION.clamp(np.where(which < 3, x, even_x), np.where(which < 3, y, even_y))

    def density(self, x_m: Array, y_m: Array) -> Array:
        """Return the density of one worker."""
        square = (x_m[:, None] - self.centres[:, 0]) ** 2 + (y_m[:, None] - self.centres[:, 1]) ** 2
        hills = self.share * np.exp(-square / (2 * self.spread_m**2)) / (2 * np.pi * self.spread_m**2)
        return np.asarray(hills.sum(axis=1) + (1 - self.share.sum()) / REGION.area_m2)
