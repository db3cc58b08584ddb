"""A series of releases: what was agreed before the first one, and what the curator remembers from one to the next.

Plug-ins are settings and never change. Whatever a mechanism keeps between releases (counts of the release before, nodes
of a tree, a group that is still open) stands in a `Series`, on the trusted side. It is made by `begin_series`, fed one
snapshot after the other, and depends on nothing but these and the noise: the same snapshots and the same answers give
the same releases, so a run is reproducible and an auditor can play a series again.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from geodp.errors import UsageError
from geodp.public.guarantee import Guarantee, Unit

if TYPE_CHECKING:
    from geodp.curator.mechanisms import Mechanism, Snapshot
    from geodp.privacy.noise import Noise
    from geodp.public.release import Cells

Pay = Callable[[Guarantee], None]
"""Asks the ledger, before any noise is drawn; raises `BudgetSpent` where it refuses."""


def charge_nobody(promise: Guarantee) -> None:
    """Ask no ledger: for those who use a mechanism by itself."""


class Series:
    """The releases of one run, in order; its own state is private.

    Parameters
    ----------
    mechanism
        What makes them.
    length
        For how many releases the series was agreed (None: any number, where nothing is promised about the series).

    Examples
    --------
    >>> import geodp, numpy as np
    >>> from geodp.curator.mechanisms import Snapshot
    >>> from geodp.geometry import Region
    >>> from geodp.privacy.noise import SimulatedNoise
    >>> town = Snapshot(0.0, np.zeros(5), np.zeros(5), Region(10.0, 50.0, 10.08, 50.05), expected_workers=10.0)
    >>> noise = SimulatedNoise(np.random.default_rng(1))
    >>> series = geodp.plugin("tree_counts", epsilon=2, cells={"kind": "uniform_grid", "cell_m": 2000}).begin_series(4)
    >>> [series.release(town, noise).count.size for _ in range(4)]
    [9, 9, 9, 9]
    """

    def __init__(self, mechanism: Mechanism, length: int | None = None) -> None:
        self.mechanism, self.length = mechanism, length
        self.releases: list[Cells] = []
        """What was released so far, where the mechanism decides by it when to look at people: public."""
        self.last: Cells | None = None
        """What later releases are worked out from; None: nothing."""
        self._next = 0

    @property
    def keeps_releases(self) -> bool:
        """Whether earlier releases decide about later ones; otherwise a long series would fill memory for nothing."""
        return type(self.mechanism).measures.__qualname__ != "Mechanism.measures" and _reads_earlier(
            type(self.mechanism)
        )

    @property
    def promise(self) -> Guarantee | None:
        """What is promised about the whole series, and charged once before its first release (None: nothing)."""
        return None if self.length is None else self.mechanism.series_guarantee(self.length)

    def release(
        self, snapshot: Snapshot, noise: Noise, *, number: int | None = None, pay: Pay = charge_nobody
    ) -> Cells | None:
        """Publish the next release.

        Parameters
        ----------
        snapshot
            Where everyone is now.
        noise
            Where noise comes from.
        number
            Which release it is (0, 1, …); default the next. Numbers may be left out, but never come again.
        pay
            Is asked before noise is drawn, for whatever is not paid for by the promise about the series.

        Returns
        -------
        Cells | None
            The release; None: there is nothing yet to work it out from.

        Raises
        ------
        UsageError
            If the series was agreed for fewer releases; nothing is drawn.
        """
        number = self._next if number is None else number
        if number < self._next:
            raise UsageError(f"release {number + 1} of this series was made before. Nothing was released.")
        if self.length is not None and number >= self.length:
            raise UsageError(
                f"release {number + 1} of a series that was agreed for {self.length}: its noise hides no more than "
                "these. Nothing was released or charged; begin a new series, which costs its own epsilon."
            )
        self._next = number + 1
        made = self.make(snapshot, noise, number=number, pay=pay)
        if made is not None:
            if self.keeps_releases:
                self.releases.append(made)
            self.last = made
        return made

    def make(self, snapshot: Snapshot, noise: Noise, *, number: int, pay: Pay) -> Cells | None:
        """Make one release: pay for it, then draw. Mechanisms with a state of their own override this."""
        measured = looks_at_people(self.mechanism, number, self.releases)
        if not measured and self.last is None:
            return None
        promise = self.mechanism.guarantee(snapshot.neighbours, snapshot.counts)
        if measured and promise.unit is not Unit.NOTHING and self.promise is None:
            pay(promise)
        return self.mechanism.release_next(self.last, snapshot, noise, number=number)


def looks_at_people(mechanism: Mechanism, number: int, earlier: Sequence[Cells]) -> bool:
    """Tell whether a release looks at people, by a public schedule or by earlier releases.

    Plug-ins from before `earlier` was there are asked for the number alone.
    """
    if _reads_earlier(type(mechanism)):
        return mechanism.measures(number, earlier)
    return mechanism.measures(number)


@cache
def _reads_earlier(cls: type[Mechanism]) -> bool:
    taken = inspect.signature(cls.measures).parameters.values()
    places = [one for one in taken if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    return len(places) > 2 or any(one.kind is one.VAR_POSITIONAL for one in taken)
