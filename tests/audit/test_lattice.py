import math

import numpy as np
import pytest

from geodp.audit.events import Finding
from geodp.audit.lattice import TESTS, lattice_step, lowest_bit, raw_bit_events

N = 40_000


def findings(with_: np.ndarray, without: np.ndarray) -> dict[tuple[str, str], float]:
    found: list[Finding] = raw_bit_events(with_, without, alpha=0.01, delta=0.0)
    assert len(found) == TESTS
    return {(finding.test, finding.favours): finding.certified for finding in found}


@pytest.mark.parametrize(
    ("value", "exponent"), [(1.0, 0), (3.0, 0), (4.0, 2), (0.75, -2), (-0.5, -1), (2.0**-1060, -1060), (0.1, -55)]
)
def test_lowest_bit(value: float, exponent: int) -> None:
    assert lowest_bit(value) == exponent


def test_lowest_bits_of_zero_and_of_what_is_not_finite_are_set_apart() -> None:
    assert set(lowest_bit([0.0, np.nan, np.inf]).tolist()) == {2100}


def test_one_plus_laplace_and_zero_plus_laplace_are_told_apart_by_their_bits() -> None:
    rng = np.random.default_rng(1)
    found = findings(1 + rng.laplace(size=N), 0 + rng.laplace(size=N))
    assert found["granularity", "without"] > 6


def attainable(values: np.ndarray) -> np.ndarray:
    """Tell which doubles are ±ln(k·2^-53): numpy's Laplace sampler (scale 1) returns no others."""
    near = np.round(np.exp(-np.abs(values)) * 2.0**53)
    tried = np.clip((near[:, None] + np.arange(-6, 7)) * 2.0**-53, 2.0**-53, 1)
    log = np.vectorize(math.log)(tried)  # the C library's, as in the sampler; np.log may differ in the last bit
    return np.asarray((-log == np.abs(values)[:, None]).any(axis=1))


def test_40_percent_of_one_plus_laplace_can_come_from_zero_plus_laplace() -> None:
    """The attainability that makes doubles unfit for release (Mironov 2012); false alarm below 1e-6 at ± 0.02."""
    rng = np.random.default_rng(2)
    assert attainable(rng.laplace(size=20_000)).all()
    assert attainable(1 + rng.laplace(size=20_000)).mean() == pytest.approx(0.397, abs=0.02)


def test_noise_on_one_public_lattice_passes() -> None:
    rng = np.random.default_rng(3)
    noise = np.round(rng.laplace(size=2 * N) * 2.0**20) / 2.0**20
    assert max(findings(1 + noise[:N], noise[N:]).values()) <= 1.0


@pytest.mark.parametrize("step", [1.4427e-4, 0.01, 2.0**-12])
def test_the_step_of_a_lattice_is_found_to_nine_digits(step: float) -> None:
    rng = np.random.default_rng(4)
    points = 12.3456 + step * rng.integers(0, 5_000_000, N)
    points = points + rng.uniform(-1, 1, N) * 1e-12  # what rounding leaves of it
    found = lattice_step(points)
    assert found is not None
    multiple = found / step
    assert multiple == pytest.approx(round(multiple), rel=1e-9)
    assert round(multiple) == 1


def test_numbers_without_a_lattice_have_none() -> None:
    rng = np.random.default_rng(5)
    for _ in range(50):
        assert lattice_step(rng.gamma(2, 200, 2000)) is None
    assert lattice_step(np.zeros(1000)) is None
    assert lattice_step(np.full(1000, np.nan)) is None


def test_a_lattice_about_one_of_two_places_separates_them() -> None:
    """Radii rounded to six digits: one report tells places 13 m apart with a log-ratio of at least 6."""
    rng = np.random.default_rng(6)
    radius = np.round(rng.gamma(2, 1, N), 6) * 260
    angle = rng.uniform(0, 2 * np.pi, N)
    here = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    places = np.array([[0.0, 0.0], [13.0, 0.0]])
    distances = np.column_stack([np.hypot(*(here - place).T) for place in places])
    away = np.column_stack([np.hypot(*(here + places[1] - place).T) for place in places])
    assert findings(distances, away)["lattice", "with"] > 6
