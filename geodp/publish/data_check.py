"""`geodp check-data`: everything about a private file that a release keeps to itself. For its holder alone."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.errors import UsageError
from geodp.geometry import Region
from geodp.storage.gpx import is_gpx
from geodp.tables import total_rows
from geodp.tables.formats import column_names, is_csv
from geodp.tables.notices import gather_notices, notice
from geodp.tables.reader import PLACE, TableReader, as_text, open_table
from geodp.tables.regions import parse_region, require_sound
from geodp.tables.row_checks import MOST, Mask, RegionCheck, RowFaults, row_faults
from geodp.tables.trajectories.remarks import sparse_remark
from geodp.tables.trajectories.table import Trajectories
from geodp.tables.usual_columns import candidates
from geodp.tables.visits.histories import Venues
from geodp.tables.visits.venue_file import read_venue_list

FOR_THE_HOLDER = "check-data: for the holder of the data only; nothing of this may be published."
PARTS = {
    "positions": ("user", "lon", "lat"),
    "visits": ("user", "venue"),
    "trajectories": ("user", "trajectory", "time_s", "lon", "lat"),
    "venues": ("venue", "lon", "lat"),
}
_SHOWN = 5


@dataclass
class Fault:
    """Rows that a release leaves out for one reason."""

    rows: int = 0
    first: list[int] = field(default_factory=list)
    """Lines (csv, the names are line 1) or rows (Parquet, from 1) where it is met first."""


@dataclass
class DataReport:
    """What there is to tell about a private file."""

    path: Path
    kind: str
    columns: dict[str, str]
    rows: int = 0
    usable: int = 0
    faults: dict[str, Fault] = field(default_factory=dict)
    people: dict[str, float] = field(default_factory=dict)
    """How many people there are, and how many usable rows they have."""
    inside_share: float | None = None
    looks_wrong: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    seconds: float = 0.0
    megabytes: float = 0.0

    @property
    def sound(self) -> bool:
        """Whether a release uses every row, and nothing looks wrong."""
        return not self.faults and not self.looks_wrong and self.usable > 0

    def text(self) -> str:
        """Say it in words."""
        unit = "line" if is_csv(self.path) else "row"
        called = ", ".join(part if part == name else f"{part} ({name})" for part, name in self.columns.items())
        lines = [FOR_THE_HOLDER, f"{self.path.name}: {self.rows:,} rows of {self.kind}, columns {called}."]
        lines.append(f"A release uses {self.usable:,} of them and leaves {self.rows - self.usable:,} out.")
        for reason, fault in sorted(self.faults.items(), key=lambda item: -item[1].rows):
            places = ", ".join(f"{number:,}" for number in fault.first)
            more = ", …" if fault.rows > len(fault.first) else ""
            lines.append(f"  left out: {fault.rows:,} ({reason}), {unit} {places}{more}")
        if self.people:
            lines.append(
                f"{self.people['people']:,.0f} people; rows of one: {self.people['median_rows']:g} (median), "
                f"{self.people['most_rows']:g} (most). A --cap chosen from these numbers is not public."
            )
        if self.inside_share is not None:
            lines.append(f"{100 * self.inside_share:.3g} % of the places lie inside the region.")
        lines += [f"Looks wrong: {what}" for what in self.looks_wrong]
        lines += self.notices
        lines.append(f"Reading took {self.seconds:.1f} s; a release holds about {self.megabytes:,.0f} MB of it.")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "warning": FOR_THE_HOLDER,
            "file": self.path.name,
            "kind": self.kind,
            "columns": self.columns,
            "rows": self.rows,
            "usable": self.usable,
            "left_out": {reason: {"rows": one.rows, "first": one.first} for reason, one in self.faults.items()},
            **self.people,
            "inside_share": self.inside_share,
            "looks_wrong": self.looks_wrong,
            "notices": self.notices,
            "sound": self.sound,
        }


def check_data(
    path: Path,
    kind: str | None = None,
    *,
    called: Mapping[str, str] | None = None,
    region: str | None = None,
    venues: Path | None = None,
) -> DataReport:
    """Read a private file as a release would, and tell everything that a release keeps to itself.

    Parameters
    ----------
    path
        The file: csv, Parquet, GeoPackage or GeoJSON.
    kind
        What it holds: positions, visits, trajectories or venues; default: what its columns tell.
    called
        What columns are called where that differs.
    region
        The public region, `W,S,E,N` or a file of polygons: what lies outside is left out.
    venues
        The public list of venues: visits to others are left out.
    """
    begun = time.perf_counter()
    with gather_notices() as notices:
        found = column_names(path)
        kind = kind or _kind_of(found)
        if kind not in PARTS:
            raise UsageError(f"--kind {kind}: use one of {', '.join(PARTS)}.")
        if path.name.lower().endswith(".geojson") and kind != "venues":
            notice(f"{path.name}: a release refuses GeoJSON (--mode release): save it as GeoPackage, Parquet or csv.")
        if is_gpx(path) and kind != "venues":
            notice(
                f"{path.name}: a release refuses a single GPX file (--mode release): name a folder of them with "
                "--format gpx, or save it as GeoPackage, Parquet or csv."
            )
        table = _open(path, kind, called)
        report = DataReport(path, kind, dict(table.called))
        listed = None if venues is None else read_venue_list(venues)
        _Reading(report, table, _region(region), listed).read()
    report.notices = list(notices)
    report.seconds = time.perf_counter() - begun
    return report


def _kind_of(found: list[str]) -> str:
    """Tell by its columns what a file holds."""
    has = {part for part in ("user", "venue", "trajectory", "lon") if candidates(part, found)}
    if "trajectory" in has:
        return "trajectories"
    if "venue" in has:
        return "visits" if "user" in has else "venues"
    return "positions"


def _open(path: Path, kind: str, called: Mapping[str, str] | None) -> TableReader:
    """Find the columns, without those that may be missing and are."""
    table = open_table(
        path,
        PARTS[kind],
        called=called,
        optional={"positions": ("user",), "venues": PLACE}.get(kind, ()),
        name_it=lambda part: f"name it with --column {part}=COLUMN, or say with --kind what the file holds",
        purpose=f", so it cannot be published as {kind}",
    )
    if kind == "positions" and not table.has("user"):
        notice(f"{path.name}: no column says whose a row is: publishing it needs --one-row-per-person.")
    return table


def _region(text: str | None) -> Region | None:
    if text is None:
        return None
    region = parse_region(text)
    require_sound(region)
    return region


class _Reading:
    """Goes through a file once, and fills in the report."""

    def __init__(self, report: DataReport, table: TableReader, region: Region | None, venues: Venues | None) -> None:
        self.report, self.table, self.venues = report, table, venues
        self.places = None if region is None else RegionCheck(table.path, region)
        self.faults = RowFaults(table)
        self.placed = 0
        self.kept: list[dict[str, Any]] = []

    def read(self) -> None:
        """Read all rows."""
        report, before = self.report, 0
        lines, others = None, np.empty(0, np.int64)
        if is_csv(report.path):
            lines, others = total_rows.line_numbers(report.path, len(self.table.found))
        self._note("another number of columns, or quotes that are not closed", others)
        for batch in self.table.batches(total=True):
            size = len(next(iter(batch.values())))
            number = np.arange(before + 1, before + size + 1) if lines is None else lines[before : before + size]
            self._look(batch, number)
            before += size
        report.rows = before + others.size
        self._conclude()

    def _look(self, batch: dict[str, Any], number: npt.NDArray[np.int64]) -> None:
        good = np.ones(number.size, dtype=np.bool_)
        for reason, bad in self._faults(batch):
            self._note(reason, number[good & bad])
            good &= ~bad
        self.report.usable += int(np.count_nonzero(good))
        columns = {name: as_text(batch[name]).filter(good) for name in ("user", "trajectory", "venue") if name in batch}
        self.kept.append(columns | {name: batch[name][good] for name in ("time_s", "lon", "lat") if "time_s" in batch})

    def _faults(self, batch: dict[str, Any]) -> Iterator[tuple[str, Mask]]:
        self.faults.look(batch)
        yield from row_faults(self.table, batch)
        if self.table.placed:
            self.placed += int(np.count_nonzero(np.isfinite(batch["lon"]) & np.isfinite(batch["lat"])))
            if self.places is not None:
                yield "outside the region", ~self.places.look(batch["lon"], batch["lat"])[0]
        if self.venues is not None and "venue" in batch and self.report.kind == "visits":
            yield "a venue that is not in the list", self.venues.numbers_of(as_text(batch["venue"])) < 0

    def _note(self, reason: str, where: npt.NDArray[np.int64]) -> None:
        if not where.size:
            return
        fault = self.report.faults.setdefault(reason, Fault())
        fault.rows += int(where.size)
        fault.first += where[: _SHOWN - len(fault.first)].tolist()

    def _conclude(self) -> None:
        report = self.report
        if not report.rows:
            report.looks_wrong.append("the file has column names but no rows.")
        elif not report.usable:
            report.looks_wrong.append("not one row can be used.")
        swapped = self.faults.swapped if self.places is None else self.places.swapped
        if swapped > MOST * max(self.placed, 1):
            report.looks_wrong.append(
                f"{100 * swapped / self.placed:.0f} % of the places would fit with lat and lon swapped"
                + ("." if self.places is None else ", in the columns' names or in --region (west,south,east,north).")
            )
        if self.places is not None and self.placed:
            report.inside_share = self.places.inside / self.placed
        report.megabytes = report.rows * 8 * len(report.columns) / 1e6
        if "user" in report.columns and report.usable:
            self._people()
        if report.kind == "venues" and report.usable:
            names = self._column("venue")
            twice = len(names) - len(names.dictionary)
            report.looks_wrong += [f"{twice:,} venues are named twice: a public list is refused then."] if twice else []
        if report.kind == "trajectories" and report.usable:
            remark = sparse_remark(self._trips())
            report.looks_wrong += [remark] if remark else []

    def _column(self, name: str) -> Any:
        import pyarrow as pa

        return pa.chunked_array([part[name] for part in self.kept], pa.string()).combine_chunks().dictionary_encode()

    def _people(self) -> None:
        rows = np.bincount(np.asarray(self._column("user").indices))
        self.report.people = {
            "people": float(rows.size),
            "median_rows": float(np.median(rows)),
            "most_rows": float(rows.max()),
        }

    def _trips(self) -> Trajectories:
        user, label = self._column("user"), self._column("trajectory")
        time_s, lon, lat = (np.concatenate([part[name] for part in self.kept]) for name in ("time_s", "lon", "lat"))
        names = np.array(user.dictionary.to_pylist(), dtype=np.object_)
        person, trip = np.asarray(user.indices), np.asarray(label.indices)
        # Their places play no part: degrees stand where metres are expected.
        return Trajectories.from_points(people=names, person=person, label=trip, time_s=time_s, x_m=lon, y_m=lat)
