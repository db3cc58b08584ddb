from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from geodp import plugin
from geodp.curator.mechanisms import Snapshot
from geodp.curator.mechanisms.kalman_counts import find_factor
from geodp.errors import UsageError
from geodp.privacy.noise import SimulatedNoise
from geodp.public.guarantee import Unit
from geodp.public.release import Cells, Contours
from tests.curator.mechanisms.crowds import REGION, RecordingNoise, crowd, noise
from tests.curator.mechanisms.town import CELLS, play


def at(taken: Snapshot, time_s: float) -> Snapshot:
    return Snapshot(time_s, taken.x_m, taken.y_m, taken.region, taken.expected_workers)


def series(mechanism: object, taken: Snapshot, releases: int, source: SimulatedNoise, every_s: float) -> list[Cells]:
    """Release the same crowd again and again."""
    made: list[Cells] = []
    for number in range(releases):
        earlier = made[-1] if made else None
        made.append(mechanism.release_next(earlier, at(taken, number * every_s), source, number=number))  # type: ignore[attr-defined]
    return made


def test_only_measured_releases_draw_noise_and_the_others_look_at_nobody() -> None:
    mechanism = plugin("kalman_counts", epsilon=0.5, measure_every=3, cells={"kind": "uniform_grid", "cell_m": 1000})
    source, taken = RecordingNoise(), crowd(3000)
    first = mechanism.release_next(None, at(taken, 0.0), source, number=0)
    drawn = len(source.laplaces)
    nobody = Snapshot(600.0, np.empty(0), np.empty(0), REGION, 3000.0)
    second = mechanism.release_next(first, nobody, source, number=1)
    assert len(source.laplaces) == drawn == 1
    assert float(source.laplaces[0][0][0]) == 2.0
    assert np.array_equal(second.count, first.count)
    assert [first.measured, second.measured] == [True, False]
    assert [mechanism.measures(number) for number in range(5)] == [True, False, False, True, False]
    assert second.guarantee.unit is Unit.SNAPSHOT


def test_the_filter_is_the_textbook_one() -> None:
    """Predict: P + Q, Q = 2 n (1 - e^(-t/τ)). Correct: gain K = P/(P + R)."""
    mechanism = plugin(
        "kalman_counts", epsilon=1.0, measure_every=1, stay_s=1000.0, cells={"kind": "uniform_grid", "cell_m": 20_000}
    )
    taken = crowd(500)
    first, second = series(mechanism, taken, 2, noise(1), 700.0)
    alone = plugin("uniform_grid", epsilon=1.0, cell_m=20_000)
    source = noise(1)
    measured = [alone.release(taken, source).count for _ in range(2)]
    variance, noise_variance = 2.0 + 2 * measured[0] * (1 - np.exp(-0.7)), 2.0
    gain = variance / (variance + noise_variance)
    assert first.count == pytest.approx(measured[0])
    assert second.count == pytest.approx(measured[0] + gain * (measured[1] - measured[0]))
    assert 2 * second.noise_scale**2 == pytest.approx((1 - gain) * variance)


def test_following_a_crowd_that_stands_still_lowers_the_error() -> None:
    """Mean square errors in 144 cells: after ten measurements a tenth of one, and the stated variance agrees."""
    taken = crowd(3000)
    cells = {"kind": "uniform_grid", "cell_m": 1100}
    mechanism = plugin("kalman_counts", epsilon=0.5, measure_every=1, stay_s=1e12, cells=cells)
    made = series(mechanism, taken, 10, noise(2), 600.0)
    true = np.bincount(made[0].locate(taken.x_m, taken.y_m), minlength=made[0].count.size)
    errors = [float(np.mean((release.count - true) ** 2)) for release in made]
    assert errors[-1] < 0.25 * errors[0]
    assert errors[-1] == pytest.approx(float(np.mean(2 * made[-1].noise_scale ** 2)), rel=0.5)
    assert made[-1].noise_terms is not None
    assert made[-1].noise_terms.min() == pytest.approx(10, rel=1e-6)  # ten equal Laplace terms


def test_contours_are_followed_too_and_redrawn() -> None:
    mechanism = plugin("kalman_counts", measure_every=2, cells={"kind": "contour", "cell_m": 800})
    made = series(mechanism, crowd(4000), 3, noise(3), 900.0)
    assert all(isinstance(release, Contours) for release in made)
    assert np.array_equal(made[1].levels, made[0].levels)  # type: ignore[attr-defined]
    assert not np.array_equal(made[2].levels, made[0].levels)  # type: ignore[attr-defined]
    law = made[1].density_law([0.0], [0.0])
    assert law.variance[0] > made[0].density_law([0.0], [0.0]).variance[0]
    assert law.terms[0] > made[0].density_law([0.0], [0.0]).terms[0]


@pytest.mark.parametrize("kind", ["adaptive_grid", "kalman_counts", "quadtree", "no_privacy"])
def test_cells_that_change_with_every_release_cannot_be_followed(kind: str) -> None:
    with pytest.raises(ValidationError, match="Use one of: contour, correlated_counts, uniform_grid"):
        plugin("kalman_counts", cells={"kind": kind})


def test_cells_sized_by_a_noisy_count_cannot_be_followed() -> None:
    with pytest.raises(ValidationError, match="count_share must be 0"):
        plugin("kalman_counts", cells={"kind": "uniform_grid", "count_share": 0.1})


def test_another_epsilon_reaches_the_measurements() -> None:
    mechanism = plugin("kalman_counts", epsilon=0.3).with_epsilon(0.7)
    assert mechanism.guarantee().epsilon == 0.7
    assert mechanism.expected_noise() == pytest.approx(1 / 0.7)


@pytest.mark.parametrize(("surprise", "factor"), [(0.5, 1.3935), (1.0, 1.0), (2.0, 0.5), (0.0, 1.6321), (50.0, 0.5)])
def test_the_controller_stretches_the_fair_interval_by_its_surprise(surprise: float, factor: float) -> None:
    assert find_factor(surprise) == pytest.approx(factor, abs=5e-5)


def sampled(tracks: list[list[int]], seed: int, **fields: Any) -> list[bool]:
    """Return which releases of a day were measured."""
    fields = {"epsilon": 2.0, "samples": 8, **fields}
    mechanism = plugin("kalman_counts", sampling="pid", cells=CELLS, **fields)
    return [release.measured for release in play(mechanism, tracks, noise(seed))]


def test_samples_last_for_the_whole_day_and_are_never_more_than_were_agreed() -> None:
    rng = np.random.default_rng(2)
    tracks = [[int(cell)] * 40 for cell in rng.integers(0, 9, 300)]
    taken = sampled(tracks, 1)
    assert taken[0]
    assert 6 <= sum(taken) <= 8
    assert any(taken[25:])


def test_the_printed_controller_spends_its_samples_early() -> None:
    """The finding: |x - x⁻|/x against 0.1 is mostly noise, so the interval shrinks to one release."""
    rng = np.random.default_rng(2)
    tracks = [[int(cell)] * 40 for cell in rng.integers(0, 9, 300)]
    taken = sampled(tracks, 1, epsilon=0.5, variant="literal")
    assert sum(taken) == 8
    assert not any(taken[20:])


def test_when_samples_are_taken_follows_from_releases_alone() -> None:
    """The same answers on other people: the same releases are measured (a transcript that the audit follows)."""
    from geodp.audit.kinds import audit_kind

    audit = audit_kind("kalman_counts", {"sampling": "pid"}, samples=1000, neighbours=2)
    assert not audit.refuted
    assert not audit.not_followed


def test_a_day_with_samples_promises_epsilon_for_the_person() -> None:
    mechanism = plugin("kalman_counts", sampling="pid", samples=8, epsilon=2.0)
    assert mechanism.guarantee().unit is Unit.USER
    assert mechanism.presence_epsilon(1, 32) == 0.25
    assert mechanism.presence_epsilon(4, 32) == 1.0
    assert mechanism.presence_epsilon(32, 32) == 2.0


def test_more_samples_than_releases_are_refused() -> None:
    mechanism = plugin("kalman_counts", sampling="pid", samples=9)
    with pytest.raises(UsageError, match="samples: 9 are more than the 8 releases"):
        mechanism.begin_series(8)
    with pytest.raises(UsageError, match="needs to know how many releases"):
        mechanism.begin_series()
