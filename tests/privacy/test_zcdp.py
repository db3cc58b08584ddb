import pytest

from geodp.errors import UsageError
from geodp.privacy.zcdp import epsilon_of_rho, gaussian_scale, largest_rho, mix_epsilon, rho_of_gaussian


@pytest.mark.parametrize(("epsilon", "scale"), [(0.5, 8.676631), (1.0, 4.530877), (2.0, 2.381591)])
def test_the_scale_of_gaussian_noise(epsilon: float, scale: float) -> None:
    rho = largest_rho(epsilon, 1e-6)
    assert gaussian_scale(rho, 1.0) == pytest.approx(scale, abs=5e-7)
    assert rho_of_gaussian(gaussian_scale(rho, 3.0), 3.0) == pytest.approx(rho, rel=1e-12)


@pytest.mark.parametrize(("ones", "as_rho", "split"), [([0.1] * 10, 1.623759, 1.621693), ([1.0], 5.280370, 1.621693)])
def test_mixed_totals_are_the_least_of_what_holds(ones: list[float], as_rho: float, split: float) -> None:
    """Ten pure 0.1 (or one pure 1) beside ρ .01 at δ 1e-6; the one as ρ .5 makes .51 altogether."""
    assert epsilon_of_rho(0.01 + sum(one**2 / 2 for one in ones), 1e-6) == pytest.approx(as_rho, abs=6e-7)
    assert sum(ones) + epsilon_of_rho(0.01, 1e-6) == pytest.approx(split, abs=6e-7)
    assert mix_epsilon(ones, [0.01], 1e-6) == pytest.approx(min(as_rho, split), abs=6e-7)


def test_pure_totals_stay_what_they_are_or_get_smaller_where_a_delta_is_given() -> None:
    assert mix_epsilon([0.1, 0.2]) == pytest.approx(0.3)
    many = [0.01] * 10_000
    assert mix_epsilon(many) == pytest.approx(100.0)
    assert mix_epsilon(many, delta=1e-6) == pytest.approx(epsilon_of_rho(0.5, 1e-6))
    assert mix_epsilon([], [0.005], 1e-6) == pytest.approx(0.429941, abs=5e-7)


def test_promises_without_rho_and_thresholds_take_their_delta_first() -> None:
    total = mix_epsilon([0.1], [0.01], 1e-6, delta_t=2e-7, converted=[(0.3, 3e-7)])
    assert total == pytest.approx(0.4 + epsilon_of_rho(0.01, 5e-7), rel=1e-6)
    with pytest.raises(UsageError, match="larger delta"):
        mix_epsilon([], [0.01], 1e-6, delta_t=1e-6)
    with pytest.raises(UsageError, match="larger delta"):
        mix_epsilon([0.1], [], 1e-6, converted=[(0.1, 2e-6)])


@pytest.mark.parametrize(("rho", "l2"), [(0.0, 1.0), (0.1, 0.0), (-1.0, 1.0)])
def test_noise_needs_a_rho_and_a_sensitivity(rho: float, l2: float) -> None:
    with pytest.raises(UsageError, match="greater than 0"):
        gaussian_scale(rho, l2)


def test_the_conversion_is_that_of_an_independent_implementation() -> None:
    """At σ 22.196674 and Δ₂ √24, as the noise of a release is made."""
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    noise = dp.m.make_gaussian(*space, scale=22.196674)
    assert noise.map(d_in=24**0.5) == pytest.approx(rho_of_gaussian(22.196674, 24**0.5), rel=1e-9)
    for delta in (1e-6, 1e-9, 1e-2):
        theirs = dp.c.make_zCDP_to_approxDP(noise).map(d_in=24**0.5).epsilon(delta=delta)
        assert epsilon_of_rho(rho_of_gaussian(22.196674, 24**0.5), delta) == pytest.approx(theirs, rel=1e-6)
