"""What the curator publishes about where workers are now; verb: `release`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from geodp.geometry import Array, Region
from geodp.privacy.audit_case import AnyCase
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Guarantee, Neighbours
from geodp.public.release import Cells
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

    @abstractmethod
    def release(self, snapshot: Snapshot, noise: Noise) -> Cells:
        """Publish a view of the snapshot, with noise from `noise` alone."""

    def measures(self, number: int) -> bool:  # noqa: ARG002
        """Tell whether release `number` (0, 1, …) looks at people: a public schedule.

        Others are worked out from earlier releases alone and cost nothing.
        """
        return True

    def following(self, earlier: Cells | None, snapshot: Snapshot, noise: Noise, *, number: int) -> Cells:  # noqa: ARG002
        """Publish release `number` of a series; `earlier` is the one before, None when there is none."""
        return self.release(snapshot, noise)

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

    def expected_noise(self, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> float | None:  # noqa: ARG002
        """Return the expected absolute noise per released count, for `geodp check` (None: not stated)."""
        return None
