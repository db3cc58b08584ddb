"""Pairs to audit for publications of counts: many small lists of venues side by side, each a trial of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from geodp.audit.pairs import chosen_pairs
from geodp.audit.pairs.counts_followed import followed_releases
from geodp.curator.publications.fourier_counts import FourierCounts
from geodp.curator.publications.laplace_counts import LaplaceCounts
from geodp.curator.publications.uniform import Uniform
from geodp.geometry import Array
from geodp.privacy.audit_case import AnyCase, AuditCase
from geodp.privacy.noise import Noise
from geodp.tables.visits.visit_sets import VisitSets, visit_sets

if TYPE_CHECKING:
    from geodp.curator.counts_publication import CappedCounts

MOST = 8
"""Venues of a small list."""


def side_by_side(rows: Sequence[Sequence[int]], venues: int, trials: int) -> VisitSets:
    """Return `trials` copies of a small table (venues of each user), each with venues and users of its own."""
    number = np.concatenate([np.full(len(row), index) for index, row in enumerate(rows)] or [np.empty(0)])
    venue = np.concatenate([np.asarray(row) for row in rows] or [np.empty(0)]).astype(np.int64)
    trial = np.arange(trials)[:, None]
    users = np.arange(trials * len(rows), dtype=np.uint64)
    return visit_sets(
        users,
        (trial * len(rows) + number).reshape(-1).astype(np.int64),
        (trial * venues + venue).reshape(-1),
        venues * trials,
    )


def everyone_or_one_more(mechanism: CappedCounts, epsilon: float) -> AuditCase:
    """Return the pair of an empty table and one user with as many venues as the cap, for noise on every count."""
    cap = min(mechanism.cap, 2)
    small = mechanism.model_copy(update={"cap": cap, "nonnegative": False})

    def draw(noise: Noise, present: bool, samples: int) -> Array:
        table = side_by_side([range(cap)] if present else [], cap, samples)
        return small.count_venues(table, noise).count.reshape(samples, cap)

    def score(counts: Array) -> Array:
        return np.asarray((np.abs(counts) - np.abs(counts - 1)).sum(axis=1) * epsilon / cap)

    return AuditCase("a user with as many venues as the cap", epsilon, draw, score, threshold=0.6 * epsilon)


def observed_cap_case(mechanism: LaplaceCounts) -> AuditCase:
    """Return the pair that an observed cap gives away: everyone has one venue, or one user has them all."""
    small = mechanism.model_copy(update={"nonnegative": False})

    def draw(noise: Noise, present: bool, samples: int) -> Array:
        table = side_by_side([[0], *([range(MOST)] if present else [])], MOST, samples)
        return small.count_venues(table, noise).count.reshape(samples, MOST)

    # Without the user the noise has scale 1/ε, with them MOST/ε: large noise speaks for the user.
    return AuditCase(
        "a user with more venues than anyone else",
        mechanism.epsilon,
        draw,
        lambda counts: np.abs(counts).sum(axis=1),
        threshold=3 * MOST / mechanism.epsilon,
    )


def one_total(mechanism: Any) -> AuditCase:
    """Return the pair of an empty table and one user with as many venues as the cap, for one noisy total."""
    from geodp.privacy.primitives import laplace_counts

    cap, epsilon = min(mechanism.cap, MOST), mechanism.counting_epsilon

    def draw(noise: Noise, present: bool, samples: int) -> Array:
        totals = np.full(samples, cap if present else 0)
        return laplace_counts(totals, epsilon=epsilon, sensitivity=cap, noise=noise)

    return AuditCase("a user with as many venues as the cap", epsilon, draw, lambda total: total, threshold=float(cap))


def fourier_cases(mechanism: FourierCounts) -> list[AuditCase]:
    """Return the pairs of the coefficients, and of their number where it is chosen."""
    if mechanism.variant == "literal":
        return [_observed_coefficients(mechanism)]
    whole = _one_coefficient(mechanism)
    return [whole] if mechanism.coefficients is not None else [whole, _number_of_coefficients(mechanism)]


def _one_coefficient(mechanism: FourierCounts) -> AuditCase:
    """Return the pair with the largest change of the first coefficient: a user at every venue moves it by √d."""
    epsilon = mechanism.budgets()[1]
    change = math.sqrt(MOST)

    def draw(noise: Noise, present: bool, samples: int) -> Array:
        values = np.full(samples, change if present else 0.0)
        # One trial per coefficient: each is a release of its own, with the noise of a single coefficient.
        single = mechanism.model_copy(update={"epsilon": mechanism.epsilon * math.sqrt(samples)})
        return single.noisy(values, MOST, noise)

    return AuditCase("a user at every venue", epsilon, draw, lambda value: value, threshold=change)


def _number_of_coefficients(mechanism: FourierCounts) -> AuditCase:
    """Return the exact law of the number of coefficients, with one user at the first half of the venues or without."""
    from geodp.curator.publications.fourier_counts import transformed
    from geodp.privacy.primitives import exponential_probabilities

    epsilon, _ = mechanism.budgets()
    tried = np.arange(1, 2 * MOST + 1)

    def law(present: bool) -> Array:
        counts = np.repeat([3 + int(present), 1], MOST)
        loss = mechanism.losses(transformed(counts), tried, MOST)
        return exponential_probabilities(-loss, epsilon=epsilon, sensitivity=math.sqrt(MOST))

    def draw(noise: Noise, present: bool, samples: int) -> Array:
        return noise.choose(np.log(law(present)), samples).astype(np.float64)

    ratio = np.log(law(True) / law(False))
    return AuditCase(
        "the number of coefficients",
        epsilon,
        draw,
        lambda chosen: ratio[chosen.astype(np.int64)],
        threshold=float(ratio.max()),
        exact=lambda: (law(True), law(False)),
    )


def _observed_coefficients(mechanism: FourierCounts) -> AuditCase:
    """Return the pair that an observed cap gives away in the first coefficient."""

    def draw(noise: Noise, present: bool, samples: int) -> Array:
        cap = MOST if present else 1
        scale = math.sqrt(cap) / mechanism.epsilon
        return noise.laplace(scale, samples) + (1 + (MOST if present else 0)) / math.sqrt(MOST)

    return AuditCase(
        "a user with more venues than anyone else",
        mechanism.epsilon,
        draw,
        lambda value: -value,
        threshold=4 / mechanism.epsilon,
    )


@chosen_pairs.of(FourierCounts)
def pairs_of_fourier_counts(publication: FourierCounts) -> list[AnyCase]:
    """Return pairs to sample, and whole releases to follow."""
    return [*fourier_cases(publication), *followed_releases(publication)]


@chosen_pairs.of(LaplaceCounts)
def pairs_of_laplace_counts(publication: LaplaceCounts) -> list[AnyCase]:
    """Return pairs to sample, and whole releases to follow."""
    return [
        *(
            observed_cap_case(publication)
            if publication.variant == "literal"
            else everyone_or_one_more(publication, publication.counting_epsilon),
        ),
        *followed_releases(publication),
    ]


@chosen_pairs.of(Uniform)
def pairs_of_uniform(publication: Uniform) -> list[AnyCase]:
    """Return pairs to sample, and whole releases to follow."""
    return [*(one_total(publication),), *followed_releases(publication)]
