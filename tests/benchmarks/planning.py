"""Planning beside an oracle: success and people asked with cap, rounds and without, cost per task, age, real positions.

Worlds `dense`, `sparse` and `smooth` (`_planning_worlds`), five seeds each. Seeds 0-2 were looked at while the planning
was built and 11-15 when its specification was checked; judged here are seeds 21-25, on which nothing was chosen.
Ratios are of means over tasks and seeds. Asked are all people of all rounds, messages those who are asked on average
when rounds stop at the first acceptance; the oracle knows where everyone is and asks the fewest nearest.

Ages: releases every 600 s for an hour tell how fast densities change; plans of the second hour are made from the last
of them. The gap is realised less planned success; it is met where the interval of the five seeds' mean holds zero.
Chances are exact, so that interval is narrow; the note has that of as many answers, each a yes or a no, beside it.

Where `GEODP_DATA` names a folder with real check-ins, everybody's last one is a worker and other people's are tasks:
boxes on which nothing was tuned.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from scipy import stats

import geodp
from geodp.curator.mechanisms.adaptive_grid import AdaptiveGrid
from geodp.curator.mechanisms.contour import Contour
from geodp.geometry import Array, Region
from geodp.public.acceptance.linear import Linear
from geodp.public.messages import GeocastRegion as Rectangles
from geodp.public.messages import Offer
from geodp.public.release import Cells
from geodp.run_folder.folder import RunFolder
from geodp.server.acceptors import Look
from geodp.server.assignment import Assignment
from geodp.server.assignment.geocast import Geocast
from geodp.server.assignment.reward_radius import RewardRadius
from geodp.server.cell_graph import cell_graph
from geodp.server.count_beliefs import believe_counts
from geodp.server.density_change import DensityChange
from geodp.world.mobility.commuter import Commuter
from geodp.world.mobility.random_waypoint import RandomWaypoint
from geodp.world.mobility.static import Static
from geodp.world.motion import Motion
from geodp.world.sources.synthetic_city import SyntheticCity
from tests.benchmarks._figure import Figure
from tests.benchmarks._measuring import CITY_MILLION, cpu_s, scratch_folder
from tests.benchmarks._planning_worlds import (
    SAN_FRANCISCO,
    TARGET,
    WORLDS,
    PlanningWorld,
    Realised,
    plan,
    realise,
)

SEEDS = (21, 22, 23, 24, 25)
EPSILONS = (0.1, 0.4, 1.0)
MOST_ASKED = {0.1: 1.20, 0.4: 1.12, 1.0: 1.12}
MOST_MESSAGES = 0.65
TASKS_AT_ONCE = 250
AGES_S = (600.0, 1_800.0, 3_500.0)
EVERY_S, HOUR_S = 600.0, 3_600.0
COMMUTE_STARTS_S = 7.5 * 3600
WILLING = Linear(mar=0.1, max_travel_m=3_600.0, minimum_reward=0.0)


def measure() -> Iterator[Figure]:
    """Measure quality, then cost, then sparse contours, ages, a whole run of a million workers, and real positions."""
    for name in WORLDS:
        for epsilon in EPSILONS:
            yield from _quality(name, epsilon)
    yield from _cost()
    yield from _sparse_contours()
    for name, motion_of in MOBILITIES.items():
        yield from _ages(name, motion_of)
    yield from _million()
    yield from _real_positions()


def _mean(runs: list[Realised], name: str) -> float:
    return float(np.mean([getattr(run, name).mean() for run in runs]))


def _quality(name: str, epsilon: float) -> Iterator[Figure]:
    """Plan 250 tasks of each seed with the defaults, then without a cap, then circles."""
    worlds = {seed: WORLDS[name](seed) for seed in SEEDS}
    oracle = float(np.mean([world.oracle().mean() for world in worlds.values()]))

    def planned(assignment: Assignment) -> list[Realised]:
        return [plan(world, assignment, AdaptiveGrid(epsilon=epsilon), seed) for seed, world in worlds.items()]

    capped = planned(Geocast(target_success=TARGET))
    key = f"planning_{name}_eps_{epsilon}"
    seeds = ", ".join(f"{run.success.mean():.3f}" for run in capped)
    yield Figure(
        f"{key}_success", _mean(capped, "success"), "more", at_least=0.88, at_most=0.92, note=f"seeds: {seeds}"
    )
    yield Figure(f"{key}_asked_of_oracle", _mean(capped, "asked") / oracle, at_most=MOST_ASKED[epsilon])
    yield Figure(f"{key}_messages_of_oracle", _mean(capped, "messages") / oracle, at_most=MOST_MESSAGES)
    yield Figure(f"{key}_oracle", oracle)
    everyone = planned(Geocast(target_success=TARGET, max_recipients=None))
    yield Figure(f"{key}_uncapped_success", _mean(everyone, "success"), "more", at_least=0.88, at_most=0.96)
    yield Figure(f"{key}_uncapped_asked_of_oracle", _mean(everyone, "asked") / oracle)
    circles = planned(RewardRadius(target_success=TARGET, reward="uniform"))
    yield Figure(f"{key}_disc_success", _mean(circles, "success"), "more")
    yield Figure(f"{key}_disc_asked_of_oracle", _mean(circles, "asked") / oracle)


def _cost() -> Iterator[Figure]:
    """Plan 2,000 tasks at once, with what has to be worked out once per release included."""
    for name in WORLDS:
        world = WORLDS[name](SEEDS[0], 2_000)
        view, tasks = world.view(world.release(AdaptiveGrid(epsilon=0.4), SEEDS[0])), world.tasks()
        for kind, rules in {"geocast": Geocast(), "disc": RewardRadius(reward="uniform")}.items():
            rules.offers(tasks[:10], view)  # what is worked out once per process
            spent = []
            for _ in range(3):
                cell_graph.cache_clear()
                believe_counts.cache_clear()
                spent.append(cpu_s(partial(rules.offers, tasks, view))[0])
            yield Figure(f"planning_{name}_{kind}_ms_per_task", 1000 * min(spent) / len(tasks), at_most=0.5)


def _sparse_contours() -> Iterator[Figure]:
    """Plan circles from contours of 300 m cells where ten workers live per km²."""
    area_km2 = SAN_FRANCISCO.width_m * SAN_FRANCISCO.height_m / 1e6
    missed, success, asked = [], [], []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        people = SyntheticCity(count=round(10 * area_km2)).load(SAN_FRANCISCO, rng)
        near = rng.integers(people.x_m.size, size=250)
        place = SAN_FRANCISCO.clamp(
            people.x_m[near] + rng.normal(0, 300, 250), people.y_m[near] + rng.normal(0, 300, 250)
        )
        world = PlanningWorld(SAN_FRANCISCO, people.x_m, people.y_m, *place, WILLING)
        run = plan(world, RewardRadius(reward="uniform"), Contour(epsilon=0.1, cell_m=300.0), seed)
        missed.append(run.unreachable / 250)
        success.append(run.success.mean())
        asked.append(run.asked.mean())
    yield Figure("planning_contour_300m_10_per_km2_unreachable", float(np.mean(missed)), at_most=0)
    yield Figure("planning_contour_300m_10_per_km2_success", float(np.mean(success)), "more")
    yield Figure("planning_contour_300m_10_per_km2_asked", float(np.mean(asked)))


# -- age


def _commuters(seed: int) -> Motion:
    rng = np.random.default_rng(seed)
    people = SyntheticCity(count=6_000).load(SAN_FRANCISCO, rng).start_at(COMMUTE_STARTS_S)
    return Commuter().move(people, SAN_FRANCISCO, start_s=COMMUTE_STARTS_S, duration_s=2 * HOUR_S, rng=rng)


def _waypoint(seed: int) -> Motion:
    rng = np.random.default_rng(seed)
    people = SyntheticCity(count=6_000).load(SAN_FRANCISCO, rng)
    return RandomWaypoint().move(people, SAN_FRANCISCO, start_s=0.0, duration_s=2 * HOUR_S, rng=rng)


def _static(seed: int) -> Motion:
    rng = np.random.default_rng(seed)
    people = SyntheticCity(count=6_000).load(SAN_FRANCISCO, rng)
    return Static().move(people, SAN_FRANCISCO, start_s=0.0, duration_s=2 * HOUR_S, rng=rng)


MOBILITIES: dict[str, Callable[[int], Motion]] = {"commuter": _commuters, "waypoint": _waypoint, "static": _static}


def _moment(motion: Motion, time_s: float, seed: int) -> PlanningWorld:
    """Return everyone at a moment, with tasks near people."""
    rng = np.random.default_rng([seed, int(time_s)])
    x, y = motion.at(time_s)
    near = rng.integers(x.size, size=TASKS_AT_ONCE)
    away_x, away_y = rng.normal(0, 300, TASKS_AT_ONCE), rng.normal(0, 300, TASKS_AT_ONCE)
    place = SAN_FRANCISCO.clamp(x[near] + away_x, y[near] + away_y)
    return PlanningWorld(SAN_FRANCISCO, x, y, *place, WILLING)


def _ages(name: str, motion_of: Callable[[int], Motion]) -> Iterator[Figure]:
    """Judge plans from the release at one hour, when it is 600, 1,800 and 3,500 s old."""
    gaps: dict[tuple[str, float], list[float]] = {}
    planned: dict[tuple[str, float], list[float]] = {}
    rates = []
    for seed in SEEDS:
        motion, change = motion_of(seed), DensityChange()
        for number in range(7):
            world = _moment(motion, number * EVERY_S, seed)
            made = world.release(AdaptiveGrid(epsilon=0.4), 100 * seed + number)
            release: Cells = replace(made, time_s=number * EVERY_S)
            change.see(release)
        rates.append(HOUR_S * (change.per_s or 0.0))
        for age_s in AGES_S:
            world = _moment(motion, HOUR_S + age_s, seed)
            for kind, run in _aged_plans(world, release, change.per_s or 0.0, age_s, seed):
                gaps.setdefault((kind, age_s), []).append(float(run.success.mean() - run.planned.mean()))
                planned.setdefault((kind, age_s), []).append(float(run.planned.mean()))
    yield Figure(f"planning_{name}_change_per_hour", float(np.mean(rates)))
    for (kind, age_s), gap in gaps.items():
        half = float(stats.t.ppf(0.975, len(gap) - 1) * np.std(gap, ddof=1) / np.sqrt(len(gap)))
        value, plan_mean = float(np.mean(gap)), float(np.mean(planned[kind, age_s]))
        taken = plan_mean + value
        answers = 1.96 * float(np.sqrt(taken * (1 - taken) / (len(gap) * TASKS_AT_ONCE)))
        yield Figure(
            f"planning_{name}_{kind}_age_{age_s:.0f}_gap",
            value,
            at_least=-half if kind == "replanned" else None,
            at_most=half if kind == "replanned" else None,
            note=f"planned {plan_mean:.3f} realised {taken:.3f} ± {half:.3f} over seeds, ± {answers:.3f} of answers",
        )
        if kind == "replanned":
            yield Figure(f"planning_{name}_age_{age_s:.0f}_success", taken, "more")


def _aged_plans(
    world: PlanningWorld, release: Cells, per_s: float, age_s: float, seed: int
) -> Iterator[tuple[str, Realised]]:
    """Plan anew from the old release with the default; and keep the regions that it gave when it was new."""
    now = release.time_s + age_s
    tasks = [replace(task, expires_s=now + 900.0) for task in world.tasks()]
    view = replace(world.view(release, now), change_per_s=per_s)
    yield "replanned", realise(world, Geocast(target_success=TARGET).offers(tasks, view), seed)
    everyone = Geocast(target_success=TARGET, max_recipients=None)
    offers = everyone.offers(tasks, replace(view, time_s=release.time_s))
    run = realise(world, offers, seed)
    yield "old_region", replace(run, planned=_planned_at_age(everyone, release, per_s * age_s, world, offers))


def _planned_at_age(rules: Geocast, release: Cells, share: float, world: PlanningWorld, offers: list[Offer]) -> Array:
    """Return the success that a belief as old as this plans for given regions."""
    growth = rules.growth(release, WILLING, 1.0, 1, TARGET, believe_counts(release).age(share))
    planned = np.zeros(len(offers))
    for i, offer in enumerate(offers):
        law = growth.empty()
        pieces = offer.target.rectangles if isinstance(offer.target, Rectangles) else ()
        middles = np.array([((west + east) / 2, (south + north) / 2) for west, south, east, north in pieces])
        for piece, cell in zip(pieces, release.locate(*middles.T).tolist(), strict=True):
            part = (piece[2] - piece[0]) * (piece[3] - piece[1]) / growth.graph.area_m2[cell]
            _, chance = growth.judge(piece, float(world.task_x_m[i]), float(world.task_y_m[i]))
            law.take(Look(0, 0.0, cell, -1, chance, part * growth.counts[cell], part, piece))
        planned[i] = law.success
    return planned


# -- a million workers


def _million() -> Iterator[Figure]:
    """Run a million workers and 100,000 tasks for an hour from adaptive grids, with cap and rounds, metrics and map."""
    changes = {
        "tasks.demand.per_hour": 100_000,
        "tasks.reward.total": 1_000_000,
        "workers.acceptance": {"kind": "linear", "mar": 0.1, "max_travel_m": 3600},
        "curator.mechanism": {"kind": "adaptive_grid", "epsilon": 0.4},
        "curator.budget.epsilon": 2.4,
        "server.assignment": {"kind": "geocast", "target_success": TARGET},
    }
    folder = scratch_folder() / "planning_million"
    spent, _ = cpu_s(lambda: geodp.run(CITY_MILLION, folder, overrides=changes, force=True))
    yield Figure("planning_million_workers_100000_tasks_cpu_s", spent, at_most=60)
    run = RunFolder(folder)
    yield Figure("planning_million_tasks", float(len(run.tasks)), "more", at_least=95_000)
    for name in ("success_rate", "expected_success", "notified_workers", "messages", "rounds"):
        yield Figure(f"planning_million_{name}", run.metrics[name], "more" if "success" in name else "less")


# -- real positions

MANHATTAN = Region(-74.03, 40.69, -73.87, 40.81)
NEW_YORK = Region(-74.26, 40.50, -73.70, 40.92)


def _real_positions() -> Iterator[Figure]:
    """Plan where real people were: asked beside the oracle, which nothing here was tuned on."""
    checkins = Path(os.environ.get("GEODP_DATA", "")) / "gowalla" / "gowalla_nyc_checkins.parquet"
    for name, region in {"manhattan": MANHATTAN, "new_york": NEW_YORK}.items():
        if "GEODP_DATA" not in os.environ or not checkins.is_file():
            yield Figure(f"planning_gowalla_{name}", None, note="GEODP_DATA names no folder with gowalla's check-ins")
            continue
        worlds = {seed: _real_world(checkins, region, seed) for seed in SEEDS}
        oracle = float(np.mean([world.oracle().mean() for world in worlds.values()]))
        yield Figure(f"planning_gowalla_{name}_oracle", oracle, note=f"{worlds[SEEDS[0]].x_m.size} workers")
        for epsilon in EPSILONS:
            runs = [plan(world, Geocast(), AdaptiveGrid(epsilon=epsilon), seed) for seed, world in worlds.items()]
            key = f"planning_gowalla_{name}_eps_{epsilon}"
            yield Figure(f"{key}_success", _mean(runs, "success"), "more")
            yield Figure(f"{key}_planned", _mean(runs, "planned"), "more")
            yield Figure(f"{key}_asked_of_oracle", _mean(runs, "asked") / oracle)
            yield Figure(f"{key}_messages_of_oracle", _mean(runs, "messages") / oracle)


def _real_world(checkins: Path, region: Region, seed: int) -> PlanningWorld:
    """Return everyone at her last check-in inside a box, and tasks at check-ins drawn at random."""
    import pandas as pd

    table = pd.read_parquet(checkins, columns=["user", "t", "lat", "lon"])
    x, y = region.projection.to_m(lon=table["lon"].to_numpy(), lat=table["lat"].to_numpy())
    table = table.assign(x=x, y=y)[np.asarray(region.contains(x, y))]
    last = table.sort_values("t").drop_duplicates("user", keep="last")
    tasks = table.sample(250, random_state=seed)
    return PlanningWorld(
        region,
        x_m=last["x"].to_numpy(dtype=np.float64),
        y_m=last["y"].to_numpy(dtype=np.float64),
        task_x_m=tasks["x"].to_numpy(dtype=np.float64),
        task_y_m=tasks["y"].to_numpy(dtype=np.float64),
        acceptance=WILLING,
    )
