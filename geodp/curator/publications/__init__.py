"""What the curator publishes about histories (visits, trajectories); verb: `publish`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from geodp.geometry import Region
from geodp.privacy.audit_case import AnyCase
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Guarantee, Unit
from geodp.registry import FilePlugin

if TYPE_CHECKING:
    from datetime import date

    import numpy as np
    import pandas as pd

    from geodp.public.streets import StreetNetwork
    from geodp.tables.trajectories.table import Trajectories
    from geodp.tables.visits.histories import Histories, Venues
    from geodp.world.motion import Motion


@dataclass(frozen=True, eq=False)
class Records:
    """What the curator holds about everyone at the end of a run: the truth, drawn when it is first asked for.

    Parameters
    ----------
    draw_visits
        Draws everyone's visits and the public list of venues, when they are first asked for.

    Examples
    --------
    >>> from geodp.curator.publications import Records
    >>> from geodp.geometry import Region
    >>> town = Records(Region(10.0, 50.0, 10.08, 50.05), 600.0, motion=None, draw_visits=lambda: ("visits", "venues"))
    >>> town.visits()
    ('visits', 'venues')
    """

    region: Region
    """The public area."""
    duration_s: float
    """Length of the run, seconds."""
    motion: Motion
    """Where everyone was at any time of the run."""
    draw_visits: Callable[[], tuple[Histories, Venues]]
    lay_out_streets: Callable[[], StreetNetwork] | None = None
    """Returns the public streets on which people of the run drive; None: there are none."""
    start_s: float = 0.0
    """Time of day at which the run begins, seconds after midnight."""
    draw: Callable[[str], np.random.Generator] | None = None
    """Returns the run's generator of one named decision; None: there is no run, and numbers are those of seed 0."""
    worked_out: dict[Any, Any] = field(default_factory=dict)
    """What publications worked out of the same records, so that it is done once."""

    def generator(self, name: str) -> np.random.Generator:
        """Return a new generator for one named decision, the same every time."""
        import numpy as np

        return np.random.default_rng(0) if self.draw is None else self.draw(name)

    def streets(self) -> StreetNetwork | None:
        """Return the public streets of the run, if it has any."""
        return None if self.lay_out_streets is None else self.lay_out_streets()

    @cached_property
    def _visits(self) -> tuple[Histories, Venues]:
        return self.draw_visits()

    def visits(self) -> tuple[Histories, Venues]:
        """Return everyone's visits up to the end of the run, and the public list of venues."""
        return self._visits

    @cached_property
    def _trajectories(self) -> Trajectories:
        from geodp.world.motion import trips_of

        return trips_of(self.motion, self.duration_s).inside(self.region)

    def trajectories(self) -> Trajectories:
        """Return everyone's own trips during the run, inside the region: people are numbered as the workers are."""
        return self._trajectories


@dataclass(frozen=True, eq=False)
class Published:
    """What one publication lets out, and what stays behind for scoring.

    Examples
    --------
    >>> import pandas as pd
    >>> from geodp.curator.publications import Published
    >>> Published(pd.DataFrame({"trips": [3.2]}), facts={"mean_noise": 1.0}).facts["mean_noise"]
    1.0
    """

    released: pd.DataFrame
    """Public: the table that anybody may have."""
    truth: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    """Private: tables by name, for metrics and maps of the holder of the truth."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Public: what a reader of the table must know, as plain JSON values (public settings, or paid for)."""


class Publication(FilePlugin):
    """Family of publications: made from histories, once, at the end of a run.

    `reads` names what they are made from (`visits`, `trajectories`), `releases` what comes out (`visits`, `counts`,
    `trajectories`): metrics and layers go by that.

    A subclass publishes from what the curator holds at the end of a run (`publish`), and says what that guarantees
    (`guarantee`).

    Examples
    --------
    >>> import geodp
    >>> print(geodp.plugin("laplace_counts", epsilon=0.5).guarantee().unit)
    user
    """

    family: ClassVar[str] = "publication"
    one_off: ClassVar[bool] = False
    """Whether what it promises composes with nothing, so that there is no second one about the same people."""

    @abstractmethod
    def guarantee(self) -> Guarantee:
        """Say what one release guarantees."""

    @abstractmethod
    def publish(self, records: Records, noise: Noise) -> Published:
        """Publish from the records, with noise from `noise` alone; the ledger has been asked before."""

    def audit_cases(self) -> Sequence[AnyCase]:
        """Name worse neighbouring inputs than an audit tries anyway ([]: those of the family are enough).

        Whole releases are followed on pairs of the family, question by question; these are added to them.
        """
        return []

    def most_contributions(self) -> int | None:
        """Return the public cap on one person's visits (events): a promise about one costs so many times its ε.

        None (which a publication has that says nothing else): nobody's number is bounded, so a promise about single
        visits promises nothing about a person.
        """
        return None

    def data_days(self, start_s: float, duration_s: float) -> tuple[date, date] | None:  # noqa: ARG002
        """Return the first and last day of the data, where it is made day by day, each with noise of its own.

        Parameters
        ----------
        start_s
            Time of day at which the run begins.
        duration_s
            How long it lasts.
        """
        return None

    def cost(self) -> Guarantee:
        """Return what the publication costs each person: ε × cap for a promise about one visit (or place)."""
        promise, cap = self.guarantee(), self.most_contributions()
        if promise.unit is Unit.PAIR:
            return Guarantee.none("a person may be one of any number of pairs")
        if promise.unit not in (Unit.EVENT, Unit.TRAJECTORY, Unit.ITEM, Unit.POINT):
            return promise
        if cap is None:
            return Guarantee.none("without a cap a person may have any number of visits")
        return promise.repeat(cap) if promise.unit is Unit.POINT else promise.for_users(cap)

    def parts(self) -> Mapping[str, float]:
        """Return the parts of ε that the ledger shows one by one, with ε of each ({}: it has one row for all)."""
        return {}

    def together(self) -> str:
        """Say what a promise about single visits is worth to a person with many ('' when it is about people)."""
        promise, cap = self.guarantee(), self.most_contributions()
        if promise.unit not in (Unit.EVENT, Unit.TRAJECTORY, Unit.ITEM, Unit.POINT):
            return ""
        what = "trips" if promise.unit is Unit.TRAJECTORY else "visits"
        if cap is None:
            return f"Nothing is promised about all {what} of one user together: there is no cap on how many they are."
        if promise.unit is Unit.TRAJECTORY:
            return f"All trips of one user together, at most {cap}, are hidden at ε = {self.cost().epsilon:g} only."
        if promise.unit is Unit.POINT:
            return f"Up to {cap} visits of one user together: {cap} times as much. Numbers of visits are not hidden."
        return (
            f"All visits of one user together, at most {cap}, are hidden at ε = {self.cost().epsilon:g} only: hiding "
            "single visits hides no user, whose rows stay together."
        )

    def public_problems(self, levels: Sequence[str], venues: int) -> Iterator[tuple[str, str]]:  # noqa: ARG002
        """Yield what cannot work with the public list of venues: a field and what is wrong, before anything is run.

        Parameters
        ----------
        levels
            Levels of its hierarchy, coarsest first.
        venues
            Its length.
        """
        yield from ()

    def check_records(self, records: Records) -> None:
        """Refuse what cannot be published, before anything is charged or drawn."""
