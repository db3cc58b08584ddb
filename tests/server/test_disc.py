"""Discs against fine quadrature, at the region's edge, and where not even the maximum travel distance suffices."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from geodp.curator.mechanisms.adaptive_grid import AdaptiveGrid
from geodp.geometry import Array
from geodp.public.acceptance.linear import Linear
from geodp.public.events import Reason
from geodp.public.messages import Circle, Task
from geodp.public.release import Cells
from geodp.server.acceptors import chance_of_enough
from geodp.server.assignment import ServerView
from geodp.server.assignment.reward_radius import RewardRadius
from geodp.server.count_beliefs import CountBelief, believe_counts
from geodp.server.disc import Discs, exponent_of, find_discs, ring_edges
from tests.benchmarks._planning_worlds import dense, smooth
from tests.server.cells import grid_cells

LINEAR = Linear(mar=0.1, max_travel_m=3_600.0, minimum_reward=0.0)
GOAL = 0.9
RINGS, ANGLES = 200, 64


def fine_exponents(release: Cells, belief: CountBelief, x: float, y: float, radii: Array) -> Array:
    """Return -ln P(nobody) of discs of these radii around a place: 200 rings of equal width, 64 angles."""
    edges = np.concatenate([[0.0], radii])
    middle = (edges[1:] + edges[:-1]) / 2
    angle = 2 * np.pi * (np.arange(ANGLES) + 0.5) / ANGLES
    cell = release.locate(
        (x + middle[:, None] * np.cos(angle)).ravel(), (y + middle[:, None] * np.sin(angle)).ravel()
    ).reshape(radii.size, ANGLES)
    area = np.pi * (edges[1:] ** 2 - edges[:-1] ** 2) / ANGLES
    weight = area * LINEAR.probability(1.0, middle)
    share = np.zeros(belief.group.size)
    found = []
    for ring in range(radii.size):
        inside = cell[ring][cell[ring] >= 0]
        np.add.at(share, inside, weight[ring] / release.area_m2[inside])
        size = belief.parts.size
        total = np.bincount(belief.group, weights=share, minlength=size)
        square = np.bincount(belief.group, weights=share**2, minlength=size)
        each = (total / belief.parts) ** 2 * belief.total_variance
        each += belief.part_variance * (square - total**2 / belief.parts)
        found.append(float(exponent_of(np.array([share @ belief.mean]), np.array([each.sum()]))[0]))
    return np.array(found)


def fine_radius(release: Cells, belief: CountBelief, x: float, y: float, near_m: float) -> float:
    """Return the radius that reaches the goal, looked for up to a little more than the one that is judged."""
    radii = np.linspace(0, min(1.3 * near_m, LINEAR.max_travel_m), RINGS + 1)[1:]
    exponent = fine_exponents(release, belief, x, y, radii)
    return float(np.interp(-np.log1p(-GOAL), exponent, radii))


def discs_of(release: Cells, belief: CountBelief, x_m: Array, y_m: Array, target: float = GOAL) -> Discs:
    return find_discs(release, belief, LINEAR, x_m, y_m, np.ones(x_m.size), target, target)


def test_radii_are_those_of_fine_quadrature() -> None:
    """Twelve releases of 25 tasks: median error at most 1.1 %, 95 % of them at most 3.2 %."""
    error: list[float] = []
    for make, epsilon, seed in product((dense, smooth), (0.1, 0.4, 1.0), (11, 12)):
        world = make(seed, tasks=25)
        release = world.release(AdaptiveGrid(epsilon=epsilon), seed)
        belief = believe_counts(release)
        found = discs_of(release, belief, world.task_x_m, world.task_y_m)
        reached = found.radius_m < LINEAR.max_travel_m
        assert found.success[reached] == pytest.approx(GOAL)
        places = zip(world.task_x_m[reached], world.task_y_m[reached], found.radius_m[reached], strict=True)
        error += [abs(radius / fine_radius(release, belief, x, y, radius) - 1) for x, y, radius in places]
    assert len(error) > 250
    assert np.median(error) <= 0.011
    assert np.quantile(error, 0.95) <= 0.032


def even(per_cell: float, noise_scale: float = 0.0, side: int = 40) -> Cells:
    """Return an even world of cells of 300 m about the origin."""
    return grid_cells(np.full((side, side), per_cell), cell_m=300.0, noise_scale=noise_scale)


def test_in_an_even_world_of_known_density_the_disc_is_the_poisson_one() -> None:
    release = even(9.0)  # 100 per km²
    found = discs_of(release, believe_counts(release), np.zeros(1), np.zeros(1), target=0.9)
    wanted = LINEAR.radius_for(1.0, -np.log(0.1) / 1e-4)
    assert found.radius_m[0] == pytest.approx(float(wanted), rel=0.005)
    assert found.mean[0] == pytest.approx(np.pi * found.radius_m[0] ** 2 * 1e-4, rel=0.03)
    assert found.density_per_m2[0] == pytest.approx(1e-4)
    assert found.acceptors[0] == pytest.approx(-np.log(0.1), rel=0.005)


def test_at_the_regions_edge_half_of_the_disc_is_empty() -> None:
    """On the border the reach must be twice as large, in the corner four times; beyond it nobody is counted."""
    release = even(9.0)
    border = np.array([-6000.0 + 1e-6, -6000.0 + 1e-6])
    found = discs_of(release, believe_counts(release), border, np.array([0.0, -6000.0 + 1e-6]), target=0.9)
    wanted = LINEAR.radius_for(1.0, -np.log(0.1) / 1e-4 * np.array([2.0, 4.0]))
    assert found.radius_m == pytest.approx(wanted, rel=0.02)
    inside = np.pi * found.radius_m**2 * 1e-4 / np.array([2.0, 4.0])
    assert found.mean == pytest.approx(inside, rel=0.04)


def test_uncertain_counts_need_larger_discs_and_plan_by_both_moments() -> None:
    sure, unsure = even(9.0, 1e-3), even(9.0, 20.0)
    a, b = (discs_of(each, believe_counts(each), np.zeros(1), np.zeros(1)) for each in (sure, unsure))
    assert b.radius_m[0] > 1.01 * a.radius_m[0]
    assert b.variance[0] > a.variance[0]
    spread = b.variance[0] / b.mean[0] ** 2
    # with the same relative spread of acceptors as of people: what the disc plans is the gamma formula
    planned = chance_of_enough(b.acceptors[0], spread * b.acceptors[0] ** 2)
    assert planned == pytest.approx(b.success[0], abs=0.003)


def test_success_grows_with_the_target_and_the_radius_with_it() -> None:
    release = even(3.0, 4.0)
    radii = [
        float(discs_of(release, believe_counts(release), np.zeros(1), np.zeros(1), target).radius_m[0])
        for target in (0.3, 0.5, 0.7, 0.9, 0.97)
    ]
    assert all(small < large for small, large in pairwise(radii))


# --- not enough, and nothing


def view(release: Cells, trusted: bool = True) -> ServerView:
    from tests.server.assignment.test_geocast import view as seen

    base = seen(release, purse=1e9)
    return ServerView(
        0.0, base.region, release, LINEAR, purse=1e9, uniform_reward=1.0, minimum_reward=0.0, trusted=trusted
    )


def test_short_of_the_target_an_offer_goes_out_at_the_maximum_travel_distance_and_says_so() -> None:
    release = even(0.09)  # one per km²: some 13.6 acceptors per thousand within reach
    [offer] = RewardRadius(reward="uniform").offers([Task(0, 0.0, 0.0, 0.0, 900.0)], view(release))
    assert isinstance(offer.target, Circle)
    assert offer.target.radius_m == LINEAR.max_travel_m
    assert "short_of_target" in offer.notes
    assert offer.caps == ()  # everyone there is asked
    expected = float(LINEAR.reach_m2(1.0, LINEAR.max_travel_m)) * 1e-6
    assert offer.planned_success == pytest.approx(-np.expm1(-expected), rel=0.02)
    assert offer.uncapped_radius_m == np.inf  # no radius would do: willingness ends there


def test_only_where_nobody_can_be_expected_is_a_task_unreachable() -> None:
    counts = np.zeros((40, 40))
    counts[0, 0] = 50.0
    release = grid_cells(counts, cell_m=300.0)
    tasks = [Task(0, 0.0, 0.0, 0.0, 900.0), Task(1, -5000.0, -5000.0, 0.0, 900.0)]
    nobody, somebody = RewardRadius(reward="uniform").offers(tasks, view(release))
    assert nobody.unreachable == Reason.NO_RADIUS
    assert (nobody.reward, nobody.planned_success) == (0.0, 0.0)
    assert somebody.unreachable == Reason.NONE
    noisy = grid_cells(counts - 3.0, cell_m=300.0, noise_scale=5.0)  # all but one are below nothing: noise
    for offer in RewardRadius(reward="uniform").offers(tasks, view(noisy)):
        assert offer.unreachable == Reason.NONE


def test_without_a_curator_plain_circles_carry_no_cap_that_nobody_could_count() -> None:
    release, task = even(9.0), [Task(0, 0.0, 0.0, 0.0, 900.0)]
    rules = RewardRadius(planning="plain", max_recipients=5, reward="uniform")
    [alone], [counted] = rules.offers(task, view(release, trusted=False)), rules.offers(task, view(release))
    assert (alone.caps, counted.caps) == ((), (5,))
    assert alone.planned_success == pytest.approx(0.9)
    # five of as many as are expected inside
    assert counted.planned_success == pytest.approx(1 - 0.1 ** (5 / counted.expected_workers), rel=1e-9)


def test_rings_reach_from_the_task_to_the_maximum_travel_distance() -> None:
    edges = ring_edges(3_600.0)
    assert edges.size == 49
    assert edges[[0, -1]].tolist() == [0.0, 3_600.0]
    assert (np.diff(edges) > 0).all()
    ratio = edges[2:] / edges[1:-1]
    assert ratio == pytest.approx(ratio[0])
