import numpy as np
import pytest

from geodp.audit.auditor import audit_cases
from geodp.audit.coarse import coarse
from geodp.privacy.noise import SimulatedNoise
from tests.audit.zoo import HEALTHY, log_ratio


def test_nine_digits_stay_and_the_last_bits_go() -> None:
    values = np.array([1.0, 1.0 - 2**-53, 1.0 + 1e-7, np.nan, np.inf, -3.5])
    (rounded,) = coarse(values)
    assert rounded[0] == rounded[1] == 1.0
    assert rounded[2] == pytest.approx(1.0 + 1e-7, abs=1e-8)
    assert rounded[2] != 1.0
    assert np.isnan(rounded[3])
    assert rounded[4] == np.inf


def test_whole_numbers_and_columns_of_other_sizes_stay_as_they_are() -> None:
    table = np.column_stack([np.arange(1000.0) * 1000, np.arange(1000.0) / 1024])
    first, second = coarse(table[:400], table[400:])
    assert np.array_equal(np.concatenate([first, second]), table)
    assert np.array_equal(coarse(np.zeros(3))[0], np.zeros(3))


def test_a_saturated_score_leaks_through_its_last_bits_and_the_audit_is_not_fooled() -> None:
    rng = np.random.default_rng(1)
    ones, zeros = log_ratio(1 + rng.laplace(size=50_000), 1.0), log_ratio(rng.laplace(size=50_000), 1.0)
    odd = [np.mean((scores < -1 + 1e-12) & (scores != -1.0)) for scores in (ones, zeros)]
    assert odd[1] > 10 * odd[0]  # far more than e^1: a difference of last bits, not of laws
    case = next(case for case in HEALTHY if case.name == "two levels, charged in full")
    audit = audit_cases("sound", [case], lambda _: SimulatedNoise(np.random.default_rng(2)))
    assert not audit.refuted
