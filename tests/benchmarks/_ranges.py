"""Errors of range queries on all decompositions: how many people are in rectangles, on generated and on real positions.

Which is which. Defaults of `privtree` (share of the tree: 8 tried), `hierarchical_grid` (unevenness, fewest levels,
budget: 20 tried; they stayed what was derived, with two levels at least) and `dawa` (share of the partition, prior,
fineness, price of a cell: 58 tried) were chosen on `CHOSEN_ON` with the seeds 0 to 2 of the noise. `JUDGED_ON`
judges, with the seeds 100 to 104: other generated cities, and other real places. They were looked at once, and nothing
was changed afterwards.

Errors beside those of `adaptive_grid`, geometric means over three ε (in brackets the least and the largest of a set):

=================  ===================  ===================
kind               three generated      four real
=================  ===================  ===================
uniform_grid       0.86 (0.71 to 1.02)  1.50 (1.16 to 1.91)
quadtree           1.07 (0.92 to 1.39)  1.27 (0.96 to 1.71)
kd_tree            1.42 (1.07 to 1.71)  2.30 (1.40 to 3.86)
dpcube             1.06 (0.94 to 1.24)  1.27 (1.00 to 1.72)
privtree           1.02 (0.74 to 1.38)  0.91 (0.73 to 1.27)
hierarchical_grid  0.92 (0.79 to 1.15)  1.63 (1.19 to 2.89)
dawa               1.09 (0.88 to 1.35)  1.18 (0.82 to 1.54)
=================  ===================  ===================

Real sets are read where the environment variable GEODP_DATA names a folder that has them: check-ins of Gowalla and
Foursquare and the first points of GeoLife's trajectories stand for positions of workers. Their boxes are public.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from geodp.curator.mechanisms import Snapshot
from geodp.geometry import Array, Region
from geodp.privacy.noise import SimulatedNoise
from geodp.public.release import Cells
from geodp.registry import plugin
from tests.benchmarks._figure import Figure

KINDS = (
    "uniform_grid",
    "adaptive_grid",
    "quadtree",
    "kd_tree",
    "dpcube",
    "privtree",
    "hierarchical_grid",
    "dawa",
)
EPSILONS, SEEDS = (0.1, 0.4, 1.0), tuple(range(100, 105))
QUERIES = 300
SIDES = (0.02, 0.20)
"""Least and largest side of a rectangle, as shares of the region's."""

PHOENIX = Region(-112.8755, 32.8768, -111.6712, 33.8068)
SAN_FRANCISCO = Region(-122.5135, 37.7113, -122.3627, 37.8327)
NEW_YORK = Region(-74.28, 40.47, -73.68, 41.0)
Load = Callable[[], Snapshot | None]


def generated(region: Region, seed: int, kind: str = "synthetic_city", **fields: Any) -> Snapshot:
    """Return a generated city."""
    people = plugin(kind, "source", **fields).load(region, np.random.default_rng(seed))
    return Snapshot(0.0, people.x_m, people.y_m, region, float(people.x_m.size))


def real(path: str, region: Region, read: Callable[[Path], tuple[Array, Array]]) -> Snapshot | None:
    """Return positions (longitude, latitude) of a file of real ones, None where it is not there."""
    file = Path(os.environ.get("GEODP_DATA", "")) / path
    if "GEODP_DATA" not in os.environ or not file.is_file():
        return None
    lon, lat = read(file)
    x, y = region.projection.to_m(lon=lon, lat=lat)
    inside = region.contains(x, y)
    return Snapshot(0.0, x[inside], y[inside], region, float(np.count_nonzero(inside)))


def _check_ins(file: Path, *, per_person: bool = False) -> tuple[Array, Array]:
    """Read check-ins; with `per_person`, the last one of everybody."""
    import pandas as pd

    table = pd.read_parquet(file)
    if per_person:
        table = table.sort_values("t").groupby("user").tail(1)
    return table["lon"].to_numpy(np.float64), table["lat"].to_numpy(np.float64)


def _venue_visits(file: Path) -> tuple[Array, Array]:
    """Read visits to venues whose places stand in a list beside them."""
    import pandas as pd

    venues = pd.read_csv(file.with_name("venues.csv.gz")).set_index("poi")
    found = venues.loc[pd.read_parquet(file)["poi"]]
    return found["lon"].to_numpy(np.float64), found["lat"].to_numpy(np.float64)


def _first_points(file: Path) -> tuple[Array, Array]:
    import pandas as pd

    table = pd.read_parquet(file, columns=["traj", "lat_e6", "lon_e6"]).drop_duplicates("traj")
    return table["lon_e6"].to_numpy(np.float64) / 1e6, table["lat_e6"].to_numpy(np.float64) / 1e6


_WORLD = "gowalla/gowalla_1000users_world.parquet"
CHOSEN_ON: Mapping[str, Load] = {
    "phoenix": partial(generated, PHOENIX, 0, count=70_000),
    "town": partial(generated, SAN_FRANCISCO, 0, count=6_000),
    "gowalla_people": partial(
        real, "gowalla/gowalla_nyc_checkins.parquet", NEW_YORK, partial(_check_ins, per_person=True)
    ),
    "gowalla_austin": partial(real, _WORLD, Region(-98.0, 30.1, -97.5, 30.6), _check_ins),
}
JUDGED_ON: Mapping[str, Load] = {
    "city": partial(generated, SAN_FRANCISCO, 1, count=20_000),
    "hamlets": partial(generated, PHOENIX, 2, count=10_000, centres=25, corridor_share=0.05, background_share=0.05),
    "streets": partial(generated, SAN_FRANCISCO, 3, kind="street_trips", count=5_000),
    "foursquare": partial(real, "foursquare_nyc/checkins.parquet", NEW_YORK, _venue_visits),
    "gowalla_bay": partial(real, _WORLD, Region(-122.8, 37.1, -121.6, 38.2), _check_ins),
    "gowalla_dallas": partial(real, _WORLD, Region(-97.5, 32.5, -96.4, 33.4), _check_ins),
    "geolife": partial(real, "geolife/geolife_10s.parquet", Region(116.0, 39.6, 116.8, 40.3), _first_points),
}


@dataclass(frozen=True)
class Rectangles:
    """Rectangles, and how many people are in each."""

    west: Array
    south: Array
    east: Array
    north: Array
    true: Array

    @classmethod
    def draw(cls, people: Snapshot, seed: int = 5) -> Rectangles:
        """Draw them anywhere in the region."""
        box, rng = people.region, np.random.default_rng(seed)
        left, bottom, _, _ = box.box_m
        share_x, share_y, at_x, at_y = rng.random((4, QUERIES))
        least, most = SIDES
        wide, high = (least + (most - least) * share_x) * box.width_m, (least + (most - least) * share_y) * box.height_m
        west, south = left + at_x * (box.width_m - wide), bottom + at_y * (box.height_m - high)
        x, y = np.sort(people.x_m), people.y_m[np.argsort(people.x_m)]
        first, last = np.searchsorted(x, west), np.searchsorted(x, west + wide)
        spans = zip(first, last, south, south + high, strict=True)
        true = [np.count_nonzero((y[a:b] >= low) & (y[a:b] < top)) for a, b, low, top in spans]
        return cls(west, south, west + wide, south + high, np.array(true, dtype=np.float64))

    def answer(self, release: Cells) -> Array:
        """Return what a release says, with people even within cells."""
        answers = np.empty(self.true.size)
        for query in range(self.true.size):  # one at a time: cells by the ten thousand
            across = np.minimum(release.east_m, self.east[query]) - np.maximum(release.west_m, self.west[query])
            along = np.minimum(release.north_m, self.north[query]) - np.maximum(release.south_m, self.south[query])
            share = np.maximum(across, 0) * np.maximum(along, 0) / release.area_m2
            answers[query] = share @ release.count
        return answers

    def error(self, release: Cells, people: int) -> float:
        """Return the mean of |answer - truth| / max(truth, 0.1 % of all)."""
        return float(np.mean(np.abs(self.answer(release) - self.true) / np.maximum(self.true, 1e-3 * people)))


def range_error(
    people: Snapshot, asked: Rectangles, kind: str, epsilon: float, seeds: tuple[int, ...], **fields: Any
) -> float:
    """Return the mean error of a decomposition over some seeds of its noise."""
    mechanism = plugin(kind, "mechanism", epsilon=epsilon, **fields)
    made = (mechanism.release(people, SimulatedNoise(np.random.default_rng(seed))) for seed in seeds)
    return float(np.mean([asked.error(release, people.x_m.size) for release in made]))


def measure_ranges() -> Iterator[Figure]:
    """Ask every decomposition on every set that judges; then how far each is from the best, on average."""
    beside_best: dict[str, list[float]] = {kind: [] for kind in KINDS}
    beside_adaptive: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for name, load in JUDGED_ON.items():
        people = load()
        if people is None:
            yield Figure(f"range_error_{name}", None, note="GEODP_DATA names no folder that has it")
            continue
        asked = Rectangles.draw(people)
        for epsilon in EPSILONS:
            errors = {kind: range_error(people, asked, kind, epsilon, SEEDS) for kind in KINDS}
            for kind, error in errors.items():
                beside_best[kind].append(error / min(errors.values()))
                beside_adaptive[kind].append(error / errors["adaptive_grid"])
                yield Figure(f"range_error_{name}_{kind}_eps_{epsilon:g}", error)
    for kind in KINDS:
        yield Figure(f"range_error_beside_best_{kind}", _mean_ratio(beside_best[kind]))
        yield Figure(f"range_error_beside_adaptive_grid_{kind}", _mean_ratio(beside_adaptive[kind]))


def _mean_ratio(ratios: list[float]) -> float:
    return float(np.exp(np.mean(np.log(ratios))))


@cache
def chosen_on(name: str) -> tuple[Snapshot, Rectangles] | None:
    """Return a set on which defaults may be chosen, with its rectangles."""
    people = CHOSEN_ON[name]()
    return None if people is None else (people, Rectangles.draw(people))
