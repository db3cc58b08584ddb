"""The adversary: sees what the server sees, plus a public prior; verb: `guess`.

An attack never meets the truth. It returns guesses, and a scorer outside this room holds them against it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from geodp.errors import OldMethod
from geodp.geometry import Array, Region
from geodp.public.cell_reports import CellReports
from geodp.public.release import Cells, Points
from geodp.registry import FilePlugin

ANYONE = ""
"""The name in a guess that holds for whoever it may be: counts name nobody."""


@dataclass(frozen=True)
class AttackView:
    """What an attack may look at: the public region, and everything that reached the server, in order of time.

    Parameters
    ----------
    region
        The public area.
    releases
        Releases, or reports of phones, in order of time.
    reports
        What phones answered about their cells, one per release (None where they did not); () where nobody did.

    Examples
    --------
    >>> from geodp.attacks import AttackView
    >>> from geodp.geometry import Region
    >>> len(AttackView(Region(10.0, 50.0, 10.08, 50.05), releases=[]).releases)
    0
    """

    region: Region
    releases: Sequence[Cells | Points]
    reports: Sequence[CellReports | None] = ()

    def find_reports(self, number: int) -> CellReports | None:
        """Return the answers under names behind a release (None: there are none, or a shuffler took the names off)."""
        found = self.reports[number] if number < len(self.reports) else None
        return found if found is not None and found.who.size else None


@dataclass(frozen=True, eq=False)
class Guesses:
    """Where people are thought to be: one row per guess, and the best guess of one who has seen nothing.

    Parameters
    ----------
    method
        Name of the way of guessing, of every guess.
    x_m, y_m
        The places guessed, metres.
    blind_y_m
        As `blind_x_m`.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.attacks import ANYONE, Guesses
    >>> middle = ("middle", 0, np.array([ANYONE]), np.zeros(1), np.zeros(1))
    >>> Guesses.join([middle], blind=(0.0, 0.0)).release
    array([0])
    """

    method: npt.NDArray[np.str_]
    release: npt.NDArray[np.int64]
    """Number of the release whose moment the guess is about."""
    who: npt.NDArray[np.str_]
    """Pseudonym of the person, or `ANYONE`."""
    x_m: Array
    y_m: Array
    blind_x_m: float
    """Guess from the prior alone."""
    blind_y_m: float

    @classmethod
    def join(
        cls, parts: Sequence[tuple[str, int, npt.NDArray[np.str_], Array, Array]], blind: tuple[float, float]
    ) -> Guesses:
        """Put parts (method, release, who, x_m, y_m) together."""
        none = ("", 0, np.empty(0, dtype=np.str_), np.empty(0), np.empty(0))
        method, release, who, x_m, y_m = zip(*(parts or [none]), strict=True)
        sizes = [one.size for one in x_m]
        return cls(
            method=np.repeat(method, sizes),
            release=np.repeat(release, sizes).astype(np.int64),
            who=np.concatenate(who),
            x_m=np.concatenate(x_m),
            y_m=np.concatenate(y_m),
            blind_x_m=blind[0],
            blind_y_m=blind[1],
        )

    joined = OldMethod("join")


class Attack(FilePlugin):
    """Family of attacks.

    A subclass says where people are (`guess`), from the server's view alone.

    Examples
    --------
    >>> import geodp, numpy as np
    >>> from geodp.attacks import AttackView
    >>> from geodp.geometry import Region
    >>> guesses = geodp.plugin("bayes_location").guess(AttackView(Region(10.0, 50.0, 10.08, 50.05), []))
    >>> guesses.x_m.size
    0
    """

    family: ClassVar[str] = "attack"
    reads: ClassVar[frozenset[str]] = frozenset({"points", "cells", "contours"})

    hit_radius_m: float = Field(default=200.0, gt=0)
    """A guess within this distance of the truth is a hit, metres."""

    @abstractmethod
    def guess(self, view: AttackView) -> Guesses:
        """Say where people are, from the server's view alone."""
