"""Worlds on which planning is judged: where people and tasks are, and what an oracle would need.

Three shapes, as generated people differ from real ones: `dense` (venues of a few districts, everybody within metres of
one), `sparse` (a large county, few venues) and `smooth` (the generated city, no venues). Willingness falls linearly
from 0.1. The oracle knows where everyone is and asks the fewest nearest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geodp.curator.mechanisms import Mechanism, Snapshot
from geodp.geometry import Array, Region
from geodp.privacy.noise import SimulatedNoise
from geodp.public.acceptance import Acceptance
from geodp.public.acceptance.linear import Linear
from geodp.public.messages import Circle, Offer, Task
from geodp.public.messages import GeocastRegion as Rectangles
from geodp.public.release import Cells
from geodp.server.assignment import Assignment, ServerView
from geodp.simulation.range_join import range_join, rectangle_join
from geodp.world.sources.synthetic_city import SyntheticCity

SAN_FRANCISCO = Region(-122.5135, 37.7113, -122.3627, 37.8327)
TARGET = 0.9
TASKS = 250


@dataclass(frozen=True)
class PlanningWorld:
    """People and tasks at one moment."""

    region: Region
    x_m: Array
    y_m: Array
    task_x_m: Array
    task_y_m: Array
    acceptance: Acceptance

    def tasks(self, patience_s: float = 900.0) -> list[Task]:
        """Return the tasks as the server sees them."""
        places = zip(self.task_x_m.tolist(), self.task_y_m.tolist(), strict=True)
        return [Task(i, x, y, 0.0, patience_s) for i, (x, y) in enumerate(places)]

    def release(self, mechanism: Mechanism, seed: int) -> Cells:
        """Publish; the number of workers is public to one figure."""
        expected = float(f"{self.x_m.size:.0e}")
        snapshot = Snapshot(0.0, self.x_m, self.y_m, self.region, expected)
        return mechanism.release(snapshot, SimulatedNoise(np.random.default_rng(1000 + seed)))

    def view(self, release: Cells, time_s: float = 0.0) -> ServerView:
        """Return what the server knows; money is no object."""
        return ServerView(
            time_s, self.region, release, self.acceptance, purse=1e9, uniform_reward=1.0, minimum_reward=0.0
        )

    def oracle(self, target: float = TARGET) -> Array:
        """Return how many of the nearest people reach the target, task by task; all within reach where they do not."""
        needed = np.empty(self.task_x_m.size)
        for i, (x, y) in enumerate(zip(self.task_x_m, self.task_y_m, strict=True)):
            distance = np.sort(np.hypot(self.x_m - x, self.y_m - y))[:5000]
            log_nobody = np.cumsum(self.acceptance.log_refusal(1.0, distance))
            reachable = int(np.count_nonzero(distance < self.acceptance.max_travel_m))
            needed[i] = min(int(np.searchsorted(-log_nobody, -np.log1p(-target))) + 1, reachable)
        return needed


@dataclass(frozen=True)
class Realised:
    """What offers come to, given where everybody is."""

    success: Array
    """True chance that somebody of those asked in all rounds accepts."""
    asked: Array
    """People asked in all rounds, if nobody accepts before."""
    messages: Array
    """People asked on average, when rounds stop at the first acceptance."""
    planned: Array
    unreachable: int


def realise(world: PlanningWorld, offers: Sequence[Offer], seed: int = 0) -> Realised:
    """Ask the people whom offers mean, with a secret order of our own."""
    rng = np.random.default_rng(seed)
    success, asked, messages = (np.zeros(len(offers)) for _ in range(3))
    for i, offer in enumerate(offers):
        inside = people_inside(world, offer, i)
        distance = np.hypot(world.x_m[inside] - world.task_x_m[i], world.y_m[inside] - world.task_y_m[i])
        order = rng.permutation(inside.size)
        log_refusal = world.acceptance.log_refusal(1.0, distance[order])
        caps = [min(cap, inside.size) for cap in offer.caps] or [inside.size]
        log_nobody = np.concatenate([[0.0], np.cumsum(log_refusal)])
        success[i], asked[i] = -np.expm1(log_nobody[caps[-1]]), caps[-1]
        starts = [0, *caps[:-1]]
        messages[i] = sum(np.exp(log_nobody[start]) * (end - start) for start, end in zip(starts, caps, strict=True))
    planned = np.array([offer.planned_success for offer in offers])
    return Realised(success, asked, messages, planned, sum(offer.target is None for offer in offers))


def people_inside(world: PlanningWorld, offer: Offer, task: int) -> npt.NDArray[np.int64]:
    """Return the people inside a circle or region."""
    if offer.target is None:
        return np.empty(0, dtype=np.int64)
    if isinstance(offer.target, Circle):
        place = (world.task_x_m[task : task + 1], world.task_y_m[task : task + 1])
        return range_join(world.x_m, world.y_m, *place, np.array([offer.target.radius_m]))[1]
    assert isinstance(offer.target, Rectangles)
    return np.unique(rectangle_join(world.x_m, world.y_m, np.array(offer.target.rectangles))[1])


def plan(world: PlanningWorld, assignment: Assignment, mechanism: Mechanism, seed: int) -> Realised:
    """Publish, plan and realise."""
    view = world.view(world.release(mechanism, seed))
    return realise(world, assignment.offers(world.tasks(), view), seed)


def dense(seed: int, tasks: int = TASKS) -> PlanningWorld:
    """Return 6,000 people at 2,500 venues of 20 districts."""
    rng = np.random.default_rng(seed)
    region = _box(13_300.0, 13_500.0)
    venues = _venues(rng, region, districts=20, spread_m=550.0, venues=2_500, clustered=0.9)
    weight = np.minimum(1 + rng.pareto(1.6, 2_500), 200.0)
    workers = rng.choice(2_500, 6_000, p=weight / weight.sum())
    tasks_at = rng.choice(2_500, tasks, p=weight / weight.sum())
    return _at_venues(rng, region, venues, workers, tasks_at, Linear(mar=0.1, max_travel_m=3_600.0, minimum_reward=0.0))


def sparse(seed: int, tasks: int = TASKS) -> PlanningWorld:
    """Return 5,600 people at 2,200 venues of a county; three tasks in ten arise at any venue."""
    rng = np.random.default_rng(seed)
    region = _box(35_000.0, 69_000.0)
    venues = _venues(rng, region, districts=60, spread_m=1_200.0, venues=2_200, clustered=0.85)
    weight = _limit_share(1 + rng.pareto(1.4, 2_200), 0.15)
    workers = rng.choice(2_200, 5_600, p=weight)
    chance = _limit_share(0.7 * weight + 0.3 / weight.size, 0.03)
    tasks_at = rng.choice(2_200, tasks, p=chance)
    willing = Linear(mar=0.1, max_travel_m=13_600.0, minimum_reward=0.0)
    return _at_venues(rng, region, venues, workers, tasks_at, willing)


def smooth(seed: int, tasks: int = TASKS) -> PlanningWorld:
    """Return 6,000 people of the generated city; tasks arise near people."""
    rng = np.random.default_rng(seed)
    people = SyntheticCity(count=6_000).load(SAN_FRANCISCO, rng)
    near = rng.integers(6_000, size=tasks)
    place = SAN_FRANCISCO.clamp(
        people.x_m[near] + rng.normal(0, 300, tasks), people.y_m[near] + rng.normal(0, 300, tasks)
    )
    return PlanningWorld(
        SAN_FRANCISCO, people.x_m, people.y_m, *place, Linear(mar=0.1, max_travel_m=3_600.0, minimum_reward=0.0)
    )


WORLDS = {"dense": dense, "sparse": sparse, "smooth": smooth}


def _box(width_m: float, height_m: float) -> Region:
    """Return a box of this size at the equator's side of the projection, where degrees are easy."""
    degree = np.pi / 180 * 6_371_008.8
    return Region(-width_m / 2 / degree, -height_m / 2 / degree, width_m / 2 / degree, height_m / 2 / degree)


def _venues(
    rng: np.random.Generator, region: Region, *, districts: int, spread_m: float, venues: int, clustered: float
) -> tuple[Array, Array]:
    """Draw venues, most of them about districts of which the first is the largest; strays are uniform."""
    centre_x, centre_y = region.sample(districts, rng)
    rank = 1 / np.arange(1, districts + 1)
    district = rng.choice(districts, venues, p=rank / rank.sum())
    x = centre_x[district] + rng.normal(0, spread_m, venues)
    y = centre_y[district] + rng.normal(0, spread_m, venues)
    anywhere = (rng.random(venues) >= clustered) | ~region.contains(x, y)
    uniform_x, uniform_y = region.sample(venues, rng)
    return np.where(anywhere, uniform_x, x), np.where(anywhere, uniform_y, y)


def _limit_share(weight: Array, most: float) -> Array:
    """Return weights as shares, none above a limit."""
    share = weight / weight.sum()
    for _ in range(50):
        share = np.minimum(share, most)
        share = share / share.sum()
    return np.asarray(share)


def _at_venues(
    rng: np.random.Generator,
    region: Region,
    venues: tuple[Array, Array],
    workers: npt.NDArray[np.int64],
    tasks: npt.NDArray[np.int64],
    acceptance: Acceptance,
) -> PlanningWorld:
    """Put people and tasks within metres of their venues."""

    def near(at: npt.NDArray[np.int64]) -> tuple[Array, Array]:
        return region.clamp(venues[0][at] + rng.normal(0, 4.0, at.size), venues[1][at] + rng.normal(0, 4.0, at.size))

    (x, y), (task_x, task_y) = near(workers), near(tasks)
    return PlanningWorld(region, x, y, task_x, task_y, acceptance)
