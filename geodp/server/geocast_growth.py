"""Growing the region of one task, cell by cell, until the task is likely to be accepted.

Start with the cell that holds the task; take the best cell among those that touch the region, again and again, until
the chance of enough acceptors reaches the target or no cell is left within the square of the maximum travel distance.
The last cell is cut to the part that is needed. Cost: a heap operation for each cell looked at.

How likely enough workers accept is a matter of `acceptors`: the growth only asks what a cell, or part of it, would add.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from math import hypot, sqrt

import numpy as np

from geodp.public.messages import Rectangle
from geodp.server.acceptors import Acceptors, Look
from geodp.server.cell_graph import CellGraph

SLACK = 0.05
"""The published algorithm cuts the last cell only where success exceeds the target by so much."""
_NEAR = 0.01  # a part whose share changes by less than this share is settled
_ROUNDING = 1e-12
_GAUSS = 0.5 / 3**0.5  # points of Gauss's rule, in sides from the middle: exact for cubics


Place = tuple[float, float]
Cut = tuple[Rectangle, float, float]
"""A part of a cell, its share of the cell's area, and the chance that a worker in it accepts."""


@dataclass(frozen=True, slots=True)
class Grown:
    """A finished region."""

    rectangles: tuple[Rectangle, ...]
    """In the order in which they were taken; the last may be part of a cell."""
    steps: tuple[float, ...]
    """Planned chance of enough acceptors after each of them."""
    workers: float
    """Workers the server counts on inside."""
    noise_variance: float
    """Variance of the noise in that number."""
    variance: float
    """Variance of that number as the server believes in it."""
    acceptors: float
    """How many of them would accept, on average."""

    @property
    def success(self) -> float:
        """Planned chance of enough acceptors (the published utility U)."""
        return self.steps[-1] if self.steps else 0.0


@dataclass(frozen=True)
class Growth:
    """The rules by which regions grow; one object serves all tasks of a batch."""

    graph: CellGraph
    counts: list[float]
    """Workers the server counts on in each cell."""
    empty: Callable[[], Acceptors]
    """Returns the law of the acceptors of a region that is still empty."""
    willing: Callable[[float], float]
    """Probability of acceptance by distance."""
    max_travel_m: float
    target: float
    key: str
    """`utility`, `distance`, `compactness` or `hybrid`."""
    whole_workers: bool
    """Whether everything is as published: whole workers, corner distances, and the formula for the last cell."""
    part_of_last: bool
    only_useful: bool = False
    """Whether cells in which nobody can accept are left out, instead of being taken when no other is left."""
    utility_weight: float = 0.3
    """Share of utility, against compactness, in the key `hybrid`."""

    def grow(self, x_m: float, y_m: float, start: int) -> Grown:
        """Grow the region of a task at a place, from the cell that holds it."""
        law, taken, seen, steps = self.empty(), list[Look](), {start}, list[float]()
        waiting: list[Look] = []
        best = self.look(start, -1, x_m, y_m)
        target = self.target * (1 - _ROUNDING)
        while best is not None:
            success = law.with_more(best)
            if success >= target:
                return self._finish(taken, best, law, steps, (x_m, y_m))
            law.take(best)
            taken.append(best)
            steps.append(success)
            self._push_neighbours(best, seen, waiting, x_m, y_m)
            best = self._next(waiting, taken)
        return self._sum_up(taken, steps, law)

    def look(self, cell: int, parent: int, x_m: float, y_m: float) -> Look | None:
        """Return how a task sees a cell: cut at the square of the maximum travel distance; None if outside it."""
        graph, reach = self.graph, self.max_travel_m
        west, south, east, north = rectangle = graph.rectangle[cell]
        share = 1.0
        if west < x_m - reach or east > x_m + reach or south < y_m - reach or north > y_m + reach:
            west, east = max(west, x_m - reach), min(east, x_m + reach)
            south, north = max(south, y_m - reach), min(north, y_m + reach)
            if east <= west or north <= south:
                return None
            share = (east - west) * (north - south) / graph.area_m2[cell]
            rectangle = (west, south, east, north)
        distance, probability = self.judge(rectangle, x_m, y_m)
        workers = share * self.counts[cell]
        if self.whole_workers:
            workers = float(int(workers))
        useful = workers > 0 and probability > 0
        # The least chance that all decline is the highest utility 1 - (1 - p)^n.
        key = (1.0 - probability) ** workers if useful and self.key == "utility" else distance
        rank = 0 if useful else 1
        return Look(
            rank=rank,
            key=key,
            cell=cell,
            parent=parent,
            probability=probability,
            workers=workers,
            share=share,
            rectangle=rectangle,
        )

    def judge(self, rectangle: Rectangle, x_m: float, y_m: float) -> tuple[float, float]:
        """Return the mean distance to a rectangle, and the chance that a worker somewhere in it accepts.

        As published: the distance to its corners, and the chance at that distance, which is far too low in cells as
        wide as the maximum travel distance. Otherwise the mean over the four points of Gauss's rule.
        """
        if self.whole_workers:
            distance = corner_distance(rectangle, x_m, y_m)
            return distance, self.willing(distance)
        west, south, east, north = rectangle
        x, y = (west + east) / 2 - x_m, (south + north) / 2 - y_m
        wide, high = _GAUSS * (east - west), _GAUSS * (north - south)
        willing, left, right, below, above = self.willing, x - wide, x + wide, y - high, y + high
        a, b, c, d = hypot(left, below), hypot(left, above), hypot(right, below), hypot(right, above)
        return (a + b + c + d) / 4, (willing(a) + willing(b) + willing(c) + willing(d)) / 4

    def _push_neighbours(self, best: Look, seen: set[int], waiting: list[Look], x_m: float, y_m: float) -> None:
        graph = self.graph
        for cell in graph.neighbour[graph.first[best.cell] : graph.first[best.cell + 1]]:
            if cell not in seen:
                seen.add(cell)
                look = self.look(cell, best.cell, x_m, y_m)
                if look is not None:
                    heappush(waiting, look)

    def _next(self, waiting: list[Look], taken: list[Look]) -> Look | None:
        if not waiting or (self.only_useful and waiting[0].rank > 0):
            return None
        if self.key in ("utility", "distance") or waiting[0].rank > 0:
            return heappop(waiting)
        useful = [look for look in waiting if look.rank == 0]
        weight = self.utility_weight if self.key == "hybrid" else 0.0
        utility = [1.0 - (1.0 - look.probability) ** look.workers for look in useful]
        chosen = most_compact([each.rectangle for each in taken], [look.rectangle for look in useful], utility, weight)
        best = useful[chosen]
        waiting.remove(best)
        waiting.sort()  # a sorted list is a heap
        return best

    def _finish(self, taken: list[Look], last: Look, law: Acceptors, steps: list[float], place: Place) -> Grown:
        """Cut the last cell to what is needed, and add it."""
        success = law.with_more(last)
        rectangle, share, probability = last.rectangle, 1.0, last.probability
        if self.part_of_last and self.whole_workers and success >= self.target + SLACK:
            rectangle, share = self._cut_last_cell(taken, last, law, place)
            workers = law.workers_for(self.target, last)
            success = law.with_more(last._replace(workers=workers))
        elif self.part_of_last and not self.whole_workers:
            rectangle, share, probability = self._least_part(taken, last, law, place)
            success = law.with_part(last, share, probability)
        law.take_part(last, share, probability)
        part = last._replace(rectangle=rectangle, workers=share * last.workers)
        return self._sum_up([*taken, part], [*steps, success], law)

    def _cut_last_cell(self, taken: list[Look], last: Look, law: Acceptors, place: Place) -> tuple[Rectangle, float]:
        """Cut the last cell to the area share ⌈ln(1 - u)/ln(1 - p)⌉ / n (rounding down would miss the target)."""
        share = min(law.workers_for(self.target, last) / (last.share * self.counts[last.cell]), 1.0)
        return self._part(taken, last, share, place), share

    def _least_part(self, taken: list[Look], last: Look, law: Acceptors, place: Place) -> Cut:
        """Cut the last cell to the least share that reaches the target.

        A worker of the cell is in the part with chance s, and accepts there with the probability at the part's own
        distance. The part lies nearer than its cell, so each step makes it smaller and keeps the target.
        """
        probability, share, rectangle = last.probability, 1.0, last.rectangle
        for _ in range(8):
            less = law.share_for(self.target, last, probability)
            if less >= share * (1 - _NEAR):
                break
            part = self._part(taken, last, less, place)
            _, nearer = self.judge(part, *place)
            if law.with_part(last, less, nearer) < self.target * (1 - _ROUNDING):
                break  # a part that lies further than its cell on average: keep what is enough
            probability, share, rectangle = nearer, less, part
        return rectangle, share, probability

    def _part(self, taken: list[Look], last: Look, share: float, place: Place) -> Rectangle:
        """Return the part of the last cell around the task, or else around where it touches the region."""
        if last.parent >= 0:
            parent = next(each.rectangle for each in taken if each.cell == last.parent)
            place = nearest_contact(last.rectangle, parent, *place)
        return part_around(last.rectangle, *place, share)

    def _sum_up(self, taken: list[Look], steps: list[float], law: Acceptors) -> Grown:
        noise = 0.0
        for look in taken:
            west, south, east, north = look.rectangle
            share = (east - west) * (north - south) / self.graph.area_m2[look.cell]
            noise += self.graph.noise_variance[look.cell] * share**2
        return Grown(
            rectangles=tuple(look.rectangle for look in taken),
            steps=tuple(steps),
            workers=sum(look.workers for look in taken),
            noise_variance=noise,
            variance=law.variance,
            acceptors=law.mean,
        )


def corner_distance(rectangle: Rectangle, x_m: float, y_m: float) -> float:
    """Return the mean distance from a place to the four corners."""
    west, south, east, north = rectangle[0] - x_m, rectangle[1] - y_m, rectangle[2] - x_m, rectangle[3] - y_m
    return (hypot(west, south) + hypot(west, north) + hypot(east, south) + hypot(east, north)) / 4


_ROUNDING_M = 1e-7  # a side this near to the cell's edge has met it


def part_around(cell: Rectangle, x_m: float, y_m: float, share: float) -> Rectangle:
    """Return the square around a point of the cell, cut at the cell's edges, that covers this share of its area.

    Its width grows with the half side h at rate 2, at rate 1 once it has met one edge, and not at all between two;
    so does its height. Between such meetings the area is a quadratic in h.
    """
    west, south, east, north = cell
    wanted = share * (east - west) * (north - south)
    if share >= 1:
        return cell
    meets = sorted((max(x_m - west, 0.0), max(east - x_m, 0.0), max(y_m - south, 0.0), max(north - y_m, 0.0)))
    reach = 0.0
    for meet in meets:
        if (min(east, x_m + meet) - max(west, x_m - meet)) * (min(north, y_m + meet) - max(south, y_m - meet)) > wanted:
            break
        reach = meet
    left, right = max(west, x_m - reach), min(east, x_m + reach)
    bottom, top = max(south, y_m - reach), min(north, y_m + reach)
    width, height = right - left, top - bottom
    # Sides that have not met an edge yet move on.
    wider = (left > west + _ROUNDING_M) + (right < east - _ROUNDING_M)
    higher = (bottom > south + _ROUNDING_M) + (top < north - _ROUNDING_M)
    a, b, c = float(wider * higher), wider * height + higher * width, width * height - wanted
    more = 0.0
    if a > 0:
        more = (-b + sqrt(max(b * b - 4 * a * c, 0.0))) / (2 * a)
    elif b > 0:
        more = -c / b
    reach += max(more, 0.0)
    return max(west, x_m - reach), max(south, y_m - reach), min(east, x_m + reach), min(north, y_m + reach)


def nearest_contact(cell: Rectangle, other: Rectangle, x_m: float, y_m: float) -> tuple[float, float]:
    """Return the point of the edge that two touching rectangles share which is nearest to a place."""
    low_x, high_x = max(cell[0], other[0]), min(cell[2], other[2])
    low_y, high_y = max(cell[1], other[1]), min(cell[3], other[3])
    return _within(x_m, low_x, high_x), _within(y_m, low_y, high_y)


def _within(value: float, low: float, high: float) -> float:
    """Return the value, moved into the interval; one turned around by rounding is its middle."""
    if low > high:
        return (low + high) / 2
    return min(max(value, low), high)


def most_compact(
    region: Sequence[Rectangle], candidates: Sequence[Rectangle], utility: Sequence[float], utility_weight: float
) -> int:
    """Return the candidate with the highest weight · utility + (1 - weight) · compactness of the region with it."""
    import shapely

    edges = np.array([*region, *candidates])
    corners = np.stack([edges[:, [0, 0, 2, 2]], edges[:, [1, 3, 1, 3]]], axis=2)
    area = (edges[:, 2] - edges[:, 0]) * (edges[:, 3] - edges[:, 1])
    taken, more = corners[: len(region)].reshape(1, -1, 2), corners[len(region) :]
    radius = shapely.minimum_bounding_radius(shapely.multipoints(np.concatenate([taken.repeat(len(more), 0), more], 1)))
    compactness = (area[: len(region)].sum() + area[len(region) :]) / (np.pi * radius**2)
    return int(np.argmax(utility_weight * np.asarray(utility) + (1 - utility_weight) * compactness))
