"""How workers answer: each by her own key, whoever else was asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geodp.acceptance import Acceptance
from geodp.geometry import Array
from geodp.messages import Offer, Task
from geodp.simulation.event_log import EventLog, Kind, Reason, reason_codes
from geodp.simulation.range_join import range_join
from geodp.streams import Streams

Ids = npt.NDArray[np.int64]
_BUSY, _LOW, _FAR, _UNWILLING, _YES = range(5)
_CODES = reason_codes([Reason.BUSY, Reason.LOW_REWARD, Reason.TOO_FAR, Reason.UNWILLING, Reason.NONE])


@dataclass(frozen=True)
class Asked:
    """Everyone asked in one batch: rows of worker, place, distance and answer, grouped by task."""

    tasks: list[Task]
    rewards: Array
    border: Ids
    """Task i owns rows border[i] to border[i + 1] - 1."""
    worker: Ids
    x_m: Array
    y_m: Array
    distance_m: Array
    answer: npt.NDArray[np.int8]

    def by_task(self) -> Iterator[tuple[Task, slice]]:
        """Yield each task with its rows, in order of arrival."""
        for index in np.argsort([task.task for task in self.tasks]).tolist():
            yield self.tasks[index], slice(int(self.border[index]), int(self.border[index + 1]))

    def acceptors(self, rows: slice) -> tuple[Ids, Array, Array, Array]:
        """Return worker, distance and place of those who said yes."""
        yes = np.flatnonzero(self.answer[rows] == _YES) + rows.start
        return self.worker[yes], self.distance_m[yes], self.x_m[yes], self.y_m[yes]

    def acceptance_reasons(self, willing: Ids, free: npt.NDArray[np.bool_], winner: int | None) -> npt.NDArray[np.int8]:
        """Return what became of each acceptance."""
        picked, passed, taken = reason_codes([Reason.PICKED, Reason.NOT_PICKED, Reason.TAKEN])
        fate = np.where(free, np.where(willing == winner, picked, passed), taken)
        return np.asarray(fate, dtype=np.int8)

    def reward_of(self, task: int) -> float:
        """Return what was promised for a task."""
        return float(next(r for t, r in zip(self.tasks, self.rewards, strict=True) if t.task == task))


class Answers:
    """The true willingness of everyone, and what declining tells the server about those who were asked."""

    def __init__(self, acceptance: Acceptance, streams: Streams, eagerness: Array | None, workers: int) -> None:
        self.acceptance, self.streams, self.eagerness = acceptance, streams, eagerness
        self.leakage = np.zeros(workers)
        self._declined: dict[int, tuple[Ids, Array]] = {}

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

    def charge_declining(self, task: int, worker: Ids, reward: Array, distance_m: Array) -> None:
        """Charge -ln(1 - θ) to each who could have accepted and did not.

        By so much would the likelihood of what the server sees change without her. A second offer of the same task
        adds only what goes beyond the first.
        """
        eager = 1.0 if self.eagerness is None else self.eagerness[worker]
        cost = -self.acceptance.log_refusal(reward, distance_m, eager)
        before = self._declined.get(task)
        extra = cost
        if before is not None:
            known, paid = before
            place = np.minimum(np.searchsorted(known, worker), max(known.size - 1, 0))
            again = (known[place] == worker) if known.size else np.zeros(worker.size, dtype=np.bool_)
            extra = np.where(again, np.maximum(cost - paid[place], 0.0), cost) if known.size else cost
        np.add.at(self.leakage, worker, extra)
        self._remember(task, worker, cost)

    def _remember(self, task: int, worker: Ids, cost: Array) -> None:
        known, paid = self._declined.get(task, (np.empty(0, dtype=np.int64), np.empty(0)))
        workers, places = np.unique(np.concatenate([known, worker]), return_inverse=True)
        most = np.zeros(workers.size)
        np.maximum.at(most, places, np.concatenate([paid, cost]))
        self._declined[task] = (workers, most)

    def has_declined(self, task: int, worker: Ids) -> npt.NDArray[np.bool_]:
        """Tell which workers have declined a task before."""
        known = self._declined.get(task, (np.empty(0, dtype=np.int64), None))[0]
        if known.size == 0:
            return np.zeros(worker.size, dtype=np.bool_)
        return np.asarray(known[np.minimum(np.searchsorted(known, worker), known.size - 1)] == worker)

    def forget(self, task: int) -> None:
        """Drop what was kept for re-offers of a task that is closed."""
        self._declined.pop(task, None)

    def pick(self, task: int, willing: Ids) -> int:
        """Pick one acceptor, uniformly: the one with the smallest keyed draw."""
        return int(willing[np.argmin(self.streams.uniform("curator.pick", willing, task))])

    def pseudonym(self, worker: int) -> str:
        """Return the name under which the server knows a worker."""
        return f"w{int(self.streams.uniform('server.pseudonym', worker) * 2**53):014x}"

    def log_refusals(self, asked: Asked, time_s: float, log: EventLog) -> None:
        """Log every no with its reason, and charge those who could have said yes."""
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
        for index, task in enumerate(asked.tasks):
            rows = slice(int(asked.border[index]), int(asked.border[index + 1]))
            unwilling = np.flatnonzero(asked.answer[rows] == _UNWILLING) + rows.start
            if unwilling.size:
                reward = np.full(unwilling.size, asked.rewards[index])
                self.charge_declining(task.task, asked.worker[unwilling], reward, asked.distance_m[unwilling])


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
    rewards = np.array([offer.reward for offer in offers])
    ids = np.array([task.task for task in tasks])
    answer = answers.answer(ids[circle], worker, rewards[circle], distance, busy[worker])
    return _asked(list(tasks), rewards, circle, worker, x_m, y_m, distance, answer)


def browse_nearest(
    answers: Answers,
    tasks: list[Task],
    rewards: Array,
    x_m: Array,
    y_m: Array,
    busy: npt.NDArray[np.bool_],
) -> Asked:
    """Let every idle worker look at the nearest posted task within her reach that she has not declined yet."""
    centre_x, centre_y = np.array([task.x_m for task in tasks]), np.array([task.y_m for task in tasks])
    radius = np.full(len(tasks), answers.acceptance.max_travel_m)
    task, worker, distance = range_join(x_m, y_m, centre_x, centre_y, radius)
    keep = ~busy[worker]
    for index in range(len(tasks)):
        rows = slice(*np.searchsorted(task, [index, index + 1]).tolist())
        keep[rows] &= ~answers.has_declined(tasks[index].task, worker[rows])
    task, worker, distance = task[keep], worker[keep], distance[keep]
    order = np.lexsort((task, distance, worker))
    nearest = order[np.unique(worker[order], return_index=True)[1]]
    nearest = nearest[np.argsort(task[nearest], kind="stable")]
    task, worker, distance = task[nearest], worker[nearest], distance[nearest]
    ids = np.array([posted.task for posted in tasks])
    idle = np.zeros(worker.size, dtype=np.bool_)
    answer = answers.answer(ids[task], worker, rewards[task], distance, idle)
    return _asked(tasks, rewards, task, worker, x_m, y_m, distance, answer)


def _asked(
    tasks: list[Task],
    rewards: Array,
    index: Ids,
    worker: Ids,
    x_m: Array,
    y_m: Array,
    distance_m: Array,
    answer: npt.NDArray[np.int8],
) -> Asked:
    border = np.searchsorted(index, np.arange(len(tasks) + 1))
    return Asked(tasks, rewards, border, worker, x_m[worker], y_m[worker], distance_m, answer)
