"""The stamp of simulated files: whatever a file is, it says itself that it may not leave the house.

Noise that follows from a seed can be taken off again by whoever has the seed. Files get parted from their folders, so
the folder's manifest is not enough: Parquet files carry the stamp in their metadata, JSON files as two keys, csv files
as a column. `metrics.json` alone has none, for it holds numbers and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from geodp.storage.geoparquet import PlaceColumn

SIMULATED: dict[str, Any] = {"mode": "simulate", "releasable": False}
"""What is written into a file whose noise is simulated."""
COLUMN = "releasable"
"""Column that stamps a csv file; it holds `False` in every row."""
METADATA: dict[str, str] = {"geodp": json.dumps(SIMULATED)}
"""The stamp as metadata of a Parquet file, where releases carry theirs."""


def write_simulated(
    frame: pd.DataFrame,
    path: Path,
    *,
    index: bool | None = None,
    text_lists: Sequence[str] = (),
    shapes: PlaceColumn | None = None,
    truth: bool = False,
) -> None:
    """Write a table of a simulation as stamped Parquet.

    Parameters
    ----------
    frame, path
        The table, and the file.
    index
        As for `DataFrame.to_parquet`.
    text_lists
        Columns of lists of words: lists that are all empty would not tell of what.
    shapes
        Where its rows are, which makes it GeoParquet (None: it has no places).
    truth
        Whether the stamp says, too, that the table holds what nobody outside may know.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from geodp.storage.geoparquet import add_shapes

    table = pa.Table.from_pandas(frame, preserve_index=index)
    for name in text_lists:
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, table[name].cast(pa.list_(pa.string())))
    table = table if shapes is None else add_shapes(table, shapes)
    stamp = {"geodp": json.dumps(SIMULATED | {"truth": True})} if truth else METADATA
    metadata = {**(table.schema.metadata or {}), **{key.encode(): text.encode() for key, text in stamp.items()}}
    pq.write_table(table.replace_schema_metadata(metadata), path, compression="zstd")
