"""How like the truth sets of synthetic trips are, side by side: for those who hold the truth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from geodp.geometry import Region
from geodp.run_folder.mobility_scores import ALL_SCORES, street_shares
from geodp.tables.trajectories.table import Trajectories

if TYPE_CHECKING:
    from geodp.public.streets import StreetNetwork

_SHOWN = (
    "density_jsd",
    "query_are_pts",
    "trip_jsd",
    "diameter_jsd",
    "length_jsd",
    "pattern_f1",
    "kendall_tau",
    "path_length_ratio",
    "turning_ratio",
    "gyration_jsd",
    "hour_jsd",
    "points_jsd",
    "od_cpc",
)
_MOST_TRIPS = 4_000
"""Of larger sets so many trips, evenly spread, are scored where nothing is compared: a look costs little time."""


def score_table(
    real: Trajectories, sets: Mapping[str, Trajectories], region: Region, network: StreetNetwork | None = None
) -> str:
    """Return a table of scores in words: one row per score, one column per set."""
    most = _MOST_TRIPS if len(sets) == 1 else max(real.size, *(one.size for one in sets.values()), 1)
    true, made = _some(real, most), {name: _some(one, most) for name, one in sets.items()}
    rows = [[key, *(_number(ALL_SCORES[key](true, one, region)) for one in made.values())] for key in _SHOWN]
    if network is not None:
        shares = [street_shares(one, network) for one in made.values()]
        rows += [["on_street_share", *(_number(on) for on, _ in shares)]]
        rows += [["off_street_share", *(_number(off) for _, off in shares)]]
    head = ["Against the true trips", *made]
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    lines = ["  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)) for row in [head, *rows]]
    note = f" ({most:,} trips of each)" if max(real.size, *(one.size for one in sets.values())) > most else ""
    return "\n".join(line.rstrip() for line in lines) + note


def _some(trips: Trajectories, most: int) -> Trajectories:
    if trips.size <= most:
        return trips
    return trips.select(np.linspace(0, trips.size - 1, most).astype(np.int64))


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
