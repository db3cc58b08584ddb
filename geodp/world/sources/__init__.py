"""Where workers come from; verb: `load`."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from geodp.geometry import Region
from geodp.registry import FilePlugin
from geodp.tables.positions import FirstRows
from geodp.world.population import Population


class Source(FilePlugin):
    """Family of worker sources."""

    family: ClassVar[str] = "source"

    @abstractmethod
    def load(self, region: Region, rng: np.random.Generator) -> Population:
        """Return the population inside the region."""

    def public_count(self) -> int | None:
        """Return the number of workers when the scenario itself states it, else None (it is private)."""
        return None

    def has_times(self) -> bool | None:
        """Tell whether workers come with fixes over time, which mobility `recorded` follows (None: not known)."""
        return None

    def has_trips(self) -> bool | None:
        """Tell whether workers come with trips of their own, which mobility `replay` follows (None: not known)."""
        return None

    def look(self, region: Region) -> FirstRows | None:  # noqa: ARG002 - made-up workers come from no file
        """Look at the first rows of the data file, refusing what could not be read (None: there is no file)."""
        return None
