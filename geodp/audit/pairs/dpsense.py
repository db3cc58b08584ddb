"""A list of three venues: DPSense with one user at all of them, or with nobody."""

from __future__ import annotations

import numpy as np

from geodp.audit.pairs import chosen_pairs
from geodp.audit.pairs.counts_followed import followed_releases
from geodp.curator.publications.dpsense import DPSense
from geodp.geometry import Array
from geodp.privacy.audit_case import AnyCase, AuditCase
from geodp.privacy.noise import Noise
from geodp.privacy.primitives import exponential_probabilities, laplace_counts
from geodp.tables.visits.histories import Integers

VENUES = 3
THETA: Integers = np.arange(1, VENUES + 1)


def sizes_of(*rows: int) -> Integers:
    """Return how many users have 0, 1, 2 and 3 venues."""
    return np.bincount(np.array(rows, dtype=np.int64), minlength=VENUES + 1)


def law_of_theta(mechanism: DPSense, sizes: Integers) -> Array:
    """Return the exact probability of every threshold."""
    logits = mechanism.logits(sizes, THETA, VENUES)
    weight = np.exp(logits - logits.max())
    return np.asarray(weight / weight.sum())


def dpsense_cases(mechanism: DPSense) -> list[AuditCase]:
    """Return the pair for the choice of θ (and α), and the pair for everything together."""
    if mechanism.scaling:
        return [_factor_case(mechanism), _whole_case(mechanism)]
    return [_choice_case(mechanism), _whole_case(mechanism)]


def _choice_case(mechanism: DPSense) -> AuditCase:
    # Two users with one venue each, so that the thresholds compete; the third has all venues.
    with_, without = (law_of_theta(mechanism, sizes_of(1, 1, *more)) for more in ([VENUES], []))
    return _exact_case("the choice of the threshold", mechanism.budgets()[0], with_, without)


def _factor_case(mechanism: DPSense) -> AuditCase:
    """Return the exact law of (θ, α) with and without a user at all venues."""
    from geodp.audit.pairs.counts import side_by_side

    def law(*rows: range) -> Array:
        table = side_by_side(rows, VENUES, 1)
        exact = table.counts()
        scores = [mechanism.scaled_quality(table, exact, int(theta), VENUES, b"") for theta in THETA]
        sensitivity = mechanism.choice_sensitivity(VENUES, VENUES)
        return exponential_probabilities(
            np.concatenate(scores), epsilon=mechanism.budgets()[0], sensitivity=sensitivity
        )

    with_, without = law(range(1), range(1), range(VENUES)), law(range(1), range(1))
    return _exact_case("the choice of the threshold and the factor", mechanism.budgets()[0], with_, without)


def _exact_case(name: str, claimed: float, with_: Array, without: Array) -> AuditCase:
    ratio = _logs(with_) - _logs(without)
    return AuditCase(
        name,
        claimed,
        lambda noise, present, samples: noise.choose(_logs(with_ if present else without), samples).astype(np.float64),
        lambda chosen: ratio[chosen.astype(np.int64)],
        threshold=float(ratio.max()),
        exact=lambda: (with_, without),
    )


def _whole_case(mechanism: DPSense) -> AuditCase:
    """Return the pair for θ and the counts: nobody, or one user at all venues, whose row is scaled to exactly θ."""
    with_, without = law_of_theta(mechanism, sizes_of(VENUES)), law_of_theta(mechanism, sizes_of())
    epsilon = mechanism.budgets()[1]

    def draw(noise: Noise, present: bool, samples: int) -> Array:
        chosen = noise.choose(_logs(with_ if present else without), samples)
        counts = np.empty((samples, VENUES))
        for index, theta in enumerate(THETA):
            some = chosen == index
            weight = np.floor(theta / VENUES * 2**10) / 2**10 if present else 0.0
            exact = np.full((int(some.sum()), VENUES), weight)
            counts[some] = laplace_counts(exact, epsilon=epsilon, sensitivity=float(theta), noise=noise)
        return np.column_stack([chosen, counts])

    def score(outputs: Array) -> Array:
        chosen, counts = outputs[:, 0].astype(np.int64), outputs[:, 1:]
        theta = THETA[chosen][:, None]
        moved = (np.abs(counts) - np.abs(counts - theta / VENUES)).sum(axis=1) * epsilon / theta[:, 0]
        return np.asarray(moved + (_logs(with_) - _logs(without))[chosen])

    claimed = mechanism.counting_epsilon
    return AuditCase("a user at every venue", claimed, draw, score, threshold=0.6 * claimed)


def _logs(probability: Array) -> Array:
    """Return logarithms that are finite, also of what is too unlikely for a double."""
    return np.log(np.maximum(probability, 1e-300))


@chosen_pairs.of(DPSense)
def pairs_of_dpsense(publication: DPSense) -> list[AnyCase]:
    """Return pairs to sample, and whole releases to follow."""
    return [*dpsense_cases(publication), *followed_releases(publication)]
