"""Places, people and times of a user's own (Geo)DataFrame, by the names of its columns.

When simulating, a row that cannot be used is an error. When releasing it is left out without a word, and nothing is
guessed: whether a call is refused depends on the names of columns alone.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from geodp.errors import DataError, UsageError
from geodp.geometry import Array, Region
from geodp.model import did_you_mean
from geodp.tables.caps import rank_in_groups
from geodp.tables.notices import notice
from geodp.tables.row_checks import BEYOND, LATEST_S, Mask, RegionCheck, on_earth
from geodp.tables.time_columns import read_time_column
from geodp.tables.usual_columns import candidates, find_column, likely

if TYPE_CHECKING:
    import pandas as pd

NAME = Path("the data")
"""What messages call a frame."""


@dataclass(frozen=True)
class Columns:
    """Which columns of a frame say what; None: its geometry, usual names, or nothing.

    Parameters
    ----------
    lon, lat
        Degrees.
    user
        Whose a row is.
    time
        When it was: seconds or dates.
    """

    lon: str | None = None
    lat: str | None = None
    user: str | None = None
    time: str | None = None


@dataclass(frozen=True, eq=False)
class Places:
    """Rows of a frame that have a place."""

    lon: Array
    lat: Array
    who: npt.NDArray[np.object_]
    """Whose each row is, in words."""
    named: bool
    """Whether a column says whose a row is; otherwise `who` numbers the rows."""
    time_s: Array | None = None

    def select(self, keep: Mask | npt.NDArray[np.int64]) -> Places:
        """Return some of the rows."""
        time_s = None if self.time_s is None else self.time_s[keep]
        return Places(self.lon[keep], self.lat[keep], self.who[keep], self.named, time_s)

    def find_box(self) -> Region:
        """Return the box of all places: derived from private data, hence for simulation only."""
        if not self.lon.size:
            raise DataError(f"{NAME}: has no rows, hence no region: state one.")
        return Region(*(float(edge) for edge in (self.lon.min(), self.lat.min(), self.lon.max(), self.lat.max())))

    def find_last_rows(self, *, until_s: float | None = None, within_s: float | None = None) -> Places:
        """Return the last row of everyone: at or before a moment, and no older than so long before it.

        A person's own rows alone decide which of them it is.
        """
        rows = np.arange(self.who.size)
        if self.time_s is not None and until_s is not None:
            due = self.time_s <= until_s
            due &= True if within_s is None else self.time_s >= until_s - within_s
            rows = rows[due]
        if not self.named:
            return self.select(rows)
        import pandas as pd

        time_s = np.zeros(rows.size) if self.time_s is None else self.time_s[rows]
        person = pd.factorize(self.who[rows])[0]
        order = np.lexsort((rows, time_s, person))
        later = rank_in_groups(person[order[::-1]])[::-1]
        return self.select(np.sort(rows[order[later == 0]]))


def read_places(data: Any, columns: Columns, *, total: bool) -> Places:
    """Read the places of a frame.

    Parameters
    ----------
    data
        A GeoDataFrame or GeoSeries of points in any CRS, or a DataFrame with columns of longitude and latitude.
    columns
        What its columns are called.
    total
        Whether rows that cannot be used are left out without a word (as a release does), instead of refused.
    """
    frame = as_frame(data)
    _require_named(frame, columns)
    lon, lat = _find_degrees(frame, columns, total=total)
    time_s = None if columns.time is None else read_times(frame[columns.time])
    who, known = _read_people(frame, columns.user)
    faults = [
        ("no point", ~(np.isfinite(lon) & np.isfinite(lat))),
        (BEYOND, np.isfinite(lon) & np.isfinite(lat) & ~on_earth(lon, lat)),
        (f"no {columns.user}", ~known),
    ]
    if time_s is not None:
        with np.errstate(invalid="ignore"):
            faults.append((f"no {columns.time} that can be read (seconds or dates)", ~(np.abs(time_s) <= LATEST_S)))
    if not total:
        _refuse(faults, len(frame), swapped=np.isfinite(lon) & (np.abs(lat) > 90) & (np.abs(lon) <= 90))
        _notice_repeated(frame, columns)
    good = ~np.logical_or.reduce([bad for _, bad in faults])
    return Places(lon, lat, who, columns.user is not None, time_s).select(good)


def keep_inside(places: Places, region: Region, *, total: bool) -> tuple[Places, Array, Array]:
    """Return the places inside a region, and their metres; swapped columns and another region are refused."""
    check = RegionCheck(NAME, region)
    inside, x_m, y_m = check.look(places.lon, places.lat)
    if not total:
        check.refuse_swapped(": name the columns (lon=…, lat=…), or mend the region (west, south, east, north).")
        check.refuse_elsewhere("region=(west, south, east, north)")
        if outside := int(np.count_nonzero(~inside)):
            notice(f"{outside:,} of {inside.size:,} rows lie outside the region and are left out.")
    return places.select(inside), x_m[inside], y_m[inside]


def read_times(column: Any) -> Array:
    """Return times in seconds: numbers as they are, dates since 1970 (UTC); NaN where a cell holds none."""
    import pandas as pd
    import pyarrow as pa

    cells = pd.Series(column).reset_index(drop=True)
    if cells.dtype == object:
        words, known = write_names(cells)
        cells = pd.Series(words, dtype="string").where(known)
    return np.array(read_time_column(pa.Array.from_pandas(cells)).seconds, dtype=np.float64)


def write_names(column: Any) -> tuple[npt.NDArray[np.object_], npt.NDArray[np.bool_]]:
    """Return names in words and which of them are there; the number 12, 12.0 and the word 12 are one name."""
    import pandas as pd

    cells = pd.Series(column).reset_index(drop=True)
    known = np.asarray(cells.notna(), dtype=np.bool_)
    words = np.array(
        [_write_name(cell) if there else "" for cell, there in zip(cells, known, strict=True)], dtype=object
    )
    return words.reshape(len(cells)), known & (words != "")


def _write_name(cell: Any) -> str:
    if isinstance(cell, float | np.floating) and float(cell).is_integer():
        return str(int(cell))
    try:
        word = str(cell)
        word.encode()
    except Exception:  # noqa: BLE001 - a cell that cannot be written is no name, whatever it is
        return ""
    return word


def read_numbers(cells: pd.Series) -> Array:
    """Return a column as numbers, each cell by itself; NaN where it holds none."""
    if cells.dtype != object and cells.dtype.kind in "iufb":
        return np.asarray(cells.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.array([_read_number(cell) for cell in cells], dtype=np.float64)


def _read_number(cell: Any) -> float:
    try:
        return float(cell) if isinstance(cell, str | numbers.Real | Decimal) else np.nan
    except Exception:  # noqa: BLE001 - a cell that is no number is none, whatever it is
        return np.nan


def as_frame(data: Any, what: object = NAME) -> Any:
    """Return data as a frame, or say what they are instead; `what` is what messages call them."""
    import pandas as pd

    if isinstance(data, pd.Series) and hasattr(data, "geom_type"):
        return data.to_frame("geometry")
    if not isinstance(data, pd.DataFrame):
        raise UsageError(f"{what}: must be a GeoDataFrame or a DataFrame, got {type(data).__name__}.")
    if not data.columns.is_unique:
        twice = data.columns[data.columns.duplicated()][0]
        raise UsageError(f"{what}: has two columns called '{twice}'. Rename one of them.")
    return data


def require_column(frame: pd.DataFrame, name: str, argument: str) -> None:
    """Refuse a name that no column has, with the nearest that one has."""
    if name not in frame.columns:
        found = [str(column) for column in frame.columns]
        near = did_you_mean(str(name), found)
        hint = " It is the index: frame.reset_index()." if name in frame.index.names else near
        raise DataError(f"{NAME}: no column '{name}' ({argument}).{hint} Found: {', '.join(found)}.")


def _require_named(frame: Any, columns: Columns) -> None:
    for argument in ("lon", "lat", "user", "time"):
        name = getattr(columns, argument)
        if name is not None:
            require_column(frame, name, f"{argument}={name!r}")
    if (columns.lon is None) != (columns.lat is None):
        missing = "lat" if columns.lat is None else "lon"
        raise UsageError(f"{NAME}: lon= and lat= go together: name the column of {missing}, too.")


def _find_degrees(frame: Any, columns: Columns, *, total: bool) -> tuple[Array, Array]:
    if columns.lon is not None:
        return _read_numbers(frame, str(columns.lon), total=total), _read_numbers(frame, str(columns.lat), total=total)
    if hasattr(frame, "to_crs"):
        return read_degrees(frame, total=total)
    found = [str(name) for name in frame.columns]
    names = []
    for part in ("lon", "lat"):
        name = find_column(NAME, part, found, name_it=f"name it: {part}=…")
        if name is None:
            near = likely(part, found)
            hint = "" if near is None else f" Did you mean '{near}'?"
            seen = "" if total else f"{hint} Found: {', '.join(found)}."
            raise DataError(f"{NAME}: no geometry and no column '{part}'.{seen} Name it: {part}=….")
        names.append(name)
    lon, lat = (_read_numbers(frame, name, total=total) for name in names)
    return lon, lat


def _read_numbers(frame: Any, name: str, *, total: bool) -> Array:
    cells = frame[name]
    found = read_numbers(cells)
    lost = np.isnan(found) & cells.notna().to_numpy()
    if not total and lost.any():
        first, wrong = int(np.argmax(lost)) + 1, np.count_nonzero(lost)
        raise DataError(f"{NAME}: column '{name}' must hold degrees; {wrong:,} cells hold none, first row {first}.")
    return found


def read_degrees(frame: Any, *, total: bool, what: object = NAME) -> tuple[Array, Array]:
    """Return longitudes and latitudes of the active geometry, whatever its CRS; NaN where a row has no point."""
    import shapely

    if frame.active_geometry_name is None:
        raise UsageError(f"{what}: has no active geometry. Say which column it is: frame.set_geometry('geometry').")
    crs = frame.crs
    if crs is None:
        raise UsageError(
            f"{what}: the geometry states no CRS, so nobody knows what its coordinates mean. Say which one it is in: "
            "frame.set_crs(4326) for longitude and latitude."
        )
    shapes = np.asarray(frame.geometry.array, dtype=object)
    kinds = shapely.get_type_id(shapes)
    if not total and not np.isin(kinds, (-1, 0)).all():
        row = int(np.flatnonzero(~np.isin(kinds, (-1, 0)))[0])
        raise DataError(
            f"{what}: the geometry must be points, one per row; row {row + 1} is a {shapes[row].geom_type}. Use, for "
            "example, frame.set_geometry(frame.representative_point())."
        )
    known = (kinds == 0) & ~shapely.is_empty(shapes)
    x, y = np.full((2, len(shapes)), np.nan)
    x[known], y[known] = shapely.get_x(shapes[known]), shapely.get_y(shapes[known])
    if crs.to_epsg() == 4326:
        return x, y
    from pyproj import Transformer

    lon, lat = Transformer.from_crs(crs, 4326, always_xy=True).transform(x, y)
    far = ~(np.isfinite(lon) & np.isfinite(lat))
    return np.where(far, np.nan, lon), np.where(far, np.nan, lat)


def _read_people(frame: Any, user: str | None) -> tuple[npt.NDArray[np.object_], npt.NDArray[np.bool_]]:
    if user is not None:
        return write_names(frame[user])
    width = len(str(max(len(frame) - 1, 0)))
    numbers = np.array([f"{row:0{width}d}" for row in range(len(frame))], dtype=object)
    return numbers, np.ones(len(frame), dtype=np.bool_)


def _refuse(faults: list[tuple[str, Mask]], rows: int, *, swapped: Mask) -> None:
    if not rows:
        raise DataError(f"{NAME}: has no rows.")
    for fault, bad in faults:
        if count := int(np.count_nonzero(bad)):
            turned = fault == BEYOND and np.count_nonzero(swapped) > rows / 2
            advice = "lat and lon look swapped" if turned else "Remove or mend such rows"
            have = "1 row has" if count == 1 else f"{count:,} of {rows:,} rows have"
            raise DataError(f"{NAME}: {have} {fault}, first row {int(np.argmax(bad)) + 1}. {advice}.")


def _notice_repeated(frame: Any, columns: Columns) -> None:
    """Say what becomes of people with several rows."""
    if columns.user is not None:
        return
    names = candidates("user", [str(name) for name in frame.columns if isinstance(name, str)])
    for name in names:
        if (many := int(frame[name].duplicated().sum())) and name != columns.time:
            notice(
                f"column '{name}' names {many:,} rows again, and user= was not given: every row counts as a person of "
                f"its own, so what is promised is promised about one row. If it says whose a row is: user={name!r}."
            )
            return
