"""Parts of cells: the share of the area is exact, and they stay where they should."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodp.server.geocast_growth import nearest_contact, part_around

shares = st.floats(1e-6, 1.0)


@settings(deadline=None, derandomize=True)
@given(share=shares, x=st.floats(0, 1), y=st.floats(0, 1), width=st.floats(1, 1e4), height=st.floats(1, 1e4))
def test_a_part_has_the_share_of_the_area_lies_inside_and_holds_its_point(
    share: float, x: float, y: float, width: float, height: float
) -> None:
    cell = (-50.0, 20.0, -50.0 + width, 20.0 + height)
    at = (-50.0 + x * width, 20.0 + y * height)
    west, south, east, north = part_around(cell, *at, share)
    assert (east - west) * (north - south) == pytest.approx(share * width * height, rel=1e-6)
    for low, near, at_m, far, high in ((cell[0], west, at[0], east, cell[2]), (cell[1], south, at[1], north, cell[3])):
        assert low <= near <= at_m + 1e-9
        assert at_m - 1e-9 <= far <= high


def test_parts_grow_as_squares_around_the_point_until_they_meet_an_edge() -> None:
    cell = (0.0, 0.0, 100.0, 100.0)
    assert part_around(cell, 50.0, 50.0, 0.25) == pytest.approx((25.0, 25.0, 75.0, 75.0))
    assert part_around(cell, 10.0, 10.0, 0.04) == pytest.approx((0.0, 0.0, 20.0, 20.0))
    assert part_around(cell, 30.0, 30.0, 1.0) == cell


def test_the_point_where_two_cells_touch_is_the_nearest_on_their_common_edge() -> None:
    cell, other = (10.0, 0.0, 20.0, 10.0), (0.0, 5.0, 10.0, 30.0)
    assert nearest_contact(cell, other, 2.0, 7.0) == (10.0, 7.0)
    assert nearest_contact(cell, other, 2.0, 90.0) == (10.0, 10.0)
    assert nearest_contact(cell, other, 2.0, 0.0) == (10.0, 5.0)
