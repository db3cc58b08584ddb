"""The positions that are used: inside the region, and of every user as many as the cap allows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from geodp.geometry import Array, Region
from geodp.privacy.keyed_choice import draw_key
from geodp.privacy.noise import Noise
from geodp.publish.contributions import rows_beyond, settle_cap, within_cap
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

    def drawn(self, noise: Noise) -> Positions:
        """Return the rows that count: of every user `cap` at most, drawn by a key from the noise."""
        if self.cap is None or self.users is None:
            return self
        kept = within_cap(self.users, self.cap, draw_key(noise))
        return replace(self, x_m=self.x_m[kept], y_m=self.y_m[kept], users=self.users.filter(kept))


def used_positions(request: Request, inputs: PublicInputs, rows: Rows, region: Region) -> Positions:
    """Drop the rows outside the region, and settle the cap."""
    kept, x_m, y_m = inside(rows, region)
    remarks = []
    if not kept.all():
        outside = int(np.count_nonzero(~kept))
        remarks.append(f"{outside:,} of {rows.size:,} rows lie outside the region and are dropped.")
    rows, x_m, y_m = rows.chosen(kept), x_m[kept], y_m[kept]
    cap = settle_cap(request, inputs, rows)
    beyond = 0 if cap is None else rows_beyond(rows.codes("user"), cap)
    if beyond:
        remarks.append(
            f"{beyond:,} of {rows.size:,} rows are beyond the cap of {cap:,} per user and are not used (random ones)."
        )
    return Positions(region, x_m, y_m, rows.names.get("user"), cap, tuple(remarks))
