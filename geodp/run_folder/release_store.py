"""Releases on disk: a Parquet table of cells or points beside a JSON file of everything else the server saw."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from geodp.geometry import Grid
from geodp.public import channels
from geodp.public.guarantee import Guarantee
from geodp.public.release import AdaptiveCells, Cells, Contours, DensityEstimate, GridCells, LatticeCells, Points
from geodp.run_folder.folder import read_json, write_json
from geodp.storage.stamp import SIMULATED, write_simulated

_COLUMNS = ["west_m", "south_m", "east_m", "north_m", "count", "noise_scale"]
_MORE_COLUMNS = {"points": ["who", "x_m", "y_m"], "estimate": [*_COLUMNS, "variance"]}
_TYPES: dict[str, type[Cells | Points]] = {
    "cells": Cells,
    "grid_cells": GridCells,
    "adaptive_cells": AdaptiveCells,
    "lattice_cells": LatticeCells,
    "contours": Contours,
    "points": Points,
    "estimate": DensityEstimate,
}
_CHANNELS = {"planar_laplace": channels.PlanarLaplaceChannel, "planar_geometric": channels.PlanarGeometricChannel}


def write_release(folder: Path, index: int, release: Cells | Points) -> None:
    """Write release number `index` into the folder."""
    name = next(name for name, cls in _TYPES.items() if type(release) is cls)
    frame = pd.DataFrame({column: getattr(release, column) for column in _MORE_COLUMNS.get(name, _COLUMNS)})
    if isinstance(release, Cells) and release.noise_terms is not None:
        frame["noise_terms"] = release.noise_terms
    write_simulated(frame, folder / f"{index:04d}.parquet")
    facts: dict[str, Any] = {
        **SIMULATED,
        "type": name,
        "time_s": release.time_s,
        "mechanism": release.mechanism,
        "guarantee": release.guarantee.as_dict(),
        "sentence": release.guarantee.sentence(),
        "floor_per_m2": release.floor_per_m2,
    }
    if isinstance(release, Cells) and not release.measured:
        facts["measured"] = False
    if isinstance(release, GridCells):
        facts["grid"] = asdict(release.grid)
    if isinstance(release, AdaptiveCells):
        facts |= {"coarse": asdict(release.coarse), "per_side": release.per_side.tolist()}
    if isinstance(release, LatticeCells):
        facts["lattice"] = asdict(release.lattice)
    if isinstance(release, Points):
        facts["channel"] = _channel_facts(release.channel)
    if isinstance(release, Contours):
        facts |= {
            "sigma_cells": release.sigma_cells,
            "levels": release.levels.tolist(),
            "reading": release.reading,
        }
    write_json(folder / f"{index:04d}.json", facts)


def read_release(path: Path) -> Cells | Points:
    """Read back the release whose JSON file is given."""
    facts = read_json(path)
    frame = pd.read_parquet(path.with_suffix(".parquet"))
    columns = _MORE_COLUMNS.get(facts["type"], _COLUMNS)
    fields: dict[str, Any] = {name: frame[name].to_numpy(copy=True) for name in columns}
    fields |= {name: facts[name] for name in ("time_s", "mechanism", "floor_per_m2")}
    fields["guarantee"] = Guarantee.from_dict(facts["guarantee"])
    if "noise_terms" in frame:
        fields["noise_terms"] = frame["noise_terms"].to_numpy(copy=True)
    fields |= {name: Grid(**facts[name]) for name in ("grid", "coarse", "lattice") if name in facts}
    if "measured" in facts:
        fields["measured"] = facts["measured"]
    if "per_side" in facts:
        fields["per_side"] = np.asarray(facts["per_side"], dtype=np.int64)
    if facts["type"] == "contours":
        fields |= {"sigma_cells": facts["sigma_cells"], "reading": facts["reading"]}
        fields["levels"] = np.asarray(facts["levels"], dtype=np.float64)
    if facts["type"] == "points":
        fields |= {"who": fields["who"].astype(np.str_), "channel": _channel(facts["channel"])}
    return _TYPES[facts["type"]](**fields)


def _channel_facts(channel: channels.Channel | None) -> dict[str, Any] | None:
    """Return the public law of reports as plain values; a law of another kind is not kept, and read back as unknown."""
    for name, cls in _CHANNELS.items():
        if isinstance(channel, cls):
            fields = {key: getattr(channel, key) for key in ("epsilon_per_m", "cell_m", "box_m")}
            return {"law": name, **fields}
    return None


def _channel(facts: dict[str, Any] | None) -> channels.Channel | None:
    if facts is None:
        return None
    box = facts["box_m"]
    made: channels.Channel = _CHANNELS[facts["law"]](
        facts["epsilon_per_m"], facts["cell_m"], None if box is None else tuple(box)
    )
    return made
