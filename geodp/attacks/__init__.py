"""The adversary: sees what was released, or what the server sees, and the background that it declares; verb: `guess`.

An attack never meets the truth. It returns guesses or findings, and a scorer outside this room holds them against it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, field_validator

from geodp.attacks.findings import Findings
from geodp.attacks.traces import BACKGROUND, Background, Traces
from geodp.errors import OldMethod
from geodp.geometry import Array, Region
from geodp.public.cell_reports import CellReports
from geodp.public.release import Cells, Points
from geodp.registry import FilePlugin

ANYONE = ""
"""The name in a guess that holds for whoever it may be: counts name nobody."""


About = Literal["place", "member", "identity", "track", "pair"]


@dataclass(frozen=True, eq=False)
class SeenTrips:
    """A published set of trips, as anybody may have it: its kind, and its points."""

    kind: str
    traces: Traces


@dataclass(frozen=True, eq=False)
class SeenCounts:
    """Published counts of numbered places (venues), as anybody may have them; what hides all of them is of one size."""

    kind: str
    count: Array
    rule: Mapping[str, int] | None = None


@dataclass(frozen=True, eq=False)
class SeenOffers:
    """What the server decided and was told about tasks: one row per task, the last offer of each.

    Parameters
    ----------
    task
        Number of the task.
    time_s, x_m, y_m, radius_m, reward
        When and where it was offered, how far around, and for how much.
    success
        Chance of success that the server planned (NaN: it had none).
    winners
        Pseudonyms of those who took it (none: nobody did).
    asked_share
        Share of the people inside whom the server could ask, as far as it knows (None: all of them).
    """

    task: npt.NDArray[np.int64]
    time_s: Array
    x_m: Array
    y_m: Array
    radius_m: Array
    reward: Array
    success: Array
    winners: Sequence[Sequence[str]]
    asked_share: Array | None = None


@dataclass(frozen=True)
class AttackView:
    """What an attack may look at: the public region, everything that was released, and its declared background.

    Parameters
    ----------
    region
        The public area.
    releases
        Releases, or reports of phones, in order of time.
    reports
        What phones answered about their cells, one per release (None where they did not); () where nobody did.
    publications
        Sets of trips that were published.
    counts
        Counts of numbered places that were published.
    offers
        The server's view of tasks (None: there is none).
    laws
        Public laws by name: `acceptance`, the model of willingness that the server assumes; `answers`, the same with
        what phones mute; `protocol`, what limits a malicious server; `rule`, what is done to counts.
    background
        What the attack declares to know beforehand, and nothing else.
    start_s
        Time of day at time 0, seconds after midnight.

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
    publications: Sequence[SeenTrips] = ()
    counts: Sequence[SeenCounts] = ()
    offers: SeenOffers | None = None
    laws: Mapping[str, Any] = field(default_factory=dict)
    background: Background = field(default_factory=Background)
    start_s: float = 0.0

    def traces(self) -> Traces:
        """Return what was released under pseudonyms as traces: phones' reports, else published trips."""
        points = [(number, release) for number, release in enumerate(self.releases) if isinstance(release, Points)]
        if not points:
            return self.find_trips() or Traces.of(np.empty(0, dtype=np.str_), *(np.empty(0) for _ in range(3)))
        return Traces.of(
            np.concatenate([release.who for _, release in points]),
            np.concatenate([np.full(release.size, release.time_s) for _, release in points]),
            np.concatenate([release.x_m for _, release in points]),
            np.concatenate([release.y_m for _, release in points]),
            release=np.concatenate([np.full(release.size, number) for number, release in points]),
        )

    def find_trips(self) -> Traces | None:
        """Return the first published set of trips (None: there is none)."""
        return self.publications[0].traces if self.publications else None

    def weights(self) -> Array:
        """Return ε per metre of every row of `traces` (1 where reports are exact)."""
        parts = [_rates(release) for release in self.releases if isinstance(release, Points)]
        return np.concatenate(parts) if parts else np.ones(self.traces().size)

    @property
    def exact(self) -> bool:
        """Whether places in `traces` are as they were, or made up, and not noisy reports."""
        return all(
            release.channel is None and not release.channels for release in self.releases if isinstance(release, Points)
        )

    def find_reports(self, number: int) -> CellReports | None:
        """Return the answers under names behind a release (None: there are none, or a shuffler took the names off)."""
        found = self.reports[number] if number < len(self.reports) else None
        return found if found is not None and found.who.size else None


def _rates(release: Points) -> Array:
    """Return ε per metre of each report."""
    if release.epsilon_per_m is not None:
        return release.epsilon_per_m
    rate = getattr(release.channel, "epsilon_per_m", None)
    return np.full(release.size, 1.0 if rate is None else float(rate))


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

    A subclass says what it finds (`guess`) from its view alone: `Guesses` of places at releases, or `Findings`. What it
    is `about` decides how it is scored; the background that it `knows` is all that it is told beside what was released.

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
    about: ClassVar[str] = "place"
    """What it finds: a place, member, identity, track or pair."""
    reads: ClassVar[frozenset[str]] = frozenset({"points", "cells", "contours"})
    can_know: ClassVar[frozenset[str]] = frozenset()
    """Background that it can make use of."""

    knows: tuple[str, ...] = ()
    """What is known beforehand; the docstring of each attack says what it can make use of."""
    hit_radius_m: float = Field(default=200.0, gt=0)
    """A guess within this distance of the truth is a hit, metres."""
    seconds: float = Field(default=60.0, gt=0)
    """Time that redraws of releases may take; those that are left are not made, and the finding says so, seconds."""

    @field_validator("knows")
    @classmethod
    def _require_background(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if name not in BACKGROUND:
                raise ValueError(f"no background called '{name}'; there are: {', '.join(BACKGROUND)}")
            if name not in cls.can_know:
                can = ", ".join(sorted(cls.can_know)) or "nothing beforehand"
                raise ValueError(f"this attack can make no use of '{name}'; it can know: {can}")
        return value

    @abstractmethod
    def guess(self, view: AttackView) -> Guesses | Findings:
        """Say what is found, from the view alone."""
