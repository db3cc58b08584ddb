"""Mean length of a published path over that of a true one."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics._trajectories import scored
from geodp.tables.trajectories.scores import path_length_ratio

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder


class PathLengthRatio(Metric):
    """Mean length of a published path over that of a true one.

    Above 1, published paths zigzag or are too long; below 1, they are cut short.
    """

    kind: ClassVar[str] = "path_length_ratio"
    topic: ClassVar[str] = "published"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Score every publication of trajectories."""
        return scored(run, path_length_ratio)
