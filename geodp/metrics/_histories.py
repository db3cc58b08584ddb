"""What phones told last about histories, beside the truth, person by person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from geodp.geometry import Array
    from geodp.run_folder.folder import RunFolder
    from geodp.runs.history_reports import HistoryReport
    from geodp.tables.visits.catalogue import Catalogue

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ScoredHistories:
    """The last report of all phones."""

    report: HistoryReport
    catalogue: Catalogue
    owned: Flags
    """Which items each person really had (a row per person)."""
    told: Flags
    level: npt.NDArray[np.str_]
    """Level of each category for each person."""

    @property
    def true_counts(self) -> Array:
        """True number of items per person and category."""
        return np.asarray(self.owned @ self.catalogue.membership)

    def protected(self) -> Flags:
        """Return the items about which something is promised: some perturbed category, and none of level `no`."""
        member = self.catalogue.membership > 0
        perturbed, silent = (self.level == name for name in ("perturbed", "no"))
        return np.asarray((perturbed @ member.T) & ~(silent @ member.T))


def scored_histories(run: RunFolder) -> ScoredHistories | None:
    """Return the last report of phones with the truth at that time (None when they told nothing)."""
    if run.scenario.device.history_report is None or not run.history_reports:
        return None
    if "_scored_histories" not in run.__dict__:
        run.__dict__["_scored_histories"] = _read(run)
    found: ScoredHistories = run.__dict__["_scored_histories"]
    return found


def _read(run: RunFolder) -> ScoredHistories:
    from geodp.tables.visits.catalogue import venue_catalogue

    report, histories, venues = run.history_reports[-1], run.visits, run.venues
    catalogue = venue_catalogue(venues, getattr(report.device, "typical_items", 17.0))
    people = {name: number for number, name in enumerate(histories.people.tolist())}
    owned = np.zeros((len(people), venues.size), dtype=np.bool_)
    past = np.ones(histories.size, dtype=np.bool_) if histories.time_s is None else histories.time_s <= report.time_s
    owned[histories.person[past], histories.venue[past]] = True
    told = np.zeros_like(owned)
    rows = report.items["user"].map(people).to_numpy(dtype=np.int64)
    told[rows, venues.numbers_of(report.items["venue"].tolist())] = True
    level = report.counts["level"].to_numpy(dtype=np.str_).reshape(len(people), len(catalogue.categories))
    return ScoredHistories(report, catalogue, owned, told, level)
