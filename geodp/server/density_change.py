"""How fast densities change, read off the releases themselves: how much less an old one tells.

For two releases at lag l, totals t and t' of the same groups of cells with noise variances V and V', and μ what the
groups around suggest, S = Σ o((t' - t)² - V - V') / Σ o μ² with o = 1/(μ + V + V')² is the share of its square by which
a density has changed. It grows with the lag: R = max(0, ΣS·l/Σl²) per second. It reads releases alone: no cost.

An adaptive grid measures each total twice, and both are compared, each with its own: the coarse count, and the sum of
the fine ones. Their average would not do: a coarse count that noise has raised is divided into more parts, so it weighs
more in its average just where it is wrong, and noise passes for change: at ε = 0.1, where nobody moves, 0.020 ± 0.007
an hour before it is cut at zero, now -0.003 ± 0.012 (six worlds of seven releases). The noise of a sum of fine counts
is fresh, however many of them the coarse count asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from geodp.geometry import Array
from geodp.public.release import AdaptiveCells, Cells, DensityEstimate, GridCells, LatticeCells
from geodp.server.cell_groups import Groups, add_up, expect_from_surroundings, group_cells

_BLOCKS_PER_SIDE = 10  # of the common grid on which releases whose cells differ are compared
_REMEMBERED = 12  # releases: pairs further apart than these tell little about the next hour


@dataclass(frozen=True)
class _Totals:
    time_s: float
    key: object
    """Totals of releases with the same key are comparable."""
    readings: tuple[tuple[Array, Array], ...]
    """The totals, with the variance of their noise; more than once where they were measured apart."""
    around: Array
    """What the groups around suggest: a group's own noise would bias it."""


@dataclass
class DensityChange:
    """Sees releases one after the other and keeps the rate of change up to date."""

    _seen: list[_Totals] = field(default_factory=list)
    _weighted: float = 0.0
    _squares: float = 0.0

    @property
    def per_s(self) -> float | None:
        """R, the share of its square by which a density changes per second; None before two comparable releases."""
        return max(0.0, self._weighted / self._squares) if self._squares > 0 else None

    def see(self, release: Cells) -> None:
        """Compare a new release with the ones before."""
        if not release.measured or isinstance(release, DensityEstimate):
            return
        if self._seen and release.time_s <= self._seen[-1].time_s:
            return
        new = _totals(release)
        if new is None:
            return
        for old in self._seen:
            if old.key == new.key:
                lag_s, share = new.time_s - old.time_s, _change(old, new)
                self._weighted += share * lag_s
                self._squares += lag_s**2
        self._seen = [*self._seen[1 - _REMEMBERED :], new]


def _change(old: _Totals, new: _Totals) -> float:
    """Return S of a pair."""
    around = np.maximum((old.around + new.around) / 2, 0.0)
    changed = scale = 0.0
    for (before, noise_before), (after, noise_after) in zip(old.readings, new.readings, strict=True):
        noise = noise_before + noise_after
        weight = 1 / np.maximum(around + noise, 1e-9) ** 2
        changed += float(weight @ ((after - before) ** 2 - noise))
        scale += float(weight @ around**2)
    return changed / scale if scale > 0 else 0.0


def _totals(release: Cells) -> _Totals | None:
    count = np.asarray(release.count, dtype=np.float64)
    if isinstance(release, AdaptiveCells | GridCells):
        groups = group_cells(release)
        if groups is None:
            return None
        key: object = release.coarse if isinstance(release, AdaptiveCells) else release.grid
        total = add_up(groups.group, count, groups.parts.size)
    elif isinstance(release, LatticeCells):
        groups, total = _on_blocks(release)
        key = (release.lattice.west_m, release.lattice.south_m, _BLOCKS_PER_SIDE)
    else:
        return None
    readings = _readings(release, total, groups)
    return _Totals(release.time_s, (key, len(readings)), readings, expect_from_surroundings(total, groups))


def _readings(release: Cells, total: Array, groups: Groups) -> tuple[tuple[Array, Array], ...]:
    """Return totals and their noise; of an adaptive grid the coarse counts, and apart from them the sums of fine ones.

    What is published adds up to (s2 M n + s1 Σc)/(s1 + s2 M) for the coarse count n, so n gives Σc back.
    """
    if not isinstance(release, AdaptiveCells) or release.coarse_count is None or not release.coarse_scale:
        return ((total, groups.total_noise),)
    coarse = 2 * release.coarse_scale**2
    fine = groups.parts * 2 * float(release.fine_scale or 0.0) ** 2
    summed = total + fine / coarse * (total - release.coarse_count)
    return (release.coarse_count, np.full(total.size, coarse)), (summed, fine)


def _on_blocks(release: LatticeCells) -> tuple[Groups, Array]:
    """Spread the counts of a tree's cells evenly over their squares, and add them up on a common coarse grid."""
    lattice, cell = release.lattice, release.cell_of_square
    row, column = np.divmod(np.arange(lattice.size), lattice.columns)
    side_y, side_x = (min(_BLOCKS_PER_SIDE, size) for size in (lattice.rows, lattice.columns))
    block = (row * side_y // lattice.rows) * side_x + column * side_x // lattice.columns
    covered = cell >= 0
    pair, squares = np.unique(block[covered] * release.count.size + cell[covered], return_counts=True)
    block_of, cell_of = np.divmod(pair, release.count.size)
    share = squares / np.bincount(cell[covered], minlength=release.count.size)[cell_of]
    size = side_x * side_y
    total = add_up(block_of, share * release.count[cell_of], size)
    noise = add_up(block_of, share**2 * 2 * release.noise_scale[cell_of] ** 2, size)
    ones = np.ones(size)
    groups = Groups(
        group=np.arange(size), parts=ones, total_noise=noise, noise=noise, area=ones, shape=(side_y, side_x)
    )
    return groups, total
