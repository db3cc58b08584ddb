"""Foursquare check-ins of New York and Tokyo as published with the TSMC 2014 paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal

from geodp.tables.loaders import Dataset, Dropped, Loaded, Loader
from geodp.tables.loaders.checks import Checker, box_of
from geodp.tables.loaders.text_files import as_visits, numbers, seconds, text_batches, words

_COLUMNS = ("user", "venue", "category_id", "category", "lat", "lon", "offset", "time")
_FARTHEST_OFFSET_MIN = 14 * 60
"""No place on earth is farther from UTC."""
_BAD_OFFSET = "a time zone more than 14 hours from UTC, or none"


class FoursquareTsmc2014(Loader):
    """Foursquare check-ins: tab-separated user, venue, category id and name, latitude, longitude, offset, time (UTC).

    Reference
    ---------
    Yang, Zhang, Zheng, Yu 2015, Modeling user activity preference by leveraging user spatial temporal characteristics
    in LBSNs, IEEE Transactions on Systems, Man, and Cybernetics 45(1).
    """

    kind: ClassVar[str] = "foursquare_tsmc2014"
    loads: ClassVar[Literal["visits", "trajectories"]] = "visits"
    files: ClassVar[str] = "dataset_TSMC2014_*.txt, dataset_TSMC2014_*.txt.gz"
    datasets: ClassVar[tuple[Dataset, ...]] = (
        Dataset(
            "foursquare_nyc",
            "check-ins in New York with categories of venues, April 2012 to February 2013",
            "Dingqi Yang's page of Foursquare data sets (TSMC2014): dataset_TSMC2014_NYC.txt",
            "227,428 check-ins, 1,083 users, 38,333 venues, 251 categories",
        ),
        Dataset(
            "foursquare_tky",
            "check-ins in Tokyo with categories of venues, April 2012 to February 2013",
            "Dingqi Yang's page of Foursquare data sets (TSMC2014): dataset_TSMC2014_TKY.txt",
            "573,703 check-ins, 2,293 users, 61,858 venues",
        ),
    )

    region: str | None = None
    """Keep only rows in `W,S,E,N` (degrees); null keeps all."""
    local_time: bool = False
    """Count seconds on the clock of the place (the file states its offset) instead of UTC."""

    def load(self, path: Path, *, total: bool = False) -> Loaded:
        """Open a file of check-ins."""
        dropped = Dropped(lenient=total)
        check = Checker(
            path, dropped, names=("user", "venue"), key=("user", "venue", "time_s"), region=box_of(self.region)
        )
        rows = (self._rows(batch, dropped) for batch in text_batches(path, _COLUMNS, dropped))
        return Loaded(check.check_batches(rows), dropped)

    def _rows(self, batch: Any, dropped: Dropped) -> Any:
        import pyarrow.compute as pc

        offset = numbers(batch.column("offset"))
        possible = pc.fill_null(pc.less_equal(pc.abs(offset), _FARTHEST_OFFSET_MIN), False)
        wrong = batch.num_rows - int(pc.sum(possible).as_py() or 0)
        dropped.rows += wrong
        dropped.drop(_BAD_OFFSET, wrong)
        return as_visits(batch.filter(possible), self._visits)

    def _visits(self, batch: Any) -> dict[str, Any]:
        import pyarrow.compute as pc

        time_s = seconds(batch.column("time"), "%a %b %d %H:%M:%S +0000 %Y")
        if self.local_time:
            time_s = pc.add(time_s, pc.multiply(numbers(batch.column("offset")), 60.0))
        return {
            "user": words(batch.column("user")),
            "venue": words(batch.column("venue")),
            "time_s": time_s,
            "lon": numbers(batch.column("lon")),
            "lat": numbers(batch.column("lat")),
            "category": words(batch.column("category")),
        }
