"""How far the released densities are from the truth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from geodp.metrics import Measured, Metric
from geodp.metrics.intervals import mean
from geodp.public.release import Cells, DensityEstimate

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder

_M2_PER_KM2 = 1e6
_BLOCK_M = 300.0


class DensityError(Metric):
    """Released against true density of workers, mean absolute error over the released area and over releases.

    `density_error`: |released count - true count| / cell area, weighted by cell area, in workers per km².
    `density_error_read`: the same for the density that the server reads off at cell centres, after
    smoothing, contour reading and the public floor. `density_error_relative`: `density_error` over the true
    mean density; 1 means that the noise is as large as the signal. Intervals: t, over releases.

    Where phones report by themselves, the density that the server works out from their reports stands for the
    released one. Its cells are finer than anything it can tell, so they are added up to blocks of about 300 m.
    """

    kind: ClassVar[str] = "density_error"
    label: ClassVar[str] = "error of the released density"
    labels: ClassVar[Mapping[str, str]] = {
        "density_error_read": "error of the density as the server reads it",
        "density_error_relative": "relative error of the released density",
    }
    unit: ClassVar[str] = "workers/km²"
    units: ClassVar[Mapping[str, str]] = {"density_error_relative": "ratio"}
    better: ClassVar[str] = "lower"
    topic: ClassVar[str] = "privacy"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Compare every release with the truth behind it."""
        released, read, relative = [], [], []
        for index, release in enumerate(run.densities):
            true = run.true_counts(index).to_numpy(dtype=np.float64)
            area, block = release.area_m2, _blocks(release)
            error = float(np.abs(np.bincount(block, release.count - true)).sum() / area.sum())
            x_m, y_m = (release.west_m + release.east_m) / 2, (release.south_m + release.north_m) / 2
            gap = np.abs(np.bincount(block, release.density(x_m, y_m) * area - true))
            released.append(error * _M2_PER_KM2)
            read.append(float(gap.sum() / area.sum()) * _M2_PER_KM2)
            if true.sum() > 0:
                relative.append(error * float(area.sum()) / float(true.sum()))
        return {
            "density_error": mean(released),
            "density_error_read": mean(read),
            "density_error_relative": mean(relative),
        }


def _blocks(release: Cells) -> npt.NDArray[np.int64]:
    """Return the block to which each cell is added: itself, but for the fine cells of an estimate."""
    if not isinstance(release, DensityEstimate):
        return np.arange(release.count.size)
    grid = release.grid
    across, along = max(1, round(_BLOCK_M / grid.cell_x_m)), max(1, round(_BLOCK_M / grid.cell_y_m))
    column, row = np.arange(grid.columns) // across, np.arange(grid.rows) // along
    return np.asarray((row[:, None] * (column[-1] + 1) + column).ravel(), dtype=np.int64)
