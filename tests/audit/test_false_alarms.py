"""Sound mechanisms are refuted in at most 5 % of repeats: 200 repeats of each.

The audit's level is 5 % in the worst case; alpha is split over bounds, directions, tests and pairs, and Clopper-Pearson
is conservative: on other seeds 2 of 3,200 audits refuted something sound (8 mechanisms, N = 1,000 and 10,000), at most
1 of 200 for any one. At a true rate of 0.5 % more than 10 of 200 have probability 8e-9.
"""

import numpy as np
import pytest

from geodp.audit.auditor import audit_cases
from geodp.privacy.audit_case import AuditCase
from geodp.privacy.noise import SimulatedNoise
from tests.audit.zoo import HEALTHY

QUICK = [case for case in HEALTHY if case.name in ("planar Laplace", "Laplace count", "two levels, charged in full")]
"""One each of points, counts and several counts; the slow test below takes them all."""


@pytest.mark.parametrize("case", QUICK, ids=lambda case: case.name)
def test_sound_mechanisms_survive_200_audits(case: AuditCase) -> None:
    refuted = 0
    for repeat in range(200):
        noise = SimulatedNoise(np.random.default_rng([repeat, 7]))
        refuted += audit_cases(case.name, [case], lambda _, noise=noise: noise, samples=1000).refuted  # type: ignore[misc]
    assert refuted <= 10


def test_alpha_is_split_over_pairs() -> None:
    case = next(case for case in HEALTHY if case.name == "Laplace count")

    def certified(pairs: int) -> float:
        audit = audit_cases("split", [case] * pairs, lambda _: SimulatedNoise(np.random.default_rng(1)), samples=5000)
        return audit.pairs[0].certified

    assert certified(1) > certified(4) > certified(24)


@pytest.mark.slow
@pytest.mark.parametrize("case", HEALTHY, ids=lambda case: case.name)
def test_sound_mechanisms_survive_200_audits_with_more_samples(case: AuditCase) -> None:
    refuted = 0
    for repeat in range(200):
        noise = SimulatedNoise(np.random.default_rng([repeat, 8]))
        refuted += audit_cases(case.name, [case], lambda _, noise=noise: noise, samples=10_000).refuted  # type: ignore[misc]
    assert refuted <= 10
