"""The omniscient yardstick, against a look at everybody and a dense matching."""

from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import geodp
from geodp.public.acceptance.linear import Linear
from geodp.public.messages import Task
from geodp.simulation.answers import Answers
from geodp.simulation.meant import People
from geodp.simulation.yardstick import Willing, Yardstick, best_matching, fewest_nearest
from geodp.streams import Streams
from tests.small import small, small_file

REACH_M = 2500.0
ANSWERS = Answers(Linear(mar=0.2, max_travel_m=REACH_M), Streams(2), None)


def world(workers: int, tasks: int, seed: int) -> tuple[People, list[Task]]:
    rng = np.random.default_rng(seed)
    spread = rng.normal(0, 2500, (workers, 2))
    people = People(spread[:, 0], spread[:, 1], rng.random(workers) < 0.3)
    places = rng.normal(0, 3500, (tasks, 2)).tolist()
    return people, [Task(5 * i + 1, x, y, 0.0, 900.0) for i, (x, y) in enumerate(places)]


@pytest.mark.parametrize(("workers", "tasks"), [(3000, 12), (3000, 40), (60, 12), (3, 4), (0, 2)])
def test_it_finds_what_a_look_at_everybody_finds(workers: int, tasks: int) -> None:
    people, batch = world(workers, tasks, workers)
    rewards = np.linspace(3.0, 9.0, tasks)
    yardstick = Yardstick(ANSWERS, 0.9)
    yardstick.measure(batch[: tasks // 2], rewards[: tasks // 2], people, 60.0)
    alone = yardstick.frame()
    yardstick.measure(batch, rewards, people, 120.0)  # those measured before are not measured again
    assert yardstick.frame()["task"].tolist() == [task.task for task in batch]
    assert yardstick.frame().iloc[: len(alone)].equals(alone)
    whole = Yardstick(ANSWERS, 0.9)
    whole.measure(batch, rewards, people, 60.0)
    found = whole.frame()
    cost = np.full((tasks, workers + tasks), 1e9)
    for i, task in enumerate(batch):
        far = np.hypot(people.x_m - task.x_m, people.y_m - task.y_m)
        can = np.flatnonzero(~people.busy & (far <= REACH_M))
        order = can[np.argsort(far[can], kind="stable")]
        chance, yes = ANSWERS.minds(np.full(order.size, task.task), order, np.full(order.size, rewards[i]), far[order])
        reached = np.flatnonzero(1 - np.cumprod(1 - chance) >= 0.9)
        assert found["workers_needed"][i] == (reached[0] + 1 if reached.size else pytest.approx(np.nan, nan_ok=True))
        nearest = far[order[yes]].min() if yes.any() else np.nan
        assert found["nearest_willing_m"][i] == pytest.approx(nearest, nan_ok=True)
        cost[i, order[yes]] = far[order[yes]]
    rows, columns = linear_sum_assignment(cost)
    best = cost[rows, columns]
    assert found["matched_m"].notna().sum() == (best < 1e9).sum()
    if tasks <= 32:  # exact; beyond, each task has its 32 nearest to choose from
        assert found["matched_m"].sum() == pytest.approx(best[best < 1e9].sum())


def test_a_matching_takes_most_tasks_and_then_the_least_travel() -> None:
    rng = np.random.default_rng(1)
    for _ in range(60):
        pairs = np.array([(t, w) for t in range(4) for w in range(4) if rng.random() < 0.4]).reshape(-1, 2)
        far = rng.integers(0, 900, len(pairs)).astype(np.float64)  # 0: she is there already
        found = best_matching(Willing(np.empty(0), pairs[:, 0], pairs[:, 1], far), 4, 1, 1000.0)
        length = {(t, w): d for (t, w), d in zip(pairs.tolist(), far.tolist(), strict=True)}
        options = []
        for who in permutations([0, 1, 2, 3, None, None, None, None], 4):
            ways = [length.get((task, worker)) for task, worker in enumerate(who) if worker is not None]
            if None not in ways:
                options.append((-len(ways), sum(way for way in ways if way is not None)))
        most, travel = min(options)
        assert np.isfinite(found).sum() == -most
        assert np.nansum(found) == pytest.approx(travel)


@pytest.mark.parametrize("needed", [1, 2, 3])
def test_the_fewest_who_suffice_are_those_of_enumerating_all_answers(needed: int) -> None:
    rng = np.random.default_rng(needed)
    sizes = [0, 1, 4, 7, 7]
    row = np.repeat(np.arange(5), sizes)
    chance = rng.uniform(0.2, 0.9, row.size)
    chance[-7] = 1.0
    told = fewest_nearest(row, chance, 5, 0.8, needed)
    for task in range(5):
        theta = chance[row == task]
        enough = []
        for count in range(1, theta.size + 1):
            total = 0.0
            for minds in product([0, 1], repeat=count):
                total += float(np.prod(np.where(minds, theta[:count], 1 - theta[:count]))) * (sum(minds) >= needed)
            if total >= 0.8 - 1e-12:
                enough.append(count)
        assert told[task] == (enough[0] if enough else pytest.approx(np.nan, nan_ok=True))


def test_every_comparison_has_it_and_a_method_is_not_changed_by_it(tmp_path: Path) -> None:
    """Nobody who is asked at a success of 0.9 needs fewer than the nearest who suffice."""
    arms = {"plain": {}, "posted": {"server.mode": "worker_selected"}}
    compared = geodp.run(small_file(tmp_path, {"compare": arms}), tmp_path / "both", draw_map=False)
    for name in arms:
        numbers = compared.folder.arms[name].metrics
        assert 3 < (numbers["omniscient_workers_asked"] or 0) < 20
        assert 0 < (numbers["omniscient_travel_m"] or 0) < (numbers["travel_distance_m"] or 0)
        assert numbers["omniscient_success_rate"] == pytest.approx(1.0, abs=0.1)
    assert "omniscient_workers_asked" in (compared.path / "comparison.csv").read_text()
    without = geodp.run(small({"yardstick": False}), tmp_path / "without", draw_map=False)
    assert not without.folder.has("truth/yardstick.parquet")
    assert not any(key.startswith("omniscient") for key in without.metrics)
    assert without.events.equals(compared.folder.arms["plain"].events)
