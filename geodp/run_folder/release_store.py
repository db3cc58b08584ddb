"""Releases on disk: a table of cells or points beside a JSON file of everything else the server saw.

The table is GeoParquet in EPSG:4326, beside the local metres that are read back, so that GIS programs open it as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from geodp.geometry import Grid, Projection
from geodp.public import channels
from geodp.public.guarantee import Guarantee
from geodp.public.place_sets import Candidates, Cloaks
from geodp.public.release import (
    AdaptiveCells,
    Cells,
    Contours,
    DensityEstimate,
    GridCells,
    LatticeCells,
    Points,
    QuadtreeCells,
)
from geodp.public.tree_metric import TreeChannel
from geodp.run_folder.folder import read_json, write_json
from geodp.storage.geoparquet import PlaceColumn, read_without_shapes
from geodp.storage.stamp import SIMULATED, write_simulated

_EDGES = ("west_m", "south_m", "east_m", "north_m")
_LISTS = ("candidate_x_m", "candidate_y_m")
_COLUMNS = (
    "who",
    "group",
    "epsilon_per_m",
    "x_m",
    "y_m",
    *_LISTS,
    *_EDGES,
    "count",
    "noise_scale",
    "variance",
    "noise_terms",
)
"""What a release has one of per cell or point."""
_TYPES: dict[str, type[Cells | Points]] = {
    "cells": Cells,
    "grid_cells": GridCells,
    "adaptive_cells": AdaptiveCells,
    "lattice_cells": LatticeCells,
    "quadtree_cells": QuadtreeCells,
    "contours": Contours,
    "points": Points,
    "cloaks": Cloaks,
    "candidates": Candidates,
    "estimate": DensityEstimate,
}
_CHANNELS = {
    "planar_laplace": channels.PlanarLaplaceChannel,
    "planar_geometric": channels.PlanarGeometricChannel,
    "tree": TreeChannel,
}


def write_release(folder: Path, index: int, release: Cells | Points, projection: Projection | None = None) -> None:
    """Write release number `index` into the folder.

    Parameters
    ----------
    folder, index
        Where, and the number of the release.
    release
        The release.
    projection
        How its metres become degrees, for GeoParquet (None: a plain table, in metres alone).
    """
    name = next(name for name, cls in _TYPES.items() if type(release) is cls)
    parts = {field.name: getattr(release, field.name) for field in fields(release)}
    columns = {column: parts[column] for column in _COLUMNS if parts.get(column) is not None}
    columns |= {column: list(columns[column]) for column in _LISTS if column in columns}
    shapes = None if projection is None else shapes_of_release(release, projection)
    write_simulated(pd.DataFrame(columns), folder / f"{index:04d}.parquet", shapes=shapes)
    facts: dict[str, Any] = {
        **SIMULATED,
        "type": name,
        "time_s": release.time_s,
        "mechanism": release.mechanism,
        "guarantee": release.guarantee.as_dict(),
        "sentence": release.guarantee.sentence(),
        "floor_per_m2": release.floor_per_m2,
    }
    if parts.get("measured"):
        del parts["measured"]  # as nearly all are: only what was predicted says so
    if not parts.get("channels"):
        parts.pop("channels", None)  # only where groups have laws of their own
    kept = {name: value for name, value in parts.items() if name not in facts and name not in _COLUMNS}
    facts |= {name: _STORED[name][0](value) if name in _STORED else value for name, value in kept.items()}
    write_json(folder / f"{index:04d}.json", facts)


def shapes_of_release(release: Cells | Points, projection: Projection) -> PlaceColumn:
    """Return the cells or reported points of a release in degrees."""
    if isinstance(release, Points) and not isinstance(release, Cloaks):
        return PlaceColumn.from_points(*projection.to_lonlat(x_m=release.x_m, y_m=release.y_m))
    west, south = projection.to_lonlat(x_m=release.west_m, y_m=release.south_m)
    east, north = projection.to_lonlat(x_m=release.east_m, y_m=release.north_m)
    return PlaceColumn.from_boxes(west, south, east, north)


def read_release(path: Path) -> Cells | Points:
    """Read back the release whose JSON file is given."""
    facts = read_json(path)
    frame = read_without_shapes(path.with_suffix(".parquet"))
    cls = _TYPES[facts["type"]]
    names = [field.name for field in fields(cls)]
    parts: dict[str, Any] = {name: frame[name].to_numpy(copy=True) for name in names if name in frame}
    parts |= {name: np.stack(parts[name]) for name in _LISTS if name in parts}
    kept = {name: facts[name] for name in names if name in facts}
    parts |= {name: _STORED[name][1](value) if name in _STORED else value for name, value in kept.items()}
    for names_of in ("who", "group"):
        if names_of in parts:
            parts[names_of] = parts[names_of].astype(np.str_)
    return cls(**parts)


def _channel_facts(channel: channels.Channel | None) -> dict[str, Any] | None:
    """Return the public law of reports as plain values; a law of another kind is not kept, and read back as unknown."""
    for name, cls in _CHANNELS.items():
        if isinstance(channel, cls):
            return {"law": name} | {key: getattr(channel, key) for key in ("epsilon_per_m", "cell_m", "box_m")}
    return None


def _channel(facts: dict[str, Any] | None) -> channels.Channel | None:
    if facts is None:
        return None
    box = facts["box_m"]
    law: Callable[..., channels.Channel] = _CHANNELS[facts["law"]]
    return law(facts["epsilon_per_m"], facts["cell_m"], None if box is None else tuple(box))


_GRID = (asdict, lambda facts: Grid(**facts))
_STORED: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "guarantee": (Guarantee.as_dict, Guarantee.from_dict),
    "grid": _GRID,
    "coarse": _GRID,
    "lattice": _GRID,
    "per_side": (np.ndarray.tolist, lambda sides: np.asarray(sides, dtype=np.int64)),
    "coarse_count": (
        lambda counts: None if counts is None else counts.tolist(),
        lambda counts: None if counts is None else np.asarray(counts, dtype=np.float64),
    ),
    "levels": (np.ndarray.tolist, lambda levels: np.asarray(levels, dtype=np.float64)),
    "channel": (_channel_facts, _channel),
    "channels": (
        lambda laws: {name: _channel_facts(law) for name, law in laws.items()},
        lambda laws: {name: _channel(facts) for name, facts in laws.items()},
    ),
}
"""How parts of a release become JSON, and are made of it again."""
