"""What a run leaves beside its releases, on disk: publications, phones' reports about histories, visits and venues.

What is public stands under `releases/`, who was where under `truth/`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from geodp.errors import UsageError
from geodp.public.guarantee import Guarantee
from geodp.run_folder.folder import read_json, write_json
from geodp.storage.geoparquet import PlaceColumn
from geodp.storage.stamp import SIMULATED, write_simulated
from geodp.tables.trajectories.table import Trajectories as Trajectories  # noqa: PLC0414 - `read_trips` hands it out
from geodp.tables.visits.histories import Histories, Venues

if TYPE_CHECKING:
    from geodp.curator.publications import Publication, Published
    from geodp.device.history_reports import HistoryDevice
    from geodp.run_folder.folder import RunFolder

PUBLICATIONS = "releases/publications"
HISTORY_REPORTS = "releases/histories"
_PLACE = ("venue", "lon", "lat", "category")


@dataclass(frozen=True, eq=False)
class PublishedRun:
    """One publication of a run."""

    index: int
    """Place in the scenario's `publish`."""
    kind: str
    name: str
    """What its files are called: its place and its kind (as it was called when the run was made)."""
    plugin: Publication
    """The publication with its settings."""
    guarantee: Guarantee
    """What it promises."""
    per_person: Guarantee
    """What it costs each person."""
    topics: frozenset[str]
    """What was released: visits, counts, trajectories."""
    facts: dict[str, Any]
    """What a reader of the table must know (public)."""
    run: RunFolder
    """The run that it belongs to."""
    truth_locked: bool = False
    """Whether the private tables are out of reach."""

    @cached_property
    def released(self) -> pd.DataFrame:
        """The table that anybody may have."""
        return self.run.table(f"{PUBLICATIONS}/{self.name}.parquet")

    def truth(self, name: str) -> pd.DataFrame:
        """Return a private table by name (truth)."""
        if self.truth_locked:
            raise UsageError(
                f"a public map holds released data only, but something reads the private table '{name}' of "
                f"publication {self.index} ({self.kind})"
            )
        return self.run.table(f"truth/publications/{self.name}/{name}.parquet")

    def read_trips(self) -> Trajectories:
        """Return the published table as trajectories, where it holds any."""
        return Trajectories.from_frame(self.released, self.run.region)

    def without_truth(self) -> PublishedRun:
        """Return the publication without its truth."""
        return replace(self, truth_locked=True)


def write_publication(folder: Path, index: int, item: Publication, published: Published) -> None:
    """Write one publication into a run's folder: `releases/publications/` is public, `truth/publications/` is not."""
    name = f"{index}-{item.kind}"
    public, private = folder / PUBLICATIONS, folder / "truth" / "publications" / name
    public.mkdir(exist_ok=True)
    private.mkdir(parents=True)
    shapes = PlaceColumn.of_table(published.released)
    write_simulated(published.released, public / f"{name}.parquet", index=False, shapes=shapes)
    promise, cost = item.guarantee(), item.cost()
    facts = {
        **SIMULATED,
        "index": index,
        "kind": item.kind,
        "fields": item.settings_in_force(),
        "releases": sorted(item.releases),
        "guarantee": promise.as_dict(),
        "sentence": promise.sentence(),
        "per_person": cost.as_dict(),
        "rows": len(published.released),
        "facts": dict(published.facts),
    }
    write_json(public / f"{name}.json", facts)
    for table, frame in published.truth.items():
        write_simulated(frame, private / f"{table}.parquet", index=False)


def read_publications(run: RunFolder, files: list[Path]) -> list[PublishedRun]:
    """Return the publications of a run, in the order of its scenario, from the JSON files of their statements."""
    found, stated = [], {path.stem.partition("-")[0]: path for path in files}
    for index, item in enumerate(run.scenario.publish):
        path = stated.get(str(index))
        if path is None:
            continue  # a run made before publications were part of one
        facts = read_json(path)
        found.append(
            PublishedRun(
                index=index,
                kind=item.kind,
                name=path.stem,
                plugin=item,
                guarantee=Guarantee.from_dict(facts["guarantee"]),
                per_person=Guarantee.from_dict(facts["per_person"]),
                topics=frozenset(facts.get("releases", item.releases)),
                facts=facts["facts"],
                run=run,
            )
        )
    return found


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
    folder = run / HISTORY_REPORTS
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
    from geodp.registry import Slot
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


def write_venues(path: Path, venues: Venues) -> None:
    """Write the public list: venue, lon, lat, category (where there are any), and its levels, coarsest first."""
    columns = {"venue": venues.name, "lon": venues.lon, "lat": venues.lat}
    columns |= {} if venues.category is None else {"category": venues.category}
    columns |= {f"level.{name}": units for name, units in venues.levels.items()}
    frame = pd.DataFrame(columns)
    write_simulated(frame, path, index=False, shapes=PlaceColumn.of_table(frame))


def read_venues(frame: pd.DataFrame) -> Venues:
    """Return the list that `write_venues` wrote."""
    levels = {name.removeprefix("level."): _words(frame, name) for name in frame.columns if name not in _PLACE}
    category = _words(frame, "category") if "category" in frame else None
    lon, lat = (frame[name].to_numpy(dtype=np.float64) for name in ("lon", "lat"))
    return Venues(_words(frame, "venue"), lon, lat, levels, category)


def write_visits(path: Path, histories: Histories) -> None:
    """Write who was where: person and venue by number, time_s where known; the names of people beside."""
    columns: dict[str, np.ndarray] = {"person": histories.person, "venue": histories.venue}
    columns |= {} if histories.time_s is None else {"time_s": histories.time_s}
    write_simulated(pd.DataFrame(columns), path, index=False)
    people = pd.DataFrame({"user": histories.people.astype(str)})
    write_simulated(people, path.with_name("people.parquet"), index=False)


def read_visits(frame: pd.DataFrame, people: pd.DataFrame) -> Histories:
    """Return the histories that `write_visits` wrote."""
    times = frame["time_s"].to_numpy(dtype=np.float64) if "time_s" in frame else None
    person, venue = (frame[name].to_numpy(dtype=np.int64) for name in ("person", "venue"))
    return Histories(_words(people, "user"), person, venue, times)


def _words(frame: pd.DataFrame, name: str) -> np.ndarray:
    column = frame[name].astype(object)
    return column.where(column.notna(), None).to_numpy(dtype=np.object_)
