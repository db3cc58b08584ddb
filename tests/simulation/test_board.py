"""Posted tasks: who looks, what she finds, and what the outcome says about her; against a look at every pair."""

from itertools import product

import numpy as np
import numpy.typing as npt
import pytest

from geodp.geometry import Array
from geodp.public.acceptance.linear import Linear
from geodp.public.messages import Task
from geodp.simulation.answers import Answers, browse
from geodp.simulation.board import Board, nearest_open
from geodp.simulation.disclosure import Disclosure, see_outcomes
from geodp.simulation.meant import People
from geodp.streams import Streams

Ids = npt.NDArray[np.int64]
REACH_M = 1500.0
MODEL = Linear(mar=0.6, max_travel_m=REACH_M)


def world(seed: int, tasks: int = 40, workers: int = 300, lattice_m: float = 0.0) -> tuple[list[Task], People]:
    """Return tasks and people; on a lattice many distances are equal."""
    rng = np.random.default_rng(seed)
    places = rng.uniform(-3000, 3000, (tasks + workers, 2))
    if lattice_m:
        places = np.round(places / lattice_m) * lattice_m
    posted = [Task(7 * number + 3, float(x), float(y), 0.0, 900.0) for number, (x, y) in enumerate(places[:tasks])]
    return posted, People(places[tasks:, 0], places[tasks:, 1], rng.random(workers) < 0.2)


def every_pair(tasks: list[Task], people: People, looking: Ids, count: int, declined: set[tuple[int, int]]) -> object:
    """Look at every task for every worker: what version 0.2 did, and for more than one task."""
    rows = []
    for worker in looking.tolist():
        found = []
        for index, task in enumerate(tasks):
            square = (people.x_m[worker] - task.x_m) ** 2 + (people.y_m[worker] - task.y_m) ** 2
            if square <= REACH_M**2 and (task.task, worker) not in declined:
                found.append((float(np.sqrt(square)), index))
        rows += [(index, worker, distance) for distance, index in sorted(found)[:count]]
    return sorted(rows)


@pytest.mark.parametrize("count", [1, 3, 50])
@pytest.mark.parametrize("lattice_m", [0.0, 500.0])
@pytest.mark.parametrize("share_declined", [0.0, 0.3, 0.95])
def test_the_tree_finds_what_a_look_at_every_pair_finds(count: int, lattice_m: float, share_declined: float) -> None:
    for seed in range(4):
        tasks, people = world(seed, lattice_m=lattice_m)
        rng = np.random.default_rng(100 + seed)
        pairs = {(task.task, w) for task in tasks for w in range(300) if rng.random() < share_declined}

        def has_declined(task: int, worker: Ids, pairs: set[tuple[int, int]] = pairs) -> npt.NDArray[np.bool_]:
            return np.array([(task, one) in pairs for one in worker.tolist()], dtype=np.bool_)

        looking = np.flatnonzero(~people.busy & (rng.random(300) < 0.7))
        found = nearest_open(tasks, people, looking, REACH_M, count, has_declined)
        assert list(zip(*(column.tolist() for column in found), strict=True)) == every_pair(
            tasks, people, looking, count, pairs
        )


def test_nobody_looking_finds_nothing() -> None:
    tasks, people = world(1)
    found = nearest_open(tasks, people, np.empty(0, dtype=np.int64), REACH_M, 3, lambda _, w: w < 0)
    assert [column.size for column in found] == [0, 0, 0]


def test_she_takes_the_first_that_she_accepts_and_keeps_the_others_for_later() -> None:
    tasks, people = world(2, lattice_m=300.0)
    answers = Answers(MODEL, Streams(5), None)
    board = Board(Streams(5), None, tasks_per_look=4)
    rewards = np.full(len(tasks), 6.0)
    asked = board.look(answers, tasks, rewards, people, moment=1, over_s=60.0)
    minds = answers.answer(
        np.array([tasks[i].task for i in np.repeat(np.arange(len(tasks)), np.diff(asked.border))]),
        asked.worker,
        np.full(asked.worker.size, 6.0),
        asked.distance_m,
        np.zeros(asked.worker.size, dtype=np.bool_),
    )
    yes = {(task.task, worker) for task, _, took in asked.list_accepted() for worker in took.worker.tolist()}
    willing = minds == minds.max()  # who would say yes to a task by itself
    index = np.repeat(np.arange(len(tasks)), np.diff(asked.border))
    for worker in np.unique(asked.worker).tolist():
        own = np.flatnonzero(asked.worker == worker)
        order = own[np.lexsort((index[own], asked.distance_m[own]))]
        liked = [place for place in order.tolist() if willing[place]]
        assert [(tasks[index[p]].task, worker) for p in liked[:1]] == [pair for pair in yes if pair[1] == worker]
        came_to = order.tolist().index(liked[0]) if liked else len(order)
        for rank, place in enumerate(order.tolist()):
            known = board.has_declined(tasks[index[place]].task, np.array([worker]))[0]
            assert known == (rank < came_to)
    assert len(yes) > 20
    board.keep_only({})
    assert not board.has_declined(tasks[0].task, np.arange(300)).any()


def test_looks_come_at_the_stated_rate_by_draws_of_their_own() -> None:
    """Binomial bounds of 6 standard deviations: false alarm below 1e-8."""
    board = Board(Streams(9), looks_per_hour=3.0, tasks_per_look=1)
    looks = np.stack([board.find_looking(20_000, moment, 60.0) for moment in range(1, 61)])
    chance = -np.expm1(-3.0 / 60)
    for axis, size in ((0, 60), (1, 20_000)):
        spread = 6 * np.sqrt(chance * (1 - chance) / size)
        assert (np.abs(looks.mean(axis=axis) - chance) < spread + 1 / size).all()
    assert (looks[0] == board.find_looking(20_000, 1, 60.0)).all()
    assert (looks[0, :500] == board.find_looking(500, 1, 60.0)).all(), "nobody's looks depend on who else there is"
    both = (looks[:-1] & looks[1:]).mean()
    assert abs(both - chance**2) < 6 * chance / np.sqrt(looks.size)


def likelihood(theta: Array, present: tuple[int, ...], took: dict[int, int]) -> float:
    """Return P(who takes which task) by enumerating all answers; row w of theta: her chances, nearest task first.

    She accepts the first task that she likes; a task picks one of those who accepted it uniformly.
    """
    total = 0.0
    for likes in product(*(product([False, True], repeat=theta.shape[1]) for _ in present)):
        chance, accepted = 1.0, dict[int, list[int]]()
        for worker, minds in zip(present, likes, strict=True):
            chance *= float(np.prod(np.where(minds, theta[worker], 1 - theta[worker])))
            if any(minds):
                accepted.setdefault(minds.index(True), []).append(worker)
        if set(accepted) == set(took) and all(took[task] in accepted[task] for task in took):
            total += chance / float(np.prod([len(accepted[task]) for task in took]))
    return total


@pytest.mark.parametrize("won", [(), (0,), (1,), (0, 1)])
def test_what_is_charged_covers_what_outcomes_of_a_board_say(won: tuple[int, ...]) -> None:
    """Three workers consider two tasks, nearest first; whoever is named, no other's presence is told by more."""
    people = People(np.array([100.0, 300.0, 250.0]), np.array([10.0, 20.0, -30.0]), np.zeros(3, dtype=np.bool_))
    tasks = [Task(0, 0.0, 0.0, 0.0, 900.0), Task(1, 1000.0, 0.0, 0.0, 900.0)]
    found = (np.repeat([0, 1], 3), np.tile(np.arange(3), 2), np.empty(0))
    far = np.hypot(people.x_m[found[1]] - np.array([0.0, 1000.0])[found[0]], people.y_m[found[1]])
    asked = browse(Answers(MODEL, Streams(1), None), tasks, np.full(2, 6.0), (found[0], found[1], far), people)
    theta = MODEL.probability(6.0, far.reshape(2, 3).T)
    took = dict(zip(won, (2, 1), strict=False))  # task 0 to worker 2, task 1 to worker 1 (or to 2 where it is alone)
    disclosure = Disclosure(MODEL, None, 3)
    winners = {task: [took[task]] if task in took else [] for task in (0, 1)}
    disclosure.charge(see_outcomes(asked, winners, people.busy))
    for person in set(range(3)) - set(took.values()):
        without = likelihood(theta, tuple(one for one in range(3) if one != person), took)
        ratio = likelihood(theta, (0, 1, 2), took) / without
        assert disclosure.nats[person] >= -np.log(ratio) - 1e-12
        if not won:
            assert disclosure.nats[person] == pytest.approx(-np.log(ratio))
