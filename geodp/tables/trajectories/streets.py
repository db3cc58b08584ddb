"""A street-like network without any map: blocks, arterial roads, closed streets, and quickest ways on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.errors import UsageError
from geodp.geometry import Array, Region

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
_ARTERIAL_EVERY = 5  # streets
_ARTERIAL_MPS = 15.0
_STREET_MPS = 8.0
_CLOSED_SHARE = 0.12  # of the ordinary streets' blocks
_JITTER = 0.12  # of a block
_BEND = 0.5  # blocks: how far streets wander from straight lines
_WALKERS = 1 << 14  # ways traced at once


@dataclass(frozen=True, eq=False)
class Streets:
    """Crossings and the streets between neighbouring ones; every crossing can be reached from every other."""

    x_m: Array
    y_m: Array
    row: Integers
    column: Integers
    tail: Integers
    """One end of each street, by number of the crossing."""
    head: Integers

    @property
    def size(self) -> int:
        """Number of crossings."""
        return int(self.x_m.size)

    def travel_s(self, tail: Integers, head: Integers) -> Array:
        """Return the time from crossings to neighbouring ones on a free road."""
        same_row, same_column = self.row[tail] == self.row[head], self.column[tail] == self.column[head]
        arterial = (same_row & _is_arterial(self.row[tail])) | (same_column & _is_arterial(self.column[tail]))
        length_m = np.hypot(self.x_m[tail] - self.x_m[head], self.y_m[tail] - self.y_m[head])
        return length_m / np.where(arterial, _ARTERIAL_MPS, _STREET_MPS)

    def quickest(self, targets: Integers, rng: np.random.Generator, spread: float) -> npt.NDArray[np.int32]:
        """Return, per target and crossing, the next crossing on the quickest way there (the target itself: -9999).

        `spread` is the standard deviation of the logarithm of travel times: what traffic does to them today.
        """
        from scipy.sparse.csgraph import dijkstra

        time_s = self.travel_s(self.tail, self.head) * rng.lognormal(0.0, spread, self.tail.size)
        graph = _symmetric(self.tail, self.head, time_s, self.size)
        _, following = dijkstra(graph, directed=True, indices=targets, return_predecessors=True)
        return np.asarray(following, dtype=np.int32)


def street_network(region: Region, rng: np.random.Generator, block_m: float = 250.0) -> Streets:
    """Lay out streets over the whole region: bent rows and columns, every fifth an arterial, some blocks closed."""
    columns, rows = int(region.width_m // block_m), int(region.height_m // block_m)
    if columns < 3 or rows < 3:
        raise UsageError(
            f"the region is too small for streets {block_m:g} m apart: it measures {region.width_m:.0f} m by "
            f"{region.height_m:.0f} m; give a block of at most {min(region.width_m, region.height_m) / 4:.0f} m"
        )
    x_m, y_m = _crossings(region, columns, rows, rng)
    number = np.arange(columns * rows).reshape(rows, columns)
    tail = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    head = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    row, column = np.divmod(np.arange(columns * rows), columns)
    along_row = row[tail] == row[head]
    arterial = np.where(along_row, _is_arterial(row[tail]), _is_arterial(column[tail]))
    is_open = arterial | (rng.random(tail.size) >= _CLOSED_SHARE)
    inside = region.contains(x_m, y_m)
    is_open &= inside[tail] & inside[head]
    is_open &= region.contains((x_m[tail] + x_m[head]) / 2, (y_m[tail] + y_m[head]) / 2)
    kept = _connected(tail[is_open], head[is_open], x_m.size)
    renumbered = np.cumsum(kept) - 1
    is_open &= kept[tail] & kept[head]
    return Streets(
        x_m[kept], y_m[kept], row[kept], column[kept], renumbered[tail[is_open]], renumbered[head[is_open]]
    )  # fmt: skip


def trace(following: npt.NDArray[np.int32], origin: Integers, target: Integers) -> tuple[Integers, Integers]:
    """Follow the quickest ways from crossings to targets (by row of `following`).

    Returns offsets and the crossings passed, both ends included: way i owns crossings `first[i]` to
    `first[i + 1] - 1`.
    """
    counts, nodes = [np.zeros(1, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for begin in range(0, origin.size, _WALKERS):
        block = slice(begin, begin + _WALKERS)
        count, passed = _trace_block(following, origin[block], target[block])
        counts.append(count)
        nodes.append(passed)
    return np.cumsum(np.concatenate(counts)), np.concatenate(nodes)


def _trace_block(
    following: npt.NDArray[np.int32], origin: Integers, target: Integers
) -> tuple[Integers, Integers]:  # fmt: skip
    walker, at = np.arange(origin.size), origin
    who, where, when = [walker], [at], [np.zeros(walker.size, dtype=np.int64)]
    while walker.size:
        at = following[target[walker], at].astype(np.int64)
        going = at >= 0
        walker, at = walker[going], at[going]
        who.append(walker)
        where.append(at)
        when.append(np.full(walker.size, len(when)))
    walkers, nodes, step = np.concatenate(who), np.concatenate(where), np.concatenate(when)
    return np.bincount(walkers, minlength=origin.size), nodes[np.lexsort((step, walkers))]


def _is_arterial(line: Integers) -> Mask:
    return np.asarray(line % _ARTERIAL_EVERY == _ARTERIAL_EVERY // 2)


def _crossings(region: Region, columns: int, rows: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Place crossings on a grid whose lines bend slowly and whose corners are not quite regular."""
    west, south, east, north = region.box_m
    block_x, block_y = (east - west) / columns, (north - south) / rows
    row, column = np.divmod(np.arange(columns * rows), columns)
    phase = rng.uniform(0, 2 * np.pi, 2)
    bend_x = _BEND * np.sin(2 * np.pi * row / rows + phase[0])
    bend_y = _BEND * np.sin(2 * np.pi * column / columns + phase[1])
    jitter = rng.uniform(-_JITTER, _JITTER, (2, row.size))
    x_m = west + (column + 0.5 + bend_x + jitter[0]) * block_x
    y_m = south + (row + 0.5 + bend_y + jitter[1]) * block_y
    margin = 1e-6  # crossings on the edge of the box stay inside it
    return np.clip(x_m, west + margin, east - margin), np.clip(y_m, south + margin, north - margin)


def _symmetric(tail: Integers, head: Integers, weight: Array, size: int) -> Any:
    from scipy.sparse import csr_array

    ends = np.concatenate([tail, head]), np.concatenate([head, tail])
    return csr_array((np.concatenate([weight, weight]), ends), shape=(size, size))


def _connected(tail: Integers, head: Integers, size: int) -> Mask:
    """Tell which crossings belong to the largest connected part."""
    from scipy.sparse.csgraph import connected_components

    _, part = connected_components(_symmetric(tail, head, np.ones(tail.size), size), directed=False)
    return np.asarray(part == np.bincount(part).argmax())
