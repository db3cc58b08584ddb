"""Released cells as surfaces to draw: not too many at a time, not too fine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from geodp.display.drawing import Surface
from geodp.public.norm_sub import onto_simplex
from geodp.public.release import AdaptiveCells, Cells, GridCells, LatticeCells

if TYPE_CHECKING:
    from geodp.display.page import Page
    from geodp.geometry import Grid
    from geodp.run_folder.folder import RunFolder

T = TypeVar("T")


def find_cell_releases(run: RunFolder) -> list[Cells]:
    """Return the releases that count people in cells (others, such as reported places, have no surface)."""
    return [release for release in run.releases if isinstance(release, Cells)]


def thin_releases(releases: Sequence[T], limit: int, page: Page) -> list[tuple[int, T]]:
    """Return at most `limit` releases with their number, evenly spaced; the caption says when some are left out."""
    numbered = list(enumerate(releases))
    if len(numbered) <= limit:
        return numbered
    page.note(f"{limit:,} of {len(numbered):,} releases")
    return [numbered[place] for place in np.rint(np.linspace(0, len(numbered) - 1, limit)).astype(int)]


def are_promised(releases: Sequence[Cells]) -> bool:
    """Tell whether every release keeps a privacy guarantee, so that it may be published."""
    return all(release.guarantee.holds for release in releases)


def surface(release: Cells, count: npt.NDArray[np.float64], *, noisy: bool = True) -> Surface:
    """Return the cells of a release with a number each (their noisy counts, or the true ones)."""
    scales = np.unique(release.noise_scale)
    return Surface(
        time_s=release.time_s,
        west_m=release.west_m,
        south_m=release.south_m,
        east_m=release.east_m,
        north_m=release.north_m,
        count=np.asarray(count, dtype=np.float64),
        noise_scale=None if not noisy else float(scales[0]) if scales.size == 1 else release.noise_scale,
        columns=release.grid.columns if isinstance(release, GridCells) else 0,
    )


def drawable(releases: Sequence[Cells], limit: int, page: Page) -> list[Surface]:
    """Return the noisy counts of releases cell by cell, or on coarser grids where a page could not carry them all."""
    counts = [adjust_counts(release) for release in releases]
    if any(release.guarantee.account == "local" for release in releases):
        page.note("counts worked out from phones' answers are drawn with none below zero and their sum as it is")
    if all(isinstance(release, GridCells) for release in releases) or sum(map(np.size, counts)) <= limit:
        surfaces = [surface(release, count) for release, count in zip(releases, counts, strict=True)]
        return coarsen_surfaces(surfaces, [getattr(release, "grid", None) for release in releases], limit, page)
    page.note("cells of different sizes are drawn added up on a regular grid")
    return [_on_grid(release, count, limit // len(releases)) for release, count in zip(releases, counts, strict=True)]


def adjust_counts(release: Cells) -> npt.NDArray[np.float64]:
    """Return the counts of a release as they are drawn.

    Those that a server worked out from phones' answers are noise below zero and above: they are brought to none below
    zero and to the number of reports, of which the public floor is a tenth, spread out (Norm-sub). For the eye alone:
    it biases them.
    """
    count = np.asarray(release.count, dtype=np.float64)
    if release.guarantee.account != "local":
        return count
    return onto_simplex(count, 10 * release.floor_per_m2 * float(release.area_m2.sum()))


def _on_grid(release: Cells, count: npt.NDArray[np.float64], limit: int) -> Surface:
    """Return cells on the regular grid behind them, coarse enough; cells without one stay as they are.

    The parts of a coarse cell are added up; a cell of several squares of a lattice is spread over them evenly.
    """
    if isinstance(release, AdaptiveCells):
        grid, count = release.coarse, np.add.reduceat(count, release.first[:-1])
    elif isinstance(release, LatticeCells):
        squares = np.bincount(release.cell_of_square, minlength=count.size)
        grid, count = release.lattice, (count / squares)[release.cell_of_square]
    else:
        return surface(release, count)
    side = max(1, math.ceil(math.sqrt(grid.size / max(limit, 1))))
    return _blocks(release.time_s, count, grid, side)


def coarsen_surfaces(
    surfaces: Sequence[Surface], grids: Sequence[Grid | None], limit: int, page: Page
) -> list[Surface]:
    """Add neighbouring cells of regular grids up until all surfaces together hold at most `limit` numbers.

    Sums of released counts are released too. Irregular cells are left as they are.
    """
    total = sum(each.count.size for each in surfaces)
    side = math.ceil(math.sqrt(total / limit)) if total > limit else 1
    if side == 1 or not any(grids):
        return list(surfaces)
    page.note(f"cells are drawn {side} × {side} at a time")
    pairs = zip(surfaces, grids, strict=True)
    return [_blocks(each.time_s, each.count, grid, side) if grid is not None else each for each, grid in pairs]


def _blocks(time_s: float, count: npt.NDArray[np.float64], grid: Grid, side: int) -> Surface:
    """Return sums over blocks of side × side cells; blocks at the far edges hold what is left."""
    across = np.arange(0, grid.columns, side)
    along = np.arange(0, grid.rows, side)
    table = count.reshape(grid.rows, grid.columns)
    sums = np.add.reduceat(np.add.reduceat(table, along, axis=0), across, axis=1)
    west, south = grid.west_m + across * grid.cell_x_m, grid.south_m + along * grid.cell_y_m
    east = np.append(west[1:], grid.west_m + grid.columns * grid.cell_x_m)
    north = np.append(south[1:], grid.south_m + grid.rows * grid.cell_y_m)
    even = grid.columns % side == 0 and grid.rows % side == 0
    return Surface(
        time_s=time_s,
        west_m=np.tile(west, along.size),
        south_m=np.repeat(south, across.size),
        east_m=np.tile(east, along.size),
        north_m=np.repeat(north, across.size),
        count=sums.ravel(),
        columns=across.size if even else 0,
    )
