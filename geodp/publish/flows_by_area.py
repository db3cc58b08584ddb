"""Footfall of a report for other zones: what was published of cells, shared out by area. It reads released numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geodp.errors import DataError
from geodp.flows.zones import OUTSIDE, ZoneMap, read_zones
from geodp.geometry import Array
from geodp.publish.flows_compare import read_statement
from geodp.publish.flows_files import add_interval
from geodp.publish.outputs import PublishedTable, write_table
from geodp.storage.files import write_whole

if TYPE_CHECKING:
    import pandas as pd

_CELLS, _FOOTFALL = "zones.geoparquet", "footfall.parquet"


def share_by_area(cells: ZoneMap, zones: ZoneMap) -> Array:
    """Return which share of each cell's area lies in each zone, and beyond all of them in the last one.

    Parameters
    ----------
    cells, zones
        Both public. Beyond all cells is beyond all zones: nobody knows where.

    Returns
    -------
    Array
        A row per cell, a column per zone; rows add up to 1.

    Examples
    --------
    >>> import numpy as np, shapely
    >>> from geodp.flows.zones import make_zones
    >>> from geodp.publish.flows_by_area import share_by_area
    >>> cell = make_zones(["cell"], np.array([shapely.box(0, 0, 1, 1)]))
    >>> west = make_zones(["west"], np.array([shapely.box(0, 0, 0.25, 1)]))
    >>> share_by_area(cell, west).round(3).tolist()
    [[0.25, 0.75], [0.0, 1.0]]
    """
    import shapely

    def project(points: Array) -> Array:
        return np.column_stack(cells.projection.to_m(lon=points[:, 0], lat=points[:, 1]))

    ours, theirs = (shapely.transform(each.shapes, project) for each in (cells, zones))
    cell, zone = shapely.STRtree(theirs).query(ours, predicate="intersects")
    share = np.zeros((cells.size, zones.size))
    np.add.at(share, (cell, zone), shapely.area(shapely.intersection(ours[cell], theirs[zone])))
    share[:-1] /= shapely.area(ours)[:, None]
    share[:, -1] = np.maximum(1 - share[:, :-1].sum(axis=1), 0.0)
    return share


def move_footfall(folder: Path, zones: ZoneMap) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the footfall of a report for other zones, as if people were spread evenly within each cell.

    Parameters
    ----------
    folder
        A folder of `geodp publish flows`.
    zones
        The public zones.

    Returns
    -------
    tuple[DataFrame, dict]
        Values with the standard deviations of their noise alone, and what the report states about itself.

    Raises
    ------
    DataError
        If it is no report, or not as it was published.
    """
    import pandas as pd

    said = read_statement(folder, (_FOOTFALL, _CELLS))
    cells = read_zones(folder / _CELLS, "zone")
    share = share_by_area(cells, zones)
    if not share[:-1, :-1].any():
        raise DataError(f"{folder}: its zones and the others have no area in common.")
    rows = pd.read_parquet(folder / _FOOTFALL)
    rows = rows[(rows["level"] == "zone") | ((rows["level"] == "district") & (rows["zone"] == OUTSIDE))]
    rows = rows.drop_duplicates(["period", "start", "zone"])
    keys = rows[["period", "start"]].drop_duplicates()
    wide = {name: rows.pivot_table(index=["period", "start"], columns="zone", values=name, sort=False)
            .reindex(index=pd.MultiIndex.from_frame(keys), columns=list(cells.all_names)).to_numpy()
            for name in ("value", "value_nonneg", "sd")}  # fmt: skip
    value, sd = np.nan_to_num(wide["value"]) @ share, np.sqrt(np.nan_to_num(wide["sd"]) ** 2 @ share**2)
    known = add_interval(value.ravel(), sd.ravel())
    columns = {
        "period": np.repeat(keys["period"].to_numpy(), zones.size),
        "zone": np.tile(np.array(zones.all_names, dtype=np.object_), len(keys)),
        "start": np.repeat(keys["start"].to_numpy(), zones.size),
        "value": known.pop("value"),
        "value_nonneg": (np.nan_to_num(wide["value_nonneg"]) @ share).ravel(),
        **known,
    }
    return pd.DataFrame(columns), said


def write_footfall(path: Path, table: pd.DataFrame, said: dict[str, Any]) -> None:
    """Write a table that follows from a report, with the report's promise.

    Parameters
    ----------
    path
        The file.
    table, said
        What `move_footfall` returned.
    """
    stamp = {key: said[key] for key in ("mode", "releasable", "mechanism", "guarantee", "sentence", "geodp")}
    columns = {str(name): table[name].to_numpy() for name in table}
    made = PublishedTable(columns)
    write_whole(path, lambda partial: write_table(partial, made, suffix_of=path, stamp=stamp))
