"""How wrong published counts of venues are."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from geodp.metrics import Measured, PublicationMetric, RecordErrors
from geodp.run_folder import visit_scores as scores

if TYPE_CHECKING:
    from geodp.geometry import Array
    from geodp.run_folder.folder import RunFolder
    from geodp.run_folder.published import PublishedRun


def count_pair(item: PublishedRun, top: int | None = None) -> tuple[Array, Array]:
    """Return the released and the true counts of venues: of all, or of the truly most visited ones."""
    tables = (item.released, item.truth("counts"))
    released, true = (table["count"].to_numpy(dtype=np.float64) for table in tables)
    chosen = np.arange(true.size) if top is None else scores.top_venues(true, top)
    return released[chosen], true[chosen]


class CountMetric(PublicationMetric):
    """Metrics of published counts of venues."""

    published: ClassVar[str] = "counts"


class TopVenues(CountMetric):
    """Metrics of the most visited venues."""

    top: int = Field(default=50, ge=1)
    """Number of venues (k)."""


class Mae(CountMetric, RecordErrors):
    """Mean absolute error of published venue counts over all venues, in users. Interval: t, over venues."""

    kind: ClassVar[str] = "mae"
    label: ClassVar[str] = "mean error of published venue counts"
    unit: ClassVar[str] = "users"

    def errors(self, run: RunFolder, item: PublishedRun) -> Array:  # noqa: ARG002
        """Return the error of every venue."""
        return scores.absolute_errors(*count_pair(item))


class Mre(CountMetric, RecordErrors):
    """Mean of |error| / max(true count, 0.1 % of users) over all venues. Interval: t, over venues."""

    kind: ClassVar[str] = "mre"
    label: ClassVar[str] = "relative error of published venue counts"
    unit: ClassVar[str] = "ratio"

    def errors(self, run: RunFolder, item: PublishedRun) -> Array:  # noqa: ARG002
        """Return the relative error of every venue."""
        return scores.relative_errors(*count_pair(item), int(item.truth("users")["users"].iloc[0]))


class TopkMae(TopVenues, RecordErrors):
    """Mean absolute error of published counts over the k truly most visited venues, in users.

    Interval: t, over venues.
    """

    kind: ClassVar[str] = "topk_mae"
    label: ClassVar[str] = "mean error of the most visited venues' counts"
    unit: ClassVar[str] = "users"

    def errors(self, run: RunFolder, item: PublishedRun) -> Array:  # noqa: ARG002
        """Return the errors of the most visited venues."""
        return scores.absolute_errors(*count_pair(item, self.top))


class TopkMre(TopVenues, RecordErrors):
    """Mean of |error| / max(true count, 0.1 % of users) over the k truly most visited venues.

    Interval: t, over venues.
    """

    kind: ClassVar[str] = "topk_mre"
    label: ClassVar[str] = "relative error of the most visited venues' counts"
    unit: ClassVar[str] = "ratio"

    def errors(self, run: RunFolder, item: PublishedRun) -> Array:  # noqa: ARG002
        """Return the relative errors of the most visited venues."""
        return scores.relative_errors(*count_pair(item, self.top), int(item.truth("users")["users"].iloc[0]))


class TopkAccuracy(TopVenues):
    """Share of the k truly most visited venues that are among the k largest published counts (ties: expected share)."""

    kind: ClassVar[str] = "topk_accuracy"
    label: ClassVar[str] = "most visited venues found"
    unit: ClassVar[str] = "share"
    better: ClassVar[str] = "higher"

    def score(self, run: RunFolder, item: PublishedRun) -> dict[str, Measured]:  # noqa: ARG002
        """Compare the two lists of venues."""
        return {self.kind: Measured(scores.top_accuracy(*count_pair(item), self.top))}
