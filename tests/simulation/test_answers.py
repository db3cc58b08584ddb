"""Whom offers mean: everyone in a circle or region, and those who are named, against a look at every worker."""

import numpy as np
import numpy.typing as npt
import pytest

from geodp.public.acceptance.linear import Linear
from geodp.public.messages import Circle, GeocastRegion, Named, Offer, Task
from geodp.simulation.answers import Answers, AskedWorkers, ask
from geodp.simulation.meant import People, find_meant
from geodp.streams import Streams

RNG = np.random.default_rng(7)
WORKERS = 4000
PEOPLE = People(RNG.uniform(-5000, 5000, WORKERS), RNG.uniform(-5000, 5000, WORKERS), RNG.random(WORKERS) < 0.2)
ANSWERS = Answers(Linear(mar=0.5, max_travel_m=2000.0), Streams(3), None)
PLACES = RNG.uniform(-4000, 4000, (6, 2))
TASKS = [Task(number, float(x), float(y), 0.0, 900.0) for number, (x, y) in enumerate(PLACES)]


def workers_of(names: tuple[str, ...]) -> npt.NDArray[np.int64]:
    return np.array([int(name) for name in names], dtype=np.int64)


def asked(*targets: Circle | GeocastRegion | Named, needed: int = 1) -> tuple[AskedWorkers, list[set[int]]]:
    offers = [Offer(task.task, 6.0, target) for task, target in zip(TASKS, targets, strict=False)]
    meant = find_meant(TASKS[: len(offers)], offers, PEOPLE, workers_of, Streams(3))
    found = ask(ANSWERS, meant, PEOPLE, needed)
    rows = [slice(*pair) for pair in zip(found.border[:-1].tolist(), found.border[1:].tolist(), strict=True)]
    assert all(np.all(np.diff(found.worker[row]) > 0) for row in rows)  # each once, in order
    return found, [set(found.worker[row].tolist()) for row in rows]


def inside(task: Task, radius_m: float) -> set[int]:
    return set(np.flatnonzero(np.hypot(PEOPLE.x_m - task.x_m, PEOPLE.y_m - task.y_m) <= radius_m).tolist())


@pytest.mark.parametrize("radius_m", [30.0, 700.0, 1999.0])
def test_everyone_on_every_side_of_a_task_is_asked(radius_m: float) -> None:
    found, sets = asked(*[Circle(radius_m)] * 6)
    assert sets == [inside(task, radius_m) for task in TASKS]
    if radius_m > 100:
        for task, rows in zip(TASKS, sets, strict=True):
            x, y = (np.array([place[worker] for worker in sorted(rows)]) for place in (PEOPLE.x_m, PEOPLE.y_m))
            for side in (x < task.x_m, x > task.x_m, y < task.y_m, y > task.y_m):
                assert 0.25 < side.mean() < 0.75
    centre = PLACES[np.repeat(np.arange(6), np.diff(found.border))]
    assert found.distance_m == pytest.approx(np.hypot(found.x_m - centre[:, 0], found.y_m - centre[:, 1]))


def test_one_batch_may_mean_people_in_different_ways() -> None:
    rectangles = ((-900.0, -900.0, 0.0, 900.0), (0.0, -900.0, 900.0, 900.0), (-100.0, -100.0, 100.0, 100.0))
    names = ("17", "3", "2900")
    _, sets = asked(Circle(500.0), GeocastRegion(rectangles), Named(names), Circle(800.0), Named(()), GeocastRegion(()))
    square = set(np.flatnonzero((np.abs(PEOPLE.x_m) <= 900) & (np.abs(PEOPLE.y_m) <= 900)).tolist())
    assert sets == [inside(TASKS[0], 500.0), square, {3, 17, 2900}, inside(TASKS[3], 800.0), set(), set()]


def test_an_answer_is_the_same_however_somebody_was_found() -> None:
    circle, [near, *_] = asked(Circle(1500.0))
    named, _ = asked(Named(tuple(str(worker) for worker in near)))
    assert circle.worker.tolist() == named.worker.tolist()
    assert circle.answer.tolist() == named.answer.tolist()


def test_workers_who_share_a_task_answer_to_their_share() -> None:
    alone, _ = asked(Circle(900.0))
    shared, _ = asked(Circle(900.0), needed=3)
    assert (alone.rewards.tolist(), shared.rewards.tolist()) == ([6.0], [2.0])
