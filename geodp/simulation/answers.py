"""How workers answer: each by her own key, whoever else was asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
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
_BUSY, _LOW, _FAR, _UNWILLING, _YES, _NOT_REACHED, _APART, _OUT = range(8)
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
        every phone that the offer means could have: nobody sees which of them took part.
        """
        return np.isin(self.answer, (_YES, _UNWILLING, _NOT_REACHED, _APART))

    def declined(self, rows: slice) -> Ids:
        """Return those who said no, of one task's rows."""
        return np.asarray(self.worker[rows][self.notified[rows] & (self.answer[rows] != _YES)])

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
        chance = self.acceptance.probability(reward, distance_m, self._eager(worker))
        return chance, np.asarray(self.streams.uniform("worker.answer", worker, task) < chance)

    def _eager(self, worker: Ids) -> Array | float:
        return 1.0 if self.eagerness is None else self.eagerness[worker]

    def chance(self, worker: Ids, reward: Array, distance_m: Array) -> Array:
        """Return the chance that each idle worker accepts, from that far away: 0 beyond reach or for too little."""
        chance = self.acceptance.probability(reward, distance_m, self._eager(worker))
        able = (distance_m <= self.acceptance.max_travel_m) & self.acceptance.pays_enough(reward)
        return np.where(able, chance, 0.0)

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
        _in_regions([(i, target) for i, target in enumerate(targets) if isinstance(target, Region)], tasks, people),
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
    return Meant(list(tasks), list(offers), index[keep], worker[keep], number[keep], inside)


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
    found = _with_distance(index, worker, tasks, people)
    asked = _answered(answers, tasks, rewards, found, people, share)
    elsewhere = meant.round[rows] != number  # phones that take part in another round, or in none
    able = asked.could_come()
    asked.answer[elsewhere & able] = _APART
    asked.answer[elsewhere & ~able] = _OUT
    return asked


@dataclass(frozen=True)
class OfferTruth:
    """What is true of first offers when they go out, task by task: for scoring, never for the server."""

    task: Ids
    expected_success: Array
    """Chance that enough of the idle people of all rounds accept, from where they are."""
    asked_workers: Ids
    """People who are asked in all rounds, if nobody accepts before."""
    idle_workers: Ids
    """Idle people inside the target."""

    def take(self, which: npt.NDArray[np.bool_]) -> OfferTruth:
        """Return some of the tasks."""
        return OfferTruth(*(getattr(self, one.name)[which] for one in fields(self)))


def offer_truth(answers: Answers, meant: Meant, people: People, needed: int = 1) -> OfferTruth:
    """Work out what offers can be expected to come to."""
    rewards = np.array([offer.reward for offer in meant.offers]) / needed
    rows = np.flatnonzero((meant.round != NEVER) & ~people.busy[meant.worker])
    index, worker, distance = _with_distance(meant.index[rows], meant.worker[rows], meant.tasks, people)
    chance = answers.chance(worker, rewards[index], distance)
    size = len(meant.offers)
    return OfferTruth(
        task=np.array([task.task for task in meant.tasks], dtype=np.int64),
        expected_success=_chance_of_enough(index, chance, size, needed),
        asked_workers=np.bincount(meant.index[meant.round != NEVER], minlength=size),
        idle_workers=meant.inside,
    )


def _chance_of_enough(index: Ids, chance: Array, size: int, needed: int) -> Array:
    """Return the chance of at least so many acceptances per offer: exact, for people who answer independently."""
    if needed == 1:
        with np.errstate(divide="ignore"):
            return -np.expm1(np.bincount(index, weights=np.log1p(-chance), minlength=size))
    enough = np.zeros(size)
    for place in range(size):
        fewer = np.zeros(needed)
        fewer[0] = 1.0
        for each in chance[index == place].tolist():
            fewer[1:] = fewer[1:] * (1 - each) + fewer[:-1] * each
            fewer[0] *= 1 - each
        enough[place] = 1 - fewer.sum()
    return enough


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
    asked = _answered(answers, tasks, rewards, found, people, np.ones(len(tasks)))
    index, worker, distance = found
    order = np.lexsort((index, distance, worker))
    first = np.flatnonzero(np.diff(worker[order], prepend=-1))
    yes = np.cumsum(asked.answer[order] == _YES)
    before = yes - (asked.answer[order] == _YES)
    before -= np.repeat(before[first], np.diff(np.append(first, order.size)))
    asked.answer[order[before > 0]] = _NOT_REACHED
    return asked


def _answered(
    answers: Answers, tasks: list[Task], rewards: Array, found: Found, people: People, share: Array
) -> AskedWorkers:
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
        share=share,
    )
