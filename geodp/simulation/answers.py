"""How workers answer: each by her own key, whoever else was asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array
from geodp.public.acceptance import Acceptance
from geodp.public.events import Kind, Reason
from geodp.public.messages import Circle, Named, Offer, Region, Task
from geodp.simulation.event_log import EventLog, reason_codes
from geodp.simulation.range_join import range_join, rectangle_join
from geodp.streams import Streams

Ids = npt.NDArray[np.int64]
_BUSY, _LOW, _FAR, _UNWILLING, _YES, _NOT_REACHED = range(6)
_PICKED, _NOT_PICKED, _TAKEN = reason_codes([Reason.PICKED, Reason.NOT_PICKED, Reason.TAKEN])
_CODES = reason_codes([Reason.BUSY, Reason.LOW_REWARD, Reason.TOO_FAR, Reason.UNWILLING, Reason.NONE])


class Accepted(NamedTuple):
    """Those who said yes to one task."""

    worker: Ids
    distance_m: Array
    x_m: Array
    y_m: Array
    luck: Array
    """The curator picks the one with the smallest: a draw by (worker, task), so a uniform pick."""

    def pick(self, free: npt.NDArray[np.bool_], needed: int = 1) -> list[int]:
        """Pick as many as a task needs of those who are still free; nobody where there are fewer."""
        if np.count_nonzero(free) < needed:
            return []
        return [int(worker) for worker in self.worker[free][np.argsort(self.luck[free], kind="stable")[:needed]]]

    def reasons(self, free: npt.NDArray[np.bool_], winners: list[int]) -> npt.NDArray[np.int8]:
        """Return what became of each acceptance."""
        fate = np.where(free, np.where(np.isin(self.worker, winners), _PICKED, _NOT_PICKED), _TAKEN)
        return np.asarray(fate, dtype=np.int8)


@dataclass(frozen=True)
class AskedWorkers:
    """Everyone asked in one batch: rows of worker, place, distance and answer, in order of task and then of worker."""

    tasks: list[Task]
    rewards: Array
    """What one worker gets, task by task."""
    border: Ids
    """Task i owns rows border[i] to border[i + 1] - 1."""
    worker: Ids
    x_m: Array
    y_m: Array
    distance_m: Array
    answer: npt.NDArray[np.int8]
    luck: Array

    def by_task(self) -> Iterator[tuple[Task, float, slice]]:
        """Yield each task with its reward and its rows, in order of arrival."""
        rewards, border = self.rewards.tolist(), self.border.tolist()
        for index in np.argsort([task.task for task in self.tasks]).tolist():
            yield self.tasks[index], rewards[index], slice(border[index], border[index + 1])

    def could_come(self) -> npt.NDArray[np.bool_]:
        """Tell whose answer could have been a yes; the busy, far and underpaid could only say no.

        Whoever liked a nearer task on the board could have come to a further one, had she not.
        """
        return np.isin(self.answer, (_YES, _UNWILLING, _NOT_REACHED))

    def declined(self, rows: slice) -> Ids:
        """Return those who said no, of one task's rows."""
        return np.asarray(self.worker[rows][~np.isin(self.answer[rows], (_YES, _NOT_REACHED))])

    def accepted(self, rows: slice) -> Accepted:
        """Return those who said yes, of one task's rows."""
        yes = np.flatnonzero(self.answer[rows] == _YES) + rows.start
        return Accepted(self.worker[yes], self.distance_m[yes], self.x_m[yes], self.y_m[yes], self.luck[yes])


class Answers:
    """The true willingness of everyone."""

    def __init__(self, acceptance: Acceptance, streams: Streams, eagerness: Array | None) -> None:
        self.acceptance, self.streams, self.eagerness = acceptance, streams, eagerness

    def answer(
        self, task: Ids, worker: Ids, reward: Array, distance_m: Array, busy: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.int8]:
        """Answer every (task, worker): the draw depends on that pair alone, so a re-offer meets the same mind."""
        _, yes = self.minds(task, worker, reward, distance_m)
        answer = np.where(yes, _YES, _UNWILLING).astype(np.int8)
        answer[distance_m > self.acceptance.max_travel_m] = _FAR
        answer[~self.acceptance.pays_enough(reward)] = _LOW
        answer[busy] = _BUSY
        return answer

    def minds(self, task: Ids, worker: Ids, reward: Array, distance_m: Array) -> tuple[Array, npt.NDArray[np.bool_]]:
        """Return with which probability each worker accepts each task, and whether she does."""
        eager = 1.0 if self.eagerness is None else self.eagerness[worker]
        chance = self.acceptance.probability(reward, distance_m, eager)
        return chance, np.asarray(self.streams.uniform("worker.answer", worker, task) < chance)

    def log_refusals(self, asked: AskedWorkers, time_s: float, log: EventLog) -> None:
        """Log every no with its reason."""
        no = np.flatnonzero(~np.isin(asked.answer, (_YES, _NOT_REACHED)))
        row_task = np.repeat(np.array([task.task for task in asked.tasks]), np.diff(asked.border))
        log.add(
            time_s,
            Kind.REFUSAL,
            task=row_task[no],
            worker=asked.worker[no],
            x_m=asked.x_m[no],
            y_m=asked.y_m[no],
            value=asked.distance_m[no],
            reason=_CODES[asked.answer[no]],
        )


def pseudonyms(streams: Streams, workers: Ids) -> npt.NDArray[np.str_]:
    """Return the names under which the server knows workers: random, and the same for a whole run."""
    numbers = (streams.uniform("server.pseudonym", workers) * 2**53).astype(np.int64)
    return np.array([f"w{number:014x}" for number in numbers.tolist()], dtype="U15")


@dataclass(frozen=True)
class People:
    """Where everyone is at one moment, and who is on the way to a task."""

    x_m: Array
    y_m: Array
    busy: npt.NDArray[np.bool_]


Found = tuple[Ids, Ids, Array]
"""Rows of whom offers mean: number of the offer, worker, distance to the task."""


def ask(
    answers: Answers,
    tasks: Sequence[Task],
    offers: Sequence[Offer],
    people: People,
    workers_of: Callable[[tuple[str, ...]], Ids],
    needed: int = 1,
) -> AskedWorkers:
    """Ask everyone whom each offer means, those asked before included.

    Parameters
    ----------
    answers
        The true willingness of everyone.
    tasks, offers
        What is offered, and to whom, in the same order.
    people
        Everyone, now.
    workers_of
        Returns the workers behind pseudonyms.
    needed
        Workers whom a task needs: they share its reward evenly, and answer to their share.
    """
    targets = [offer.target for offer in offers]
    found = [
        _in_circles([(i, target) for i, target in enumerate(targets) if isinstance(target, Circle)], tasks, people),
        _in_regions([(i, target) for i, target in enumerate(targets) if isinstance(target, Region)], tasks, people),
        _by_name(
            [(i, workers_of(target.pseudonyms)) for i, target in enumerate(targets) if isinstance(target, Named)],
            tasks,
            people,
        ),
    ]
    index, worker, distance = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.lexsort((worker, index))  # by task, then worker: not the order of the search
    rewards = np.array([offer.reward for offer in offers]) / needed
    return _answered(answers, list(tasks), rewards, (index[order], worker[order], distance[order]), people)


def _in_circles(circles: list[tuple[int, Circle]], tasks: Sequence[Task], people: People) -> Found:
    number = np.array([i for i, _ in circles], dtype=np.int64)
    centre_x, centre_y = _places(tasks, number)
    radius = np.array([circle.radius_m for _, circle in circles])
    circle, worker, distance = range_join(people.x_m, people.y_m, centre_x, centre_y, radius)
    return number[circle], worker, distance


def _in_regions(regions: list[tuple[int, Region]], tasks: Sequence[Task], people: People) -> Found:
    """Find everyone inside each region, once, also where its rectangles share an edge or overlap."""
    rectangles = np.array([rectangle for _, region in regions for rectangle in region.rectangles]).reshape(-1, 4)
    owner = _repeated([(i, len(region.rectangles)) for i, region in regions])
    number, worker = rectangle_join(people.x_m, people.y_m, rectangles)
    pair = np.unique(owner[number] * people.x_m.size + worker)
    return _with_distance(pair // people.x_m.size, pair % people.x_m.size, tasks, people)


def _by_name(named: list[tuple[int, Ids]], tasks: Sequence[Task], people: People) -> Found:
    index = _repeated([(i, workers.size) for i, workers in named])
    worker = np.concatenate([np.empty(0, dtype=np.int64), *(workers for _, workers in named)])
    return _with_distance(index, worker, tasks, people)


def _with_distance(index: Ids, worker: Ids, tasks: Sequence[Task], people: People) -> Found:
    centre_x, centre_y = _places(tasks, index)
    return index, worker, np.hypot(people.x_m[worker] - centre_x, people.y_m[worker] - centre_y)


def _repeated(numbers: list[tuple[int, int]]) -> Ids:
    """Return each first number as often as the second says."""
    return np.repeat(*np.array(numbers, dtype=np.int64).reshape(-1, 2).T)


def _places(tasks: Sequence[Task], index: Ids) -> tuple[Array, Array]:
    return np.array([task.x_m for task in tasks])[index], np.array([task.y_m for task in tasks])[index]


def browse(answers: Answers, tasks: list[Task], rewards: Array, found: Found, people: People) -> AskedWorkers:
    """Let workers consider what each finds on the board, nearest first, until one accepts a task.

    Those tasks that come after it she has not come to: no answer is known, but she could have taken one of them.
    """
    asked = _answered(answers, tasks, rewards, found, people)
    index, worker, distance = found
    order = np.lexsort((index, distance, worker))
    first = np.flatnonzero(np.diff(worker[order], prepend=-1))
    yes = np.cumsum(asked.answer[order] == _YES)
    before = yes - (asked.answer[order] == _YES)
    before -= np.repeat(before[first], np.diff(np.append(first, order.size)))
    asked.answer[order[before > 0]] = _NOT_REACHED
    return asked


def _answered(answers: Answers, tasks: list[Task], rewards: Array, found: Found, people: People) -> AskedWorkers:
    """Let the workers answer, each about the task of her row; rows are in order of task and then of worker."""
    index, worker, distance_m = found
    task = np.array([one.task for one in tasks])[index]
    answer = answers.answer(task, worker, rewards[index], distance_m, people.busy[worker])
    luck = np.zeros(worker.size)
    yes = answer == _YES
    luck[yes] = answers.streams.uniform("curator.pick", worker[yes], task[yes])
    return AskedWorkers(
        tasks=tasks,
        rewards=rewards,
        border=np.searchsorted(index, np.arange(len(tasks) + 1)),
        worker=worker,
        x_m=people.x_m[worker],
        y_m=people.y_m[worker],
        distance_m=distance_m,
        answer=answer,
        luck=luck,
    )
