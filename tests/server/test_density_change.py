"""How fast densities change, read off releases: nothing where nothing changes, and the known rate where it does."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest

from geodp import plugin
from geodp.curator.mechanisms import Mechanism, Snapshot
from geodp.geometry import Array
from geodp.privacy.noise import SimulatedNoise
from geodp.public.acceptance.linear import Linear
from geodp.public.messages import Task
from geodp.public.release import Cells, GridCells
from geodp.server.assignment import ServerView
from geodp.server.assignment.geocast import Geocast
from geodp.server.count_beliefs import believe_counts
from geodp.server.density_change import DensityChange
from tests.benchmarks._planning_worlds import SAN_FRANCISCO, dense, smooth
from tests.server.cells import grid_cells

EVERY_S = 600.0


def rate_per_hour(releases: list[Cells]) -> float:
    change = DensityChange()
    for release in releases:
        change.see(release)
    assert change.per_s is not None
    return 3600 * change.per_s


def released_again(mechanism: Mechanism, x: Array, y: Array, seed: int, number: int) -> Cells:
    noise = SimulatedNoise(np.random.default_rng([seed, number]))
    return mechanism.release(Snapshot(EVERY_S * number, x, y, SAN_FRANCISCO, 6_000.0), noise)


@pytest.mark.parametrize(
    ("kind", "epsilon", "most"),
    [
        ("adaptive_grid", 0.1, 0.04),
        ("adaptive_grid", 0.4, 0.01),
        ("adaptive_grid", 1.0, 0.004),
        ("uniform_grid", 0.1, 0.01),
        ("uniform_grid", 1.0, 0.004),
        ("contour", 1.0, 0.004),
        ("quadtree", 1.0, 0.01),
    ],
)
def test_where_nobody_moves_nothing_changes(kind: str, epsilon: float, most: float) -> None:
    """Seven releases of the same people, five worlds: noise must not pass for change, nor vouch for itself.

    At ε = 0.1 adaptive cells seem to change by 0.02 an hour: a coarse count that noise has raised is divided into more
    parts, whose sum then weighs less against it than the stated variance, taken for any noise, says.
    """
    rates = []
    for seed in range(5):
        world = smooth(seed, tasks=1)
        mechanism = plugin(kind, epsilon=epsilon)
        rates.append(rate_per_hour([released_again(mechanism, world.x_m, world.y_m, seed, n) for n in range(7)]))
    assert np.mean(rates) <= most


def drifting_counts(rng: np.random.Generator, per_hour: float, releases: int, side: int = 30) -> list[Array]:
    """Let densities wander: each group of four cells changes by a random step whose variance is known, per release."""
    level = np.full((side // 2, side // 2), 200.0)
    found = []
    for _ in range(releases):
        found.append(np.kron(level, np.full((2, 2), 0.25)))
        level = level + 200.0 * np.sqrt(per_hour * EVERY_S / 3600) * rng.normal(size=level.shape)
    return found


def as_release(counts: Array, number: int, rng: np.random.Generator, scale: float) -> GridCells:
    noisy = counts + rng.laplace(0, scale, counts.shape)
    return replace(grid_cells(noisy, cell_m=300.0, noise_scale=scale), time_s=EVERY_S * number)


@pytest.mark.parametrize("per_hour", [0.02, 0.1, 0.3])
def test_a_world_that_changes_at_a_known_rate_gives_it_back(per_hour: float) -> None:
    """Steps are independent, so the squared change grows with the lag; 12 worlds of 225 groups and 7 releases.

    One world's estimate has a standard deviation of about 8 %, their mean of 2.5 %: 15 % are six of them.
    """
    rates = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        counts = drifting_counts(rng, per_hour, 7)
        rates.append(rate_per_hour([as_release(each, n, rng, 3.0) for n, each in enumerate(counts)]))
    assert np.mean(rates) == pytest.approx(per_hour, rel=0.15)


def test_what_cannot_be_compared_tells_nothing() -> None:
    rng = np.random.default_rng(0)
    change = DensityChange()
    change.see(as_release(np.full((8, 8), 30.0), 0, rng, 1.0))
    assert change.per_s is None  # one release shows no change
    change.see(as_release(np.full((8, 8), 90.0), 0, rng, 1.0))
    assert change.per_s is None  # the same moment again
    change.see(as_release(np.full((10, 10), 90.0), 1, rng, 1.0))
    assert change.per_s is None  # other cells
    change.see(as_release(np.full((8, 8), 90.0), 2, rng, 1.0))
    assert change.per_s is not None
    assert change.per_s > 0


def test_predicted_releases_are_not_taken_for_measured_ones() -> None:
    rng = np.random.default_rng(0)
    first = as_release(np.full((8, 8), 30.0), 0, rng, 1.0)
    guessed = replace(as_release(np.full((8, 8), 90.0), 1, rng, 1.0), measured=False)
    change = DensityChange()
    change.see(first)
    change.see(guessed)
    assert change.per_s is None


def moved(x: Array, y: Array, share: npt.NDArray[np.bool_], rng: np.random.Generator) -> tuple[Array, Array]:
    """Put some people somewhere else, as crowded as others are: everybody takes the place of somebody."""
    other = rng.permutation(x.size)
    return np.where(share, x[other], x), np.where(share, y[other], y)


def test_people_who_change_places_change_no_density() -> None:
    """A tenth of all people move at every release, and the crowd stays what it is but for the luck of counts."""
    world = dense(1, tasks=1)
    rng = np.random.default_rng(3)
    mechanism = plugin("uniform_grid", epsilon=1.0, cell_m=1_000)
    x, y, made = world.x_m, world.y_m, []
    for number in range(7):
        made.append(released_again(mechanism, x, y, 1, number))
        x, y = moved(x, y, rng.random(x.size) < 0.1, rng)
    assert rate_per_hour(made) < 0.02


# --- what the rate does to plans

LINEAR = Linear(mar=0.1, max_travel_m=3_600.0, minimum_reward=0.0)


def seen(release: Cells, age_s: float, rate: float | None) -> ServerView:
    return ServerView(
        age_s, SAN_FRANCISCO, release, LINEAR, purse=1e9, uniform_reward=1.0, minimum_reward=0.0, change_per_s=rate
    )


@pytest.mark.parametrize("rate", [None, 0.2 / 3600])
def test_the_older_a_release_the_less_a_fixed_region_promises_and_the_wider_is_a_new_one(rate: float | None) -> None:
    release = grid_cells(
        np.random.default_rng(1).poisson(8.0, (40, 40)).astype(np.float64), cell_m=300.0, noise_scale=2.0
    )
    task = [Task(0, 0.0, 0.0, 0.0, 1e6)]
    everyone = Geocast(max_recipients=None)
    offers = [everyone.offers(task, seen(release, age_s, rate))[0] for age_s in (0.0, 600.0, 1_800.0, 3_500.0)]
    widths = [offer.expected_workers for offer in offers]
    assert all(young < old for young, old in pairwise(widths))
    per_s = 0.1 / 3600 if rate is None else rate
    planned = []
    for age_s in (0.0, 600.0, 1_800.0, 3_500.0):
        belief = believe_counts(release).age(per_s * age_s)
        grown = everyone.growth(release, LINEAR, 1.0, 1, 0.9, belief)
        law = grown.empty()
        for cell in range(812, 828):
            look = grown.look(cell, -1, 0.0, 0.0)
            assert look is not None
            law.take(look)
        planned.append(law.success)
    assert all(young > old for young, old in pairwise(planned))


def test_where_releases_show_no_change_an_old_one_serves_like_a_new_one() -> None:
    release = grid_cells(np.full((40, 40), 8.0), cell_m=300.0, noise_scale=2.0)
    task = [Task(0, 0.0, 0.0, 0.0, 1e6)]
    young, old = (Geocast().offers(task, seen(release, age_s, 0.0))[0] for age_s in (0.0, 3_500.0))
    assert young == old
