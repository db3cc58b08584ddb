"""Made-up visits and venues as files, so that everything can be tried without any data."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from geodp.datasets.folder import Ending, TableFile, whole_folder
from geodp.visits.generated_histories import Sizes, generated_histories


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
    with whole_folder(out, force=force) as folder:
        for name, columns in (("visits", visits), ("venues", listed)):
            with TableFile(folder, name, ending) as table:
                table.write(pa.record_batch([pa.array(values) for values in columns.values()], list(columns)))
    return [out / f"{name}.{ending}" for name in ("visits", "venues")]
