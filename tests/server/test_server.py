"""What the server keeps: money that is promised, paid and returned, and what it was told."""

from collections.abc import Sequence
from typing import ClassVar

import pytest

from geodp import plugin
from geodp.errors import UsageError
from geodp.geometry import Region
from geodp.public.events import Reason
from geodp.public.messages import Answer, Circle, Offer, Task
from geodp.server.assignment import Assignment, ServerView
from geodp.server.rewards import RewardBudget
from geodp.server.server import Server


class HalfThePurse(Assignment):
    """Promises half of what it may to the tasks of a batch, evenly."""

    seen: ClassVar[list[ServerView]] = []

    def offers(self, tasks: Sequence[Task], view: ServerView) -> list[Offer]:
        self.seen.append(view)
        reward = view.purse / 2 / len(tasks)
        return [Offer(task.task, reward, Circle(100.0), planned_success=0.5) for task in tasks]


def task(number: int) -> Task:
    return Task(number, 0.0, 0.0, 60.0 * number, 60.0 * number + 900)


@pytest.fixture
def server() -> Server:
    HalfThePurse.seen.clear()
    acceptance = plugin("linear", "acceptance")
    return Server(
        HalfThePurse(), acceptance, Region(0.0, 0.0, 0.1, 0.1), RewardBudget(total=100.0, expected_tasks=10), 1.0
    )


def purses() -> list[float]:
    return [view.purse for view in HalfThePurse.seen]


def test_a_batch_may_promise_its_share_and_what_earlier_ones_left() -> None:
    budget = RewardBudget(total=100.0, expected_tasks=10)
    assert budget.draw(2) == 20.0
    budget.give_back(15.0)
    assert budget.draw(1) == 25.0
    assert (budget.promised, budget.carried, budget.paid) == (30.0, 0.0, 0.0)


def test_no_more_is_ever_promised_than_is_there() -> None:
    budget = RewardBudget(total=100.0, expected_tasks=10)
    budget.draw(8)
    budget.pay(50.0)
    assert (budget.paid, budget.promised) == (50.0, 30.0)
    assert budget.draw(5) == 20.0
    assert budget.draw(5) == 0.0


def test_what_a_plan_does_not_promise_is_there_for_the_next_batch(server: Server) -> None:
    server.plan([task(0), task(1)], None, 0.0)
    server.plan([task(2)], None, 60.0)
    assert purses() == [20.0, 20.0]  # 10 for the task itself, and 10 that the first batch left


def test_the_reward_of_a_task_that_nobody_takes_returns_to_the_purse(server: Server) -> None:
    server.plan([task(0)], None, 0.0)
    server.hear(Answer(0, (), 30.0))
    server.give_up(0)
    assert server.budget.promised == 0.0
    server.plan([task(1)], None, 60.0)
    assert purses() == [10.0, 20.0]


def test_the_reward_of_a_task_that_is_taken_is_paid_once_and_does_not_return(server: Server) -> None:
    server.plan([task(0)], None, 0.0)
    server.hear(Answer(0, ("w1",), 30.0))
    server.give_up(0)  # too late: it is taken
    assert (server.budget.paid, server.budget.promised) == (5.0, 0.0)
    server.plan([task(1)], None, 60.0)
    assert purses() == [10.0, 15.0]


def test_a_second_round_may_promise_what_the_first_held(server: Server) -> None:
    server.plan([task(0)], None, 0.0)
    server.hear(Answer(0, (), 30.0))
    server.plan([task(0)], None, 60.0)
    assert [view.round for view in HalfThePurse.seen] == [0, 1]
    assert purses() == [10.0, 5.0]
    assert server.budget.promised == 2.5


def test_posted_tasks_return_what_they_do_not_promise(server: Server) -> None:
    server.budget.carried = 30.0
    offers = server.post([task(0), task(1)], 60.0)
    assert [offer.reward for offer in offers] == [10.0, 10.0]
    assert (server.budget.promised, server.budget.carried) == (20.0, 30.0)


def test_an_offer_has_either_a_target_or_a_reason() -> None:
    with pytest.raises(ValueError, match="either a target or a reason"):
        Offer(0, 1.0)
    with pytest.raises(ValueError, match="either a target or a reason"):
        Offer(0, 1.0, Circle(1.0), unreachable=Reason.NO_RADIUS)


class Written(Assignment):
    """Returns what the test wrote."""

    answer: ClassVar[object] = None

    def offers(self, tasks: Sequence[Task], view: ServerView) -> list[Offer]:
        return self.answer  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "must return a list of offers"),
        ([], "one offer for each of the 1 tasks"),
        ([Offer(1, 1.0, Circle(10.0))], "one offer for each of the 1 tasks"),
        ([Offer(0, 1.0, 300.0)], "must offer to a Circle, a Region or Named workers"),  # type: ignore[arg-type]
        ([Offer(0, float("nan"), Circle(10.0))], "reward that is no number from 0 up"),
        ([Offer(0, 1.0, Circle(-5.0))], "radius is no number from 0 up"),
        ([Offer(0, 1e9, Circle(10.0))], "of 10 that there are"),
    ],
)
def test_what_is_no_plan_is_refused_with_the_name_of_the_assignment(
    answer: object, said: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Written, "answer", answer)
    monkeypatch.setattr(Written, "kind", "written", raising=False)
    server.assignment = Written()
    with pytest.raises(UsageError, match=f"the assignment 'written' .*{said}"):
        server.plan([task(0)], None, 0.0)
