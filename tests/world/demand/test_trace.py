from pathlib import Path

import numpy as np
import pytest

from geodp.errors import DataError
from geodp.geometry import Region
from geodp.registry import plugin
from geodp.tables.notices import gather_notices
from geodp.world.demand import Arrivals
from tests.world.places import uniform_population

REGION = Region(10.0, 50.0, 10.2, 50.1)
ROWS = "lon,lat,time_s\n10.1,50.05,40\n10.15,50.02,5\n10.05,50.09,3599.9\n10.1,50.01,3600\n10.1,50.01,-1\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tasks.csv").write_text(ROWS)
    return tmp_path


def arrive(path: Path, duration_s: float = 3600.0) -> Arrivals:
    arrivals: Arrivals = plugin("trace", path=str(path)).arrivals(
        uniform_population(REGION, 5), REGION,
        start_s=8 * 3600.0, duration_s=duration_s, rng=np.random.default_rng(0),
    )  # fmt: skip
    return arrivals


def test_tasks_of_the_run_come_in_order_of_time(folder: Path) -> None:
    tasks = arrive(folder / "tasks.csv")
    assert tasks.time_s.tolist() == [5, 40, 3599.9]
    expected = REGION.projection.to_m(lon=[10.15, 10.1, 10.05], lat=[50.02, 50.05, 50.09])
    assert np.array_equal([tasks.x_m, tasks.y_m], expected)


def test_the_expected_number_is_that_of_the_rows_in_the_runs_time(folder: Path) -> None:
    trace = plugin("trace", path=str(folder / "tasks.csv"))
    assert trace.expected_tasks(start_s=8 * 3600.0, duration_s=3600.0) == 3
    assert trace.expected_tasks(start_s=0.0, duration_s=41.0) == 2


def test_tasks_outside_the_region_are_dropped_and_counted(folder: Path) -> None:
    path = folder / "tasks.csv"
    path.write_text(ROWS + "11,50,7\n")
    with gather_notices() as noticed:
        assert arrive(path).time_s.size == 3
    assert noticed == [
        "tasks.csv: 1 of 6 points (17 %) lie outside the region and are dropped.",
        "tasks.csv: 2 of 5 tasks lie outside the run's time and are dropped.",
    ]


def test_a_relative_path_starts_at_the_file_that_names_it(folder: Path) -> None:
    trace = plugin("trace", path="tasks.csv").anchor(folder)
    assert trace.files() == [folder / "tasks.csv"]
    assert trace.expected_tasks(start_s=0.0, duration_s=3600.0) == 3


def test_times_of_another_clock_are_refused(folder: Path) -> None:
    path = folder / "tasks.csv"
    path.write_text("lon,lat,time_s\n10.1,50.05,90000\n")
    for call in (
        arrive,
        lambda p: plugin("trace", path=str(p)).expected_tasks(start_s=0.0, duration_s=3600.0),
    ):
        with pytest.raises(DataError, match=r"no task arrives in the run's 0 to 3600 s; its times run from 90000"):
            call(path)


@pytest.mark.parametrize("when", ["2024-03-05 08:00:07", "2024-03-05T08:00:07Z", "1709625607", "1709625607000"])
def test_dates_begin_the_run_on_their_first_day(folder: Path, when: str) -> None:
    path = folder / "tasks.csv"
    path.write_text(f"lon,lat,when,timestamp\n10.1,50.05,x,{when}\n")
    with gather_notices() as noticed:
        assert arrive(path).time_s.tolist() == [7.0]
    assert "tasks.csv: times are dates: the run begins on 2024-03-05, the first of them (first_day)." in noticed
    trace = plugin("trace", path=str(path), first_day="2024-03-05")
    assert trace.expected_tasks(start_s=8 * 3600.0, duration_s=60.0) == 1


def test_a_missing_time_is_refused_with_its_line(folder: Path) -> None:
    path = folder / "tasks.csv"
    path.write_text("lon,lat,time_s\n10.1,50.05,1\n10.1,50.05,\n")
    with pytest.raises(DataError, match=r"tasks.csv: 1 row has no time_s that can be read .*, first in line 3"):
        arrive(path)
    with pytest.raises(DataError, match=r"tasks.csv: 1 row has no time_s that can be read .*, first in line 3"):
        plugin("trace", path=str(path)).expected_tasks(start_s=0.0, duration_s=3600.0)


def test_a_trace_needs_times(folder: Path) -> None:
    path = folder / "tasks.csv"
    path.write_text("lon,lat,timestamp\n10.1,50.05,1\n")
    with gather_notices() as noticed:
        assert arrive(path).time_s.tolist() == [1.0]
    assert noticed == ["tasks.csv: column 'timestamp' is taken for the time (no column 'time_s')."]
    path.write_text("lon,lat,arrival\n10.1,50.05,1\n")
    with pytest.raises(DataError, match=r"no column 'time_s'") as caught:
        arrive(path)
    assert "name it in time_column" in str(caught.value)


def test_a_trace_without_a_path_says_so() -> None:
    assert plugin("trace").files() == []
    with pytest.raises(DataError, match="trace: no file is given"):
        plugin("trace").expected_tasks(start_s=0.0, duration_s=1.0)
