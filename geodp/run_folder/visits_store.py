"""Visits and venues on disk: the public list under `releases/`, who was where under `truth/`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from geodp.storage.stamp import write_simulated
from geodp.tables.visits.histories import Histories, Venues

_PLACE = ("venue", "lon", "lat", "category")


def write_venues(path: Path, venues: Venues) -> None:
    """Write the public list: venue, lon, lat, category (where there are any), and its levels, coarsest first."""
    columns = {"venue": venues.name, "lon": venues.lon, "lat": venues.lat}
    columns |= {} if venues.category is None else {"category": venues.category}
    columns |= {f"level.{name}": units for name, units in venues.levels.items()}
    write_simulated(pd.DataFrame(columns), path, index=False)


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
