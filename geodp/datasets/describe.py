"""What data sets there are, and what a file of visits or trajectories holds (exact numbers, hence private)."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geodp.errors import DataError
from geodp.tables.formats import estimate_rows
from geodp.tables.loaders import TRAJECTORIES, VISITS, Loader
from geodp.tables.movement_laws import LAWS, count_hours, measure_laws
from geodp.tables.progress import READING, count_rows
from geodp.tables.published_formats import loaders
from geodp.tables.reader import Numbering
from geodp.tables.visit_log import read_log
from geodp.tables.visits.venue_file import read_venue_list

if TYPE_CHECKING:
    import pyarrow as pa

STAMP = "PRIVATE: exact numbers, computed from the data without noise. Do not publish them."
MADE = {
    "generated_pings": (
        "made-up people with a home and a workplace, whose phones are seen now and then, and a grid of zones",
        "geodp datasets make --pings 100000 --out FOLDER: pings (user, time_s, lon, lat) and zones (zone, district), "
        "for geodp publish flows; the same seed gives the same files",
    ),
    "generated_trips": (
        "made-up people who drive through a made-up town, on streets, by the quickest way",
        "geodp datasets make --trips 4000 --out FOLDER: trajectories (user, trajectory, time_s, lon, lat); the "
        "same seed gives the same file",
    ),
    "generated_visits": (
        "made-up people who visit made-up venues in towns, districts and streets",
        "geodp datasets make --out FOLDER: visits (user, venue, time_s) and venues (venue, lon, lat, city, district, "
        "street, category); the same seed gives the same files",
    ),
    "sample_positions": (
        "400 made-up positions in San Francisco's box",
        "datasets/sample_positions.csv in the repository (worker, lon, lat), for the source `table`",
    ),
}
_WIDTH = 110
_QUANTILES = (0.0, 0.25, 0.5, 0.75, 0.95, 1.0)


def describe_datasets() -> str:
    """Describe every known data set: what it is, how to get it, its format and its columns."""
    blocks = []
    for kind, cls in loaders().items():
        columns = ", ".join(VISITS if cls.loads == "visits" else TRAJECTORIES)
        convert = f"format: {kind} ({cls.files}); becomes {cls.loads}: {columns}"
        blocks += [
            _block(one.name, one.what, f"get: {one.get}", *([f"size: {one.size}"] if one.size else []), convert)
            for one in cls.datasets
        ]
        if not cls.datasets:
            blocks.append(_block(f"your own, as {kind}", cls.headline(), convert))
    blocks += [_block(name, what, f"get: {get}") for name, (what, get) in MADE.items()]
    return "\n\n".join(blocks)


def list_datasets() -> list[dict[str, Any]]:
    """Return every known data set as plain values."""
    found: list[dict[str, Any]] = []
    for kind, cls in loaders().items():
        facts = {"format": kind, "files": cls.files, "holds": cls.loads}
        found += [{"name": one.name, "what": one.what, "get": one.get, "size": one.size or None} | facts
                  for one in cls.datasets]  # fmt: skip
        if not cls.datasets:
            found.append({"name": f"your own, as {kind}", "what": cls.headline(), "get": None, "size": None} | facts)
    made = {"size": None, "format": None, "files": None, "holds": None}
    return found + [{"name": name, "what": what, "get": get} | made for name, (what, get) in MADE.items()]


def _block(name: str, *lines: str) -> str:
    return "\n".join(
        [name, *(textwrap.fill(line, _WIDTH, initial_indent="  ", subsequent_indent="    ") for line in lines)]
    )


def describe(source: Path, loader: Loader) -> dict[str, Any]:
    """Return rows, users, venues (or trajectories), time span, box, rows per user, and what was left out."""
    loaded = loader.load(source)
    facts = _Facts(thing="venue" if loader.loads == "visits" else "trajectory")
    facts.read(count_rows(READING, loaded, lambda batch: int(batch.num_rows), lambda: estimate_rows(source)))
    dropped = loaded.dropped
    left_out = {"rows_in_file": dropped.rows, "left_out": dropped.reasons, "notes": dropped.notes}
    return {"stamp": STAMP, "file": source.name, "format": loader.kind, **facts.values(), **left_out}


def describe_laws(source: Path, loader: Loader, *, zone: str = "UTC", venues: Path | None = None) -> dict[str, Any]:
    """Return the laws of movement that a file obeys: every summary, and visits by hour of the day.

    Parameters
    ----------
    source
        The file.
    loader
        Reads it; it is read into memory as numbers.
    zone
        Time zone by whose clocks its people live.
    venues
        List of venues (venue, lon, lat) that says where they are, where the rows do not.
    """
    listed = None if venues is None else read_venue_list(venues)
    loaded = loader.load(source)
    rows = count_rows(READING, loaded, lambda batch: int(batch.num_rows), lambda: estimate_rows(source))
    log, _ = read_log(rows, zone=zone, listed=listed)
    if not log.size:
        raise DataError(
            f"{source.name}: laws of movement need rows with a time and a place, and there are none. Name the list of "
            "venues that says where they are: --venues FILE."
        )
    return {
        "stamp": STAMP,
        "measured_on": "visits" if loader.loads == "visits" else "stays",
        "people": log.people,
        "visits": log.size,
        "laws": measure_laws(log),
        "visits_by_hour": count_hours(log).tolist(),
    }


def laws_text(values: dict[str, Any]) -> str:
    """Say the laws on the screen."""
    lines = [f"laws of movement, of {values['visits']:,} {values['measured_on']} of {values['people']:,} people"]
    for key, value in values["laws"].items():
        law = LAWS[key]
        shown = "undefined" if value is None else f"{value:.4g}{f' {law.unit}' if law.unit else ''}"
        lines.append(f"  {law.label}: {shown}")
    return "\n".join([*lines, f"  visits by hour of the day: {' '.join(map(str, values['visits_by_hour']))}"])


def text_of(values: dict[str, Any]) -> str:
    """Say it on the screen."""
    lines = [values["stamp"], f"{values['file']} ({values['format']})"]
    for name, value in values.items():
        if name in ("stamp", "file", "format", "left_out", "notes"):
            continue
        lines.append(f"  {name.replace('_', ' ')}: {_format_value(value)}")
    lines += [f"  left out, {reason}: {count:,}" for reason, count in values["left_out"].items()]
    lines += [f"  note, {what}: {count:,}" for what, count in values["notes"].items()]
    return "\n".join(lines)


class _Facts:
    """Numbers that grow with every batch; memory holds names and counts, never the rows."""

    def __init__(self, thing: str) -> None:
        self._thing, self._users, self._things, self._categories = thing, Numbering(), Numbering(), Numbering()
        self._per_user = np.empty(0, dtype=np.int64)
        self._rows = 0
        self._least = dict.fromkeys(("time_s", "lon", "lat"), np.inf)
        self._most = dict.fromkeys(("time_s", "lon", "lat"), -np.inf)

    def read(self, batches: Iterable[pa.RecordBatch]) -> None:
        for batch in batches:
            if not batch.num_rows:
                continue
            self._rows += batch.num_rows
            user = self._users.number(batch.column("user"))
            counts = np.bincount(user, minlength=max(len(self._users.names), self._per_user.size))
            counts[: self._per_user.size] += self._per_user
            self._per_user = counts
            self._things.number(self._name_things(batch))
            if "category" in batch.schema.names:
                self._categories.number(batch.column("category").drop_null())
            for name in self._least:
                values = np.asarray(batch.column(name).to_numpy(zero_copy_only=False), dtype=np.float64)
                if np.isfinite(values).any():
                    self._least[name] = min(self._least[name], float(np.nanmin(values)))
                    self._most[name] = max(self._most[name], float(np.nanmax(values)))

    def _name_things(self, batch: pa.RecordBatch) -> pa.Array:
        """Return the venues' names; trajectories are told by user and name together."""
        import pyarrow.compute as pc

        column = batch.column(self._thing)
        return column if self._thing == "venue" else pc.binary_join_element_wise(batch.column("user"), column, "\0")

    def values(self) -> dict[str, Any]:
        things = {"venue": "venues", "trajectory": "trajectories"}[self._thing]
        quantiles = np.quantile(self._per_user, _QUANTILES)
        per_user = {f"{share:g}": float(value) for share, value in zip(_QUANTILES, quantiles, strict=True)}
        found: dict[str, Any] = {"rows": self._rows, "users": int(self._per_user.size), things: len(self._things.names)}
        if self._categories.names:
            found["categories"] = len(self._categories.names)
        if np.isfinite(self._least["time_s"]):
            found["first_time"], found["last_time"] = _date(self._least["time_s"]), _date(self._most["time_s"])
        if np.isfinite(self._least["lon"]):
            low, high = self._least, self._most
            found["box"] = [round(value, 6) for value in (low["lon"], low["lat"], high["lon"], high["lat"])]
        return found | {"rows_per_user": per_user}


def _date(time_s: float) -> str:
    return datetime.fromtimestamp(time_s, UTC).isoformat(timespec="seconds")


def _format_value(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{100 * float(share):g} %: {number:,.6g}" for share, number in value.items())
    if isinstance(value, list):
        return ",".join(f"{edge:.6g}" for edge in value)
    return f"{value:,}" if isinstance(value, int) else str(value)
