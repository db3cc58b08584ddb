"""Synthetic trips from a noisy Markov chain on one grid: a baseline."""

from __future__ import annotations

from typing import ClassVar

from geodp.curator.trips_publication import OneGridPublication


class GridMarkov(OneGridPublication):
    """Synthetic trips of a first-order chain of moves on one grid, with noisy counts: a baseline.

    Guarantee
    ---------
    As of `dpt`: ε-differential privacy for everything one person did (`unit: person`), or for one trip.
    """

    kind: ClassVar[str] = "grid_markov"
    order: ClassVar[int] = 1
    prune: ClassVar[bool] = False
