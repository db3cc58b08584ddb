"""Published visits for the map: which publication, where its venues are, and how often each is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from geodp.display.colours import along
from geodp.display.drawing import Mark, Shape
from geodp.errors import UsageError

if TYPE_CHECKING:
    from geodp.geometry import Array
    from geodp.run_folder.folder import RunFolder
    from geodp.run_folder.published import PublishedRun

Integers = npt.NDArray[np.int64]
_CLASSES = 4


def publication_of(run: RunFolder, index: int | None) -> PublishedRun | None:
    """Return the publication of visits to draw: the one in that place of `publish`, or the first (None: no such)."""
    found = [item for item in run.publications if "visits" in item.topics]
    if index is None:
        return found[0] if found else None
    chosen = [item for item in found if item.index == index]
    if found and not chosen:
        known = ", ".join(str(item.index) for item in found)
        raise UsageError(f"map: no publication of visits in place {index} of publish. There are: {known}.")
    return chosen[0] if chosen else None


def places_m(run: RunFolder) -> tuple[Array, Array]:
    """Return the public venues in metres of the run's region."""
    return run.region.projection.to_m(lon=run.venues.lon, lat=run.venues.lat)


def by_class(count: Integers, ramp: tuple[str, ...], shape: Shape, what: str) -> tuple[Sequence[Mark], Integers]:
    """Return marks for few, more, many, most (by quarters of the places), and the mark of every place."""
    bounds = np.unique(np.quantile(count, np.linspace(0, 1, _CLASSES + 1)[1:], method="higher")).astype(np.int64)
    mark = np.searchsorted(bounds, count)
    colours = along(ramp, np.linspace(0.35, 1.0, bounds.size))
    lows = [int(count[mark == place].min()) for place in range(bounds.size)]
    names = [f"{low:,}" if low == high else f"{low:,} to {high:,}" for low, high in zip(lows, bounds, strict=True)]
    marks = [Mark(f"{name} {what}", colour, shape) for name, colour in zip(names, colours, strict=True)]
    return marks, mark.astype(np.int64)
