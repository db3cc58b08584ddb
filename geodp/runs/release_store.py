"""Releases on disk: a Parquet table of cells beside a JSON file of everything else the server saw."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from geodp.geometry import Grid
from geodp.privacy.guarantee import Guarantee
from geodp.release import Cells, Contours, GridCells
from geodp.runs.run_folder import write_json

_COLUMNS = ["west_m", "south_m", "east_m", "north_m", "count", "noise_scale"]
_TYPES = {"cells": Cells, "grid_cells": GridCells, "contours": Contours}


def write_release(folder: Path, index: int, release: Cells) -> None:
    """Write release number `index` into the folder."""
    frame = pd.DataFrame({name: getattr(release, name) for name in _COLUMNS})
    frame.to_parquet(folder / f"{index:04d}.parquet", compression="zstd")
    facts: dict[str, Any] = {
        "type": next(name for name, cls in _TYPES.items() if type(release) is cls),
        "time_s": release.time_s,
        "mechanism": release.mechanism,
        "guarantee": release.guarantee.as_dict(),
        "sentence": release.guarantee.sentence(),
        "floor_per_m2": release.floor_per_m2,
    }
    if isinstance(release, GridCells):
        facts["grid"] = asdict(release.grid)
    if isinstance(release, Contours):
        facts |= {
            "sigma_cells": release.sigma_cells,
            "levels": release.levels.tolist(),
            "reading": release.reading,
        }
    write_json(folder / f"{index:04d}.json", facts)


def read_release(path: Path) -> Cells:
    """Read back the release whose JSON file is given."""
    facts = json.loads(path.read_text(encoding="utf-8"))
    frame = pd.read_parquet(path.with_suffix(".parquet"))
    fields: dict[str, Any] = {name: frame[name].to_numpy(copy=True) for name in _COLUMNS}
    fields |= {name: facts[name] for name in ("time_s", "mechanism", "floor_per_m2")}
    fields["guarantee"] = Guarantee.from_dict(facts["guarantee"])
    if "grid" in facts:
        fields["grid"] = Grid(**facts["grid"])
    if facts["type"] == "contours":
        fields |= {"sigma_cells": facts["sigma_cells"], "reading": facts["reading"]}
        fields["levels"] = np.asarray(facts["levels"], dtype=np.float64)
    made: Cells = _TYPES[facts["type"]](**fields)
    return made
