"""Writes `sample_positions.csv`: made-up workers, one row each, for trying the source `table`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

import geodp
from geodp.geometry import Region

SAMPLE = Path(__file__).parent / "sample_positions.csv"
REGION = Region(-122.5135, 37.7113, -122.3627, 37.8327)


def sample_positions() -> pd.DataFrame:
    """Draw 400 workers of a synthetic city."""
    people = geodp.plugin("synthetic_city", count=400).load(REGION, np.random.default_rng(0))
    lon, lat = REGION.projection.to_lonlat(x_m=people.x_m, y_m=people.y_m)
    return pd.DataFrame({"worker": np.arange(400), "lon": lon.round(6), "lat": lat.round(6)})


if __name__ == "__main__":
    sample_positions().to_csv(SAMPLE, index=False)
