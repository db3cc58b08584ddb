"""Attacks on a week of a thousand people, as the specification bounds their time; its figures are tests."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_matrix

from geodp.attacks import SeenOffers
from geodp.attacks.companion_pairs import score_pairs
from geodp.attacks.markov_linkage import log_likelihoods
from geodp.attacks.membership import score_knowing_others, score_knowing_past, solve_memberships
from geodp.attacks.recovery import recover
from geodp.attacks.slots import SlotTable
from geodp.attacks.top_n import match_sets
from geodp.attacks.triangulation import least_distance, log_evidence, posterior
from geodp.attacks.unicity import TraceIndex, draw_points
from geodp.figures.made_week import CELLS, HOURS, MadeWeek, count_people, middles
from geodp.public.acceptance.tanh_reward import TanhReward
from geodp.public.count_laws import CountLaw
from tests.benchmarks._figure import Figure
from tests.benchmarks._measuring import cpu_s

PEOPLE, MANY = 1000, 100_000


def measure() -> Iterator[Figure]:
    """Measure the CPU time of each attack."""
    rng = np.random.default_rng(1)
    people = MadeWeek.people(PEOPLE, rng)
    first, second = people.walk(rng), people.walk(rng)
    before, now = SlotTable.of_table(first, CELLS), SlotTable.of_table(second, CELLS)
    popularity = before.histograms().sum(axis=0) + 1
    popularity /= popularity.sum()
    yield Figure("attacks_markov_linkage_s", cpu_s(lambda: log_likelihoods(before, now, popularity))[0], at_most=60.0)
    yield Figure("attacks_top_n_s", cpu_s(lambda: match_sets(before, now, 5))[0], at_most=60.0)
    counts = count_people(first).astype(np.float64)
    x, y = middles()
    yield Figure("attacks_recovery_s", cpu_s(lambda: recover(counts, x, y, PEOPLE))[0], at_most=30.0)
    yield from _membership(first, second, counts.ravel(), rng)
    yield from _pairs(first, rng)
    yield from _triangulation(rng)
    many = SlotTable.of_table(MadeWeek.people(MANY, rng).walk(rng), CELLS)
    yield Figure("attacks_unicity_100000_s", cpu_s(lambda: _unicity(many, rng))[0], at_most=60.0)


def _membership(
    first: np.ndarray, second: np.ndarray, counts: np.ndarray, rng: np.random.Generator
) -> Iterator[Figure]:
    column = np.tile(np.arange(HOURS) * CELLS, PEOPLE) + first.ravel()
    person = np.repeat(np.arange(PEOPLE), HOURS)
    law = CountLaw("laplace", scale=10.0)
    released = counts + rng.laplace(0, 10.0, counts.size)
    matrix = csr_matrix((np.ones(column.size), (person, column)), (PEOPLE, HOURS * CELLS))
    past = csr_matrix(
        (np.ones(column.size), (person, np.tile(np.arange(HOURS) * CELLS, PEOPLE) + second.ravel())), matrix.shape
    )
    some = person < 500
    knowing = cpu_s(lambda: score_knowing_others(released[column[some]], counts[column[some]], law, person[some], 500))[
        0
    ]
    yield Figure("attacks_membership_others_s", knowing, at_most=10.0, note="500 targets")
    variance = law.variance(released)
    yield Figure(
        "attacks_membership_traces_s", cpu_s(lambda: solve_memberships(matrix, released, variance))[0], at_most=60.0
    )
    yield Figure(
        "attacks_membership_past_s",
        cpu_s(lambda: score_knowing_past(matrix, released, variance, past, float(PEOPLE)))[0],
        at_most=60.0,
    )


def _pairs(table: np.ndarray, rng: np.random.Generator) -> Iterator[Figure]:
    x, y = (middle[table] + rng.normal(0, 200, table.shape) for middle in middles())
    pairs = np.triu_indices(PEOPLE, 1)
    yield Figure("attacks_companions_s", cpu_s(lambda: score_pairs(x, y, 0.007, pairs))[0], at_most=60.0)


def _triangulation(rng: np.random.Generator) -> Iterator[Figure]:
    acceptance = TanhReward(ceiling=0.25, metres_per_reward=152.5, max_travel_m=1500.0, minimum_reward=0.0)
    task_x, task_y = rng.uniform(-3000, 3000, (2, 100))
    offers = SeenOffers(
        task=np.arange(100),
        time_s=np.zeros(100),
        x_m=task_x,
        y_m=task_y,
        radius_m=np.full(100, 1500.0),
        reward=rng.uniform(2, 8, 100),
        success=np.full(100, np.nan),
        winners=[()] * 100,
    )
    cell = np.linspace(-1500, 1500, 51)[:-1] + 30
    east, north = (axis.ravel() for axis in np.meshgrid(cell, cell))
    named = (rng.random((PEOPLE, 100)) < 0.1).astype(float)

    def attack() -> None:
        took, declined = log_evidence(offers, east, north, acceptance)
        least_distance(posterior(named, took, declined, np.ones(east.size)), east, north)

    yield Figure("attacks_triangulation_s", cpu_s(attack)[0], at_most=20.0, note="1,000 pseudonyms, 100 offers")


def _unicity(table: SlotTable, rng: np.random.Generator) -> None:
    index = TraceIndex.of(table)
    _, rows = draw_points(table, np.arange(MANY), 4, rng)
    for mine in rows:
        index.matches(table.slot[mine], table.cell[mine])
