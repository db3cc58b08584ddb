from __future__ import annotations

import pytest

from geodp.metrics.density_error import DensityError
from geodp.run_folder.folder import RunFolder


def test_absolute_error_per_square_kilometre(hand_made: RunFolder) -> None:
    # true 10 and 20 per km²; released 12 and 17 (error 5 over 2 km²), then 11 and 20 (1 over 2 km²)
    measured = DensityError().measure(hand_made)
    error = measured["density_error"]
    assert error.value == pytest.approx((2.5 + 0.5) / 2)
    assert error.high == pytest.approx(1.5 + 12.706205, abs=1e-5)  # t(1) · sd / √2, sd = √2
    assert measured["density_error_relative"].value == pytest.approx((5 / 30 + 1 / 30) / 2)


def test_the_reading_includes_the_floor(hand_made: RunFolder) -> None:
    # the floor of 15 per km² lifts 12 and 11: errors (5 + 3) / 2 and (5 + 0) / 2
    assert DensityError().measure(hand_made)["density_error_read"].value == pytest.approx((4 + 2.5) / 2)


def test_without_releases_it_is_undefined(copied: RunFolder) -> None:
    for file in (copied.path / "releases").iterdir():
        file.unlink()
    measured = DensityError().measure(RunFolder(copied.path))
    assert {one.value for one in measured.values()} == {None}
