"""The histograms of a mobility report: what is counted, in public bins, and how far one unit can move them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Histogram:
    """One histogram.

    Parameters
    ----------
    key, title, measure
        Its name in files, on pages, and what the bins are measured in.
    edges
        Lower edges of its bins; the last one is open above.
    per_trip
        Whether a unit gives one value per trip, rather than one.
    between
        Whether the value lies between two trips: one less.
    """

    key: str
    title: str
    measure: str
    edges: tuple[float, ...]
    per_trip: bool = False
    between: bool = False

    @property
    def bins(self) -> int:
        """Number of bins."""
        return len(self.edges)

    def reach(self, trips: int) -> int:
        """Return how many values one unit gives at most: all may lie in one bin."""
        return max(trips - self.between, 1) if self.per_trip else 1

    def name_bins(self) -> list[str]:
        """Name the bins."""
        ends = [*(f" to {edge:g}" for edge in self.edges[1:]), " and more"]
        if self.measure in ("trips", "zones"):
            return [f"{edge:g}" for edge in self.edges[:-1]] + [f"{self.edges[-1]:g} and more"]
        return [f"{edge:g}{end}" for edge, end in zip(self.edges, ends, strict=True)]

    def place(self, values: Array) -> Integers:
        """Return the bin of each value; what lies below the first edge is in the first bin."""
        return np.clip(np.searchsorted(self.edges, values, side="right") - 1, 0, self.bins - 1)


def list_histograms(trips: int) -> tuple[Histogram, ...]:
    """Return the histograms of the report, for a cap on the trips of a unit."""
    return (
        Histogram("travel_time", "Travel time", "min", (0, 10, 20, 30, 45, 60, 90, 120), per_trip=True),
        Histogram("trip_length", "Length of a trip", "km", (0, 1, 2, 5, 10, 20, 50, 100), per_trip=True),
        Histogram("trips_per_person", "Trips of a person a day", "trips", tuple(range(trips + 1))),
        Histogram("radius_of_gyration", "Radius of gyration", "km", (0, 0.5, 1, 2, 5, 10, 20, 50)),
        Histogram("zones_per_person", "Zones of a person a day", "zones", tuple(range(1, 9))),
        Histogram("time_between_trips", "Time between trips", "h", (0, 0.5, 1, 2, 4, 6, 8, 12), per_trip=True,
                  between=True),
        Histogram("entropy", "Entropy of a person's hours", "bit", (0, 0.25, 0.5, 1, 1.5, 2, 2.5, 3)),
    )  # fmt: skip
