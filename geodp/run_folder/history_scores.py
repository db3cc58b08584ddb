"""What phones reported about their owners' histories beside the truth, person by person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from geodp.tables.visits.catalogue import Catalogue, venue_catalogue

if TYPE_CHECKING:
    from geodp.geometry import Array
    from geodp.run_folder.folder import RunFolder
    from geodp.run_folder.published import HistoryReport

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ScoredHistories:
    """The last report of all phones beside the truth."""

    report: HistoryReport
    catalogue: Catalogue
    owned: Flags
    """Which items each person really had (a row per person)."""
    reported: Flags
    level: npt.NDArray[np.str_]
    """Level of each category for each person."""

    @property
    def true_counts(self) -> Array:
        """True number of items per person and category."""
        return np.asarray(self.owned @ self.catalogue.membership)

    def find_protected(self) -> Flags:
        """Return the items about which something is promised: some perturbed category, and none of level `no`."""
        member = self.catalogue.membership > 0
        perturbed, silent = (self.level == name for name in ("perturbed", "no"))
        return np.asarray((perturbed @ member.T) & ~(silent @ member.T))

    def measure_protected_errors(self) -> Array:
        """Return each person's mean error of counts over perturbed categories (NaN: none is perturbed)."""
        protected, member = self.find_protected(), self.catalogue.membership
        gap = np.abs((self.reported & protected) @ member - (self.owned & protected) @ member)
        perturbed = self.level == "perturbed"
        number = perturbed.sum(axis=1)
        total = (gap * perturbed).sum(axis=1)
        return np.asarray(np.divide(total, number, out=np.full(len(total), np.nan), where=number > 0))


def read_scored_histories(run: RunFolder) -> ScoredHistories | None:
    """Return the last report of phones with the truth at that time (None when they reported nothing)."""
    if run.scenario.device.history_report is None or not run.history_reports:
        return None
    if "_scored_histories" not in run.__dict__:
        run.__dict__["_scored_histories"] = _read(run)
    found: ScoredHistories = run.__dict__["_scored_histories"]
    return found


def _read(run: RunFolder) -> ScoredHistories:
    report, histories, venues = run.history_reports[-1], run.visits, run.venues
    catalogue = venue_catalogue(venues, getattr(report.device, "typical_items", 17.0))
    people = {name: number for number, name in enumerate(histories.people.tolist())}
    owned = histories.find_visited(venues.size, report.time_s)
    reported = np.zeros_like(owned)
    rows = report.items["user"].map(people).to_numpy(dtype=np.int64)
    reported[rows, venues.numbers_of(report.items["venue"].tolist())] = True
    level = report.counts["level"].to_numpy(dtype=np.str_).reshape(len(people), len(catalogue.categories))
    return ScoredHistories(report, catalogue, owned, reported, level)
