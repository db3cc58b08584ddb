"""Growing the region of one task, cell by cell, until the task is likely to be accepted.

Start with the cell that holds the task; take the best cell among those that touch the region, again and again, until
the chance of enough acceptors reaches the target or no cell is left within the square of the maximum travel distance.
The last cell is cut to the part that is needed. Cost: a heap operation for each cell looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from math import hypot
from typing import NamedTuple

from geodp.public.messages import Rectangle
from geodp.server.acceptors import Acceptors, acceptors
from geodp.server.cell_graph import CellGraph
from geodp.server.compact_choice import most_compact
from geodp.server.effective_counts import BelievedCounts
from geodp.server.part_of_cell import nearest_contact, part_around

SLACK = 0.05
"""The published algorithm cuts the last cell only where success exceeds the target by so much."""
_NEAR = 0.01  # a part whose share changes by less than this share is settled
_ROUNDING = 1e-12
_GAUSS = 0.5 / 3**0.5  # points of Gauss's rule, in sides from the middle: exact for cubics


class Look(NamedTuple):
    """A cell as one task sees it. Sorted by rank, then key: cells without believed workers come last."""

    rank: int
    key: float
    cell: int
    parent: int
    """The cell of the region through which it was found (-1: it holds the task)."""
    probability: float
    """Chance that one of its workers accepts."""
    workers: float
    """Workers the server counts on in the part within the travel square."""
    rectangle: Rectangle


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

    @property
    def success(self) -> float:
        """Planned chance of enough acceptors (the published utility U)."""
        return self.steps[-1] if self.steps else 0.0


@dataclass(frozen=True)
class Growth:
    """The rules by which regions grow; one object serves all tasks of a batch."""

    graph: CellGraph
    believed: BelievedCounts
    willing: Callable[[float], float]
    """Probability of acceptance by distance."""
    max_travel_m: float
    target: float
    key: str
    """`utility`, `distance`, `compactness` or `hybrid`."""
    whole_workers: bool
    """Whether everything is as published: whole workers, corner distances, and the formula for the last cell."""
    part_of_last: bool
    needed: int = 1
    """Workers who must accept."""
    utility_weight: float = 0.3
    """Share of utility, against compactness, in the key `hybrid`."""

    def grow(self, x_m: float, y_m: float, start: int) -> Grown:
        """Grow the region of a task at a place, from the cell that holds it."""
        law, taken, seen, steps = acceptors(self.needed), list[Look](), {start}, list[float]()
        waiting: list[Look] = []
        best = self.look(start, -1, x_m, y_m)
        target = self.target * (1 - _ROUNDING)
        while best is not None:
            if law.with_more(best.workers, best.probability) >= target:
                return self._finished(taken, best, law, steps, x_m, y_m)
            law.take(best.workers, best.probability)
            taken.append(best)
            steps.append(law.success)
            self._push_neighbours(best, seen, waiting, x_m, y_m)
            best = self._next(waiting, taken)
        return self._sum_up([(each.cell, each.rectangle, 1.0) for each in taken], taken, steps)

    def look(self, cell: int, parent: int, x_m: float, y_m: float) -> Look | None:
        """Return how a task sees a cell: cut at the square of the maximum travel distance; None if outside it."""
        graph, reach = self.graph, self.max_travel_m
        west, south, east, north = graph.west_m[cell], graph.south_m[cell], graph.east_m[cell], graph.north_m[cell]
        share = 1.0
        if west < x_m - reach or east > x_m + reach or south < y_m - reach or north > y_m + reach:
            whole = (east - west) * (north - south)
            west, east = max(west, x_m - reach), min(east, x_m + reach)
            south, north = max(south, y_m - reach), min(north, y_m + reach)
            if east <= west or north <= south:
                return None
            share = (east - west) * (north - south) / whole
        rectangle = (west, south, east, north)
        distance, probability = self.judge(rectangle, x_m, y_m)
        workers = share * max(self.believed.at_zero[cell] - self.believed.fall[cell] * probability, 0.0)
        if self.whole_workers:
            workers = float(int(workers))
        useful = workers > 0 and probability > 0
        # The least chance that all decline is the highest utility 1 - (1 - p)^n.
        key = (1.0 - probability) ** workers if useful and self.key == "utility" else distance
        return Look(0 if useful else 1, key, cell, parent, probability, workers, rectangle)

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
        willing = self.willing
        a, b = hypot(x - wide, y - high), hypot(x - wide, y + high)
        c, d = hypot(x + wide, y - high), hypot(x + wide, y + high)
        return (a + b + c + d) / 4, (willing(a) + willing(b) + willing(c) + willing(d)) / 4

    def _push_neighbours(self, best: Look, seen: set[int], waiting: list[Look], x_m: float, y_m: float) -> None:
        graph = self.graph
        for cell in graph.neighbour[graph.first[best.cell] : graph.first[best.cell + 1]]:
            if cell in seen:
                continue
            seen.add(cell)
            look = self.look(cell, best.cell, x_m, y_m)
            if look is not None:
                heappush(waiting, look)

    def _next(self, waiting: list[Look], taken: list[Look]) -> Look | None:
        if not waiting:
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

    def _finished(
        self, taken: list[Look], last: Look, law: Acceptors, steps: list[float], x_m: float, y_m: float
    ) -> Grown:
        """Cut the last cell to what is needed, and add it."""
        success = law.with_more(last.workers, last.probability)
        rectangle, share = last.rectangle, 1.0
        if self.part_of_last and self.whole_workers and success >= self.target + SLACK:
            rectangle, share, success = self._published_part(taken, last, law, x_m, y_m)
        elif self.part_of_last and not self.whole_workers:
            rectangle, share, success = self._least_part(taken, last, law, x_m, y_m)
        pieces = [(each.cell, each.rectangle, 1.0) for each in taken]
        return self._sum_up([*pieces, (last.cell, rectangle, share)], [*taken, last], [*steps, success])

    def _published_part(
        self, taken: list[Look], last: Look, law: Acceptors, x_m: float, y_m: float
    ) -> tuple[Rectangle, float, float]:
        """Cut the last cell to the area share ⌈ln(1 - u)/ln(1 - p)⌉ / n (rounding down would miss the target)."""
        workers = law.workers_for(self.target, last.probability, int(last.workers))
        share = min(workers / self._released(last), 1.0)
        return self._part(taken, last, share, x_m, y_m), share, law.with_more(workers, last.probability)

    def _least_part(
        self, taken: list[Look], last: Look, law: Acceptors, x_m: float, y_m: float
    ) -> tuple[Rectangle, float, float]:
        """Cut the last cell to the least share that reaches the target.

        A worker of the cell is in the part with chance s, and accepts there with the probability at the part's own
        distance. The part lies nearer than its cell, so each step makes it smaller and keeps the target.
        """
        probability, share, rectangle = last.probability, 1.0, last.rectangle
        for _ in range(8):
            less = law.share_for(self.target, last.workers, probability)
            if less >= share * (1 - _NEAR):
                break
            part = self._part(taken, last, less, x_m, y_m)
            _, nearer = self.judge(part, x_m, y_m)
            if law.with_more(last.workers, less * nearer) < self.target * (1 - _ROUNDING):
                break  # a part that lies further than its cell on average: keep what is enough
            probability, share, rectangle = nearer, less, part
        return rectangle, share, law.with_more(last.workers, share * probability)

    def _part(self, taken: list[Look], last: Look, share: float, x_m: float, y_m: float) -> Rectangle:
        """Return the part of the last cell around the task, or else around where it touches the region."""
        if last.parent < 0:
            return part_around(last.rectangle, x_m, y_m, share)
        parent = next(each.rectangle for each in taken if each.cell == last.parent)
        return part_around(last.rectangle, *nearest_contact(last.rectangle, parent, x_m, y_m), share)

    def _released(self, look: Look) -> float:
        """Return the believed count of the cell's part in the square, before it was cut to whole workers."""
        graph, cell = self.graph, look.cell
        whole = (graph.east_m[cell] - graph.west_m[cell]) * (graph.north_m[cell] - graph.south_m[cell])
        west, south, east, north = look.rectangle
        count = self.believed.at_zero[cell] - self.believed.fall[cell] * look.probability
        return count * (east - west) * (north - south) / whole

    def _sum_up(self, pieces: list[tuple[int, Rectangle, float]], looks: list[Look], steps: list[float]) -> Grown:
        workers = sum(share * look.workers for (_, _, share), look in zip(pieces, looks, strict=True))
        variance = 0.0
        for cell, (west, south, east, north), _ in pieces:
            noise = self.graph.noise_variance[cell]
            if noise > 0:
                graph = self.graph
                whole = (graph.east_m[cell] - graph.west_m[cell]) * (graph.north_m[cell] - graph.south_m[cell])
                variance += noise * ((east - west) * (north - south) / whole) ** 2
        rectangles = tuple(rectangle for _, rectangle, _ in pieces)
        return Grown(rectangles, tuple(steps), workers, variance)


def corner_distance(rectangle: Rectangle, x_m: float, y_m: float) -> float:
    """Return the mean distance from a place to the four corners."""
    west, south, east, north = rectangle[0] - x_m, rectangle[1] - y_m, rectangle[2] - x_m, rectangle[3] - y_m
    return (hypot(west, south) + hypot(west, north) + hypot(east, south) + hypot(east, north)) / 4
