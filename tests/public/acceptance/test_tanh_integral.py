"""The curve G(x) = ∫₀ˣ 2u tanh(1/u) du behind every reach and radius."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from geodp.public.acceptance.tanh_reward import inverse_tanh_integral, tanh_integral, tanh_integral_slope


def by_quadrature(x: float) -> float:
    edges = [0.0, *(e for e in (0.05, 0.2, 0.5, 1, 2, 5, 10, 100, 1e3, 1e4, 1e5) if e < x), x]
    return sum(
        quad(lambda u: 2 * u * np.tanh(1 / u), max(low, 1e-12), high, epsabs=0, epsrel=1e-13, limit=200)[0]
        for low, high in pairwise(edges)
    )


@pytest.mark.parametrize("x", [1e-3, 0.0499, 0.0501, 0.1, 0.3, 0.77, 1, 2, 5, 9.99, 10.01, 30, 1e3, 1e6])
def test_agrees_with_quadrature(x: float) -> None:
    assert float(tanh_integral(x)) == pytest.approx(by_quadrature(x), rel=1e-10)


def test_ends_are_a_square_and_a_line() -> None:
    assert float(tanh_integral(1e-9)) == pytest.approx(1e-18, rel=1e-12)
    zeta_3 = 1.2020569031595942
    assert float(tanh_integral(1e6)) - 2e6 == pytest.approx(-14 * zeta_3 / np.pi**2, abs=1e-5)


def test_slope_is_the_derivative() -> None:
    x = np.geomspace(0.01, 1e3, 200)
    step = 1e-5 * x
    difference = (tanh_integral(x + step) - tanh_integral(x - step)) / (2 * step)
    np.testing.assert_allclose(tanh_integral_slope(x), difference, rtol=1e-6)


def test_inverse_undoes_it_over_fifteen_decades() -> None:
    x = np.geomspace(1e-6, 1e9, 40_001)
    np.testing.assert_allclose(inverse_tanh_integral(tanh_integral(x)), x, rtol=1e-10)


def test_inverse_at_the_ends() -> None:
    np.testing.assert_array_equal(inverse_tanh_integral([0.0, np.inf]), [0.0, np.inf])
