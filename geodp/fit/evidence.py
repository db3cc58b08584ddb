"""What a fit knows of people: summaries of how they move, exact, or read off noisy histograms.

With noise everyone's part is bounded: one count in every histogram about people, and rows that weigh at most `ROWS`
together in every histogram about rows, whatever is in the data. Each histogram has its part of ε; all
together promise ε for the whole record of one person.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array, Grid, Region
from geodp.privacy.noise import Noise
from geodp.privacy.primitives import laplace_counts
from geodp.public.norm_sub import onto_simplex
from geodp.tables import movement_laws as laws
from geodp.tables.visit_log import Integers, VisitLog

ROWS = 50
"""Rows of one person that count in full; of more each counts less. Public."""
_UNIT = 1_000
"""Weights of rows are whole numbers of thousandths, so that sums are exact."""
PARTS = {
    "places": 0.14,
    "homes": 0.06,
    "jumps": 0.13,
    "waits": 0.12,
    "hours": 0.09,
    "days": 0.04,
    "visits": 0.08,
    "spans": 0.05,
    "distinct": 0.07,
    "gyration": 0.08,
    "first_place": 0.06,
    "entropy": 0.04,
    "order": 0.04,
}
"""Part of ε of every histogram."""
_EDGES: dict[str, Array] = {
    "jumps": np.concatenate([[1.0, 30.0], np.geomspace(100.0, 60_000.0, 13), [1e6]]),
    "waits": np.concatenate([[1.0], np.geomspace(60.0, 60 * 86_400.0, 15), [1e9]]),
    "visits": np.geomspace(1.0, 20_000.0, 14),
    "spans": np.geomspace(1.0, 4_000.0, 21),
    "distinct": np.geomspace(1.0, 5_000.0, 14),
    "gyration": np.concatenate([[1.0], np.geomspace(100.0, 60_000.0, 13), [1e6]]),
    "first_place": np.linspace(0.0, 1.0, 13),
    "entropy": np.linspace(0.0, 10.0, 15),
    "order": np.linspace(0.0, 10.0, 15),
}
_LINEAR = {"first_place", "entropy", "order"}
_FINE, _COARSE = 96, 12
"""Cells per side of the grid of places: exact, and with noise."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is known: targets by name, hours of the day, and where places and homes are."""

    targets: Mapping[str, float]
    """Summaries that the fitted world is to have, among them those of `LAWS`."""
    hours: Array
    """Visits by hour of the day."""
    span_days: float
    """How long a record lasts (median)."""
    grid: Grid
    places: Array
    """Weight of every cell of the grid as a place to go to."""
    homes: Array
    """Weight of every cell as one to live in."""
    people: int
    """How many people there are, about."""
    measure: Callable[[VisitLog], dict[str, float]]
    """Measures the targets of another log in the same way."""


def read_exact(log: VisitLog, region: Region) -> Evidence:
    """Read everything off the data as it is: private."""
    grid = Grid.divide(region, _FINE, _FINE)
    places, homes = _count_cells(log, grid)
    span = float(np.median(np.maximum(_spans_days(log), 1.0)))
    return Evidence(
        targets=summarise(log),
        hours=laws.count_hours(log).astype(np.float64),
        span_days=span,
        grid=grid,
        places=places,
        homes=homes,
        people=log.people,
        measure=summarise,
    )


def summarise(log: VisitLog) -> dict[str, float]:
    """Return the laws of a log, and how many visits people have."""
    found = {key: value for key, value in laws.measure_laws(log).items() if value is not None}
    if log.people:
        quantiles = np.quantile(np.diff(log.first), (0.1, 0.5, 0.9))
        found |= dict(zip(("visits_p10", "visits_p50", "visits_p90"), map(float, quantiles), strict=True))
    return found


def count_with_noise(log: VisitLog, region: Region, *, epsilon: float, noise: Noise) -> Evidence:
    """Read everything off histograms with noise; nothing else of the data is used.

    Parameters
    ----------
    log
        Everyone's visits.
    region
        The public region: places outside it count for nothing.
    epsilon
        ε for the whole record of one person (add or remove).
    noise
        Where noise comes from.
    """
    grid = Grid.divide(region, _COARSE, _COARSE)
    exact = _count_histograms(log)
    counts = {
        part: _add_noise(values, epsilon=epsilon * PARTS[part], sensitivity=moved, noise=noise) / moved
        for part, (values, moved) in exact.items()
    }
    cells, homes = _count_cells(log, grid, whole=True)
    per_person = float(_UNIT)
    cells = laplace_counts(
        cells.astype(np.int64), epsilon=epsilon * PARTS["places"], sensitivity=per_person, noise=noise
    )
    homes = laplace_counts(homes.astype(np.int64), epsilon=epsilon * PARTS["homes"], sensitivity=1.0, noise=noise)
    return Evidence(
        targets=_read_targets(counts),
        hours=counts["hours"],
        span_days=max(_quantiles("spans", counts["spans"])[1], 1.0),
        grid=grid,
        places=_keep_standing_out(cells, per_person / (epsilon * PARTS["places"])),
        homes=_keep_standing_out(homes, 1.0 / (epsilon * PARTS["homes"])),
        people=max(round(float(counts["visits"].sum())), 10),
        measure=measure_by_histograms,
    )


def measure_by_histograms(log: VisitLog) -> dict[str, float]:
    """Return the targets of a log as histograms without noise tell them: bins and bounds are the same for both."""
    return _read_targets({part: values / moved for part, (values, moved) in _count_histograms(log).items()})


def _add_noise(values: Integers, *, epsilon: float, sensitivity: float, noise: Noise) -> Array:
    noisy = laplace_counts(values, epsilon=epsilon, sensitivity=sensitivity, noise=noise)
    return onto_simplex(noisy, max(float(noisy.sum()), sensitivity))


def _count_histograms(log: VisitLog) -> dict[str, tuple[Integers, float]]:
    """Return every histogram of how people move, and by how much one person changes it at most."""
    weight = _weigh_rows(log)
    follows = log.follows
    moves = follows & (np.diff(log.place, prepend=-1) != 0)
    step_m = np.append(0.0, np.hypot(np.diff(log.x_m), np.diff(log.y_m)))[-log.size :] if log.size else log.x_m
    wait_s = np.maximum(np.diff(log.time_s, prepend=0.0), 1.0)
    hour = np.floor(np.mod(log.time_s - log.monday_s, 86_400.0) / 3_600.0)
    known = log.choose(np.flatnonzero(np.diff(log.first) >= laws.LEAST_VISITS))
    of_rows = {
        "jumps": (step_m[moves], weight[moves]),
        "waits": (wait_s[follows], weight[follows]),
        "hours": (hour, weight),
        "days": ((laws.weekdays(log) >= 5).astype(np.float64), weight),
    }
    of_people = {
        "visits": np.diff(log.first).astype(np.float64),
        "spans": _spans_days(log),
        "distinct": laws.distinct_places(known).astype(np.float64),
        "gyration": laws.gyrations_m(known),
        "first_place": _first_shares(known),
        "entropy": laws.place_entropies(known),
        "order": laws.real_entropies(known),
    }
    found: dict[str, tuple[Integers, float]] = {}
    for part, (values, by) in of_rows.items():
        bins, size = _find_bins(part, values)
        found[part] = np.bincount(bins, by, size).astype(np.int64), float(ROWS * _UNIT)
    for part, values in of_people.items():
        bins, size = _find_bins(part, values)
        found[part] = np.bincount(bins, minlength=size).astype(np.int64), 1.0
    return found


def _read_targets(counts: Mapping[str, Array]) -> dict[str, float]:
    """Return the targets that histograms tell."""
    jump, wait = _quantiles("jumps", counts["jumps"]), _quantiles("waits", counts["waits"])
    radius, number = _quantiles("gyration", counts["gyration"]), _quantiles("visits", counts["visits"])
    jumps, days = counts["jumps"], counts["days"]
    return {
        "jump_p10_km": jump[0] / 1000,
        "jump_p50_km": jump[1] / 1000,
        "jump_p90_km": jump[2] / 1000,
        "jumps_below_100_m": float(jumps[:2].sum() / max(jumps.sum(), 1e-9)),
        "gyration_p50_km": radius[1] / 1000,
        "gyration_spread": radius[2] / radius[0],
        "top_place_share": _mean("first_place", counts["first_place"]),
        "entropy_random_bits": _mean_log2("distinct", counts["distinct"]),
        "entropy_uncorrelated_bits": _mean("entropy", counts["entropy"]),
        "entropy_real_bits": _mean("order", counts["order"]),
        "weekend_share": float(days[1] / max(days.sum(), 1e-9)),
        "wait_p10_h": wait[0] / 3600,
        "wait_p50_h": wait[1] / 3600,
        "wait_p90_h": wait[2] / 3600,
        "visits_p10": number[0],
        "visits_p50": number[1],
        "visits_p90": number[2],
    }


def _weigh_rows(log: VisitLog) -> Integers:
    """Return the weight of every row (thousandths): a person's rows weigh at most `ROWS` together."""
    number = np.diff(log.first)[log.owner]
    return np.asarray(np.floor(_UNIT * np.minimum(1.0, ROWS / np.maximum(number, 1))), dtype=np.int64)


def _find_bins(part: str, values: npt.NDArray[np.generic]) -> tuple[Integers, int]:
    if part in ("hours", "days"):
        size = 24 if part == "hours" else 2
        return np.clip(np.asarray(values, dtype=np.int64), 0, size - 1), size
    edges = _EDGES[part]
    found = np.searchsorted(edges, np.asarray(values, dtype=np.float64), side="right") - 1
    return np.clip(found, 0, edges.size - 2), edges.size - 1


def _count_cells(log: VisitLog, grid: Grid, *, whole: bool = False) -> tuple[Array, Array]:
    """Return weights of cells as places (everyone shares out the same weight) and as homes (one of each person)."""
    cell = grid.locate(log.x_m, log.y_m)
    inside = cell >= 0
    number = np.diff(log.first)[log.owner]
    weight = 1.0 / np.maximum(number, 1)
    if whole:
        weight = np.floor(_UNIT * weight)
    places = np.asarray(np.bincount(cell[inside], weight[inside], grid.size), dtype=np.float64)
    width = int(log.place.max(initial=0)) + 1
    pair, row, count = np.unique(log.owner * width + log.place, return_index=True, return_counts=True)
    order = np.lexsort(
        (row, -count, pair // width)
    )  # of equals the earlier: how others' places are numbered is no rule
    first = order[np.flatnonzero(np.diff((pair // width)[order], prepend=-1))]
    home = cell[row[first]]
    return places, np.bincount(home[home >= 0], minlength=grid.size).astype(np.float64)


def _first_shares(log: VisitLog) -> Array:
    width = int(log.place.max(initial=0)) + 1
    pair, count = np.unique(log.owner * width + log.place, return_counts=True)
    most = np.zeros(log.people)
    np.maximum.at(most, pair // width, count)
    return np.asarray(most / np.diff(log.first))


def _spans_days(log: VisitLog) -> Array:
    return np.asarray((log.time_s[log.first[1:] - 1] - log.time_s[log.first[:-1]]) / 86_400.0)


def _quantiles(part: str, counts: Array) -> list[float]:
    """Return the 10, 50 and 90 % quantiles of a histogram, evenly spread in its bins (of the logarithm)."""
    edges = _EDGES[part]
    at = edges if part in _LINEAR else np.log(edges)
    summed = np.append(0.0, np.cumsum(counts + 1e-9))
    found = np.interp(np.array([0.1, 0.5, 0.9]) * summed[-1], summed, at)
    return [float(value) for value in (found if part in _LINEAR else np.exp(found))]


def _mean(part: str, counts: Array) -> float:
    edges = _EDGES[part]
    return float(np.average((edges[1:] + edges[:-1]) / 2, weights=counts + 1e-9))


def _mean_log2(part: str, counts: Array) -> float:
    edges = np.log2(_EDGES[part])
    return float(np.average((edges[1:] + edges[:-1]) / 2, weights=counts + 1e-9))


def _keep_standing_out(counts: Array, scale: float) -> Array:
    """Return counts above what noise alone makes, as they are; all alike where none is."""
    kept = np.where(counts > scale, counts, 0.0)
    return kept if kept.any() else np.ones(kept.size)
