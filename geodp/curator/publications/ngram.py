"""Synthetic trips from a noisy n-gram tree on one grid: a baseline."""

from __future__ import annotations

from typing import ClassVar

from geodp.curator.trips_publication import OneGridPublication


class Ngram(OneGridPublication):
    """Synthetic trips walked over one noisy tree of up to four moves in a row: a baseline.

    Trips end where the noisy tree says: far too late at a small ε, somewhat early at a large one.

    Guarantee
    ---------
    As of `dpt`: ε-differential privacy for everything one person did (`unit: person`), or for one trip.

    Reference
    ---------
    Chen et al. 2012, Differentially private sequential data publication via variable-length n-grams.
    """

    kind: ClassVar[str] = "ngram"
    order: ClassVar[int] = 4
    ends_in_tree: ClassVar[bool] = True
