"""What a fit knows of people: summaries of how they move, exact, or read off noisy histograms.

With noise everyone's part is bounded: one count in every histogram about people, and rows that weigh at most `ROWS`
together in every histogram about rows, whatever is in the data. Each histogram has its part of ε; all
together promise ε for the whole record of one person.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    "spans": np.geomspace(1.0, 4_000.0, 11),
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


def read_exact(log: VisitLog, region: Region) -> Evidence:
    """Read everything off the data as it is: private."""
    found = laws.measure_laws(log)
    number = np.diff(log.first).astype(np.float64)
    low, middle, high = np.quantile(number, (0.1, 0.5, 0.9))
    targets = {key: value for key, value in found.items() if value is not None}
    targets |= {"visits_p10": low, "visits_p50": middle, "visits_p90": high}
    grid = Grid.divide(region, _FINE, _FINE)
    places, homes = _count_cells(log, grid)
    span = float(np.median(np.maximum(_spans_days(log), 1.0)))
    return Evidence(targets, laws.count_hours(log).astype(np.float64), span, grid, places, homes, log.people)


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
    weight = _weigh_rows(log)

    def count(part: str, values: npt.NDArray[np.float64] | Integers, by: Integers | None = None) -> Array:
        bins, size = _find_bins(part, values)
        exact = np.bincount(bins, by, size).astype(np.int64)
        moved = 1.0 if by is None else float(ROWS * _UNIT)
        noisy = laplace_counts(exact, epsilon=epsilon * PARTS[part], sensitivity=moved, noise=noise)
        return onto_simplex(noisy, max(float(noisy.sum()), 1.0)) / (1.0 if by is None else _UNIT)

    follows = log.follows
    moves = follows & (np.diff(log.place, prepend=-1) != 0)
    step_m = np.append(0.0, np.hypot(np.diff(log.x_m), np.diff(log.y_m)))[: log.size]
    wait_s = np.diff(log.time_s, prepend=0.0)
    known = log.choose(np.flatnonzero(np.diff(log.first) >= laws.LEAST_VISITS))
    jumps = count("jumps", step_m[moves], weight[moves])
    waits = count("waits", np.maximum(wait_s[follows], 1.0), weight[follows])
    hours = count("hours", np.floor(np.mod(log.time_s - log.monday_s, 86_400.0) / 3_600.0), weight)
    days = count("days", (laws.weekdays(log) >= 5).astype(np.int64), weight)
    visits, spans = count("visits", np.diff(log.first).astype(np.float64)), count("spans", _spans_days(log))
    distinct, gyration = count("distinct", laws.distinct_places(known)), count("gyration", laws.gyrations_m(known))
    first = count("first_place", _first_shares(known))
    entropy, order = count("entropy", laws.place_entropies(known)), count("order", laws.real_entropies(known))
    cells, homes = _count_cells(log, grid, whole=True)
    per_person = float(_UNIT)
    cells = laplace_counts(
        cells.astype(np.int64), epsilon=epsilon * PARTS["places"], sensitivity=per_person, noise=noise
    )
    homes = laplace_counts(homes.astype(np.int64), epsilon=epsilon * PARTS["homes"], sensitivity=1.0, noise=noise)
    jump, wait = (_quantiles(part, counts) for part, counts in (("jumps", jumps), ("waits", waits)))
    radius, number = _quantiles("gyration", gyration), _quantiles("visits", visits)
    share = np.cumsum(jumps) / max(jumps.sum(), 1e-9)
    targets = {
        "jump_p10_km": jump[0] / 1000,
        "jump_p50_km": jump[1] / 1000,
        "jump_p90_km": jump[2] / 1000,
        "jumps_below_100_m": float(share[1]),
        "gyration_p50_km": radius[1] / 1000,
        "gyration_spread": radius[2] / radius[0],
        "top_place_share": _mean("first_place", first),
        "entropy_random_bits": _mean_log2("distinct", distinct),
        "entropy_uncorrelated_bits": _mean("entropy", entropy),
        "entropy_real_bits": _mean("order", order),
        "weekend_share": float(days[1] / max(days.sum(), 1e-9)),
        "wait_p10_h": wait[0] / 3600,
        "wait_p50_h": wait[1] / 3600,
        "wait_p90_h": wait[2] / 3600,
        "visits_p10": number[0],
        "visits_p50": number[1],
        "visits_p90": number[2],
    }
    return Evidence(
        targets=targets,
        hours=hours,
        span_days=max(_quantiles("spans", spans)[1], 1.0),
        grid=grid,
        places=_keep_standing_out(cells, per_person / (epsilon * PARTS["places"])),
        homes=_keep_standing_out(homes, 1.0 / (epsilon * PARTS["homes"])),
        people=max(round(float(visits.sum())), 10),
    )


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
