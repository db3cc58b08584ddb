"""Events of the score and of a histogram, on values without their last bits."""

import numpy as np
import pytest

from geodp.audit.auditor import audit_cases
from geodp.audit.events import Bins, certify_stated_event, drop_last_bits, histogram_events, row_keys, scan_events
from geodp.privacy.noise import SimulatedNoise
from tests.audit.zoo import HEALTHY, log_ratio


def laplace(seed: int, shift: float, samples: int = 100_000) -> np.ndarray:
    return np.asarray(shift + np.random.default_rng(seed).laplace(0, 1, samples))


def test_the_stated_event_of_a_laplace_count_certifies_nearly_all() -> None:
    finding = certify_stated_event(laplace(1, 1.0), laplace(2, 0.0), 1.0, alpha=0.01, delta=0.0)
    assert 0.95 < finding.certified <= 1.0


def test_scanning_finds_a_threshold_on_either_side_without_being_told_one() -> None:
    high, low = scan_events(laplace(1, 1.0), laplace(2, 0.0), alpha=0.01, delta=0.0)
    assert (high.favours, low.favours) == ("with", "without")
    assert 0.93 < high.certified <= 1.0
    assert 0.93 < low.certified <= 1.0


def test_what_was_chosen_on_one_half_is_certified_on_the_other() -> None:
    # In the first half the inputs are worlds apart, in the second they are the same: nothing may be certified.
    same = np.zeros(5000)
    findings = scan_events(np.append(same + 9, same), np.append(same, same), alpha=0.01, delta=0.0)
    assert [finding.certified for finding in findings] == [0.0, 0.0]


def test_missing_scores_lie_above_nothing() -> None:
    some = np.where(np.arange(10_000) % 2 == 0, np.nan, 1.0)
    finding = certify_stated_event(np.ones(10_000), some, 0.5, alpha=0.01, delta=0.0)
    assert finding.certified == pytest.approx(np.log(2), abs=0.05)
    assert scan_events(np.full(1000, np.nan), np.full(1000, np.nan), alpha=0.01, delta=0.0) == []


def test_nine_digits_stay_and_the_last_bits_go() -> None:
    values = np.array([1.0, 1.0 - 2**-53, 1.0 + 1e-7, np.nan, np.inf, -3.5])
    (rounded,) = drop_last_bits(values)
    assert rounded[0] == rounded[1] == 1.0
    assert rounded[2] == pytest.approx(1.0 + 1e-7, abs=1e-8)
    assert rounded[2] != 1.0
    assert np.isnan(rounded[3])
    assert rounded[4] == np.inf


def test_whole_numbers_and_columns_of_other_sizes_stay_as_they_are() -> None:
    table = np.column_stack([np.arange(1000.0) * 1000, np.arange(1000.0) / 1024])
    first, second = drop_last_bits(table[:400], table[400:])
    assert np.array_equal(np.concatenate([first, second]), table)
    assert np.array_equal(drop_last_bits(np.zeros(3))[0], np.zeros(3))


def test_a_saturated_score_leaks_through_its_last_bits_and_the_audit_is_not_fooled() -> None:
    rng = np.random.default_rng(1)
    ones, zeros = log_ratio(1 + rng.laplace(size=50_000), 1.0), log_ratio(rng.laplace(size=50_000), 1.0)
    odd = [np.mean((scores < -1 + 1e-12) & (scores != -1.0)) for scores in (ones, zeros)]
    assert odd[1] > 10 * odd[0]  # far more than e^1: a difference of last bits, not of laws
    case = next(case for case in HEALTHY if case.name == "two levels, charged in full")
    audit = audit_cases("sound", [case], lambda _: SimulatedNoise(np.random.default_rng(2)))
    assert not audit.refuted


N = 40_000


def certified(with_: np.ndarray, without: np.ndarray) -> float:
    return max(finding.certified for finding in histogram_events(with_, without, alpha=0.01, delta=0.0))


def test_equal_laws_certify_next_to_nothing() -> None:
    rng = np.random.default_rng(1)
    assert certified(rng.normal(size=N), rng.normal(size=N)) < 0.05
    assert certified(rng.normal(size=(N, 2)), rng.normal(size=(N, 2))) < 0.05


def test_an_atom_hidden_in_a_density_is_found() -> None:
    rng = np.random.default_rng(2)
    points = rng.normal(size=(N, 2))
    atom = np.where(rng.random((N, 1)) < 0.05, [[0.25, 0.5]], rng.normal(size=(N, 2)))
    assert certified(atom, points) > 4


def test_a_hole_in_the_middle_is_found_where_means_and_tails_agree() -> None:
    rng = np.random.default_rng(3)
    plain, holed = rng.normal(size=N), rng.normal(size=2 * N)
    holed = holed[np.abs(holed) > 0.3][:N]
    assert certified(plain, holed) > 4


def test_a_ring_is_found_in_the_plane_whichever_way_it_is_turned() -> None:
    rng = np.random.default_rng(4)
    angle = rng.uniform(0, 2 * np.pi, N)
    ring = 3 * np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(0, 0.1, (N, 2))
    assert certified(ring, rng.normal(size=(N, 2))) > 2


def test_outputs_of_many_numbers_are_cut_along_their_difference() -> None:
    rng = np.random.default_rng(5)
    moved = rng.laplace(size=(N, 10))
    moved[:, 3] += 1.0
    assert 0.7 < certified(moved, rng.laplace(size=(N, 10))) <= 1.0


def test_missing_outputs_are_an_event_of_their_own() -> None:
    rng = np.random.default_rng(6)
    some = rng.normal(size=N)
    missing = np.where(rng.random(N) < 0.5, np.nan, some)
    here, gone = histogram_events(some, missing, alpha=0.01, delta=0.0)
    assert here.certified == pytest.approx(np.log(2), abs=0.15)  # being there is twice as likely on one input
    assert gone.certified > 7  # and missing happens on the other alone


def test_bins_cover_every_output_once() -> None:
    rng = np.random.default_rng(7)
    first, second = rng.normal(size=(3000, 2)), rng.normal(1, 1, (3000, 2))
    bins = Bins.fit(first, second)
    labels = bins.label(np.concatenate([first, second]))
    counts = np.bincount(labels)
    assert labels.min() >= 0
    assert counts.sum() == 6000
    assert counts.max() < 600


def test_keys_tell_rows_apart_and_treat_both_zeros_alike() -> None:
    rows = np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0], [1.0, np.nextafter(0, 1)]])
    keys = row_keys(rows)
    assert keys[0] == keys[1]
    assert len(set(keys.tolist())) == 3
