import numpy as np
import pytest

from geodp.audit.histogram import Bins, histogram_events, row_keys

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
