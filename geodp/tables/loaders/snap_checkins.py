"""Check-ins of Gowalla and Brightkite as SNAP publishes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal

from geodp.tables.loaders import Dataset, Dropped, Loaded, Loader
from geodp.tables.loaders.checks import Checker, box_of
from geodp.tables.loaders.text_files import as_visits, numbers, seconds, text_batches, words

_COLUMNS = ("user", "time", "lat", "lon", "venue")


class SnapCheckins(Loader):
    """Check-ins of Gowalla or Brightkite: tab-separated user, time (UTC), latitude, longitude, location id.

    Reference
    ---------
    Cho, Myers, Leskovec 2011, Friendship and mobility: user movement in location-based social networks, KDD; SNAP.
    """

    kind: ClassVar[str] = "snap_checkins"
    loads: ClassVar[Literal["visits", "trajectories"]] = "visits"
    files: ClassVar[str] = "*_totalCheckins.txt, *_totalCheckins.txt.gz"
    datasets: ClassVar[tuple[Dataset, ...]] = (
        Dataset(
            "gowalla",
            "check-ins of a social network, whole world, February 2009 to October 2010",
            "SNAP (snap.stanford.edu/data/loc-Gowalla.html): loc-gowalla_totalCheckins.txt.gz",
            "6,442,890 check-ins, 196,591 users, 1,280,969 locations",
        ),
        Dataset(
            "brightkite",
            "check-ins of a social network, whole world, April 2008 to October 2010",
            "SNAP (snap.stanford.edu/data/loc-Brightkite.html): loc-brightkite_totalCheckins.txt.gz",
            "4,491,143 check-ins, 58,228 users",
        ),
    )

    region: str | None = None
    """Keep only rows in `W,S,E,N` (degrees); null keeps all."""

    def load(self, path: Path, *, total: bool = False) -> Loaded:
        """Open a file of check-ins."""
        dropped = Dropped(lenient=total)
        check = Checker(
            path, dropped, names=("user", "venue"), key=("user", "venue", "time_s"), region=box_of(self.region)
        )
        rows = (as_visits(batch, _visits) for batch in text_batches(path, _COLUMNS, dropped))
        return Loaded(check.check_batches(rows), dropped)


def _visits(batch: Any) -> dict[str, Any]:
    return {
        "user": words(batch.column("user")),
        "venue": words(batch.column("venue")),
        "time_s": seconds(batch.column("time"), "%Y-%m-%dT%H:%M:%SZ"),
        "lon": numbers(batch.column("lon")),
        "lat": numbers(batch.column("lat")),
    }
