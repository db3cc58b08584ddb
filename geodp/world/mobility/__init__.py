"""How workers move; verb: `move`. A movement is a function of time, not a series of ticks."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from geodp.geometry import Region
from geodp.registry import FilePlugin
from geodp.tables.positions import FirstRows
from geodp.world.motion import Motion
from geodp.world.population import Population


@dataclass(frozen=True)
class PlaceList:
    """What is public about the places where people stay: levels of their hierarchy, categories, and how many."""

    levels: tuple[str, ...]
    categories: tuple[str, ...]
    size: int


class Mobility(FilePlugin):
    """Family of mobility models."""

    family: ClassVar[str] = "mobility"
    single: ClassVar[bool] = True
    """Whether everyone moves by herself, so that companions may follow."""

    @abstractmethod
    def move(
        self, population: Population, region: Region, *, start_s: float, duration_s: float, rng: np.random.Generator
    ) -> Motion:
        """Return everyone's movement on [0, duration_s]; `start_s` is the time of day at 0 (seconds)."""

    def look(self, region: Region) -> FirstRows | None:  # noqa: ARG002 - most movements come from no file
        """Look at the first rows of the data file, refusing what could not be read (None: there is no file)."""
        return None

    def list_places(self) -> PlaceList | None:
        """Return what is public about the places that the model keeps visits to (None: it keeps none)."""
        return None

    def turns(self, region: Region, duration_s: float) -> float:  # noqa: ARG002 - who stands still has none
        """Return about how many points a worker's way has, for an estimate of memory and time."""
        return 2.0
