"""Made-up visits and venues, or trips, as files, so that everything can be tried without any data."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from geodp.datasets.folder import Ending, TableFile, table_folder
from geodp.geometry import Region
from geodp.tables.trajectories.generated_trips import TripSizes
from geodp.tables.visits.generated_visits import Sizes, generated_histories

_TRIPS_AT_ONCE = 10_000


def make_visits(
    out: Path, sizes: Sizes, *, seed: int = 0, ending: Ending = "parquet", force: bool = False
) -> list[Path]:
    """Write `visits` (user, venue, time_s) and `venues` (venue, lon, lat, levels, category); the seed decides all."""
    import pyarrow as pa

    histories, venues = generated_histories(sizes, np.random.default_rng(seed))
    visits = {
        "user": histories.people[histories.person],
        "venue": venues.name[histories.venue],
        "time_s": histories.time_s,
    }
    listed = {
        "venue": venues.name,
        "lon": np.round(venues.lon, 7),
        "lat": np.round(venues.lat, 7),
        **venues.levels,
        "category": venues.category,
    }
    with table_folder(out, force=force) as folder:
        for name, columns in (("visits", visits), ("venues", listed)):
            with TableFile(folder, name, ending) as table:
                table.write(pa.record_batch([pa.array(values) for values in columns.values()], list(columns)))
    return [out / f"{name}.{ending}" for name in ("visits", "venues")]


def make_trips(
    out: Path, sizes: TripSizes, region: Region, *, seed: int = 0, ending: Ending = "parquet", force: bool = False
) -> list[Path]:
    """Write `trajectories` (user, trajectory, time_s, lon, lat) of made-up trips; the seed decides all."""
    import pyarrow as pa

    from geodp.tables.trajectories.generated_trips import generated_trips

    trips = generated_trips(sizes, region, np.random.default_rng(seed))
    with table_folder(out, force=force) as folder, TableFile(folder, "trajectories", ending) as table:
        for begin in range(0, trips.size, _TRIPS_AT_ONCE):
            part = trips.chosen(np.arange(begin, min(begin + _TRIPS_AT_ONCE, trips.size)))
            frame = part.frame(region).round({"lon": 7, "lat": 7, "time_s": 1})
            frame["trajectory"] = (frame["trajectory"] + begin).astype(str)
            table.write(pa.RecordBatch.from_pandas(frame, preserve_index=False))
    return [out / f"trajectories.{ending}"]
