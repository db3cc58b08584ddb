"""What to say about trips whose points do not show the way, and about synthetic ones that came out unlike the true."""

from __future__ import annotations

import numpy as np

from geodp.tables.trajectories.table import Trajectories

FEW_POINTS = 5
"""Trips with fewer points in the median tell where people were, not how they went."""
LONG_GAP_S = 900.0
"""Pings further apart than this in the median leave the way between them open."""

MUCH = 2.0
"""Synthetic trips with so many times the points or hours of the true ones, or as little, are told."""


def sparse_remark(trips: Trajectories) -> str:
    """Say that trips are sparse pings, and what follows from it ('' where they are not)."""
    if not trips.size:
        return ""
    gaps = np.diff(trips.time_s)[~trips.starts[1:]]
    points, gap_s = float(np.median(trips.counts)), float(np.median(gaps)) if gaps.size else 0.0
    if points >= FEW_POINTS and gap_s <= LONG_GAP_S:
        return ""
    return (
        f"trips have {points:g} points in the median, {gap_s:,.0f} s apart: such pings do not show the way. Synthetic "
        "trips move from cell to cell, so their points and hours may be far from these (often many more)."
    )


def remark_changed(given: Trajectories, released: Trajectories) -> str:
    """Say that synthetic trips came out much longer or shorter than those they stand for ('' where they did not)."""
    if not given.size or not released.size:
        return ""
    points = float(given.counts.mean()), float(released.counts.mean())
    hours = float(given.durations_s.mean()) / 3600, float(released.durations_s.mean()) / 3600
    if all(_alike(*pair) for pair in (points, hours)):
        return ""
    return (
        f"Synthetic trips have {points[1]:.1f} points and last {hours[1]:.1f} h on average, where the true ones have "
        f"{points[0]:.1f} points and last {hours[0]:.1f} h: do not read lengths, paces or hours off them."
    )


def _alike(one: float, other: float) -> bool:
    return max(one, other) <= MUCH * min(one, other) or max(one, other) == 0
