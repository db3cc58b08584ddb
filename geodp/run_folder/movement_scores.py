"""Laws of movement of a run's people: of their visits where it has some, else of their stays in a long run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from geodp.tables.movement_laws import LAWS, measure_laws
from geodp.tables.visit_log import VisitLog, find_stays, order_visits

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder

__all__ = ["LAWS", "read_laws"]
_DAY_S = 86_400.0


def read_laws(run: RunFolder) -> dict[str, float]:
    """Return the summaries that are defined of a run; none where nobody moves, or for less than a day."""
    log = _read_log(run)
    return {} if log is None else {key: value for key, value in measure_laws(log).items() if value is not None}


def _read_log(run: RunFolder) -> VisitLog | None:
    """Return visits with times to placed venues, or stays of the sampled workers; a run begins on a Monday."""
    monday_s = -run.scenario.start_s
    if run.has("truth/visits.parquet"):
        visits, venues = run.visits, run.venues
        if visits.time_s is None or not venues.placed:
            return None
        x_m, y_m = run.region.projection.to_m(lon=venues.lon, lat=venues.lat)
        at = visits.venue
        return order_visits(visits.person, visits.time_s, at, x_m[at], y_m[at], monday_s=monday_s)
    if run.scenario.workers.mobility.kind == "static" or run.scenario.duration_s < _DAY_S:
        return None
    paths = run.paths
    worker, time_s = paths["worker"].to_numpy(dtype=np.int64), paths["time_s"].to_numpy(dtype=np.float64)
    places = (paths[name].to_numpy(dtype=np.float64) for name in ("x_m", "y_m"))
    return find_stays(order_visits(worker, time_s, np.zeros_like(worker), *places, monday_s=monday_s))
