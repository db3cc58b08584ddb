"""What the server keeps: money that is promised, paid and returned, and what it was told."""

from collections.abc import Sequence
from typing import Any, ClassVar

import pytest

from geodp import plugin
from geodp.geometry import Region
from geodp.public.messages import Answer, Offer, Task
from geodp.server.assignment import Assignment
from geodp.server.server import Purse, Server
from geodp.server.view import ServerView


class HalfThePurse(Assignment):
    """Promises half of what it may to the tasks of a batch, evenly."""

    seen: ClassVar[list[ServerView]] = []

    def offers(self, tasks: Sequence[Task], view: ServerView) -> list[Offer]:
        self.seen.append(view)
        reward = view.purse / 2 / len(tasks)
        facts: dict[str, Any] = {"planned_success": 0.5, "density_per_m2": 1e-3, "expected_workers": 3.0}
        return [
            Offer(task=task.task, reward=reward, radius_m=100.0, uncapped_radius_m=100.0, **facts) for task in tasks
        ]


def task(number: int) -> Task:
    return Task(number, 0.0, 0.0, 60.0 * number, 60.0 * number + 900)


@pytest.fixture
def server() -> Server:
    HalfThePurse.seen.clear()
    acceptance = plugin("linear", "acceptance")
    return Server(HalfThePurse(), acceptance, Region(0.0, 0.0, 0.1, 0.1), Purse(total=100.0, expected_tasks=10), 1.0)


def purses() -> list[float]:
    return [view.purse for view in HalfThePurse.seen]


def test_a_batch_may_promise_its_share_and_what_earlier_ones_left() -> None:
    purse = Purse(total=100.0, expected_tasks=10)
    assert purse.draw(2) == 20.0
    purse.give_back(15.0)
    assert purse.draw(1) == 25.0
    assert (purse.promised, purse.carried, purse.paid) == (30.0, 0.0, 0.0)


def test_no_more_is_ever_promised_than_is_there() -> None:
    purse = Purse(total=100.0, expected_tasks=10)
    purse.draw(8)
    purse.pay(50.0)
    assert (purse.paid, purse.promised) == (50.0, 30.0)
    assert purse.draw(5) == 20.0
    assert purse.draw(5) == 0.0


def test_what_a_plan_does_not_promise_is_there_for_the_next_batch(server: Server) -> None:
    server.plan([task(0), task(1)], None, 0.0)
    server.plan([task(2)], None, 60.0)
    assert purses() == [20.0, 20.0]  # 10 for the task itself, and 10 that the first batch left


def test_the_reward_of_a_task_that_nobody_takes_returns_to_the_purse(server: Server) -> None:
    server.plan([task(0)], None, 0.0)
    server.hear(Answer(0, None, 30.0))
    server.give_up(0)
    assert server.purse.promised == 0.0
    server.plan([task(1)], None, 60.0)
    assert purses() == [10.0, 20.0]


def test_the_reward_of_a_task_that_is_taken_is_paid_once_and_does_not_return(server: Server) -> None:
    server.plan([task(0)], None, 0.0)
    server.hear(Answer(0, "w1", 30.0))
    server.give_up(0)  # too late: it is taken
    assert (server.purse.paid, server.purse.promised) == (5.0, 0.0)
    server.plan([task(1)], None, 60.0)
    assert purses() == [10.0, 15.0]


def test_a_second_round_may_promise_what_the_first_held(server: Server) -> None:
    server.plan([task(0)], None, 0.0)
    server.hear(Answer(0, None, 30.0))
    server.plan([task(0)], None, 60.0)
    assert [view.round for view in HalfThePurse.seen] == [0, 1]
    assert purses() == [10.0, 5.0]
    assert server.purse.promised == 2.5
