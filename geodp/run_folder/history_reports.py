"""What phones reported about their owners' histories, on disk: items and counts beside a statement of each report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from geodp.public.guarantee import Guarantee
from geodp.registry import Slot
from geodp.run_folder.folder import read_json, write_json
from geodp.storage.stamp import SIMULATED, write_simulated

if TYPE_CHECKING:
    from geodp.device.history_reports import HistoryDevice

FOLDER = "releases/histories"


@dataclass(frozen=True, eq=False)
class HistoryReport:
    """One time at which all phones reported about histories."""

    index: int
    time_s: float
    device: HistoryDevice
    """The mechanism, with its budget settled."""
    guarantee: Guarantee
    items: pd.DataFrame
    """user, venue: the places reported."""
    counts: pd.DataFrame
    """user, category, level, count: noisy numbers of places; missing where nothing is reported."""


def write_history_report(run: Path, report: HistoryReport) -> None:
    """Write a report into a run's folder."""
    folder = run / FOLDER
    folder.mkdir(exist_ok=True)
    name = f"{report.index:04d}"
    write_simulated(report.items, folder / f"{name}-items.parquet", index=False)
    write_simulated(report.counts, folder / f"{name}-counts.parquet", index=False)
    facts = {
        **SIMULATED,
        "index": report.index,
        "time_s": report.time_s,
        "mechanism": report.device.model_dump(mode="json"),
        "guarantee": report.guarantee.as_dict(),
        "sentence": report.guarantee.sentence(),
    }
    write_json(folder / f"{name}.json", facts)


def read_history_reports(files: list[Path], plugins_left_out: tuple[str, ...] = ()) -> list[HistoryReport]:
    """Return the reports in order of time, from the JSON files of their statements."""
    from geodp.scenario.stand_ins import StandIns

    stand_ins = StandIns(plugins_left_out) if plugins_left_out else None
    found = []
    for path in sorted(files):
        facts = read_json(path)
        device = Slot("history_report").build(facts["mechanism"], stand_ins)
        tables = [pd.read_parquet(path.with_name(f"{path.stem}-{name}.parquet")) for name in ("items", "counts")]
        promise = Guarantee.from_dict(facts["guarantee"])
        found.append(HistoryReport(facts["index"], facts["time_s"], device, promise, *tables))
    return found
