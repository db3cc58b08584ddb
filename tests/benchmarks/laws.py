"""A generated week of 100,000 lives, and a world fitted to 5 million visits: CPU time and memory."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from geodp.geometry import Region
from geodp.registry import plugin
from geodp.tables.visit_log import order_visits
from geodp.world.motion import LivedMotion
from tests.benchmarks._figure import Figure
from tests.benchmarks._measuring import scratch_folder, usage_of

REGION = Region(-122.52, 37.70, -122.35, 37.835)
PEOPLE, WEEK_S, PEAK_MB = 100_000, 60.0, 2_000.0
ROWS, USERS, FIT_S = 5_000_000, 40_000, 60.0


def measure() -> Iterator[Figure]:
    """Live a week, and fit a world."""
    week = usage_of(["-m", "tests.benchmarks.laws", "live"])
    yield Figure("laws_week_of_100000_s", week.cpu_s, at_most=WEEK_S)
    yield Figure("laws_week_of_100000_peak_mb", week.peak_mb, at_most=PEAK_MB)
    folder = scratch_folder()
    data = folder / "visits.parquet"
    write_visits(data)
    fitted = usage_of(["-m", "geodp", "fit", str(data), "--out", str(folder / "fitted.yaml"), "--force"])
    yield Figure("laws_fit_of_5000000_s", fitted.cpu_s, at_most=FIT_S)
    yield Figure("laws_fit_of_5000000_peak_mb", fitted.peak_mb)


def write_visits(path: Path) -> None:
    """Write visits of people with favourites around a home, about 125 each over 90 days."""
    rng = np.random.default_rng(0)
    user = np.sort(rng.integers(0, USERS, ROWS))
    venue = (user * 131 + np.minimum(rng.geometric(0.15, ROWS), 60) ** 2) % 20_000
    lon, lat = rng.uniform(REGION.west, REGION.east, 20_000), rng.uniform(REGION.south, REGION.north, 20_000)
    log = order_visits(user, np.floor(1.4e9 + rng.uniform(0, 90 * 86_400.0, ROWS)), venue, lon[venue], lat[venue])
    columns = {
        "user": pa.array(log.person).cast(pa.string()),
        "venue": pa.array(log.place).cast(pa.string()),
        "time_s": pa.array(log.time_s),
        "lon": pa.array(log.x_m),
        "lat": pa.array(log.y_m),
    }
    pq.write_table(pa.table(columns), path)


def main(words: Sequence[str]) -> None:
    """Let 100,000 people live a week after four others."""
    if [*words] != ["live"]:
        raise SystemExit("live")
    rng = np.random.default_rng(0)
    people = plugin("synthetic_city", "source", count=PEOPLE).load(REGION, rng)
    motion = plugin("epr", "mobility").move(people, REGION, start_s=0.0, duration_s=7 * 86_400.0, rng=rng)
    assert isinstance(motion, LivedMotion)
    visits, _ = plugin("from_mobility", "visit_source").observe(motion, rng)
    print(visits.size)


if __name__ == "__main__":
    main(sys.argv[1:])
