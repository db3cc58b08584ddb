"""The board on which tasks are posted: who looks at it when, and which tasks she finds there."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass, field
from math import expm1
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array
from geodp.public.messages import Task
from geodp.simulation.answers import Answers, AskedWorkers, browse
from geodp.simulation.meant import People
from geodp.streams import Streams

Ids = npt.NDArray[np.int64]
HasDeclined = Callable[[int, Ids], npt.NDArray[np.bool_]]
"""Tells which of some workers have declined a task."""
_SLACK_M = 1e-6  # the tree rounds distances in its own way: so near to a limit it is not believed


@dataclass
class Board:
    """Idle workers look now and then, each by draws of her own, and consider the nearest open tasks in their reach."""

    streams: Streams
    looks_per_hour: float | None
    """Mean number of looks of an idle worker (None: everyone looks whenever there is something new)."""
    tasks_per_look: int
    _declined: dict[int, list[Ids]] = field(default_factory=dict, init=False)
    """Per open task, those who have declined it, as they did."""

    def look(
        self, answers: Answers, tasks: list[Task], rewards: Array, people: People, *, moment: int, over_s: float
    ) -> AskedWorkers:
        """Let those look who do so in this span of time, and answer.

        Parameters
        ----------
        answers
            The true willingness of everyone.
        tasks, rewards
            What is posted.
        people
            Everyone, now.
        moment, over_s
            Number and length of the span; looks in different spans are independent.
        """
        looking = self.find_looking(people.x_m.size, moment, over_s) & ~people.busy
        reach_m = answers.acceptance.max_travel_m
        found = nearest_open(
            tasks=tasks,
            people=people,
            looking=np.flatnonzero(looking),
            reach_m=reach_m,
            count=self.tasks_per_look,
            has_declined=self.has_declined,
        )
        asked = browse(answers, tasks, rewards, found, people)
        for task, _, rows in asked.by_task():
            if (no := asked.pick_declined(rows)).size:
                self._declined.setdefault(task.task, []).append(no)
        return asked

    def find_looking(self, workers: int, moment: int, over_s: float) -> npt.NDArray[np.bool_]:
        """Tell who looks at least once in a span, by a draw per worker and span: looks come at random, at one rate."""
        if self.looks_per_hour is None:
            return np.ones(workers, dtype=np.bool_)
        chance = -expm1(-self.looks_per_hour * over_s / 3600)
        return np.asarray(self.streams.uniform("worker.look", np.arange(workers), moment) < chance)

    def has_declined(self, task: int, worker: Ids) -> npt.NDArray[np.bool_]:
        """Tell who has considered an open task before and said no."""
        parts = self._declined.get(task)
        if parts is None:
            return np.zeros(worker.size, dtype=np.bool_)
        if len(parts) > 1:
            self._declined[task] = parts = [np.sort(np.concatenate(parts))]
        known = parts[0]
        return np.asarray(known[np.minimum(np.searchsorted(known, worker), known.size - 1)] == worker)

    def keep_only(self, tasks: Container[int]) -> None:
        """Forget who declined tasks that are closed."""
        for task in [task for task in self._declined if task not in tasks]:
            del self._declined[task]


def nearest_open(
    tasks: list[Task], people: People, looking: Ids, reach_m: float, count: int, has_declined: HasDeclined
) -> tuple[Ids, Ids, Array]:
    """Return rows of (place in `tasks`, worker, distance) in order of task and worker: what each one looking finds.

    She finds the nearest `count` tasks within reach that she has not declined; of two at one distance the first in
    `tasks` is the nearer. A k-d tree over the tasks returns a few each; those who have declined too many of them, or
    whose last one may have a twin that was not returned, ask it for twice as many.
    """
    from scipy.spatial import cKDTree

    place = np.array([(task.x_m, task.y_m) for task in tasks])
    tree: Any = cKDTree(place)
    parts: list[tuple[Ids, Ids, Array]] = []
    asking, many = looking, min(count + 1, len(tasks))
    while asking.size:
        here = np.column_stack([people.x_m[asking], people.y_m[asking]])
        far, task = tree.query(here, k=np.arange(1, many + 1), distance_upper_bound=reach_m + _SLACK_M)
        row, worker, distance, choosable = _candidates(
            place=place, people=people, asking=asking, far=far, task=task, reach_m=reach_m
        )
        kept = np.flatnonzero(~_find_declined(tasks, row, worker, has_declined))
        rank = rank_in_group(worker[kept])
        sure = np.bincount(choosable[kept][distance[kept] < far[choosable[kept], -1] - _SLACK_M], minlength=asking.size)
        done = (sure >= count) | np.isinf(far[:, -1]) | (many == len(tasks))
        chosen = kept[(rank < count) & done[choosable[kept]]]
        parts.append((row[chosen], worker[chosen], distance[chosen]))
        asking, many = asking[~done], min(2 * many, len(tasks))
    if not parts:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0)
    row, worker, distance = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((worker, row))
    return row[order], worker[order], distance[order]


def _candidates(
    place: Array, people: People, asking: Ids, far: Array, task: Ids, reach_m: float
) -> tuple[Ids, Ids, Array, Ids]:
    """Return what the tree found as rows of task, worker, distance and place in `asking`, each worker's nearest first.

    Distances are worked out as for circles, so that a worker answers alike however she was found.
    """
    who, column = np.nonzero(np.isfinite(far))
    row = task[who, column].astype(np.int64)
    square = (people.x_m[asking[who]] - place[row, 0]) ** 2 + (people.y_m[asking[who]] - place[row, 1]) ** 2
    inside = square <= reach_m**2
    who, row, distance = who[inside], row[inside], np.sqrt(square[inside])
    order = np.lexsort((row, distance, who))
    who, row, distance = who[order], row[order], distance[order]
    return row, asking[who], distance, who


def _find_declined(tasks: list[Task], row: Ids, worker: Ids, has_declined: HasDeclined) -> npt.NDArray[np.bool_]:
    declined = np.zeros(row.size, dtype=np.bool_)
    order = np.argsort(row, kind="stable")
    border = np.searchsorted(row[order], np.arange(len(tasks) + 1))
    for index in np.flatnonzero(np.diff(border)).tolist():
        rows = order[border[index] : border[index + 1]]
        declined[rows] = has_declined(tasks[index].task, worker[rows])
    return declined


def rank_in_group(group: Ids) -> Ids:
    """Return 0, 1, 2, … within each run of equal numbers."""
    first = np.flatnonzero(np.diff(group, prepend=-1))
    size = np.diff(np.append(first, group.size))
    return np.asarray(np.arange(group.size) - np.repeat(first, size))
