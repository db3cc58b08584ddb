"""Public areas as files: which area of each level holds a venue (a gazetteer in place of columns)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from geodp.errors import DataError, UsageError
from geodp.geometry import Array
from geodp.storage.files import is_regular
from geodp.tables.visits.hierarchy import units_from_areas
from geodp.tables.visits.histories import Names


@dataclass(frozen=True)
class AreaFile:
    """A level of the hierarchy: a file of polygons and its column of names."""

    level: str
    path: Path
    column: str

    @classmethod
    def parse(cls, text: str) -> AreaFile:
        """Read `LEVEL=FILE:COLUMN`."""
        level, _, rest = text.partition("=")
        path, _, column = rest.rpartition(":")
        if not (level and path and column):
            raise UsageError(f"--areas {text}: write LEVEL=FILE:COLUMN, for example district=districts.geojson:name")
        return cls(level, Path(path), column)

    def units(self, lon: Array, lat: Array, *, gaps: bool) -> Names:
        """Return the area of every place; with `gaps`, None for places in no area instead of an error."""
        import geopandas

        if not is_regular(self.path):
            raise DataError(f"{self.path}: no such file (areas of level '{self.level}')")
        try:
            packed = self.path.name.lower().endswith((".parquet", ".geoparquet"))
            frame = geopandas.read_parquet(self.path) if packed else geopandas.read_file(_readable(self.path))
        except Exception as error:
            raise DataError(f"{self.path.name}: cannot be read as areas ({error})") from error
        if not isinstance(frame, geopandas.GeoDataFrame):
            raise DataError(f"{self.path.name}: areas must be polygons, and it holds none")
        if frame.empty:
            raise DataError(f"{self.path.name}: holds no areas")
        if not frame.geom_type.isin(["Polygon", "MultiPolygon"]).all():
            raise DataError(f"{self.path.name}: areas must be polygons, found {', '.join(frame.geom_type.unique())}")
        if frame.crs is None:
            frame = frame.set_crs("EPSG:4326")
        try:
            return units_from_areas(lon, lat, frame, self.column, gaps=gaps)
        except DataError as error:
            raise DataError(f"{self.path.name} (level '{self.level}'): {error}") from None


def _readable(path: Path) -> str:
    """Return the path as the reader of geographic files wants it: packed files by a prefix."""
    return f"/vsigzip/{path.resolve()}" if path.suffix.lower() == ".gz" else str(path)
