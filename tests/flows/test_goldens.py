"""Numbers that the specification prints about noise of flows, to the digits printed."""

from __future__ import annotations

import math
from datetime import date
from statistics import NormalDist

import numpy as np
import pytest

from geodp.flows.calendar import Days
from geodp.flows.contributions import choose_few, mix
from geodp.flows.design import FlowDesign
from geodp.flows.release import Z95, stand_out
from geodp.flows.stays import PLACES, find_presence, find_runs
from geodp.privacy.zcdp import gaussian_scale, largest_rho, rho_of_gaussian
from tests.flows.worlds import columns, wander

RHO_1 = largest_rho(1.0, 1e-6)
MONTH = Days(date(2024, 4, 1), date(2024, 4, 30))


def design(**changed: object) -> FlowDesign:
    asked: dict[str, object] = {"days": MONTH, "zones": 101, "districts": 11, "epsilon": 1.0, "delta": 1e-6}
    return FlowDesign(**(asked | changed))  # type: ignore[arg-type]


@pytest.mark.parametrize(("rho", "loose"), [(0.005, "0.530652"), (0.1, "2.450788"), (1.0, "8.433844")])
def test_the_loose_conversion(rho: float, loose: str) -> None:
    assert f"{rho + 2 * math.sqrt(rho * math.log(1e6)):.6f}" == loose


def test_exact_epsilon_of_the_gaussian() -> None:
    """δ(ε) = Φ(μ/2 - ε/μ) - e^ε Φ(-μ/2 - ε/μ), μ = √(2ρ): .927 where the conversion says 1."""
    law, mu = NormalDist(), math.sqrt(2 * RHO_1)
    low, high = 0.0, 2.0
    for _ in range(60):
        middle = (low + high) / 2
        delta = law.cdf(mu / 2 - middle / mu) - math.exp(middle) * law.cdf(-mu / 2 - middle / mu)
        low, high = (middle, high) if delta > 1e-6 else (low, middle)
    assert f"{low:.3f}" == "0.927"


def test_footfall_alone() -> None:
    whole = design()
    sd = whole.scale(1.0, 24, math.sqrt(24))
    assert f"{sd:.6f}" == "22.196674"
    assert f"{sd * math.sqrt(2 / math.pi):.1f}" == "17.7"
    assert f"{Z95 * sd:.1f}" == "43.5"
    person = design(unit="person").scale(1.0, 24, math.sqrt(24))
    assert f"{person * math.sqrt(2 / math.pi):.1f}" == "97.0"
    pure = design(delta=None)
    assert pure.scale(1.0, 24, math.sqrt(24)) == 24
    assert f"{24 * math.log(20):.1f}" == "71.9"  # P(|Laplace| > t) = e^(-t/b)
    assert design(delta=None, unit="person").scale(1.0, 24, math.sqrt(24)) == 720


def test_gaussian_beside_laplace() -> None:
    for cells in (1, 4, 24):  # at equal ρ: 1/(2m) of Laplace's variance
        epsilon = math.sqrt(2 * RHO_1)
        assert gaussian_scale(RHO_1, math.sqrt(cells)) ** 2 == pytest.approx(2 * (cells / epsilon) ** 2 / (2 * cells))
    # At ε 1, δ 1e-6 Gaussian wins once cells per unit times equal parts exceed 1/(4ρ).
    assert f"{1 / (4 * RHO_1):.1f}" == "10.3"
    narrow, wide = design(), design(delta=None)
    for parts in (10, 11):
        gaussian, laplace = (one.spread(one.scale(1 / parts, 1, 1)) for one in (narrow, wide))
        assert (gaussian < laplace) == (parts > 10.3)


def test_how_far_a_flow_must_stand_out() -> None:
    assert f"{stand_out(10_000):.6f}" == "3.719016"


def test_noise_in_the_worked_example() -> None:
    assert f"{rho_of_gaussian(22.196674, math.sqrt(24)):.8f}" == "0.02435597"


@pytest.mark.parametrize("most", [1, 3, 5])
def test_presence_and_minutes_are_bounded_by_hours_and_zones(most: int) -> None:
    """At most m zone-hours are m ones: √m; of at most 60 minutes each 60√m; all of a unit's own rows."""
    person, day, second, zone = (
        each.astype(np.int64) for each in columns(wander(np.random.default_rng(most), people=8, days=1, pings=400))
    )
    order = np.lexsort((zone, second, person))
    runs = find_runs(person[order], second[order], zone[order], PLACES)
    presence = find_presence(runs, 3600)
    words = mix(presence.unit.astype(np.uint64), presence.slot * 1000 + presence.zone)
    kept = choose_few(presence.unit, words, most, key=5)
    _, ones = np.unique(presence.unit[kept], return_counts=True)
    assert ones.max() == most
    assert day.max() == 0
    minutes = np.full(most, 60.0)
    assert (minutes.sum(), np.sqrt((minutes**2).sum()), minutes.max()) == (60 * most, pytest.approx(60 * most**0.5), 60)


def test_replacing_a_unit_doubles_squares_at_most() -> None:
    """‖a - b‖² ≤ ‖a‖² + ‖b‖² for contributions that are not negative: √2 of the L2 of adding one; twice the L1."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        one, other = (rng.multinomial(8, rng.dirichlet(np.full(20, 0.1))) > 0 for _ in range(2))
        moved = one.astype(int) - other.astype(int)
        assert (moved**2).sum() <= one.sum() + other.sum()
        assert np.abs(moved).sum() <= 2 * 8
