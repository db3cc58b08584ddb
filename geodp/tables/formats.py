"""Files of columns as Arrow batches: csv, Parquet (also GeoParquet), GeoPackage, GeoJSON and GPX, by the name's ending.

pyarrow reads csv and Parquet, GDAL (by pyogrio) GeoPackage and GeoJSON. Two columns of words and two of numbers of 10
million rows took pyarrow 1.9 s of CPU and 0.39 GB from csv (Polars 2.1: 1.5 s, 0.43 GB; DuckDB 2.0: 2.2 s, 0.75 GB),
and 1.3 s and 0.41 GB from Parquet (Polars 0.8 s, 0.52 GB; DuckDB 1.2 s, 0.74 GB): neither is worth a dependency. Memory
holds one batch, however long the file; GeoJSON may be parsed as a whole, and is refused beyond `LARGEST_GEOJSON` bytes.
"""

from __future__ import annotations

import csv
import io
import json
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geodp.errors import DataError
from geodp.geometry import Array
from geodp.model import did_you_mean
from geodp.storage.csv_cells import unguard_table
from geodp.storage.features import PARQUET, read_features
from geodp.storage.files import is_regular, why_not_regular
from geodp.storage.gpx import ENDING as GPX
from geodp.storage.gpx import is_gpx
from geodp.tables import total_rows
from geodp.tables.gpx_tables import count_gpx_rows, gpx_batches, list_gpx_columns
from geodp.tables.notices import notice
from geodp.tables.progress import READING, count_rows
from geodp.tables.usual_columns import candidates

if TYPE_CHECKING:
    import geopandas


CSV = (".csv", ".csv.gz", ".csv.bz2", ".csv.zst")
FEATURES = (".gpkg", ".geojson")
ENDINGS = (*CSV, *PARQUET, *FEATURES, GPX)
GEOMETRY = "geometry"
"""What the column of shapes is called where a format gives it no name of its own."""
LARGEST_GEOJSON = 1 << 30
_BLOCK_BYTES = 1 << 23
_BLOCK_ROWS = 1 << 18
_LONGEST_NAME = 250
_SAMPLE_BYTES = 1 << 18
_BYTES_PER_LINE = 60.0  # of text, about
_PACKED = 4.0  # tables shrink to about a quarter


def is_table(path: Path) -> bool:
    """Tell by its name whether a file is a table that can be read."""
    return path.name.lower().endswith(ENDINGS)


def is_csv(path: Path) -> bool:
    """Tell by its name whether a file has lines, the first of which names its columns."""
    return path.name.lower().endswith(CSV)


def column_names(path: Path) -> list[str]:
    """Return the names of a file's columns."""
    _look_at(path)
    if is_csv(path):
        return _csv_names(path)
    if _is_parquet(path):
        with _reword_errors(path, "Parquet"):
            import pyarrow.parquet as pq

            return list(pq.read_schema(path).names)
    if is_gpx(path):
        return list(list_gpx_columns(path))
    layer = _layer(path, *_state(path))
    return [*layer["fields"], *([GEOMETRY] if layer["geometry_type"] else [])]


def row_count(path: Path) -> float:
    """Return the number of rows of a table without reading it: an estimate for csv, else exact."""
    if is_csv(path):
        return _csv_rows(path)
    if is_gpx(path):
        return count_gpx_rows(path)
    if not _is_parquet(path):
        return float(_layer(path, *_state(path))["features"])
    with _reword_errors(path, "Parquet"):
        import pyarrow.parquet as pq

        return float(pq.read_metadata(path).num_rows)


def estimate_rows(path: Path) -> float:
    """Estimate the rows of a published file or folder: those of a table, else lines of text."""
    if path.is_dir():
        sizes = [file.stat().st_size for file in path.rglob("*") if file.is_file()]
        return sum(sizes) / _BYTES_PER_LINE
    try:
        return row_count(path) if is_table(path) else _csv_rows(path)
    except DataError:
        return path.stat().st_size / _BYTES_PER_LINE


def read_stated_crs(path: Path) -> tuple[str, Any] | None:
    """Return the file's column of shapes and the coordinates stated for it (None: degrees); None without such a column.

    What states no coordinates at all is refused, but for csv and Parquet, where that means degrees.
    """
    if is_csv(path) or is_gpx(path):
        return None
    if _is_parquet(path):
        stated = _geo_metadata(path)
        name = str(stated.get("primary_column", GEOMETRY))
        return name, stated.get("columns", {}).get(name, {}).get("crs")
    layer = _layer(path, *_state(path))
    if not layer["geometry_type"]:
        return None
    if layer["crs"] is None:
        raise DataError(f"{path.name}: states no coordinate system. Set one (EPSG:4326 for degrees).")
    return GEOMETRY, layer["crs"]


def read_areas(path: Path) -> geopandas.GeoDataFrame:
    """Read a file of polygons as a whole, whatever its format and coordinates (none stated: degrees)."""
    import geopandas

    try:
        frame = read_features(path)
    except DataError:
        raise
    except Exception as error:
        raise DataError(f"{path.name}: cannot be read as areas ({error})") from error
    if not isinstance(frame, geopandas.GeoDataFrame):
        raise DataError(f"{path.name}: areas must be polygons, and it holds none")
    if frame.empty:
        raise DataError(f"{path.name}: holds no areas")
    if not frame.geom_type.isin(["Polygon", "MultiPolygon"]).all():
        raise DataError(f"{path.name}: areas must be polygons, found {', '.join(frame.geom_type.unique())}")
    return frame.set_crs("EPSG:4326") if frame.crs is None else frame


def count_groups(path: Path) -> int:
    """Return how many row groups a Parquet file has; any other file is read as a whole (1)."""
    if not _is_parquet(path):
        return 1
    with _reword_errors(path, "Parquet"):
        import pyarrow.parquet as pq

        return max(int(pq.read_metadata(path).num_row_groups), 1)


def raw_batches(
    path: Path,
    numbers: Sequence[str],
    words: Sequence[str],
    *,
    total: bool = False,
    groups: Sequence[int] | None = None,
) -> Iterator[Any]:
    """Yield columns of a file batch by batch as Arrow batches.

    A csv file has numbers and words as said, all others have the file's own types. With `total` cells of a csv file are
    bytes, lines of another length are no rows, and the first batch is empty: see `total_rows`. `groups`: row groups of
    a Parquet file, where not all are read.
    """
    columns = [*numbers, *words]
    if is_csv(path):
        found = total_rows.csv_rows(path, _csv_names(path), columns) if total else _csv_batches(path, numbers, words)
    elif is_gpx(path):
        found = gpx_batches(path, columns, total=total)
    else:
        found = _total_batches(path, columns, groups) if total else _read_typed_batches(path, columns, groups)
    return count_rows(READING, found, lambda batch: int(batch.num_rows), lambda: row_count(path))


def _is_parquet(path: Path) -> bool:
    return path.name.lower().endswith(PARQUET)


def _look_at(path: Path) -> None:
    if not is_regular(path):
        if (why := why_not_regular(path)) != "no such file":
            raise DataError(f"{path}: {why}; name a csv or Parquet file")
        short = len(str(path)) < _LONGEST_NAME and path.parent.is_dir()
        near = did_you_mean(path.name, (p.name for p in path.parent.iterdir())) if short else ""
        raise DataError(f"{str(path)[:_LONGEST_NAME]}: no such file.{near}")
    if not is_table(path):
        raise DataError(
            f"{path.name}: is neither a csv nor a Parquet file by its name, nor GeoPackage, GeoJSON or GPX. "
            f"Give it one of the endings {', '.join(ENDINGS)}."
        )
    size = path.stat().st_size
    if size == 0:
        raise DataError(f"{path.name}: the file is empty.")
    if size > LARGEST_GEOJSON and path.name.lower().endswith(".geojson"):
        raise DataError(
            f"{path.name}: GeoJSON is read as a whole, and {size / 1e9:.1f} GB are too much for that. Save it as "
            "GeoPackage, Parquet or csv."
        )


@contextmanager
def _reword_errors(path: Path, kind: str) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, RuntimeError) as error:  # GDAL's are of the last kind
        raise DataError(f"{path.name}: cannot be read as {kind} ({error})") from error


def _read_typed_batches(path: Path, columns: list[str], groups: Sequence[int] | None = None) -> Iterator[Any]:
    if not _is_parquet(path):
        yield from _feature_batches(path, columns)
        return
    with _reword_errors(path, "Parquet"):
        import pyarrow.parquet as pq

        with pq.ParquetFile(path) as file:
            yield from file.iter_batches(batch_size=_BLOCK_ROWS, columns=columns, row_groups=groups)


def _total_batches(path: Path, columns: list[str], groups: Sequence[int] | None = None) -> Iterator[Any]:
    """Yield the file's batches; what is wrong with one of them is no news about anybody."""
    import pyarrow as pa

    if _is_parquet(path):
        yield from total_rows.parquet_rows(path, columns, groups)
        return
    first = True
    try:
        for batch in _feature_batches(path, columns):
            if first:
                yield batch.slice(0, 0)
            yield batch
            first = False
    except (pa.ArrowException, OSError, DataError):
        raise total_rows.unreadable(path) from None
    if first:
        yield pa.record_batch([pa.nulls(0) for _ in columns], columns)


def _csv_names(path: Path) -> list[str]:
    import pyarrow as pa

    try:
        with pa.input_stream(str(path)) as stream:  # unpacks by the name's ending
            start = stream.read(total_rows.LONGEST_HEADER).decode("utf-8-sig", errors="replace")
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path.name}: cannot be read ({error})") from error
    text = io.StringIO(start, newline=None).readline()  # the line of names alone decides, never a row
    try:
        names = next(csv.reader([text.partition("\0")[0]]), [])
    except csv.Error:  # ends of lines or quotes that no csv has
        names = []
    if "\0" in text or not names or any("\ufffd" in name for name in names):
        raise DataError(f"{path.name}: is not a csv file in UTF-8 with a line of column names.")
    return names


def _csv_batches(path: Path, numbers: Sequence[str], words: Sequence[str]) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    types = dict.fromkeys(numbers, pa.float64()) | dict.fromkeys(words, pa.string())
    try:
        reader = arrow_csv.open_csv(
            path,
            read_options=arrow_csv.ReadOptions(block_size=_BLOCK_BYTES, use_threads=False),
            convert_options=arrow_csv.ConvertOptions(column_types=types, include_columns=list(types)),
        )
        yield from map(unguard_table, reader)
    except (pa.ArrowException, OSError) as error:
        rule = ""
        if numbers and "conversion" in str(error):
            rule = f"\nMust hold numbers: {', '.join(numbers)} (places in degrees)."
        raise DataError(f"{path.name}: {error}.{rule}") from error


def _csv_rows(path: Path) -> float:
    import pyarrow as pa

    try:
        with pa.input_stream(str(path)) as stream:
            sample = stream.read(_SAMPLE_BYTES)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path.name}: cannot be read ({error})") from error
    lines = sample.count(b"\n") + (not sample.endswith(b"\n"))
    if len(sample) < _SAMPLE_BYTES:
        return float(max(lines - 1, 0))
    size = path.stat().st_size * (1.0 if path.name.lower().endswith(".csv") else _PACKED)
    return float(size / len(sample) * lines)


def _geo_metadata(path: Path) -> dict[str, Any]:
    """Return what a GeoParquet file says about its geometry ({} where it says nothing)."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        stated = json.loads((pq.read_schema(path).metadata or {}).get(b"geo", b"{}"))
    except (pa.ArrowException, OSError, ValueError):
        return {}
    return stated if isinstance(stated, dict) else {}


def _state(path: Path) -> tuple[int, int]:
    """Return what tells two states of a file apart."""
    found = path.stat()
    return found.st_size, found.st_mtime_ns


@lru_cache(maxsize=8)  # a scenario asks several times
def _layer(path: Path, size: int, changed_ns: int) -> dict[str, Any]:  # noqa: ARG001 - they tell states apart
    """Return what is known of the only layer of a GeoPackage or GeoJSON file."""
    import pyogrio

    with _reword_errors(path, "GeoPackage or GeoJSON"), _silent():
        names = [str(name) for name, _ in pyogrio.list_layers(path)]
        if len(names) == 1:
            return dict(pyogrio.read_info(path, force_feature_count=True))
    raise DataError(
        f"{path.name}: holds {len(names)} layers ({', '.join(names)}), and one is read. Save it as a file of its own."
    )


def _feature_batches(path: Path, columns: list[str]) -> Iterator[Any]:
    """Yield columns of a GeoPackage or GeoJSON file; shapes come as well-known binary, dates as text."""
    import pyogrio

    with _reword_errors(path, "GeoPackage or GeoJSON"), ExitStack() as stack:
        with _silent():
            facts, stream = stack.enter_context(
                pyogrio.raw.open_arrow(
                    path,
                    columns=[name for name in columns if name != GEOMETRY],
                    read_geometry=GEOMETRY in columns,
                    batch_size=_BLOCK_ROWS,
                    use_pyarrow=True,
                    datetime_as_string=True,
                )
            )
        called = {facts["geometry_name"] or "wkb_geometry": GEOMETRY}
        while True:
            with _silent():
                batch = next(stream, None)
            if batch is None:
                return
            yield batch.rename_columns([called.get(name, name) for name in batch.schema.names]).select(columns)


@contextmanager
def _silent() -> Iterator[None]:
    """Let GDAL say nothing: what it finds odd about a row is not for everybody."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


_DEGREES = "OGC:CRS84"


@dataclass(frozen=True)
class PointColumn:
    """Where a file holds its points, and in which coordinates."""

    path: Path
    name: str
    crs: Any = None
    """Coordinates as the file states them (None: degrees)."""

    def places(self, column: Any, *, total: bool = False) -> dict[str, Array]:
        """Return longitudes and latitudes (degrees); with `total` NaN where there is no point, otherwise an error."""
        import pyarrow as pa
        import shapely

        where = f"{self.path.name}: column '{self.name}'"
        if not (pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)):
            raise DataError(f"{where} holds {column.type}, no points in well-known binary")
        try:
            points = shapely.from_wkb(column.to_numpy(zero_copy_only=False), on_invalid="ignore" if total else "raise")
        except (shapely.errors.ShapelyError, TypeError) as error:
            raise DataError(f"{where} holds no points in well-known binary ({error})") from error
        kinds = shapely.get_type_id(points)
        if not total and not np.isin(kinds, (-1, 0)).all():
            raise DataError(f"{where} must hold points, one per row")
        points = np.where((kinds == 0) & ~shapely.is_empty(points), points, None)  # an empty point lies nowhere
        return self._degrees(shapely.get_x(points), shapely.get_y(points))

    def _degrees(self, x: Array, y: Array) -> dict[str, Array]:
        if self.crs is None:
            return {"lon": x, "lat": y}
        lon, lat = _transformer(self.path, json.dumps(self.crs)).transform(x, y)
        far = ~(np.isfinite(lon) & np.isfinite(lat))  # the transformation says inf where it cannot
        return {"lon": np.where(far, np.nan, lon), "lat": np.where(far, np.nan, lat)}


def point_column(path: Path, found: Sequence[str], *, named: Sequence[str] = ()) -> PointColumn | None:
    """Return the column of points of a file that has no columns of longitude and latitude (None: it has them).

    `named` are names that were stated for longitude or latitude: those who name them want them.
    """
    if any(name in found for name in named) or any(candidates(part, found) for part in ("lon", "lat")):
        return None
    stated = read_stated_crs(path)
    if stated is None or stated[0] not in found:
        return None
    name, crs = stated
    if crs is None or _is_degrees(crs):
        return PointColumn(path, name)
    _transformer(path, json.dumps(crs))  # coordinates that nobody knows are refused before a row is read
    called = crs.get("name", "other coordinates") if isinstance(crs, dict) else str(crs)
    notice(f"{path.name}: points in {called} are converted to degrees.")
    return PointColumn(path, name, crs)


def _is_degrees(crs: Any) -> bool:
    if isinstance(crs, str):
        return crs in (_DEGREES, "EPSG:4326")
    code = crs.get("id", {}) if isinstance(crs, dict) else {}
    return (code.get("authority"), str(code.get("code"))) in (("OGC", "CRS84"), ("EPSG", "4326"))


def _transformer(path: Path, crs: str) -> Any:
    from pyproj import CRS, Transformer
    from pyproj.exceptions import CRSError

    try:
        return Transformer.from_crs(CRS.from_user_input(json.loads(crs)), _DEGREES, always_xy=True)
    except CRSError as error:
        raise DataError(f"{path.name}: states coordinates that nobody knows ({error})") from error
