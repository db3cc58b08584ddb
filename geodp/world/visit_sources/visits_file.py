"""Histories from a table of visits, beside the public list of venues."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from geodp.errors import DataError
from geodp.geometry import Array, Region
from geodp.storage.published_file import require_as_published
from geodp.tables.formats import row_count
from geodp.tables.notices import notice
from geodp.tables.positions import FirstRows, require_path
from geodp.tables.reader import TableReader, open_fields, words_of
from geodp.tables.row_checks import check_batches
from geodp.tables.visits.histories import CATEGORY_MARK, Histories, Venues
from geodp.tables.visits.venue_file import read_venues
from geodp.world.population import Population
from geodp.world.visit_sources import VisitSource


class VisitsFile(VisitSource):
    """Visits of real people from a table (csv, Parquet, GeoPackage, GeoJSON), with a public list of venues beside it.

    The people of the file are those whose histories are told and published; they need not be as many as the workers
    who move. Visits to venues outside the region, or not in the list, are left out.
    """

    kind: ClassVar[str] = "visits_file"
    file_fields: ClassVar[tuple[str, ...]] = ("path", "venues")

    path: str = ""
    """A file of visits (csv, Parquet, GeoPackage, GeoJSON); a relative path starts at the file that names it."""
    venues: str = ""
    """The public list: columns venue, lon, lat; optionally category and the columns of the hierarchy, any names."""
    user_column: str = Field(default="user", min_length=1)
    """Column that says whose visit a row is."""
    venue_column: str = Field(default="venue", min_length=1)
    """Column that names the venue."""
    time_column: str | None = "time_s"
    """Column of times (seconds or dates). Null, or no such column: visits keep the order of the file, and all happened
    before the run."""
    end_s: float | None = None
    """Time of the file that is the end of the run (s; since 1970 for dates); null: that of its last visit, so that one
    late visit moves all others back."""

    def idle_fields(self) -> dict[str, str]:
        """Return the end where no times are read."""
        return {} if self.time_column is not None else {"end_s": "without times"}

    def look(self, region: Region) -> FirstRows:
        """Look at the columns, at how many rows there are, and whether a venue of the list lies in the region."""
        _inside(self._list(), region, self.venues)
        table = self._table()
        return FirstRows(table.path, row_count(table.path))

    def visits(
        self,
        population: Population,  # noqa: ARG002 - the people are those of the file
        region: Region,
        *,
        duration_s: float,
        rng: np.random.Generator,  # noqa: ARG002 - nothing to draw
    ) -> tuple[Histories, Venues]:
        """Return the visits of the file to venues inside the region."""
        venues = _inside(self._list(), region, self.venues)
        user, venue, time_s = self._columns()
        number, name = venues.numbers_of(venue), Path(self.path).name
        known = number >= 0
        if not known.any():
            raise DataError(
                f"{name}: no visit names a venue of the public list inside the region: do both files "
                "call venues alike, and is the region the right one?"
            )
        if not known.all():
            left_out = int(np.count_nonzero(~known))
            notice(f"{name}: {left_out:,} of {known.size:,} visits are not to listed venues of the region: left out.")
        people, person = np.unique(np.array(user.to_pylist(), dtype=np.object_)[known].astype(str), return_inverse=True)
        if time_s is not None:
            if self.end_s is None:
                notice(f"{name}: its last visit is taken as the end of the run; state `end_s` for another.")
            time_s = time_s[known] - (time_s[known].max() if self.end_s is None else self.end_s) + duration_s
        order = np.argsort(person, kind="stable") if time_s is None else np.lexsort((time_s, person))
        times = None if time_s is None else time_s[order]
        found = Histories(people.astype(np.object_), person[order].astype(np.int64), number[known][order], times)
        return found, venues

    def _list(self) -> Venues:
        if not self.venues:
            raise DataError("visits_file: give the public list of venues (workers.visit_source.venues)")
        return read_venues(Path(self.venues))

    def _table(self) -> TableReader:
        """Find the columns of users and venues, and that of times."""
        path = require_path(self.path, self.kind)
        require_as_published(path)
        return open_fields(path, self, ("user", "venue", "time_s"), optional=("time_s",))

    def _columns(self) -> tuple[Any, Any, Array | None]:
        table = self._table()
        parts = list(check_batches(table, what="visits"))
        time_s = np.concatenate([part["time_s"] for part in parts]) if table.has("time_s") else None
        return words_of(parts, "user"), words_of(parts, "venue"), time_s

    def public_levels(self) -> tuple[str, ...]:
        """Return the levels that the public list states."""
        return tuple(self._list().levels)

    def public_categories(self) -> tuple[str, ...]:
        """Return the categories of the public list."""
        category = self._list().category
        named = [] if category is None else [str(names) for names in category if names is not None]
        return tuple(sorted({name for names in named for name in names.split(CATEGORY_MARK)}))

    def public_venues(self) -> int:
        """Return the length of the public list."""
        return self._list().size


def _inside(venues: Venues, region: Region, path: str) -> Venues:
    """Return the venues of the region; both the list and the region are public."""
    kept = region.contains(*region.projection.to_m(lon=venues.lon, lat=venues.lat))
    if not kept.any():
        raise DataError(f"{Path(path).name}: no venue of the public list lies inside the region")
    return venues.select(kept)
