"""Phones that report where they are."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from geodp.device import Device
from geodp.geometry import Array, Region
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Guarantee


class NoDevice(Device):
    """Phones report their true position to the curator, who is trusted with it.

    Guarantee
    ---------
    None on the phone; whatever is promised is the curator's promise.
    """

    kind: ClassVar[str] = "none"
    releases: ClassVar[frozenset[str]] = frozenset({"points"})

    def report(
        self,
        x_m: npt.ArrayLike,
        y_m: npt.ArrayLike,
        *,
        rng: np.random.Generator | Noise,  # noqa: ARG002
        region: Region | None = None,  # noqa: ARG002
    ) -> tuple[Array, Array]:
        """Return the true positions."""
        return np.asarray(x_m, dtype=np.float64), np.asarray(y_m, dtype=np.float64)

    def guarantee(self, region: Region | None = None) -> Guarantee:  # noqa: ARG002
        """Promise nothing."""
        return Guarantee.none("phones report their true position")
