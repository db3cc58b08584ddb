from dataclasses import replace

import numpy as np
import pytest

from geodp.errors import UsageError
from geodp.public.acceptance.tanh_reward import TanhReward
from geodp.public.events import Reason
from geodp.public.guarantee import Guarantee
from geodp.public.messages import Named, Task
from geodp.public.release import Points
from geodp.server.assignment import ServerView
from geodp.server.assignment.nearest_report import NearestReport
from tests.server.noisy_worlds import released
from tests.server.reports import REGION, names, reported
from tests.server.targets import pseudonyms

ACCEPTANCE = TanhReward(metres_per_reward=100.0, max_travel_m=2000.0, minimum_reward=1.0)
TASKS = [Task(7, 0.0, 0.0, 10.0, 900.0), Task(9, 3000.0, -2000.0, 20.0, 900.0)]


def view(points: Points | None, **changes: object) -> ServerView:
    base = ServerView(
        time_s=60.0,
        region=REGION,
        release=points,
        acceptance=ACCEPTANCE,
        purse=10.0,
        uniform_reward=5.0,
        minimum_reward=1.0,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def world(epsilon: float = 0.01, workers: int = 4000, seed: int = 0) -> tuple[Points, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x, y = REGION.sample(workers, rng)
    return reported(x, y, rng, epsilon_per_m=epsilon), x, y


def test_the_nearest_reports_are_asked_one_more_until_the_target_is_planned() -> None:
    points, _, _ = world()
    offers = NearestReport().offers(TASKS, view(points))
    for task, offer in zip(TASKS, offers, strict=True):
        assert isinstance(offer.target, Named)
        distance = np.hypot(points.x_m - task.x_m, points.y_m - task.y_m)
        nearest = points.who[np.argsort(distance, kind="stable")]
        assert list(pseudonyms(offer)) == nearest[: len(pseudonyms(offer))].tolist()
        assert 0.9 <= offer.planned_success < 0.93
        assert offer.reward == pytest.approx(5.0)
    fewer = NearestReport(target_success=0.5).offers(TASKS, view(points))
    assert len(pseudonyms(fewer[0])) < len(pseudonyms(offers[0]))


def test_planned_success_is_what_happens_on_average() -> None:
    """Workers answer wherever they truly are: mean realised minus planned success over 1,500 tasks.

    Standard error 0.008: 5 sd, false alarm < 1e-6.
    """
    points, x, y = world(epsilon=0.004, workers=12_000, seed=1)
    rng = np.random.default_rng(4)
    west, south, east, north = REGION.box_m
    places = rng.uniform((west + 3000, south + 3000), (east - 3000, north - 3000), (1500, 2))
    tasks = [Task(number, x_m, y_m, 0.0, 900.0) for number, (x_m, y_m) in enumerate(places.tolist())]
    offers = NearestReport(target_success=0.8).offers(tasks, view(points, purse=5.0 * len(tasks)))
    gaps = []
    for task, offer in zip(tasks, offers, strict=True):
        row = np.searchsorted(points.who, np.array(pseudonyms(offer)))
        distance = np.hypot(x[row] - task.x_m, y[row] - task.y_m)
        chance = -np.expm1(ACCEPTANCE.log_refusal(offer.reward, distance).sum())
        gaps.append(chance - offer.planned_success)
    assert abs(np.mean(gaps)) < 0.012


def test_the_list_is_capped_and_the_offer_says_so() -> None:
    points, _, _ = world()
    offer = NearestReport(max_recipients=4).offers(TASKS, view(points))[0]
    assert len(pseudonyms(offer)) == 4
    assert offer.planned_success < 0.9
    assert offer.notes == ("recipients_capped",)


def test_a_reoffer_reaches_more_workers_those_asked_before_included() -> None:
    points, _, _ = world()
    first = NearestReport().offers(TASKS, view(points))[0]
    again = NearestReport().offers(TASKS, view(points, round=1))[0]
    assert set(pseudonyms(first)) < set(pseudonyms(again))
    assert again.planned_success > first.planned_success


def test_exact_reports_beyond_reach_are_not_asked() -> None:
    far = Points(0.0, "none", Guarantee.none("a test"), names(1), np.array([2500.0]), np.array([0.0]), None, 1e-7)
    offer = NearestReport().offers(TASKS[:1], view(far))[0]
    assert (pseudonyms(offer), offer.unreachable) == ((), Reason.BEYOND_REACH)


def test_without_reports_or_money_there_is_no_offer() -> None:
    points, _, _ = world()
    assert {offer.unreachable for offer in NearestReport().offers(TASKS, view(None))} == {Reason.NO_RELEASE}
    nobody = Points(0.0, "none", Guarantee.none("a test"), names(0), np.empty(0), np.empty(0), None, 1e-7)
    assert NearestReport().offers(TASKS, view(nobody))[0].unreachable == Reason.BEYOND_REACH
    poor = NearestReport().offers(TASKS, view(points, purse=1.5))
    assert [offer.unreachable for offer in poor] == ["", Reason.PURSE_EMPTY]
    assert sum(offer.reward for offer in poor) <= 1.5


def test_counts_are_refused_by_name() -> None:
    with pytest.raises(UsageError, match="reads points"):
        NearestReport().offers(TASKS, view(released(np.ones((2, 2)), 0.0)))  # type: ignore[arg-type]
