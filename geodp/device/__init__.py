"""On the phone: sees one person, trusts nobody; verb: `report`."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array, Region
from geodp.plugins import Plugin
from geodp.privacy.guarantee import Guarantee


class Device(Plugin):
    """Family of mechanisms that run on the phone."""

    family: ClassVar[str] = "device"

    @abstractmethod
    def report(
        self,
        x_m: npt.ArrayLike,
        y_m: npt.ArrayLike,
        *,
        rng: np.random.Generator,
        region: Region | None = None,
    ) -> tuple[Array, Array]:
        """Return what each phone reports for its true position."""

    @abstractmethod
    def guarantee(self) -> Guarantee:
        """Say what one report guarantees."""
