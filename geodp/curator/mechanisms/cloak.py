"""Rectangles that hold k people at least, by an anonymiser who sees everyone: a baseline without a promise."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from geodp.curator.mechanisms import Mechanism, Snapshot
from geodp.errors import DataError, NotReleasable
from geodp.geometry import Array, Grid
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Guarantee, Neighbours
from geodp.public.place_sets import Cloaks
from geodp.public.tree_metric import PublicTree

Integers = npt.NDArray[np.int64]
Edges = tuple[Array, Array, Array, Array]
WHY = (
    "no ε is claimed: a cloak follows exactly from where everyone is, its size tells how dense people are, and the k "
    "people inside need not have sent the same one"
)


class Cloak(Mechanism):
    """A rectangle with at least k people in it, instead of each person's place (k-anonymity): no ε is claimed.

    `quadtree`: the smallest square of a quadtree that holds k people. `grid`: rows and columns are added to one's own
    cell, always those with most people, until there are k. `clique`: requests wait until k of them lie within reach of
    one another, and share their bounding box; those who wait in vain are not sent. An anonymiser has to see everyone's
    place, so cloaks are made where the curator is, and the server gets a rectangle under each person's name.

    Guarantee
    ---------
    None: no ε is claimed. The rectangle follows exactly from everyone's places. Nor is it shared by k people: of A and
    B in one square and C alone in the next, with k = 2, C alone sends the square above, so whoever sends that one is C
    (`cloak_set_below_k` counts such people). The middle of a square errs .3826 sides on average, if places in it are
    alike.

    Reference
    ---------
    [recalled] quadtree: Mokbel, Chow, Aref 2006, The new Casper; Gruteser, Grunwald 2003. grid: Bamba, Liu, Pesti, Wang
    2008, PrivacyGrid. clique: Gedik, Liu 2008, Protecting location privacy with personalized k-anonymity; our search
    for a clique is exact, because boxes that reach one another form a square.
    """

    kind: ClassVar[str] = "cloak"
    releases: ClassVar[frozenset[str]] = frozenset({"cloaks"})
    absent: ClassVar[Mapping[str, str]] = {"noise": "a cloak has none, and promises nothing"}

    k: int = Field(default=10, ge=1)
    """Least number of people inside a rectangle, its sender among them."""
    method: Literal["quadtree", "grid", "clique"] = "quadtree"
    """How rectangles are found."""
    cell_m: float = Field(default=100.0, gt=0)
    """Side of the smallest squares at most (`quadtree`), or of the cells (`grid`), metres."""
    reach_m: float = Field(default=500.0, gt=0)
    """How far a rectangle may reach from each of those who share it, east to west and north to south (`clique`, m)."""
    wait_s: float = Field(default=300.0, gt=0)
    """How long a request waits for others (`clique`, s)."""
    requests_over_s: float = Field(default=600.0, gt=0)
    """Requests of one release come in at random over so many seconds (`clique`)."""

    def idle_fields(self) -> dict[str, str]:
        """Return the fields of the other methods."""
        if self.method == "clique":
            return {"cell_m": "with method: clique"}
        return dict.fromkeys(("reach_m", "wait_s", "requests_over_s"), f"with method: {self.method}")

    def release(self, snapshot: Snapshot, noise: Noise) -> Any:
        """Return `Cloaks`: a rectangle under the name of each person, in the order of the names."""
        if noise.releasable:
            raise NotReleasable(f"cloak promises nothing: {WHY}. It must not be released.")
        if snapshot.x_m.size < self.k:
            raise DataError(
                f"cloak: {snapshot.x_m.size:,} people are fewer than k = {self.k:,}: no rectangle holds so many. Use a "
                "smaller k. Nothing was released."
            )
        sent, edges = self.cover(snapshot, noise)
        names = np.arange(snapshot.x_m.size).astype(np.str_) if snapshot.names is None else snapshot.names
        order = sent[np.argsort(names[sent], kind="stable")]
        west, south, east, north = (edge[order] for edge in edges)
        return Cloaks(
            time_s=snapshot.time_s,
            mechanism=self.kind,
            guarantee=self.guarantee(snapshot.neighbours, snapshot.counts),
            who=names[order],
            x_m=(west + east) / 2,
            y_m=(south + north) / 2,
            channel=None,
            floor_per_m2=snapshot.floor_per_m2,
            west_m=west,
            south_m=south,
            east_m=east,
            north_m=north,
            k=self.k,
        )

    def cover(self, snapshot: Snapshot, noise: Noise) -> tuple[Integers, Edges]:
        """Return the rows of people whose rectangle is sent, and everyone's rectangles."""
        x_m, y_m = snapshot.region.clamp(snapshot.x_m, snapshot.y_m)
        everyone = np.arange(x_m.size)
        if self.method == "quadtree":
            return everyone, cover_by_quadtree(PublicTree.over(snapshot.region.box_m, self.cell_m), x_m, y_m, self.k)
        if self.method == "grid":
            return everyone, cover_by_grid(Grid.fit(snapshot.region, self.cell_m), x_m, y_m, self.k)
        arrived_s = noise.uniform(x_m.size) * self.requests_over_s
        groups = find_cliques(x_m, y_m, arrived_s, k=self.k, reach_m=self.reach_m, wait_s=self.wait_s)
        edges = tuple(np.zeros(x_m.size) for _ in range(4))
        for group in groups:
            box = (x_m[group].min(), y_m[group].min(), x_m[group].max(), y_m[group].max())
            for edge, value in zip(edges, box, strict=True):
                edge[group] = value
        sent = np.concatenate([np.empty(0, dtype=np.int64), *groups])
        return np.sort(sent), (edges[0], edges[1], edges[2], edges[3])

    def guarantee(
        self,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,  # noqa: ARG002
        counts: str = "all",  # noqa: ARG002
    ) -> Guarantee:
        """Promise nothing."""
        return Guarantee.none(WHY)


def cover_by_quadtree(tree: PublicTree, x_m: Array, y_m: Array, k: int) -> Edges:
    """Return, for each person, the smallest square of the tree around her that holds k people."""
    leaf = tree.locate(x_m, y_m)
    column, row = leaf & (tree.grid.columns - 1), leaf >> tree.levels
    level = np.full(leaf.size, tree.levels)
    for up in range(tree.levels, -1, -1):
        square = (row >> up) << tree.levels | (column >> up)
        _, same, people = np.unique(square, return_inverse=True, return_counts=True)
        level[people[same.ravel()] >= k] = up  # from the root down: the last one that holds enough counts
    wide, high = tree.grid.cell_x_m * 2.0**level, tree.grid.cell_y_m * 2.0**level
    west = tree.box_m[0] + (column >> level) * wide
    south = tree.box_m[1] + (row >> level) * high
    return west, south, west + wide, south + high


def cover_by_grid(grid: Grid, x_m: Array, y_m: Array, k: int) -> Edges:
    """Return, for each person, her cell with rows and columns added, those with most people first, until it holds k."""
    own, cell = np.unique(grid.locate(x_m, y_m), return_inverse=True)
    table = grid.count(x_m, y_m).reshape(grid.rows, grid.columns)
    sums = np.pad(table.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))

    def inside(box: Integers) -> Integers:
        """Count the people between the first and before the last column and row."""
        first_column, first_row, last_column, last_row = np.clip(box, 0, limits)
        whole = sums[last_row, last_column] - sums[first_row, last_column]
        return np.asarray(whole - sums[last_row, first_column] + sums[first_row, first_column])

    limits = np.array([grid.columns, grid.rows, grid.columns, grid.rows])[:, None]
    box = np.stack([own % grid.columns, own // grid.columns, own % grid.columns + 1, own // grid.columns + 1])
    steps = np.array([[-1, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 1]])  # west, east, south, north
    while (small := np.flatnonzero(inside(box) < k)).size:
        part = box[:, small]
        grown = [part + step[:, None] for step in steps]
        narrow = part[2] - part[0] <= part[3] - part[1]  # of equal gains the shorter side grows
        value = np.stack([2 * inside(one) + (narrow if side < 2 else ~narrow) for side, one in enumerate(grown)])
        possible = np.stack([np.all((one >= 0) & (one <= limits), axis=0) for one in grown])
        best = np.where(possible, value, -1).argmax(axis=0)
        box[:, small] += steps[best].T
    first_column, first_row, last_column, last_row = box[:, cell.ravel()]
    west, south = grid.west_m + first_column * grid.cell_x_m, grid.south_m + first_row * grid.cell_y_m
    return west, south, grid.west_m + last_column * grid.cell_x_m, grid.south_m + last_row * grid.cell_y_m


def find_cliques(x_m: Array, y_m: Array, arrived_s: Array, *, k: int, reach_m: float, wait_s: float) -> list[Integers]:
    """Return groups of k requests that all lie within reach of one another, in the order in which they were found.

    Whoever comes looks among those who wait. Requests within reach of one another fit into a square of that side, so
    only squares whose western and southern edges run through a request need be looked at. Nobody waits in a group of
    k, since it would have left: a square holds k - 1 who wait at most.
    """
    waiting: dict[tuple[int, int], list[int]] = defaultdict(list)
    groups: list[Integers] = []
    for new in np.argsort(arrived_s, kind="stable").tolist():
        column, row = math.floor(x_m[new] / reach_m), math.floor(y_m[new] / reach_m)
        squares = [(column + i, row + j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
        for square in squares:
            if square in waiting:
                waiting[square] = [one for one in waiting[square] if arrived_s[one] >= arrived_s[new] - wait_s]
        near = np.array([new, *(one for square in squares for one in waiting.get(square, ()))], dtype=np.int64)
        group = _smallest_square(x_m[near], y_m[near], k, reach_m)
        if group is None:
            waiting[column, row].append(new)
            continue
        groups.append(near[group])
        gone = set(near[group].tolist())
        for square in squares:
            if square in waiting:
                waiting[square] = [one for one in waiting[square] if one not in gone]
    return groups


def _smallest_square(x_m: Array, y_m: Array, k: int, reach_m: float) -> Integers | None:
    """Return k places, the first among them, that fit into a square of side `reach_m`; those with the smallest box."""
    within = np.flatnonzero((np.abs(x_m - x_m[0]) <= reach_m) & (np.abs(y_m - y_m[0]) <= reach_m))
    if within.size < k:
        return None
    x, y = x_m[within], y_m[within]
    in_x = (x >= x[:, None]) & (x <= x[:, None] + reach_m)  # a row per western edge
    in_y = (y >= y[:, None]) & (y <= y[:, None] + reach_m)
    best, smallest = None, math.inf
    for column in np.flatnonzero(in_x[:, 0]).tolist():
        for row in np.flatnonzero(in_y[:, 0]).tolist():
            inside = np.flatnonzero(in_x[column] & in_y[row])
            if inside.size >= k:
                around = float(np.ptp(x[inside]) + np.ptp(y[inside]))
                if around < smallest:
                    best, smallest = inside, around
    return None if best is None else within[best]
