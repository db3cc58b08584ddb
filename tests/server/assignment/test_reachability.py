"""Reachability: the table against draws and closed forms, and who is asked."""

import math
from typing import Any

import numpy as np
import pytest

from geodp.device.planar_laplace import PlanarLaplace
from geodp.errors import UsageError
from geodp.geometry import Array
from geodp.public.channels import PlanarLaplaceChannel
from geodp.public.messages import Task
from geodp.public.tree_metric import TreeChannel
from geodp.server.assignment.reachability import Reachability, reach_probability, reach_share
from tests.server.assignment.test_nearest_report import view
from tests.server.noisy_worlds import released
from tests.server.reports import REGION, reported
from tests.server.targets import pseudonyms

LAW = PlanarLaplaceChannel(0.005)
N = 400_000


def drawn(epsilon_per_m: float, rng: np.random.Generator) -> tuple[Array, Array]:
    return PlanarLaplace(epsilon_per_m=epsilon_per_m).report(np.zeros(N), np.zeros(N), rng=rng)


@pytest.mark.parametrize("task_epsilon_per_m", [None, 0.01, 0.002])
@pytest.mark.parametrize("reach_m", [300.0, 2000.0])
def test_the_table_is_what_draws_give(task_epsilon_per_m: float | None, reach_m: float) -> None:
    """Given reports, each true place lies about its report as reports do about places: 6 sd, false alarm below 1e-7."""
    rng = np.random.default_rng(4)
    x, y = drawn(LAW.epsilon_per_m, rng)
    if task_epsilon_per_m is not None:
        dx, dy = drawn(task_epsilon_per_m, rng)
        x, y = x - dx, y - dy
    table = reach_probability(LAW, reach_m, task_epsilon_per_m)
    for distance in (0.0, 0.4 * reach_m, 0.97 * reach_m, reach_m, 1.1 * reach_m, reach_m + 700, reach_m + 2500):
        share = float(np.mean(np.hypot(x + distance, y) <= reach_m))
        told = float(table.at(distance))
        assert told == pytest.approx(share, abs=6 * math.sqrt(max(share * (1 - share), 1e-5) / N) + 2e-4)


def test_it_is_exact_at_the_centre_and_far_out() -> None:
    for reach in (50.0, 900.0, 9000.0):
        at_home = 1 - (1 + 0.005 * reach) * math.exp(-0.005 * reach)
        assert reach_share(LAW, reach, np.array([0.0]))[0] == pytest.approx(at_home, rel=1e-10)
    steps = np.linspace(0, 8000, 400)
    share = reach_share(LAW, 2000.0, steps)
    assert (np.diff(share) <= 1e-12).all()
    # On the edge of a disc far wider than the noise, half of the reports lie inside.
    assert reach_share(PlanarLaplaceChannel(0.1), 1e6, np.array([1e6]))[0] == pytest.approx(0.5, abs=1e-4)


def test_each_entry_agrees_with_a_plain_sum_over_a_fine_grid() -> None:
    step = 5.0
    line = np.arange(-8000, 8000, step) + step / 2
    x, y = line[:, None], line
    for distance in (100.0, 950.0, 1400.0):
        density = 0.005**2 / (2 * math.pi) * np.exp(-0.005 * np.hypot(x - distance, y))
        summed = density[np.hypot(x, y) <= 1000.0].sum() * step**2
        assert reach_share(LAW, 1000.0, np.array([distance]))[0] == pytest.approx(summed, abs=2e-4)
        assert reach_probability(LAW, 1000.0).at(distance) == pytest.approx(summed, abs=3e-4)


def test_exact_reports_reach_or_do_not_and_a_tree_has_its_own_law() -> None:
    known = reach_probability(None, 500.0)
    assert known.at([0.0, 499.0, 501.0]).tolist() == pytest.approx([1.0, 1.0, 0.0], abs=1e-9)
    tree = TreeChannel(0.002, 100.0, (-6400.0, -6400.0, 6400.0, 6400.0))
    radius = tree.displacement_quantiles(50_000)
    turn = np.random.default_rng(1).uniform(0, 2 * np.pi, radius.size)
    for distance in (0.0, 600.0, 1500.0):
        share = np.mean(np.hypot(distance + radius * np.cos(turn), radius * np.sin(turn)) <= 1000.0)
        assert reach_probability(tree, 1000.0).at(distance) == pytest.approx(share, abs=0.02)


def test_the_likeliest_are_asked_above_the_threshold_and_nobody_twice() -> None:
    rng = np.random.default_rng(0)
    points = reported(*REGION.sample(4000, rng), rng, epsilon_per_m=0.005)
    task = Task(7, 100.0, 50.0, 10.0, 900.0)
    by_distance = np.argsort(np.hypot(points.x_m - 100.0, points.y_m - 50.0), kind="stable")
    method = Reachability(max_recipients=15, threshold=0.6)
    first = pseudonyms(method.offers([task], view(points))[0])
    assert list(first) == points.who[by_distance[:15]].tolist()
    on_the_way = frozenset(points.who[by_distance[15:60]].tolist())
    again = pseudonyms(method.offers([task], view(points, named={7: first}, engaged=on_the_way, round=1))[0])
    assert list(again) == points.who[by_distance[60:75]].tolist()
    wide = pseudonyms(Reachability(max_recipients=4000, threshold=0.6).offers([task], view(points))[0])
    law: Any = points.channel
    limit = reach_probability(law, 2000.0)
    far = np.hypot(points.x_m - 100.0, points.y_m - 50.0)
    assert set(wide) == set(points.who[limit.at(far) >= 0.6].tolist())
    assert 0 < len(wide) < 4000
    blurred = view(points, task_epsilon_per_m=0.001)
    assert len(pseudonyms(Reachability(max_recipients=4000, threshold=0.6).offers([task], blurred)[0])) < len(wide)
    assert method.offers([Task(1, 5e5, 0.0, 0.0, 9.0)], view(points))[0].unreachable


def test_counts_are_refused() -> None:
    with pytest.raises(UsageError, match="curator: null"):
        Reachability().offers([Task(7, 0.0, 0.0, 10.0, 900.0)], view(None, release=released(np.ones((4, 4)), 1.0)))


def test_a_target_asks_the_likeliest_until_it_is_reached_however_many_that_takes() -> None:
    rng = np.random.default_rng(2)
    points = reported(*REGION.sample(3000, rng), rng)
    task = [Task(0, 100.0, 50.0, 0.0, 900.0)]
    low, high = (Reachability(target_success=each).offers(task, view(points))[0] for each in (0.3, 0.9))
    assert pseudonyms(high)[: len(pseudonyms(low))] == pseudonyms(low)
    one_less = Reachability(max_recipients=len(pseudonyms(high)) - 1).offers(task, view(points))[0]
    assert one_less.planned_success < 0.9 <= high.planned_success
    assert pseudonyms(one_less) == pseudonyms(high)[:-1]
    assert low.planned_success >= 0.3
