"""Small sound files: what damaged ones are made from, and what commands need beside them."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path

import numpy as np
import pandas as pd

WEST, SOUTH, EAST, NORTH = 10.0, 50.0, 10.08, 50.05
TOWN = f"{WEST},{SOUTH},{EAST},{NORTH}"


def positions(rng: random.Random, rows: int = 60) -> pd.DataFrame:
    """Return where people are over time."""
    draw = np.random.default_rng(rng.randrange(2**32))
    return pd.DataFrame(
        {
            "user": [f"u{number % 20}" for number in range(rows)],
            "time_s": np.arange(rows, dtype=np.float64) * 30,
            "lon": draw.uniform(WEST + 0.01, EAST - 0.01, rows).round(6),
            "lat": draw.uniform(SOUTH + 0.01, NORTH - 0.01, rows).round(6),
        }
    )


def visits(rng: random.Random, rows: int = 80) -> pd.DataFrame:
    """Return who was where."""
    return pd.DataFrame(
        {
            "user": [f"u{rng.randrange(20)}" for _ in range(rows)],
            "venue": [f"v{rng.randrange(12)}" for _ in range(rows)],
            "time_s": [float(60 * number) for number in range(rows)],
        }
    )


def venues() -> pd.DataFrame:
    """Return the public list of venues."""
    place = np.linspace(0.1, 0.9, 12)
    return pd.DataFrame(
        {
            "venue": [f"v{number}" for number in range(12)],
            "lon": WEST + place * (EAST - WEST),
            "lat": SOUTH + place[::-1] * (NORTH - SOUTH),
            "city": ["a"] * 6 + ["b"] * 6,
            "street": [f"s{number // 2}" for number in range(12)],
            "category": ["bar", "shop", "park"] * 4,
        }
    )


def trips(rng: random.Random, people: int = 12) -> pd.DataFrame:
    """Return trips of some points each."""
    draw = np.random.default_rng(rng.randrange(2**32))
    parts = []
    for person in range(people):
        steps = draw.normal(0, 2e-4, (8, 2)).cumsum(axis=0)
        start = draw.uniform([WEST + 0.02, SOUTH + 0.015], [EAST - 0.02, NORTH - 0.015])
        lon, lat = (start + steps).T
        parts.append(pd.DataFrame({"user": f"u{person}", "trajectory": f"t{person}",
                                   "time_s": np.arange(8) * 20.0 + 30_000, "lon": lon, "lat": lat}))  # fmt: skip
    return pd.concat(parts, ignore_index=True)


def write_inputs(folder: Path) -> None:
    """Write the files that scenarios and commands name beside the damaged one."""
    rng = random.Random(0)  # noqa: S311 - no secret
    people = positions(rng).groupby("user", as_index=False).first().rename(columns={"user": "worker"})
    people.drop(columns="time_s").to_csv(folder / "people.csv", index=False)
    positions(rng).rename(columns={"user": "worker"}).to_parquet(folder / "fixes.parquet")
    positions(rng).drop(columns="user").to_csv(folder / "tasks.csv", index=False)
    visits(rng).to_csv(folder / "visits.csv", index=False)
    venues().to_csv(folder / "venues.csv", index=False)
    trips(rng).to_csv(folder / "trips.csv", index=False)
    ring = [[WEST, SOUTH], [EAST, SOUTH], [EAST, NORTH], [WEST, NORTH], [WEST, SOUTH]]
    (folder / "region.geojson").write_text(
        json.dumps({"type": "FeatureCollection", "features": [
            {"type": "Feature", "properties": {}, "geometry": {"type": "Polygon", "coordinates": [ring]}}]})
    )  # fmt: skip


def as_csv(frame: pd.DataFrame, **options: str) -> bytes:
    """Return a table as csv."""
    return bytes(frame.to_csv(index=False, **options).encode())  # type: ignore[call-overload]


def as_parquet(frame: pd.DataFrame) -> bytes:
    """Return a table as Parquet."""
    file = io.BytesIO()
    frame.to_parquet(file)
    return file.getvalue()


def as_geojson(frame: pd.DataFrame) -> bytes:
    """Return places as GeoJSON points."""
    features = [
        {"type": "Feature", "properties": {key: row[key] for key in row if key not in ("lon", "lat")},
         "geometry": {"type": "Point", "coordinates": [row["lon"], row["lat"]]}}
        for row in frame.to_dict("records")
    ]  # fmt: skip
    return json.dumps({"type": "FeatureCollection", "features": features}, default=str).encode()
