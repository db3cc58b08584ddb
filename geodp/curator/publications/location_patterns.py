"""Where many visits lie together: a noisy quadtree, and a noisy centroid in each of its leaves (Ho and Ruan 2011)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from geodp.curator.publications import Publication, Published, Records
from geodp.geometry import Array, Region
from geodp.privacy.keyed_choice import draw_key
from geodp.privacy.noise import Noise
from geodp.privacy.primitives import laplace_counts
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit, plus
from geodp.tables.notices import notice_cap
from geodp.tables.visits.histories import Histories, Integers, Venues

if TYPE_CHECKING:
    import pandas as pd

_STEPS = 512
"""Whole steps from the middle of a leaf to its edge: sums of whole numbers take noise exactly."""


@dataclass(frozen=True, eq=False)
class Patterns:
    """Leaves in which many visits lie, with where their middle is: all noisy."""

    x_m: Array
    y_m: Array
    visits: Array
    west_m: Array
    south_m: Array
    side_x_m: Array
    side_y_m: Array


class LocationPatterns(Publication):
    """Places where many visits lie together: noisy centroids in the leaves of a noisy quadtree.

    Squares with more than `divide_above` visits are divided into four, up to `depth` times; of those that are not
    divided, the ones with more than `threshold` visits are published, each with its number of visits and their mean
    place, all noisy.

    Guarantee
    ---------
    ε-differential privacy for everything one person did. Everyone counts with at most `cap` visits, chosen by a secret
    key and her own visits alone; a visit lies in one square of each level, so levels add up and squares of a level do
    not, and it moves one sum of offsets by at most one side. The box is that of the public list of venues.

    Reference
    ---------
    [recalled] Ho, Ruan 2011, Differential privacy for location pattern mining. Theirs hides one visit and clusters the
    points of a leaf; ours publishes the mean of the leaf, which is what its noise allows.
    """

    kind: ClassVar[str] = "location_patterns"
    reads: ClassVar[frozenset[str]] = frozenset({"visits"})
    releases: ClassVar[frozenset[str]] = frozenset({"patterns"})

    epsilon: float = Field(default=1.0, gt=0)
    """ε of the table."""
    cap: int = Field(default=20, ge=1)
    """Maximum number of visits with which someone counts: public."""
    depth: int = Field(default=6, ge=1, le=12)
    """How often squares are divided at most."""
    divide_above: float = Field(default=400.0, gt=0)
    """Squares with more visits than this (noisy) are divided."""
    threshold: float = Field(default=200.0, gt=0)
    """Leaves with more visits than this (noisy) are published."""
    centroid_share: float = Field(default=0.3, gt=0, lt=1)
    """Part of ε for the mean places; the counts of all levels share the rest evenly."""

    @model_validator(mode="after")
    def _publishes_something(self) -> Self:
        if self.threshold > self.divide_above:
            raise ValueError(
                f"threshold ({self.threshold:g}) is more than divide_above ({self.divide_above:g}): only the smallest "
                "squares could be published. Use a lower threshold"
            )
        return self

    def parts(self) -> dict[str, float]:
        """Return ε of the counts of all levels, and of the mean places."""
        centroids = self.epsilon * self.centroid_share
        return {"counts": plus(self.epsilon, -centroids), "centroids": centroids}

    def publish(self, records: Records, noise: Noise) -> Published:
        """Publish the patterns of everyone's visits; the exact ones of the same leaves stay behind."""
        import pandas as pd

        histories, venues = records.visits()
        notice_cap(self.kind, np.bincount(histories.person), self.cap, "visits")
        found = self.find_patterns(histories, venues, noise)
        region = venues.region()
        lon, lat = region.projection.to_lonlat(x_m=found.x_m, y_m=found.y_m)
        released = pd.DataFrame(
            {"pattern": np.arange(lon.size), "lon": lon, "lat": lat, "visits": found.visits, "side_m": found.side_x_m}
        )
        facts = {"cap": self.cap, "noise_scale": self.count_scale, "epsilon_of_parts": self.parts()}
        return Published(released, {"patterns": _true_patterns(found, histories, venues)}, facts)

    @property
    def count_scale(self) -> float:
        """Scale of the noise on a count."""
        return self.cap * self.depth / self.parts()["counts"]

    def find_patterns(self, histories: Histories, venues: Venues, noise: Noise) -> Patterns:
        """Return the noisy patterns, with noise from `noise` alone."""
        capped = histories.keep_at_most(self.cap, draw_key(noise))
        x_m, y_m = (place[capped.venue] for place in venues.places_m())
        region, parts = venues.region(), self.parts()
        leaf_level, leaf_cell, count = self._grow(region, x_m, y_m, noise)
        west, south, _, _ = region.box_m
        shrink = 2.0 ** -leaf_level.astype(np.float64)
        side_x, side_y = region.width_m * shrink, region.height_m * shrink
        left = west + (leaf_cell & ((1 << leaf_level) - 1)) * side_x
        low = south + (leaf_cell >> leaf_level) * side_y
        sums = [np.zeros(leaf_level.size, dtype=np.int64) for _ in range(2)]
        for level in np.unique(leaf_level).tolist():
            rows = np.flatnonzero(leaf_level == level)
            order = rows[np.argsort(leaf_cell[rows])]
            cell = _cells_at(region, x_m, y_m, level)
            at = np.minimum(np.searchsorted(leaf_cell[order], cell), order.size - 1)
            inside = leaf_cell[order][at] == cell
            leaf = order[at[inside]]
            for total, place, edge, side in ((sums[0], x_m, left, side_x), (sums[1], y_m, low, side_y)):
                off = np.rint((2 * (place[inside] - edge[leaf]) / side[leaf] - 1) * _STEPS).astype(np.int64)
                np.add.at(total, leaf, np.clip(off, -_STEPS, _STEPS))
        if leaf_level.size:
            noisy = laplace_counts(
                np.concatenate(sums),
                epsilon=parts["centroids"],
                sensitivity=2 * _STEPS * self.cap,  # a visit moves one sum across and one along, by a half side each
                noise=noise,
            )
        else:
            noisy = np.empty(0)
        across, along = np.clip(noisy.reshape(2, -1) / np.maximum(count, 1.0) / _STEPS, -1.0, 1.0)
        return Patterns(
            x_m=left + (across + 1) / 2 * side_x,
            y_m=low + (along + 1) / 2 * side_y,
            visits=count,
            west_m=left,
            south_m=low,
            side_x_m=side_x,
            side_y_m=side_y,
        )

    def _grow(self, region: Region, x_m: Array, y_m: Array, noise: Noise) -> tuple[Integers, Integers, Array]:
        """Return level, number (row by row) and noisy count of the leaves that are published."""
        epsilon = self.parts()["counts"] / self.depth
        open_cells, found = np.zeros(1, dtype=np.int64), []
        for level in range(1, self.depth + 1):
            row, column = np.divmod(open_cells, 1 << (level - 1))
            quarter = np.arange(4)
            children = ((2 * row[:, None] + quarter // 2) << level) + 2 * column[:, None] + quarter % 2
            cells = np.sort(children.ravel())
            cell = _cells_at(region, x_m, y_m, level)
            at = np.minimum(np.searchsorted(cells, cell), max(cells.size - 1, 0))
            inside = cells[at] == cell if cells.size else np.zeros(cell.size, dtype=np.bool_)
            exact = np.bincount(at[inside], minlength=cells.size)
            if not cells.size:
                break
            noisy = laplace_counts(exact, epsilon=epsilon, sensitivity=self.cap, noise=noise)
            divides = (noisy > self.divide_above) & (level < self.depth)
            kept = ~divides & (noisy > self.threshold)
            found.append((np.full(int(kept.sum()), level), cells[kept], noisy[kept]))
            open_cells = cells[divides]
        levels, cells, counts = (np.concatenate(column) for column in zip(*found, strict=True))
        return levels, cells, counts

    def expected_error(self) -> tuple[str, dict[str, float]]:
        """Say how large the noise of each number of visits is."""
        scale = self.count_scale
        return f"Each number of visits is wrong by {scale:.4g} on average.", {"mean_absolute_noise": scale}

    def guarantee(self) -> Guarantee:
        """Promise ε for one person."""
        return Guarantee(self.epsilon, Unit.USER, Neighbours.ADD_REMOVE, Trust.CENTRAL)


def _cells_at(region: Region, x_m: Array, y_m: Array, level: int) -> Integers:
    """Return the square of a level that holds each place: row · 2^level + column."""
    west, south, _, _ = region.box_m
    side, last = 1 << level, (1 << level) - 1
    column = np.clip(np.floor((x_m - west) / region.width_m * side), 0, last).astype(np.int64)
    row = np.clip(np.floor((y_m - south) / region.height_m * side), 0, last).astype(np.int64)
    return (row << level) + column


def _true_patterns(found: Patterns, histories: Histories, venues: Venues) -> pd.DataFrame:
    """Return the exact number and mean place of the visits in each published leaf."""
    import pandas as pd

    x_m, y_m = (place[histories.venue] for place in venues.places_m())
    rows = []
    for number in range(found.x_m.size):
        off_x, off_y = x_m - found.west_m[number], y_m - found.south_m[number]
        inside = (off_x >= 0) & (off_x < found.side_x_m[number]) & (off_y >= 0) & (off_y < found.side_y_m[number])
        mean = (float(x_m[inside].mean()), float(y_m[inside].mean())) if inside.any() else (np.nan, np.nan)
        rows.append((number, int(inside.sum()), *mean))
    return pd.DataFrame(rows, columns=["pattern", "visits", "x_m", "y_m"])
