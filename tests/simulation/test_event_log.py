from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from geodp.public.events import Kind, Reason
from geodp.simulation.event_log import EventLog, reason_codes


def written(path: Path, rows_in_memory: int) -> pd.DataFrame:
    """Log single events, many at once, and none; all of it in row groups of the given size."""
    log = EventLog(path, rows_in_memory)
    log.add(0.0, Kind.RELEASE, value=0.3)
    log.add(1.5, Kind.TASK_ARRIVED, task=0, x_m=10.0, y_m=20.0)
    log.add(2.0, Kind.REFUSAL, task=np.empty(0, dtype=np.int64), worker=np.empty(0, dtype=np.int64))
    log.add(
        3.0,
        Kind.REFUSAL,
        task=np.zeros(7, dtype=np.int64),
        worker=np.arange(7),
        x_m=np.arange(7) * 1.5,
        y_m=-1.0,
        value=np.array([1.0, np.nan, np.inf, 4.0, 5.0, 6.0, 7.0]),
        reason=reason_codes([Reason.BUSY, Reason.UNWILLING, Reason.TOO_FAR, *[Reason.UNWILLING] * 4]),
    )
    log.add(4.0, Kind.CENSORED, task=0, reason=Reason.RUN_ENDED)
    assert log.rows == 10
    log.close()
    return pd.DataFrame(pq.read_table(path).to_pandas())


def test_events_come_back_in_the_order_they_were_logged(tmp_path: Path) -> None:
    events = written(tmp_path / "events.parquet", 1000)
    assert events["time_s"].tolist() == [0.0, 1.5, *[3.0] * 7, 4.0]
    assert events["kind"].tolist() == ["release", "task_arrived", *["refusal"] * 7, "censored"]
    assert events["worker"].iloc[2:9].tolist() == list(range(7))
    assert events["x_m"].iloc[2:9].tolist() == [0.0, 1.5, 3.0, 4.5, 6.0, 7.5, 9.0]
    assert events["y_m"].iloc[2:9].eq(-1.0).all()
    assert events["reason"].tolist()[:5] == ["", "", "busy", "unwilling", "beyond_max_travel"]
    assert events["reason"].iloc[-1] == "undecided_at_end"


def test_what_is_missing_or_not_finite_is_null(tmp_path: Path) -> None:
    events = written(tmp_path / "events.parquet", 1000)
    assert events.iloc[0][["task", "worker", "x_m", "y_m"]].isna().all()
    assert events["value"].isna().tolist() == [False, True, False, True, True, *[False] * 4, True]
    assert events["worker"].isna().tolist() == [True, True, *[False] * 7, True]


@pytest.mark.parametrize("rows_in_memory", [1, 3, 4, 9, 10])
def test_memory_bounds_the_row_groups_and_changes_no_event(tmp_path: Path, rows_in_memory: int) -> None:
    whole = written(tmp_path / "whole.parquet", 1000)
    pieces = written(tmp_path / "pieces.parquet", rows_in_memory)
    pd.testing.assert_frame_equal(whole, pieces)
    facts = pq.ParquetFile(tmp_path / "pieces.parquet").metadata
    groups = [facts.row_group(group).num_rows for group in range(facts.num_row_groups)]
    assert max(groups) == rows_in_memory


def test_columns_of_different_length_are_refused(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.parquet")
    with pytest.raises(ValueError, match=r"differ in length: \[2, 3\]"):
        log.add(0.0, Kind.REFUSAL, task=np.zeros(2, dtype=np.int64), worker=np.arange(3))
    log.close()
