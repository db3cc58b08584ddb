"""Offers to regions: what is noted, refused and widened, from every kind of release."""

from dataclasses import replace

import numpy as np
import pytest
from pydantic import ValidationError

from geodp.geometry import Region
from geodp.public import messages
from geodp.public.acceptance.linear import Linear
from geodp.public.events import Note, Reason
from geodp.public.messages import Offer, Task
from geodp.public.release import Cells, Points
from geodp.server.assignment import ServerView
from geodp.server.assignment.geocast import Geocast
from tests.server.cells import cells, grid_cells, tiled
from tests.server.noisy_worlds import released
from tests.server.reports import REGION, reported
from tests.server.targets import rectangles

ACCEPTANCE = Linear(mar=0.1, max_travel_m=3000.0, minimum_reward=1.0)
TASKS = [Task(7, 100.0, 50.0, 10.0, 900.0), Task(9, -800.0, 600.0, 20.0, 900.0)]


def view(release: Cells | Points | None, **changes: object) -> ServerView:
    base = ServerView(
        time_s=60.0,
        region=Region(10.0, 50.0, 10.1, 50.1),
        release=release,
        acceptance=ACCEPTANCE,
        purse=10.0,
        uniform_reward=5.0,
        minimum_reward=1.0,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def crowd(noise_scale: float = 2.0, seed: int = 0) -> Cells:
    rng = np.random.default_rng(seed)
    rectangles = tiled(rng, 200)
    return cells(
        rectangles, rng.poisson(8.0, len(rectangles)) + rng.laplace(0, noise_scale, len(rectangles)), noise_scale
    )


def area(offer: Offer) -> float:
    return sum((east - west) * (north - south) for west, south, east, north in rectangles(offer))


def test_an_offer_has_a_region_its_plan_and_no_circle() -> None:
    for offer in Geocast(max_recipients=None).offers(TASKS, view(crowd())):
        assert isinstance(offer.target, messages.GeocastRegion)
        assert 0.9 * (1 - 1e-9) <= offer.planned_success < 0.91
        assert offer.target.growth[-1] == offer.planned_success
        assert offer.expected_workers > 20
        assert offer.reward == pytest.approx(5.0)
        assert (offer.notes, offer.unreachable) == ((), "")


def test_contours_and_reports_serve_as_well_as_cells() -> None:
    rng = np.random.default_rng(1)
    contour = released(rng.poisson(6.0, (45, 45)) + rng.laplace(0, 3.0, (45, 45)), 3.0, smoothing_cells=1.0)
    tasks = [Task(1, 6000.0, 7000.0, 0.0, 900.0)]
    x, y = REGION.sample(20_000, rng)
    points = reported(x, y, rng, epsilon_per_m=0.01)
    for planning in ("plain", "noise_aware"):
        [offer] = Geocast.model_validate({"planning": planning, "max_recipients": None}).offers(tasks, view(contour))
        assert 0.9 * (1 - 1e-9) <= offer.planned_success < 0.91
        # 6 workers per cell of 300 m, p about 0.09: some 26 workers in 0.4 km².
        assert 0.2e6 < area(offer) < 0.8e6
        [offer] = Geocast.model_validate({"planning": planning, "max_recipients": None}).offers(
            [Task(1, 0.0, 0.0, 0.0, 900.0)], view(points)
        )
        assert rectangles(offer)
        assert offer.planned_success >= 0.9 * (1 - 1e-9)


def test_a_region_that_cannot_reach_the_target_is_offered_and_says_so() -> None:
    [offer] = Geocast(planning="published").offers(TASKS[:1], view(grid_cells(np.array([[6.0, 3.0], [2.0, 1.0]]))))
    assert offer.notes == (Note.SHORT_OF_TARGET,)
    assert len(rectangles(offer)) == 4
    assert 0.4 < offer.planned_success < 0.9
    [nobody] = Geocast(planning="published").offers(TASKS[:1], view(grid_cells(np.zeros((2, 2)))))
    assert (nobody.unreachable, nobody.target) == (Reason.BEYOND_REACH, None)


def test_counts_that_are_all_noise_are_noted() -> None:
    [noisy] = Geocast().offers(TASKS[:1], view(crowd(noise_scale=2000.0)))
    assert Note.MOSTLY_NOISE in noisy.notes
    [clear] = Geocast().offers(TASKS[:1], view(crowd(noise_scale=0.5)))
    assert Note.MOSTLY_NOISE not in clear.notes


def test_a_reoffer_reaches_all_who_were_asked_before() -> None:
    rules = Geocast(max_recipients=None)
    first = rules.offers(TASKS, view(crowd()))
    before = {offer.task: rectangles(offer) for offer in first}
    for release in (crowd(), crowd(seed=5)):  # the same release, and another one that may lead elsewhere
        again = rules.offers(TASKS, view(release, round=1, asked=before))
        for old, new in zip(first, again, strict=True):
            assert new.planned_success > old.planned_success
            places = np.random.default_rng(0).uniform(-2000, 2000, (4000, 2))
            assert not np.any(inside(old, places) & ~inside(new, places))
            assert area(new) > area(old)


def inside(offer: Offer, places: np.ndarray) -> np.ndarray:
    found = np.zeros(len(places), dtype=bool)
    for west, south, east, north in rectangles(offer):
        x, y = places.T
        found |= (x >= west) & (x <= east) & (y >= south) & (y <= north)
    return found


def test_several_workers_share_the_reward_and_below_the_minimum_each_nobody_is_asked() -> None:
    one, three = (Geocast(max_recipients=None).offers(TASKS[:1], view(crowd(), workers_per_task=k))[0] for k in (1, 3))
    assert area(three) > 1.5 * area(one)
    poor = Geocast().offers(TASKS[:1], view(crowd(), workers_per_task=3, purse=2.9))
    assert poor[0].unreachable == Reason.PURSE_EMPTY


def test_without_a_release_or_money_no_offer_is_made() -> None:
    assert {offer.unreachable for offer in Geocast().offers(TASKS, view(None))} == {Reason.NO_RELEASE}
    assert {offer.unreachable for offer in Geocast().offers(TASKS, view(crowd(), purse=0.0))} == {Reason.PURSE_EMPTY}


@pytest.mark.parametrize("target", [0.0, 1.0, 1.5])
def test_a_target_that_no_region_reaches_is_refused(target: float) -> None:
    with pytest.raises(ValidationError, match="target_success"):
        Geocast(target_success=target)


def test_travel_distance_zero_is_refused() -> None:
    with pytest.raises(ValidationError, match="max_travel_m"):
        Linear(max_travel_m=0.0)


def test_a_region_smaller_than_one_cell_is_one_cell_cut_at_the_travel_square() -> None:
    release = grid_cells(np.array([[4000.0]]), cell_m=20_000.0)
    [offer] = Geocast(partial_cell=False).offers(TASKS[:1], view(release))
    assert rectangles(offer) == ((-2900.0, -2950.0, 3100.0, 3050.0),)


def test_planned_success_is_what_happens_on_average_on_noisy_counts() -> None:
    """Even world, exact noise law: mean realised minus planned success of 1,500 regions.

    The realised chance of each region has sd < 0.1, shared noise makes them fewer in effect; tolerance 0.02.
    Believing the noisy counts, as published, promises too much.
    """
    rng = np.random.default_rng(2)
    side = 60
    x, y = rng.uniform(-6000, 6000, (2, 12_000))
    tasks = [Task(i, float(a), float(b), 0.0, 900.0) for i, (a, b) in enumerate(rng.uniform(-3000, 3000, (1500, 2)))]
    true = np.histogram2d(y, x, [side, side], [[-6000, 6000]] * 2)[0]
    release = grid_cells(true + rng.laplace(0, 3.0, true.shape), cell_m=200.0, noise_scale=3.0)
    gap = {}
    for planning in ("published", "noise_aware"):
        offers = Geocast.model_validate({"planning": planning, "max_recipients": None}).offers(
            tasks, view(release, purse=1e9)
        )
        realised = []
        for task, offer in zip(tasks, offers, strict=True):
            found = inside(offer, np.column_stack([x, y]))
            distance = np.hypot(x[found] - task.x_m, y[found] - task.y_m)
            realised.append(1 - np.prod(1 - ACCEPTANCE.probability(5.0, distance)) - offer.planned_success)
        gap[planning] = float(np.mean(realised))
    assert gap["noise_aware"] == pytest.approx(0.0, abs=0.02)
    assert gap["published"] < -0.02
