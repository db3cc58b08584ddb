"""How many people can be picked out of what was published about visits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics._publications import measured_by
from geodp.metrics._visits import scored
from geodp.metrics.intervals import mean

if TYPE_CHECKING:
    from geodp.geometry import Array
    from geodp.run_folder.folder import RunFolder
    from geodp.run_folder.published import PublishedRun


class ReidentifiedShare(Metric):
    """Share of people whose published rows, names taken off, are matched to their true visits at the first guess.

    The adversary knows everyone's true visits and the public clusters, and picks the person with the least sum of
    differences between published and true numbers per cluster; `reidentified_top5` allows five guesses,
    `reidentified_by_chance` is what guessing blindly finds. At most 2,000 people are looked for. It is what this attack
    finds, and no bound on what others may. Interval: t, over people.
    """

    kind: ClassVar[str] = "reidentified_share"
    unit: ClassVar[str] = "share"
    units: ClassVar[Mapping[str, str]] = {"reidentified_top5": "share"}
    better: ClassVar[str] = "lower"
    topic: ClassVar[str] = "published"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Match published rows to people."""
        from geodp.tables.visits.visit_scores import matched

        def one(item: PublishedRun) -> dict[str, Measured]:
            found = scored(run, item)
            matching = matched(found.histories, found.released, found.venues)
            return {
                self.kind: _of_people(matching.shares(1)),
                "reidentified_top5": _of_people(matching.shares(5)),
                "reidentified_by_chance": Measured(1 / matching.people),
            }

        return measured_by(run, "visits", one)


def _of_people(shares: Array) -> Measured:
    """Return the mean of probabilities, its interval kept between 0 and 1."""
    found = mean(shares)
    if found.low is None or found.high is None:
        return found
    return replace(found, low=max(found.low, 0.0), high=min(found.high, 1.0))
