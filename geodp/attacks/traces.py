"""Who was where and when, as an adversary knows it or finds it; and what else she is told beforehand."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array
from geodp.public.streets import StreetNetwork

Integers = npt.NDArray[np.int64]
Names = npt.NDArray[np.str_]

PRIOR, STREETS, PAST, POINTS, TRACES, COMPANIONS, OTHERS = (
    "prior",
    "streets",
    "past",
    "points",
    "traces",
    "companions",
    "others",
)
BACKGROUND = {
    PRIOR: "public counts, or nothing",
    STREETS: "the street map",
    PAST: "everybody's traces of an earlier period",
    POINTS: "some true points of each target",
    COMPANIONS: "who moves with whom",
    TRACES: "the traces of all candidates, and not who of them is in",
    OTHERS: "everything about everybody else",
}
"""What an adversary may be told, the weakest first."""


@dataclass(frozen=True, eq=False)
class Traces:
    """A table of moments: whose, when and where; one row each.

    Parameters
    ----------
    who
        Name or pseudonym of the person.
    time_s
        When, seconds.
    x_m, y_m
        Where, metres.
    place
        Number of a venue or cell, where places are numbered (-1 elsewhere).
    release
        Number of the release at whose moment she was there (-1: of none).

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.attacks.traces import Traces
    >>> two = Traces.of(np.array(["a", "b"]), np.zeros(2), np.zeros(2), np.ones(2))
    >>> two.people.tolist(), two.size
    (['a', 'b'], 2)
    """

    who: Names
    time_s: Array
    x_m: Array
    y_m: Array
    place: Integers
    release: Integers

    @classmethod
    def of(
        cls,
        who: Names,
        time_s: Array,
        x_m: Array,
        y_m: Array,
        *,
        place: Integers | None = None,
        release: Integers | None = None,
    ) -> Traces:
        """Put columns together; what is not given is -1."""
        nothing = np.full(len(who), -1, dtype=np.int64)
        return cls(
            who=np.asarray(who, dtype=np.str_),
            time_s=np.asarray(time_s, dtype=np.float64),
            x_m=np.asarray(x_m, dtype=np.float64),
            y_m=np.asarray(y_m, dtype=np.float64),
            place=nothing if place is None else place,
            release=nothing if release is None else release,
        )

    @property
    def size(self) -> int:
        """Number of rows."""
        return int(self.who.size)

    @property
    def people(self) -> Names:
        """Everyone's name, once each, in order."""
        return np.unique(self.who)

    def rows(self) -> Integers:
        """Return the number of each row's person in `people`."""
        return np.asarray(np.unique(self.who, return_inverse=True)[1], dtype=np.int64)

    def take(self, rows: npt.NDArray[np.bool_] | Integers) -> Traces:
        """Return some of the rows."""
        names = ("who", "time_s", "x_m", "y_m", "place", "release")
        return Traces(**{name: getattr(self, name)[rows] for name in names})

    def rename(self, names: Names) -> Traces:
        """Return the same rows under other names."""
        return replace(self, who=names)


@dataclass(frozen=True, eq=False)
class Background:
    """What the adversary knows beforehand: filled as the attack declares, and nothing else.

    Parameters
    ----------
    past
        Everybody's traces of an earlier period, under their names.
    points
        Some true points of each target.
    traces
        Traces of all candidates, membership unknown.
    others
        True counts of everybody else who is in, one number per row of `traces` (at that row's release and cell).
    companions
        Pairs of whom it is known that they move together, as two columns of names.
    streets
        The street map.

    Examples
    --------
    >>> from geodp.attacks.traces import Background
    >>> Background().holds()
    []
    """

    past: Traces | None = None
    points: Traces | None = None
    traces: Traces | None = None
    others: Array | None = None
    companions: Names | None = None
    streets: StreetNetwork | None = None
    prior: None = field(default=None, repr=False)

    def holds(self) -> list[str]:
        """Name what is there."""
        return [name for name in BACKGROUND if getattr(self, name, None) is not None]
