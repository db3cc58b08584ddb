"""How far the released densities are from the truth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics._interval import mean

if TYPE_CHECKING:
    from geodp.runs.run_folder import RunFolder

_M2_PER_KM2 = 1e6


class DensityError(Metric):
    """Released against true density of workers, mean absolute error over the released area and over releases.

    `density_error`: |released count - true count| / cell area, weighted by cell area, in workers per km².
    `density_error_read`: the same for the density that the server reads off at cell centres, after
    smoothing, contour reading and the public floor. `density_error_relative`: `density_error` over the true
    mean density; 1 means that the noise is as large as the signal. Intervals: t, over releases.
    """

    kind: ClassVar[str] = "density_error"
    unit: ClassVar[str] = "workers/km²"
    units: ClassVar[Mapping[str, str]] = {"density_error_relative": "ratio"}
    better: ClassVar[str] = "lower"
    topic: ClassVar[str] = "privacy"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Compare every release with the truth behind it."""
        import numpy as np

        released, read, relative = [], [], []
        for index, release in enumerate(run.releases):
            true = run.true_counts(index).to_numpy(dtype=np.float64)
            area = release.area_m2
            error = float(np.abs(release.count - true).sum() / area.sum())
            x_m, y_m = (release.west_m + release.east_m) / 2, (release.south_m + release.north_m) / 2
            gap = np.abs(release.density(x_m, y_m) - true / area)
            released.append(error * _M2_PER_KM2)
            read.append(float((gap * area).sum() / area.sum()) * _M2_PER_KM2)
            if true.sum() > 0:
                relative.append(error * float(area.sum()) / float(true.sum()))
        return {
            "density_error": mean(released),
            "density_error_read": mean(read),
            "density_error_relative": mean(relative),
        }
