"""Whom offers mean: everyone in a circle or region, or by name, and in which round each of them is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array
from geodp.public.messages import Circle, GeocastRegion, Named, Offer, Task
from geodp.simulation.range_join import range_join, rectangle_join
from geodp.streams import Streams

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class People:
    """Where everyone is at one moment, and who is on the way to a task."""

    x_m: Array
    y_m: Array
    busy: npt.NDArray[np.bool_]
    time_s: float = 0.0


Found = tuple[Ids, Ids, Array]
"""Rows of whom offers mean: number of the offer, worker, distance to the task."""


NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Meant:
    """Whom the offers of a batch mean, in order of offer and then of worker, and in which round each of them is asked.

    People and order stay those of the first moment: a later round asks on along the same secret order.
    """

    tasks: list[Task]
    offers: list[Offer]
    index: Ids
    """Number of the offer, row by row."""
    worker: Ids
    round: Ids
    """0, 1, …; `NEVER` for those whom a cap or a phone's own draw leaves out."""
    inside: Ids
    """Idle people inside each offer's target."""

    @property
    def rounds(self) -> int:
        """How many rounds the longest offer has."""
        return max((max(len(offer.caps), len(offer.shares), 1) for offer in self.offers), default=0)

    def in_round(self, number: int, is_open: Callable[[int], bool]) -> tuple[list[int], Ids]:
        """Return the offers that go on in a round, and the rows that matter to it: those asked, or thinning out."""
        going = [
            place
            for place, offer in enumerate(self.offers)
            if (number == 0 or number < max(len(offer.caps), len(offer.shares))) and is_open(offer.task)
        ]
        wanted = np.zeros(len(self.offers), dtype=np.bool_)
        wanted[going] = True
        thinned = np.array([bool(offer.shares) for offer in self.offers], dtype=np.bool_)
        rows = wanted[self.index] & ((self.round == number) | thinned[self.index])
        return going, np.flatnonzero(rows)


def find_meant(
    tasks: Sequence[Task],
    offers: Sequence[Offer],
    people: People,
    workers_of: Callable[[tuple[str, ...]], Ids],
    streams: Streams,
    asked_before: Mapping[int, Ids] | None = None,
) -> Meant:
    """Find everyone whom each offer means.

    Parameters
    ----------
    tasks, offers
        What is offered, and to whom, in the same order.
    people
        Everyone, now.
    workers_of
        Returns the workers behind pseudonyms.
    streams
        Where the secret draws by worker and task come from.
    asked_before
        Workers asked about a task in an earlier offer, ascending: a cap never asks them again.
    """
    targets = [offer.target for offer in offers]
    found = [
        _in_circles([(i, target) for i, target in enumerate(targets) if isinstance(target, Circle)], tasks, people),
        _in_regions(
            [(i, target) for i, target in enumerate(targets) if isinstance(target, GeocastRegion)], tasks, people
        ),
        _by_name(
            [(i, workers_of(target.pseudonyms)) for i, target in enumerate(targets) if isinstance(target, Named)],
            tasks,
            people,
        ),
    ]
    index, worker, distance = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.lexsort((worker, index))  # by task, then worker: not the order of the search
    index, worker, distance = index[order], worker[order], distance[order]
    inside = np.bincount(index[~people.busy[worker]], minlength=len(offers))
    task = np.array([one.task for one in tasks], dtype=np.int64)
    number = np.zeros(index.size, dtype=np.int64)
    capped = np.array([bool(offer.caps) for offer in offers], dtype=np.bool_)
    thinned = np.array([bool(offer.shares) for offer in offers], dtype=np.bool_)
    if capped.any():
        rows = np.flatnonzero(capped[index])
        fresh = ~people.busy[worker[rows]] & _never_asked(task[index[rows]], worker[rows], asked_before or {})
        number[rows[~fresh]] = NEVER
        rows = rows[fresh]
        by_distance = np.array([offer.nearest_first for offer in offers], dtype=np.bool_)
        key = streams.uniform("curator.order", worker[rows], task[index[rows]])
        key = np.where(by_distance[index[rows]], distance[rows], key)
        number[rows] = _rounds_of_ranks(_ranks(index[rows], key), index[rows], [offer.caps for offer in offers])
    if thinned.any():
        rows = np.flatnonzero(thinned[index])
        draw = streams.uniform("phone.take_part", worker[rows], task[index[rows]])
        round_of = _rounds_of_draws(draw, index[rows], [offer.shares for offer in offers])
        fresh = _never_asked(task[index[rows]], worker[rows], asked_before or {})
        number[rows] = np.where(fresh, round_of, NEVER)
    keep = (number != NEVER) | thinned[index]
    return Meant(
        tasks=list(tasks),
        offers=list(offers),
        index=index[keep],
        worker=worker[keep],
        round=number[keep],
        inside=inside,
    )


def _never_asked(task: Ids, worker: Ids, asked_before: Mapping[int, Ids]) -> npt.NDArray[np.bool_]:
    fresh = np.ones(task.size, dtype=np.bool_)
    for one in set(asked_before) & set(np.unique(task).tolist()):
        rows = task == one
        fresh[rows] = ~np.isin(worker[rows], asked_before[one])
    return fresh


def _ranks(index: Ids, key: Array) -> Ids:
    """Return the place of each row among those of its offer, by key."""
    order = np.lexsort((key, index))
    start = np.searchsorted(index[order], index[order], side="left")
    rank = np.empty(index.size, dtype=np.int64)
    rank[order] = np.arange(index.size) - start
    return rank


def _rounds_of_ranks(rank: Ids, index: Ids, caps: list[tuple[int, ...]]) -> Ids:
    """Return the first round whose cap is above each rank."""
    longest = max(len(cap) for cap in caps)
    table = np.array([[*cap, *([NEVER] * (longest - len(cap)))] for cap in caps], dtype=np.int64)
    last = np.array([cap[-1] if cap else 0 for cap in caps], dtype=np.int64)
    number = (rank[:, None] >= table[index]).sum(axis=1)
    return np.where(rank < last[index], number, NEVER)


def _rounds_of_draws(draw: Array, index: Ids, shares: list[tuple[float, ...]]) -> Ids:
    """Return the first round whose share is above each phone's draw."""
    longest = max(len(share) for share in shares)
    table = np.array([[*share, *([2.0] * (longest - len(share)))] for share in shares])
    last = np.array([share[-1] if share else 0.0 for share in shares])
    number = (draw[:, None] >= table[index]).sum(axis=1)
    return np.where(draw < last[index], number, NEVER)


def _in_circles(circles: list[tuple[int, Circle]], tasks: Sequence[Task], people: People) -> Found:
    number = np.array([i for i, _ in circles], dtype=np.int64)
    centre_x, centre_y = _places(tasks, number)
    radius = np.array([circle.radius_m for _, circle in circles])
    circle, worker, distance = range_join(people.x_m, people.y_m, centre_x, centre_y, radius)
    return number[circle], worker, distance


def _in_regions(regions: list[tuple[int, GeocastRegion]], tasks: Sequence[Task], people: People) -> Found:
    """Find everyone inside each region, once, also where its rectangles share an edge or overlap."""
    rectangles = np.array([rectangle for _, region in regions for rectangle in region.rectangles]).reshape(-1, 4)
    owner = _repeat_numbers([(i, len(region.rectangles)) for i, region in regions])
    number, worker = rectangle_join(people.x_m, people.y_m, rectangles)
    pair = np.unique(owner[number] * people.x_m.size + worker)
    return with_distance(pair // people.x_m.size, pair % people.x_m.size, tasks, people)


def _by_name(named: list[tuple[int, Ids]], tasks: Sequence[Task], people: People) -> Found:
    index = _repeat_numbers([(i, workers.size) for i, workers in named])
    worker = np.concatenate([np.empty(0, dtype=np.int64), *(workers for _, workers in named)])
    return with_distance(index, worker, tasks, people)


def with_distance(index: Ids, worker: Ids, tasks: Sequence[Task], people: People) -> Found:
    """Return rows of offer and worker with the distance to the offer's task."""
    centre_x, centre_y = _places(tasks, index)
    return index, worker, np.hypot(people.x_m[worker] - centre_x, people.y_m[worker] - centre_y)


def _repeat_numbers(numbers: list[tuple[int, int]]) -> Ids:
    """Return each first number as often as the second says."""
    return np.repeat(*np.array(numbers, dtype=np.int64).reshape(-1, 2).T)


def _places(tasks: Sequence[Task], index: Ids) -> tuple[Array, Array]:
    return np.array([task.x_m for task in tasks])[index], np.array([task.y_m for task in tasks])[index]
