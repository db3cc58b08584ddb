"""The positions that are used: inside the region, within the cap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from geodp.geometry import Array, Region
from geodp.publish.contributions import settle_cap, within_cap
from geodp.publish.public_inputs import PublicInputs
from geodp.publish.reading import Rows, inside
from geodp.publish.request import Request


@dataclass(frozen=True, eq=False)
class Positions:
    """True places, with the public facts about them."""

    region: Region
    x_m: Array
    y_m: Array
    users: Any
    """The `user` column (a pyarrow array), or None."""
    cap: int | None
    """Public cap on the rows of one user; None: every row is a person of its own."""
    remarks: tuple[str, ...]
    """How many rows were left out: private."""


def used_positions(request: Request, inputs: PublicInputs, rows: Rows, region: Region) -> Positions:
    """Drop the rows outside the region, then those beyond the cap."""
    kept, x_m, y_m = inside(rows, region)
    remarks = []
    if not kept.all():
        outside = int(np.count_nonzero(~kept))
        remarks.append(f"{outside:,} of {rows.size:,} rows lie outside the region and are dropped.")
    rows, x_m, y_m = rows.chosen(kept), x_m[kept], y_m[kept]
    cap = settle_cap(request, inputs, rows)
    if cap is not None:
        within = within_cap(rows.codes("user"), cap)
        if not within.all():
            beyond = int(np.count_nonzero(~within))
            remarks.append(f"{beyond:,} of {rows.size:,} rows are beyond the cap of {cap:,} per user and are not used.")
        rows, x_m, y_m = rows.chosen(within), x_m[within], y_m[within]
    return Positions(region, x_m, y_m, rows.names.get("user"), cap, tuple(remarks))
