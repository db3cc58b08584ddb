"""How workers move; verb: `move`. A movement is a function of time, not a series of ticks."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import ClassVar

import numpy as np

from geodp.geometry import Region
from geodp.plugins import Plugin
from geodp.world.motion import Motion
from geodp.world.population import Population


class Mobility(Plugin):
    """Family of mobility models."""

    family: ClassVar[str] = "mobility"

    @abstractmethod
    def move(
        self,
        population: Population,
        region: Region,
        *,
        start_s: float,
        duration_s: float,
        rng: np.random.Generator,
    ) -> Motion:
        """Return everyone's movement on [0, duration_s]; `start_s` is the time of day at 0 (seconds)."""

    def files(self) -> list[Path]:
        """Return the data files this mobility reads, for checksums."""
        return []
