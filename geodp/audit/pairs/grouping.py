"""Lists of four venues: grouping and smoothing with one user at two of them, or with nobody."""

from __future__ import annotations

import numpy as np

from geodp.audit.pairs import chosen_pairs
from geodp.audit.pairs.counts import side_by_side
from geodp.audit.pairs.counts_followed import followed_releases
from geodp.curator.grouping import sampling_rate
from geodp.curator.publications.grouping_smoothing import GroupingSmoothing
from geodp.geometry import Array
from geodp.privacy.audit_case import AnyCase, AuditCase
from geodp.privacy.noise import Noise
from geodp.privacy.primitives import exponential_probabilities, laplace_counts
from geodp.tables.visits.histories import Integers

VENUES, CAP = 4, 2
KEY = b"audit"


def grouping_cases(mechanism: GroupingSmoothing) -> list[AuditCase]:
    """Return the pairs to audit for a mechanism as it is set."""
    small = mechanism.model_copy(update={"cap": CAP, "nonnegative": False})
    if mechanism.variant == "literal":
        return [_observed_case(small)]
    budgets = mechanism.budgets()
    cases = [_groups_case(small)]
    if mechanism.orders_by_sample:
        cases = [_whole_case(small), _sample_case(small)]
    if budgets.scale:
        cases.append(_scale_case(small))
    if budgets.choice:
        cases.append(_threshold_case(small))
    return cases


def _ordered(sample: Array, samples: int) -> Integers:
    """Return the venues of every list in the order of its own sample, list after list."""
    order = np.argsort(-sample.reshape(samples, VENUES), axis=1, kind="stable")
    return np.asarray((order + VENUES * np.arange(samples)[:, None]).reshape(-1))


def _sample_ratio(mechanism: GroupingSmoothing, sample: Array) -> Array:
    """Return the log-likelihood ratio of the noisy sample, for a user at the first two venues."""
    epsilon = mechanism.budgets().sample
    wide = (CAP if mechanism.sampling == "none" else 1) / epsilon
    gain = (np.abs(sample[:, :CAP]) - np.abs(sample[:, :CAP] - 1)) / wide
    if mechanism.sampling == "none":
        return np.asarray(gain.sum(axis=1))
    if mechanism.sampling == "col":  # either venue with probability 1/2
        return np.asarray(np.log(np.exp(gain).mean(axis=1)))
    rate = sampling_rate(epsilon, CAP)
    return np.asarray(np.log1p(rate * np.expm1(gain.sum(axis=1))))


def _sample_case(mechanism: GroupingSmoothing) -> AuditCase:
    epsilon = mechanism.budgets().sample

    def draw(noise: Noise, present: bool, samples: int) -> Array:
        table = side_by_side([range(CAP)] if present else [], VENUES, samples)
        return mechanism.sample(table, CAP, KEY, noise).reshape(samples, VENUES)

    return AuditCase(
        f"the sample ({mechanism.sampling}) that orders the venues",
        epsilon,
        draw,
        lambda sample: _sample_ratio(mechanism, sample),
        threshold=0.6 * epsilon,
    )


def _whole_case(mechanism: GroupingSmoothing) -> AuditCase:
    """Return the pair for the sample and the groups together; the order follows from the sample."""
    budgets = mechanism.budgets()

    def draw(noise: Noise, present: bool, samples: int) -> Array:
        table = side_by_side([range(CAP)] if present else [], VENUES, samples)
        sample = mechanism.sample(table, CAP, KEY, noise)
        counts = mechanism.smoothed(table.counts(), _ordered(sample, samples), CAP, CAP, noise)
        return np.column_stack([sample.reshape(samples, VENUES), counts.reshape(samples, VENUES)])

    def score(outputs: Array) -> Array:
        sample, counts = outputs[:, :VENUES], outputs[:, VENUES:]
        rank = np.argsort(np.argsort(-sample, axis=1, kind="stable"), axis=1) // CAP
        ratio = _sample_ratio(mechanism, sample)
        for group in range(VENUES // CAP):
            inside = rank == group
            total = np.where(inside, counts, 0.0).sum(axis=1)
            change = inside[:, :CAP].sum(axis=1)
            ratio = ratio + (np.abs(total) - np.abs(total - change)) * budgets.groups / CAP
        return np.asarray(ratio)

    claimed = budgets.sample + budgets.groups
    return AuditCase("a user with as many venues as the cap", claimed, draw, score, threshold=0.6 * claimed)


def _groups_case(mechanism: GroupingSmoothing) -> AuditCase:
    """Return the pair for groups that are settled beforehand: the user's two venues are one group."""
    epsilon = mechanism.budgets().groups

    def draw(noise: Noise, present: bool, samples: int) -> Array:
        table = side_by_side([range(CAP)] if present else [], VENUES, samples)
        order = np.arange(VENUES * samples)
        counts = mechanism.smoothed(table.counts(), order, CAP, CAP, noise)
        return counts.reshape(samples, VENUES)

    return AuditCase("a user with as many venues as the cap", epsilon, draw, lambda counts: counts[:, 0], threshold=1.0)


def _scale_case(mechanism: GroupingSmoothing) -> AuditCase:
    """Return the pair for the noisy total and the noisy number of users."""
    epsilon = mechanism.budgets().scale

    def draw(noise: Noise, present: bool, samples: int) -> Array:
        total = laplace_counts(np.full(samples, CAP * present), epsilon=0.8 * epsilon, sensitivity=CAP, noise=noise)
        users = laplace_counts(np.full(samples, int(present)), epsilon=0.2 * epsilon, sensitivity=1, noise=noise)
        return np.column_stack([total, users])

    def score(outputs: Array) -> Array:
        total, users = outputs.T
        gain = (np.abs(total) - np.abs(total - CAP)) * 0.8 * epsilon / CAP
        return np.asarray(gain + (np.abs(users) - np.abs(users - 1)) * 0.2 * epsilon)

    return AuditCase("the mean number of venues per user", epsilon, draw, score, threshold=0.6 * epsilon)


def _threshold_case(mechanism: GroupingSmoothing) -> AuditCase:
    """Return the exact law of the threshold on lists of four venues, with one user at two of them or without."""
    from geodp.curator.grouping import quality
    from geodp.curator.publications.grouping_smoothing import EXPECTED_WIDTH

    budgets, theta = mechanism.budgets(), np.arange(1, CAP + 1)

    def law(rows: list[int]) -> Array:
        sizes = np.bincount(np.array(rows, dtype=np.int64), minlength=CAP + 1)
        scores = quality(sizes, theta, VENUES, 1 / ((mechanism.width or EXPECTED_WIDTH) * budgets.groups))
        return exponential_probabilities(scores, epsilon=budgets.choice, sensitivity=CAP / VENUES, one_directional=True)

    with_, without = law([1, CAP]), law([1])
    ratio = np.log(with_ / without)
    return AuditCase(
        "the choice of the threshold",
        budgets.choice,
        lambda noise, present, samples: noise.choose(np.log(with_ if present else without), samples).astype(np.float64),
        lambda chosen: ratio[chosen.astype(np.int64)],
        threshold=float(ratio.max()),
        exact=lambda: (with_, without),
    )


def _observed_case(mechanism: GroupingSmoothing) -> AuditCase:
    """Return the pair that an observed cap gives away: the groups are as wide as the longest row."""

    def draw(noise: Noise, present: bool, samples: int) -> Array:
        table = side_by_side([[0], *([range(VENUES)] if present else [])], VENUES, samples)
        cap = VENUES if present else 1  # the largest number of venues of a user
        sample = laplace_counts(table.one_each(KEY), epsilon=mechanism.epsilon / 2, sensitivity=1, noise=noise)
        counts = mechanism.smoothed(table.counts(), _ordered(sample, samples), cap, cap, noise)
        return counts.reshape(samples, VENUES)

    # With a user at every venue all venues are one group and share one number.
    return AuditCase(
        "a user with more venues than anyone else",
        mechanism.epsilon,
        draw,
        lambda counts: (np.ptp(counts, axis=1) == 0).astype(np.float64),
        threshold=1.0,
    )


@chosen_pairs.of(GroupingSmoothing)
def pairs_of_grouping_smoothing(publication: GroupingSmoothing) -> list[AnyCase]:
    """Return pairs to sample, and whole releases to follow."""
    return [*grouping_cases(publication), *followed_releases(publication)]
