"""Times are read cell by cell, however they are written."""

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from geodp.errors import UsageError
from geodp.tables.time_columns import counts_from_1970, read_time_column, usual_midnight, wall_clock

NOON = 1709640000.0  # 2024-03-05 12:00 UTC


@pytest.mark.parametrize(
    "cell",
    ["2024-03-05T12:00:00Z", "2024-03-05 13:00:00+01:00", "2024-03-05T12:00", " 1709640000 ", "1709640000000",
     "+1.70964e9", "20240305T120000Z"],
)  # fmt: skip
def test_a_moment_may_be_written_in_many_ways(cell: str) -> None:
    assert read_time_column(pa.array([cell])).seconds.tolist() == [NOON]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_of_parquet_are_moments(unit: str) -> None:
    column = pa.array([dt.datetime(2024, 3, 5, 12), None], pa.timestamp(unit))
    for zone in (None, "UTC"):
        np.testing.assert_array_equal(read_time_column(column.cast(pa.timestamp(unit, zone))).seconds, [NOON, np.nan])


def test_dates_without_a_zone_are_taken_as_of_one_and_counted() -> None:
    for column in (pa.array(["2024-03-05T12:00:00"]), pa.array([dt.datetime(2024, 3, 5, 12)])):
        times = read_time_column(column, "Europe/Vienna")
        assert (times.seconds.tolist(), times.dated, times.local) == ([NOON - 3600], True, 1)
    skipped = read_time_column(pa.array(["2024-03-31T02:30:00", "2024-10-27T02:30:00"]), "Europe/Vienna")
    assert np.isnan(skipped.seconds).all(), "no clock showed the first, and every clock showed the second twice"
    with pytest.raises(UsageError, match="no zone called 'Nowhere'"):
        read_time_column(pa.array(["2024-03-05"]), "Nowhere")


@pytest.mark.parametrize("number", [1e11, 1e13, 1e20, -1e12, 5.0])
def test_a_number_that_could_be_anything_is_taken_as_seconds(number: float) -> None:
    assert read_time_column(pa.array([number])).seconds.tolist() == [number]


def test_finer_units_are_told() -> None:
    times = read_time_column(pa.array([NOON * 1e3, NOON * 1e6, NOON * 1e9, 3.0]))
    np.testing.assert_allclose(times.seconds, [NOON, NOON, NOON, 3.0])
    assert set(times.finer) == {"milliseconds", "microseconds", "nanoseconds"}


def test_no_cell_decides_for_another() -> None:
    """A number among dates once made all dates no times."""
    rng = np.random.default_rng(0)
    cells: list[Any] = ["2024-03-05", "2024-03-05T12:00:00.123456789Z", "5", "x", None, "9999-12-31", "0001-01-01", ""]
    for _ in range(50):
        chosen = [cells[number] for number in rng.integers(0, len(cells), 6)]
        together = read_time_column(pa.array(chosen, pa.string())).seconds
        alone = [read_time_column(pa.array([cell], pa.string())).seconds[0] for cell in chosen]
        np.testing.assert_array_equal(together, alone)


def test_clocks_and_days() -> None:
    assert wall_clock(np.array([NOON]), "Europe/Vienna").tolist() == [NOON + 3600]
    assert counts_from_1970(np.array([NOON, 5.0, NOON]))
    assert not counts_from_1970(np.array([0.0, 7200.0]))
    assert usual_midnight(np.array([NOON, NOON + 60, -1e12])) == NOON - 12 * 3600


def test_only_the_numbers_that_are_too_large_for_seconds_are_counted_as_such() -> None:
    times = read_time_column(pa.array([10.0, NOON, 1e3 * NOON, 1e3 * NOON, 1e9 * NOON]))
    assert times.finer == {"milliseconds": 2, "nanoseconds": 1}
