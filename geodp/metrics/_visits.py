"""Published visits beside the true ones, as the scores of visits take them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from geodp.geometry import Array
    from geodp.run_folder.folder import RunFolder
    from geodp.run_folder.published import PublishedRun
    from geodp.tables.visits.hierarchy import Hierarchy
    from geodp.tables.visits.histories import Histories, ReleasedVisits, Replacements, Venues


@dataclass(frozen=True, eq=False)
class ScoredVisits:
    """One publication of visits with everything a score needs."""

    histories: Histories
    venues: Venues
    hierarchy: Hierarchy
    released: ReleasedVisits
    replacements: Replacements
    sensitivity_m: Array
    """HS of each person's level, metres."""


def scored(run: RunFolder, item: PublishedRun) -> ScoredVisits:
    """Read a publication of visits and the truth behind it (once per opened run)."""
    cache: dict[str, ScoredVisits] = run.__dict__.setdefault("_scored_visits", {})
    key = item.name
    if key not in cache:
        cache[key] = _read(run, item)
    return cache[key]


def _read(run: RunFolder, item: PublishedRun) -> ScoredVisits:
    from geodp.tables.visits.hierarchy import hierarchy_of
    from geodp.tables.visits.histories import ReleasedVisits, Replacements

    histories, venues, frame = run.visits, run.venues, item.released
    number = {name: place for place, name in enumerate(histories.people.tolist())}
    x_m, y_m = venues.region().projection.to_m(lon=frame["lon"].to_numpy(), lat=frame["lat"].to_numpy())
    label = item.facts.get("cluster")
    released = ReleasedVisits(
        histories.people,
        frame["user"].map(number).to_numpy(dtype=np.int64),
        venues.numbers_of(frame["venue"].tolist()),
        x_m,
        y_m,
        item.kind,
        item.guarantee,
        None if label is None else np.array(label, dtype=np.int64),
    )
    rows = item.truth("replacements")
    replaced = Replacements(**{name: rows[name].to_numpy() for name in rows.columns})
    people = item.truth("people")
    order = people.set_index("user")["sensitivity_m"].reindex(histories.people.astype(str)).to_numpy(dtype=np.float64)
    return ScoredVisits(histories, venues, hierarchy_of(venues), released, replaced, order)


def unit_level(hierarchy: Hierarchy, name: str) -> str | None:
    """Return the level that plays a part: the one of that name, else the coarsest (city) or the one above the finest.

    None where the hierarchy has too few levels for it.
    """
    levels = hierarchy.levels
    if name in levels:
        return name
    if name == "city":
        return levels[0] if len(levels) > 1 else None
    return levels[-2] if len(levels) > 2 else (levels[-1] if levels else None)
