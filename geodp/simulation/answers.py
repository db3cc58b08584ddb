"""How workers answer: each by her own key, whoever else was asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array
from geodp.public.acceptance import Acceptance
from geodp.public.events import Kind, Reason
from geodp.public.messages import Task
from geodp.simulation.event_log import EventLog, reason_codes
from geodp.simulation.meant import Found, Ids, Meant, People, with_distance
from geodp.simulation.randomised_refusal import RandomisedRefusal
from geodp.streams import Streams

_BUSY, _LOW, _FAR, _UNWILLING, _YES, _MUTED, _SPENT, _NOT_REACHED, _APART, _OUT = range(10)
_PICKED, _NOT_PICKED, _TAKEN = reason_codes([Reason.PICKED, Reason.NOT_PICKED, Reason.TAKEN])
_CODES = reason_codes([
    Reason.BUSY, Reason.LOW_REWARD, Reason.TOO_FAR, Reason.UNWILLING, Reason.NONE, Reason.MUTED, Reason.SPENT
])  # fmt: skip


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
        fate = np.where(free, _NOT_PICKED, _TAKEN)
        for winner in winners:  # few: once per task, so it must cost little
            fate[self.worker == winner] = _PICKED
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
    share: Array
    """Chance that a phone whom the offer means took part so far, task by task; 1 where the curator asks."""

    @property
    def notified(self) -> npt.NDArray[np.bool_]:
        """Tell which rows are people who were asked now; others did not come to it, or their phones took no part."""
        return np.asarray(self.answer < _NOT_REACHED)

    def by_task(self) -> Iterator[tuple[Task, float, slice]]:
        """Yield each task with its reward and its rows, in order of arrival."""
        rewards, border = self.rewards.tolist(), self.border.tolist()
        for index in np.argsort([task.task for task in self.tasks]).tolist():
            yield self.tasks[index], rewards[index], slice(border[index], border[index + 1])

    def could_come(self) -> npt.NDArray[np.bool_]:
        """Tell whose answer could have been a yes; the busy, far and underpaid could only say no.

        Whoever liked a nearer task on the board could have come to a further one, had she not. Where phones thin out,
        every phone that the offer means could have: nobody sees which of them took part, or which muted it by lot.
        """
        return np.isin(self.answer, (_YES, _UNWILLING, _MUTED, _NOT_REACHED, _APART))

    def pick_declined(self, rows: slice) -> Ids:
        """Return those who said no, of one task's rows."""
        return np.asarray(self.worker[rows][self.notified[rows] & (self.answer[rows] != _YES)])

    @property
    def acceptors(self) -> Ids:
        """Everyone who said yes to some task, in ascending order."""
        return np.unique(self.worker[self.answer == _YES])

    def list_accepted(self) -> Iterator[tuple[Task, float, Accepted]]:
        """Yield each task with its reward and those who said yes to it, in order of arrival."""
        yes = np.flatnonzero(self.answer == _YES)  # once for all tasks: most of them have few rows
        every = Accepted(self.worker[yes], self.distance_m[yes], self.x_m[yes], self.y_m[yes], self.luck[yes])
        border, rewards = np.searchsorted(yes, self.border).tolist(), self.rewards.tolist()
        for index in np.argsort([task.task for task in self.tasks]).tolist():
            rows = slice(border[index], border[index + 1])
            own = Accepted(
                worker=every.worker[rows],
                distance_m=every.distance_m[rows],
                x_m=every.x_m[rows],
                y_m=every.y_m[rows],
                luck=every.luck[rows],
            )
            yield self.tasks[index], rewards[index], own


class Answers:
    """The true willingness of everyone."""

    def __init__(
        self,
        acceptance: Acceptance,
        streams: Streams,
        eagerness: Array | None,
        refusal: RandomisedRefusal | None = None,
    ) -> None:
        self.acceptance, self.streams, self.eagerness, self.refusal = acceptance, streams, eagerness, refusal

    @property
    def heard(self) -> float:
        """Chance that a phone lets its owner see a task that it considers."""
        return 1.0 if self.refusal is None else 1 - self.refusal.mute

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
        chance = self.acceptance.probability(reward, distance_m, self._eager(worker))
        return chance, np.asarray(self.streams.uniform("worker.answer", worker, task) < chance)

    def _eager(self, worker: Ids) -> Array | float:
        return 1.0 if self.eagerness is None else self.eagerness[worker]

    def chance(self, worker: Ids, reward: Array, distance_m: Array) -> Array:
        """Return the chance that each idle worker accepts, from that far away: 0 beyond reach or for too little."""
        chance = self.acceptance.probability(reward, distance_m, self._eager(worker))
        able = (distance_m <= self.acceptance.max_travel_m) & self.acceptance.pays_enough(reward)
        return np.where(able, self.heard * chance, 0.0)

    def log_refusals(self, asked: AskedWorkers, time_s: float, log: EventLog) -> None:
        """Log every no with its reason."""
        no = np.flatnonzero(asked.notified & (asked.answer != _YES))
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


def pseudonym_numbers(streams: Streams, workers: Ids) -> Ids:
    """Return the numbers that pseudonyms are made of; they are in the same order."""
    return np.asarray((streams.uniform("server.pseudonym", workers) * 2**53).astype(np.int64))


def pseudonyms(streams: Streams, workers: Ids) -> npt.NDArray[np.str_]:
    """Return the names under which the server knows workers: random, and the same for a whole run."""
    numbers = pseudonym_numbers(streams, workers)
    return np.array([f"w{number:014x}" for number in numbers.tolist()], dtype="U15")


def names_for_task(streams: Streams, workers: Ids, task: int) -> npt.NDArray[np.str_]:
    """Return names under which the server knows workers for one task only: nothing links them to other tasks."""
    numbers = (streams.uniform("server.pseudonym.task", workers, np.full(len(workers), task)) * 2**53).astype(np.int64)
    return np.array([f"t{number:014x}" for number in numbers.tolist()], dtype="U15")


def ask(
    answers: Answers,
    meant: Meant,
    people: People,
    needed: int = 1,
    number: int = 0,
    is_open: Callable[[int], bool] = lambda _: True,
) -> AskedWorkers:
    """Ask those whose turn it is in a round, where they are now.

    Parameters
    ----------
    answers
        The true willingness of everyone.
    meant
        Whom the offers of a batch mean.
    people
        Everyone, now.
    needed
        Workers whom a task needs: they share its reward evenly, and answer to their share.
    number
        The round.
    is_open
        Tells whether a task is still to be had.
    """
    going, rows = meant.in_round(number, is_open)
    place = np.full(len(meant.offers), -1, dtype=np.int64)
    place[going] = np.arange(len(going))
    tasks, offers = [meant.tasks[i] for i in going], [meant.offers[i] for i in going]
    rewards = np.array([offer.reward for offer in offers]) / needed
    share = np.array([offer.shares[number] if offer.shares else 1.0 for offer in offers])
    index, worker = place[meant.index[rows]], meant.worker[rows]
    found = with_distance(index, worker, tasks, people)
    asked = _let_answer(answers=answers, tasks=tasks, rewards=rewards, found=found, people=people, share=share)
    elsewhere = meant.round[rows] != number  # phones that take part in another round, or in none
    able = asked.could_come()
    asked.answer[elsewhere & able] = _APART
    asked.answer[elsewhere & ~able] = _OUT
    return asked


def browse(answers: Answers, tasks: list[Task], rewards: Array, found: Found, people: People) -> AskedWorkers:
    """Let workers consider what each finds on the board, nearest first, until one accepts a task.

    Those tasks that come after it she has not come to: no answer is known, but she could have taken one of them.
    """
    asked = _let_answer(
        answers=answers, tasks=tasks, rewards=rewards, found=found, people=people, share=np.ones(len(tasks))
    )
    index, worker, distance = found
    order = np.lexsort((index, distance, worker))
    first = np.flatnonzero(np.diff(worker[order], prepend=-1))
    yes = np.cumsum(asked.answer[order] == _YES)
    before = yes - (asked.answer[order] == _YES)
    before -= np.repeat(before[first], np.diff(np.append(first, order.size)))
    asked.answer[order[before > 0]] = _NOT_REACHED
    return asked


def _let_answer(
    answers: Answers, tasks: list[Task], rewards: Array, found: Found, people: People, share: Array
) -> AskedWorkers:
    """Let the workers answer, each about the task of her row; rows are in order of task and then of worker."""
    index, worker, distance_m = found
    task = np.array([one.task for one in tasks])[index]
    answer = answers.answer(task, worker, rewards[index], distance_m, people.busy[worker])
    if answers.refusal is not None:
        reached = np.isin(answer, (_YES, _UNWILLING))
        considered = answers.refusal.consider(task, worker, reached, people.time_s)
        answer[reached & ~considered] = _SPENT
        answer[considered & answers.refusal.mutes(task, worker)] = _MUTED
        share = share * answers.heard
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
        share=share,
    )
