"""When and where tasks arise; verb: `arrivals`."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from geodp.geometry import Array, Region
from geodp.registry import FilePlugin
from geodp.tables.positions import FirstRows
from geodp.world.population import Population


@dataclass(frozen=True)
class Arrivals:
    """Tasks in order of arrival; task id = index."""

    time_s: Array
    x_m: Array
    y_m: Array


class Demand(FilePlugin):
    """Family of demand models."""

    family: ClassVar[str] = "demand"

    @abstractmethod
    def arrivals(
        self, population: Population, region: Region, *, start_s: float, duration_s: float, rng: np.random.Generator
    ) -> Arrivals:
        """Return the tasks that arrive in [0, duration_s), sorted by time, all inside the region."""

    @abstractmethod
    def expected_tasks(self, *, start_s: float, duration_s: float) -> float:
        """Return E|T|, from public settings alone: the server plans its rewards with it."""

    def look(self, region: Region) -> FirstRows | None:  # noqa: ARG002 - random tasks come from no file
        """Look at the first rows of the data file, refusing what could not be read (None: there is no file)."""
        return None
