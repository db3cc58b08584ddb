"""The public list of venues whose visitors are counted: names, and places where it has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.errors import DataError
from geodp.geometry import Array, Region
from geodp.tables import reader
from geodp.tables.usual_columns import named_columns
from geodp.tables.visits.histories import Integers
from geodp.tables.visits.space_order import space_order

PARTS = ("venue", "lon", "lat")
"""What a venue list holds."""
_MARGIN = 1e-4  # degrees around the outermost venues


@dataclass(frozen=True, eq=False)
class VenueList:
    """Public venues; unlike `Venues` it may lack places, and names are a pyarrow array (millions of them)."""

    name: Any
    lon: Array | None = None
    lat: Array | None = None

    @property
    def size(self) -> int:
        """Number of venues."""
        return len(self.name)

    def chosen(self, keep: npt.NDArray[np.bool_]) -> VenueList:
        """Return the list with some of the venues only."""
        import pyarrow as pa

        places = (None if column is None else column[keep] for column in (self.lon, self.lat))
        return VenueList(self.name.filter(pa.array(keep)), *places)

    def numbers_of(self, names: Any) -> Integers:
        """Return the number of each named venue (a pyarrow array of strings); -1 for names not in the list."""
        import pyarrow.compute as pc

        found = pc.index_in(names, value_set=self.name)
        return np.asarray(pc.fill_null(found, -1), dtype=np.int64)

    def region(self) -> Region:
        """Return a box around all venues, the whole world where their places are unknown."""
        if self.lon is None or self.lat is None:
            return Region(-180.0, -85.0, 180.0, 85.0)
        return Region(
            float(self.lon.min()) - _MARGIN,
            float(self.lat.min()) - _MARGIN,
            float(self.lon.max()) + _MARGIN,
            float(self.lat.max()) + _MARGIN,
        )

    def places_m(self) -> tuple[Array, Array] | None:
        """Return the places in metres, where they are known."""
        if self.lon is None or self.lat is None:
            return None
        return self.region().projection.to_m(lon=self.lon, lat=self.lat)

    def order(self) -> Integers | None:
        """Return the venues in an order in which neighbours are near each other, where places are known."""
        places = self.places_m()
        return None if places is None else space_order(*places)


def read_venue_list(path: Path, called: Mapping[str, str] | None = None) -> VenueList:
    """Read a public list (csv or Parquet): column venue, and lon and lat where it has both.

    `called` says what the columns are called there where that differs; those that it names must be there.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    found = reader.column_names(path)
    named = named_columns(path, PARTS, found, called, name_it="say --venue-column {}=NAME")
    placed = bool({"lon", "lat"} & set(called or {}))  # who names one of them wants both
    wanted = {part: name for part, name in named.items() if part == "venue" or placed}
    reader.require_columns(path, {f"--venue-column {part}=": name for part, name in wanted.items()}, found)
    places = ["lon", "lat"] if {named["lon"], named["lat"]} <= set(found) else []
    parts = list(reader.batches(path, places, ["venue"], called=named))
    names = pa.chunked_array([as_text(part["venue"]) for part in parts], pa.string()).combine_chunks()
    if not len(names):
        raise DataError(f"{path.name}: has column names but no venues")
    if pc.any(pc.fill_null(pc.equal(names, ""), True)).as_py():
        raise DataError(f"{path.name}: some venues have no name")
    if len(names.unique()) != len(names):
        raise DataError(f"{path.name}: names a venue twice: every venue needs a name of its own")
    if not places:
        return VenueList(names)
    lon, lat = (np.concatenate([part[name] for part in parts]) for name in places)
    _require_places(path, lon, lat)
    return VenueList(names, lon, lat)


def as_text(column: Any) -> Any:
    """Return names as strings, whatever they are in the file: the number 12 and the word '12' are the same venue."""
    import pyarrow as pa

    plain = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    return plain.cast(pa.string())


def _require_places(path: Path, lon: Array, lat: Array) -> None:
    good = (np.abs(lon) <= 180) & (np.abs(lat) <= 90)  # False for missing ones, too
    if good.all():
        return
    if (np.abs(lat) > 90).any() and not (np.abs(lon) > 90).any():
        raise DataError(
            f"{path.name}: some latitudes lie beyond ±90 and no longitude does: lat and lon seem to be swapped. Swap "
            "the names of the two columns."
        )
    row = int(np.argmin(good)) + 1
    raise DataError(f"{path.name}: {np.count_nonzero(~good):,} venues have no place on earth, first in row {row}")
