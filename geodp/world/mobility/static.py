"""Workers who stay where they are."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from geodp.geometry import Region
from geodp.world.mobility import Mobility
from geodp.world.motion import Motion, stand_still
from geodp.world.population import Population


class Static(Mobility):
    """Nobody moves, except to do a task."""

    kind: ClassVar[str] = "static"

    def move(
        self,
        population: Population,
        region: Region,  # noqa: ARG002 - the population lies in it
        *,
        start_s: float,  # noqa: ARG002 - the same at any time
        duration_s: float,  # noqa: ARG002
        rng: np.random.Generator,  # noqa: ARG002 - nothing to draw
    ) -> Motion:
        """Return everyone standing at the start place."""
        return stand_still(population.x_m, population.y_m)
