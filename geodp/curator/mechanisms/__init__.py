"""What the curator publishes about where workers are now; verb: `release`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from geodp.curator.series import Series, looks_at_people
from geodp.errors import OldMethod, UsageError
from geodp.geometry import Array, Grid, Region
from geodp.privacy.audit_case import AnyCase
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Guarantee, Neighbours, Unit
from geodp.public.release import Cells, GridCells
from geodp.registry import Plugin


@dataclass(frozen=True)
class Snapshot:
    """Everyone's position at one instant, and the public settings a mechanism may use.

    `expected_workers` is public (never the true number).

    Parameters
    ----------
    time_s
        When, seconds from the start of the run.
    x_m, y_m
        Where everyone is, metres.
    region
        The public area.
    expected_workers
        Public estimate of their number.
    neighbours
        The change that must stay hidden.
    counts
        Whom it holds: `all` workers, or `idle` ones.
    who
        Whose row each is: a number from 0 per person, the same in every snapshot of a series. Private, like the places.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.curator.mechanisms import Snapshot
    >>> from geodp.geometry import Region
    >>> town = Snapshot(0.0, np.zeros(5), np.zeros(5), Region(10.0, 50.0, 10.08, 50.05), expected_workers=10.0)
    >>> 0 < town.floor_per_m2 < 1e-7
    True
    """

    time_s: float
    x_m: Array
    y_m: Array
    region: Region
    expected_workers: float
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    counts: str = "all"
    who: npt.NDArray[np.int64] | None = None
    """Number of each person, for mechanisms that bound what one person adds to a series; None: not told."""
    names: npt.NDArray[np.str_] | None = None
    """Name under which the server knows each person, for those who publish rows of people; None: not told."""
    group: npt.NDArray[np.str_] | None = None
    """Public group of each person, for mechanisms whose groups get promises of their own; None: not told."""

    def take(self, rows: npt.NDArray[np.bool_]) -> Snapshot:
        """Return the snapshot of some of the people; what is public stays as it is."""
        columns = {"x_m": self.x_m, "y_m": self.y_m, "who": self.who, "names": self.names, "group": self.group}
        kept: dict[str, Any] = {name: values[rows] for name, values in columns.items() if values is not None}
        return replace(self, **kept)

    @property
    def floor_per_m2(self) -> float:
        """A tenth of the public mean density, so that no place looks empty for ever."""
        return self.expected_workers / (10 * self.region.area_m2)


class Mechanism(Plugin):
    """Family of snapshot mechanisms.

    A subclass publishes a snapshot (`release`) with noise from `noise` alone, and says what that guarantees
    (`guarantee`). The rest has defaults.

    Examples
    --------
    >>> import geodp, numpy as np
    >>> from geodp.curator.mechanisms import Snapshot
    >>> from geodp.geometry import Region
    >>> from geodp.privacy.noise import SimulatedNoise
    >>> town = Snapshot(0.0, np.zeros(5), np.zeros(5), Region(10.0, 50.0, 10.08, 50.05), expected_workers=10.0)
    >>> release = geodp.plugin("uniform_grid", cell_m=1000).release(town, SimulatedNoise(np.random.default_rng(1)))
    >>> release.count.size, release.guarantee.epsilon
    (36, 0.4)
    """

    family: ClassVar[str] = "mechanism"
    fixed_cells: ClassVar[bool] = False
    """Whether every release has the same, public cells, so that counts can be followed over time."""
    counts_anyone: ClassVar[bool] = True
    """Whether it may count those whom another mechanism keeps: no wrapper, and everyone is promised the same."""

    @abstractmethod
    def release(self, snapshot: Snapshot, noise: Noise) -> Cells:
        """Publish a view of the snapshot, with noise from `noise` alone."""

    def measures(self, number: int, earlier: Sequence[Cells] = ()) -> bool:  # noqa: ARG002
        """Tell whether release `number` (0, 1, …) looks at people: by a public schedule, or by earlier releases.

        Others are worked out from earlier releases alone and cost nothing. One that takes the number alone still works.
        """
        return True

    def begin_series(self, releases: int | None = None) -> Series:
        """Begin a series of so many releases (None: of any number, where the noise does not depend on it).

        A mechanism that keeps something from one release to the next returns a `Series` of its own.
        """
        return Series(self, releases)

    def series_guarantee(
        self,
        releases: int,  # noqa: ARG002
        neighbours: Neighbours = Neighbours.ADD_REMOVE,  # noqa: ARG002
        counts: str = "all",  # noqa: ARG002
    ) -> Guarantee | None:
        """Say what a whole series of so many releases guarantees, where the promise is about the series.

        It is charged once, before the first release. None: every release is charged by itself.
        """
        return None

    def window_releases(self) -> int | None:
        """Return over how many consecutive releases ε is promised, where that is the promise (None: it is not)."""
        return None

    def presence_epsilon(self, span: int, releases: int, *, stays: int | None = None) -> float:
        """Return what `span` consecutive releases, of a series of so many, cost someone who is there in all of them.

        By default the measured ones add up; where measuring depends on earlier releases, all of them may be.

        Parameters
        ----------
        span
            In how many consecutive releases she is there.
        releases
            How many the series has.
        stays
            In how many cells, one after the other, where the promise is about one stay; default: in another each time.
        """
        found = self.presence_promise(span, releases, stays=stays)
        return 0.0 if found is None else found.epsilon

    def presence_promise(self, span: int, releases: int, *, stays: int | None = None) -> Guarantee | None:
        """Return the promise to someone who is there in `span` consecutive releases (None: none looks at anyone).

        Parameters
        ----------
        span, releases, stays
            As in `presence_epsilon`.
        """
        promise = self.series_guarantee(releases)
        if promise is not None:
            times = stays if promise.unit is Unit.EVENT and stays is not None else span
            return promise.for_users(times)
        paid = [looks_at_people(self, number, ()) for number in range(releases)]
        busiest = max(sum(paid[first : first + span]) for first in range(max(releases - span, 0) + 1))
        return self.guarantee().repeat(busiest) if busiest else None

    @property
    def decides_together(self) -> bool:
        """Whether what happens in one cell decides when others are counted, so that cells are not independent."""
        return False

    def fit_grid(self, snapshot: Snapshot) -> Grid:  # noqa: ARG002
        """Return the public grid of a mechanism with `fixed_cells`."""
        raise UsageError(f"{self.kind} has no grid that is the same in every release")

    def show_counts(
        self, snapshot: Snapshot, grid: Grid, count: Array, noise_scale: Array, noise_terms: Array | None
    ) -> Cells:
        """Return noisy counts on that grid as this mechanism publishes them."""
        return GridCells(
            count=count,
            noise_scale=noise_scale,
            noise_terms=noise_terms,
            grid=grid,
            **self.release_fields(snapshot, grid.edges()),
        )

    def release_next(self, earlier: Cells | None, snapshot: Snapshot, noise: Noise, *, number: int) -> Cells:  # noqa: ARG002
        """Publish release `number` of a series; `earlier` is the one before, None when there is none."""
        return self.release(snapshot, noise)

    following: ClassVar[Any] = OldMethod("release_next")

    def with_epsilon(self, epsilon: float) -> Self:
        """Return the same mechanism at another ε per release."""
        return self.model_copy(update={"epsilon": epsilon})

    def with_counts(self, release: Cells, count: Array, noise_scale: Array, noise_terms: Array) -> Cells:
        """Return one of its releases with other counts, for those who work on what was released."""
        return replace(release, count=count, noise_scale=noise_scale, noise_terms=noise_terms)

    def release_fields(self, snapshot: Snapshot, edges_m: tuple[Array, Array, Array, Array]) -> dict[str, Any]:
        """Return the fields that all releases have: when, by what, at what promise, and the edges of the cells.

        Parameters
        ----------
        snapshot
            What is released.
        edges_m
            West, south, east and north of every cell, metres.
        """
        return {
            "time_s": snapshot.time_s,
            "mechanism": self.kind,
            "guarantee": self.guarantee(snapshot.neighbours, snapshot.counts),
            "floor_per_m2": snapshot.floor_per_m2,
            **dict(zip(("west_m", "south_m", "east_m", "north_m"), edges_m, strict=True)),
        }

    @abstractmethod
    def guarantee(self, neighbours: Neighbours = Neighbours.ADD_REMOVE, counts: str = "all") -> Guarantee:
        """Say what one release guarantees."""

    def audit_cases(self) -> Sequence[AnyCase]:
        """Name worse neighbouring inputs than an audit tries anyway ([]: those of the family are enough).

        Whole releases are followed on pairs of the family, question by question; these are added to them.
        """
        return []

    def series_noise(self, releases: int, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> float | None:  # noqa: ARG002
        """Return the expected absolute noise per count of a series of so many releases (None: not stated)."""
        return self.expected_noise(neighbours)

    def expected_noise(self, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> float | None:  # noqa: ARG002
        """Return the expected absolute noise per released count, for `geodp check` (None: not stated)."""
        return None
