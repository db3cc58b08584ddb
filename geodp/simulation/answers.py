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
from geodp.public.messages import Offer, Task
from geodp.simulation.event_log import EventLog, reason_codes
from geodp.simulation.range_join import range_join, rectangle_join
from geodp.streams import Streams

Ids = npt.NDArray[np.int64]
_BUSY, _LOW, _FAR, _UNWILLING, _YES = range(5)
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
class Asked:
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
        """Tell whose answer could have been a yes; the busy, far and underpaid could only say no."""
        return np.asarray((self.answer == _YES) | (self.answer == _UNWILLING))

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
        eager = 1.0 if self.eagerness is None else self.eagerness[worker]
        chance = self.acceptance.probability(reward, distance_m, eager)
        draw = self.streams.uniform("worker.answer", worker, task)
        answer = np.where(draw < chance, _YES, _UNWILLING).astype(np.int8)
        answer[distance_m > self.acceptance.max_travel_m] = _FAR
        answer[~self.acceptance.pays_enough(reward)] = _LOW
        answer[busy] = _BUSY
        return answer

    def luck(self, task: Ids, worker: Ids) -> Array:
        """Return the draws by which the curator picks among acceptors."""
        return self.streams.uniform("curator.pick", worker, task)

    def pseudonym(self, worker: int) -> str:
        """Return the name under which the server knows a worker."""
        return str(self.pseudonyms(np.array([worker]))[0])

    def pseudonyms(self, workers: Ids) -> npt.NDArray[np.str_]:
        """Return the names under which the server knows workers."""
        return pseudonyms(self.streams, workers)

    def log_refusals(self, asked: Asked, time_s: float, log: EventLog) -> None:
        """Log every no with its reason."""
        no = np.flatnonzero(asked.answer != _YES)
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


def ask_circle(
    answers: Answers,
    tasks: Sequence[Task],
    offers: Sequence[Offer],
    x_m: Array,
    y_m: Array,
    busy: npt.NDArray[np.bool_],
) -> Asked:
    """Ask everyone inside each offer's circle, those asked before included."""
    centre_x, centre_y = np.array([task.x_m for task in tasks]), np.array([task.y_m for task in tasks])
    radius = np.array([offer.radius_m for offer in offers])
    circle, worker, distance = range_join(x_m, y_m, centre_x, centre_y, radius)
    order = np.lexsort((worker, circle))  # by task, then worker: not the order of the search
    circle, worker, distance = circle[order], worker[order], distance[order]
    rewards = np.array([offer.reward for offer in offers])
    return _asked(answers, list(tasks), rewards, circle, worker, x_m, y_m, distance, busy[worker])


def ask_region(
    answers: Answers,
    tasks: Sequence[Task],
    offers: Sequence[Offer],
    x_m: Array,
    y_m: Array,
    busy: npt.NDArray[np.bool_],
    needed: int = 1,
) -> Asked:
    """Ask everyone inside each offer's region, once, also where its rectangles share an edge or overlap.

    The workers whom a task needs share its reward evenly, and answer to their share.
    """
    pieces = [offer.rectangles or () for offer in offers]
    rectangles = np.array([rectangle for piece in pieces for rectangle in piece]).reshape(-1, 4)
    owner = np.repeat(np.arange(len(offers)), [len(piece) for piece in pieces])
    number, worker = rectangle_join(x_m, y_m, rectangles)
    pair = np.unique(owner[number] * x_m.size + worker)  # by task, then worker
    index, worker = pair // x_m.size, pair % x_m.size
    centre_x, centre_y = np.array([task.x_m for task in tasks]), np.array([task.y_m for task in tasks])
    distance = np.hypot(x_m[worker] - centre_x[index], y_m[worker] - centre_y[index])
    rewards = np.array([offer.reward for offer in offers]) / needed
    return _asked(answers, list(tasks), rewards, index, worker, x_m, y_m, distance, busy[worker])


def ask_named(
    answers: Answers,
    tasks: Sequence[Task],
    offers: Sequence[Offer],
    named: Sequence[Ids],
    x_m: Array,
    y_m: Array,
    busy: npt.NDArray[np.bool_],
) -> Asked:
    """Ask the workers whom each offer names, wherever they truly are."""
    index = np.repeat(np.arange(len(tasks)), [workers.size for workers in named])
    worker = np.concatenate([np.sort(workers) for workers in named])
    centre_x, centre_y = np.array([task.x_m for task in tasks]), np.array([task.y_m for task in tasks])
    distance = np.hypot(x_m[worker] - centre_x[index], y_m[worker] - centre_y[index])
    rewards = np.array([offer.reward for offer in offers])
    return _asked(answers, list(tasks), rewards, index, worker, x_m, y_m, distance, busy[worker])


def browse_nearest(
    answers: Answers,
    tasks: list[Task],
    rewards: Array,
    x_m: Array,
    y_m: Array,
    busy: npt.NDArray[np.bool_],
    has_declined: Callable[[int, Ids], npt.NDArray[np.bool_]],
) -> Asked:
    """Let every idle worker look at the nearest posted task within her reach that she has not declined yet."""
    centre_x, centre_y = np.array([task.x_m for task in tasks]), np.array([task.y_m for task in tasks])
    radius = np.full(len(tasks), answers.acceptance.max_travel_m)
    task, worker, distance = range_join(x_m, y_m, centre_x, centre_y, radius)
    keep = ~busy[worker]
    for index in range(len(tasks)):
        rows = slice(*np.searchsorted(task, [index, index + 1]).tolist())
        keep[rows] &= ~has_declined(tasks[index].task, worker[rows])
    task, worker, distance = task[keep], worker[keep], distance[keep]
    order = np.lexsort((task, distance, worker))
    nearest = order[np.unique(worker[order], return_index=True)[1]]
    nearest = nearest[np.argsort(task[nearest], kind="stable")]
    task, worker, distance = task[nearest], worker[nearest], distance[nearest]
    idle = np.zeros(worker.size, dtype=np.bool_)
    return _asked(answers, tasks, rewards, task, worker, x_m, y_m, distance, idle)


def _asked(
    answers: Answers,
    tasks: list[Task],
    rewards: Array,
    index: Ids,
    worker: Ids,
    x_m: Array,
    y_m: Array,
    distance_m: Array,
    busy: npt.NDArray[np.bool_],
) -> Asked:
    """Ask the workers, each about the task of her row; rows are in order of task and then of worker."""
    task = np.array([one.task for one in tasks])[index]
    answer = answers.answer(task, worker, rewards[index], distance_m, busy)
    luck = np.zeros(worker.size)
    yes = answer == _YES
    luck[yes] = answers.luck(task[yes], worker[yes])
    border = np.searchsorted(index, np.arange(len(tasks) + 1))
    return Asked(tasks, rewards, border, worker, x_m[worker], y_m[worker], distance_m, answer, luck)
