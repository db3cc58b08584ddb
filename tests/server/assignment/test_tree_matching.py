"""Greedy matching on the tree, against a look at every worker; and what the server remembers of those it named."""

import numpy as np
import pytest

from geodp.errors import UsageError
from geodp.public.acceptance.tanh_reward import TanhReward
from geodp.public.messages import Answer, Named, Task
from geodp.public.release import Points
from geodp.public.tree_metric import TreeChannel
from geodp.server.assignment.tree_matching import TreeMatching, willingness
from geodp.server.named_workers import NamedWorkers, count_enough, rows_named
from tests.server.assignment.test_nearest_report import view
from tests.server.reports import REGION, reported
from tests.server.targets import pseudonyms

ACCEPTANCE = TanhReward(metres_per_reward=100.0, max_travel_m=2000.0, minimum_reward=1.0)


def world(workers: int, seed: int = 0, epsilon_per_m: float = 0.002) -> tuple[Points, TreeChannel]:
    rng = np.random.default_rng(seed)
    points = reported(*REGION.sample(workers, rng), rng, kind="tree_obfuscation", epsilon_per_m=epsilon_per_m)
    assert isinstance(points.channel, TreeChannel)
    return points, points.channel


def tasks(count: int, seed: int = 5) -> list[Task]:
    x, y = REGION.sample(count, np.random.default_rng(seed))
    return [Task(7 * i, float(x[i]), float(y[i]), 10.0, 900.0) for i in range(count)]


@pytest.mark.parametrize("recipients", [1, 3])
def test_each_task_gets_the_nearest_unmatched_along_the_tree_in_its_turn(recipients: int) -> None:
    points, law = world(120)
    batch = tasks(30)
    engaged = frozenset(points.who[::4].tolist())
    named = {task.task: tuple(points.who[1::5].tolist()) for task in batch[::2]}
    offers = TreeMatching(recipients=recipients).offers(batch, view(points, purse=1000.0, engaged=engaged, named=named))
    free = {name: row for row, name in enumerate(points.who.tolist()) if name not in engaged}
    leaf = law.tree.locate(points.x_m, points.y_m)
    for task, offer in zip(batch, offers, strict=True):
        place = law.tree.locate(task.x_m, task.y_m)
        can = sorted(
            (int(law.tree.find_meeting_level(leaf[row], place)), name)
            for name, row in free.items()
            if name not in named.get(task.task, ())
        )
        assert list(offer.target.pseudonyms if isinstance(offer.target, Named) else ()) == [
            name for _, name in can[:recipients]
        ]
        for _, name in can[:recipients]:
            del free[name]


def test_a_target_asks_as_many_as_it_needs_and_leaves_the_others_to_the_next_task() -> None:
    points, law = world(2000)
    batch = tasks(6)
    few = TreeMatching(target_success=0.6).offers(batch, view(points, purse=1000.0))
    matched: set[str] = set()
    for task, offer in zip(batch, few, strict=True):
        names = pseudonyms(offer)
        assert not matched & set(names)
        rows = np.array([int(rows_named(points.who, [name])[0]) for name in names])
        leaf = law.tree.locate(points.x_m, points.y_m)[rows]
        chance = willingness(law, view(points).acceptance, offer.reward, (task.x_m, task.y_m), leaf)
        assert offer.planned_success == pytest.approx(1 - np.prod(1 - chance))
        assert offer.planned_success >= 0.6 > 1 - np.prod(1 - chance[:-1])
        matched |= set(names)
    alone = TreeMatching(recipients=len(pseudonyms(few[0]))).offers(batch[:1], view(points, purse=1000.0 / 6))
    assert pseudonyms(alone[0]) == pseudonyms(few[0])


@pytest.mark.parametrize(("target", "enough"), [(0.05, 1), (0.5, 2), (0.51, 3), (0.9, 4), (0.99, 4)])
def test_enough_are_as_few_as_reach_the_target_or_all(target: float, enough: int) -> None:
    assert count_enough(np.array([0.1, 0.4445, 0.3, 0.8]), target) == enough
    assert count_enough(np.empty(0), target) == 0


def test_planned_willingness_is_the_mean_over_every_leaf() -> None:
    _, law = world(10)
    leaf = np.array([0, 77, 5000, law.tree.grid.size - 1])
    place = (300.0, -200.0)
    x, y = law.tree.centres(np.arange(law.tree.grid.size))
    theta = ACCEPTANCE.probability(5.0, np.hypot(x - place[0], y - place[1]))
    expected = [float(law.law_of(one) @ theta) for one in leaf.tolist()]
    assert willingness(law, ACCEPTANCE, 5.0, place, leaf) == pytest.approx(expected, rel=1e-9)


def test_nobody_is_matched_where_nobody_is_left() -> None:
    points, _ = world(1)
    offers = TreeMatching().offers(tasks(2), view(points, purse=1000.0))
    assert [len(pseudonyms(offer)) if offer.target else 0 for offer in offers] == [1, 0]


def test_reports_that_are_no_leaves_are_refused() -> None:
    rng = np.random.default_rng(0)
    points = reported(*REGION.sample(5, rng), rng)
    with pytest.raises(UsageError, match="tree_obfuscation"):
        TreeMatching().offers(tasks(1), view(points))


def test_whom_the_server_named_is_engaged_until_it_hears_of_her_again() -> None:
    known = NamedWorkers()
    known.ask(3, Named(("a", "b")))
    known.ask(4, Named(("c",)))
    assert known.list_engaged(0.0) == {"a", "b", "c"}
    known.hear_answer(Answer(3, (), 30.0))
    assert known.list_engaged(60.0) == {"c"}
    known.ask(3, Named(("d",)))
    assert known.asked[3] == ("a", "b", "d")
    known.hear_answer(Answer(3, ("d",), 90.0))
    known.hear_answer(Answer(4, (), 90.0))
    assert known.list_engaged(120.0) == {"d"}
    assert 3 not in known.asked
    known.free(("d",), 300.0)
    assert known.list_engaged(299.0) == {"d"}
    assert not known.list_engaged(300.0)
    known.ask(5, object())  # a circle names nobody
    known.forget(4)
    assert known.asked == {}


def test_names_are_found_among_all_and_unknown_ones_left_out() -> None:
    who = np.array(["a", "c", "d"])
    assert rows_named(who, ["d", "b", "a", "z"]).tolist() == [0, 2]
    assert rows_named(who[:0], ["a"]).tolist() == []
