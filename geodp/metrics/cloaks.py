"""What cloaks are worth by their own measure: how many people really send the same one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from geodp.metrics import Measured, Metric
from geodp.metrics.intervals import mean
from geodp.public.place_sets import Cloaks

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder


class CloakSetBelowK(Metric):
    """Share of people whose cloak is sent by fewer than k people, mean over releases.

    `cloak_set_below_k`: whoever sees such a cloak knows that its sender is one of these few, although k people are
    inside it. `cloak_area_km2`: mean area of a cloak. Undefined (null) without cloaks. Intervals: t, over releases.
    """

    kind: ClassVar[str] = "cloak_set_below_k"
    label: ClassVar[str] = "people whose cloak fewer than k send"
    labels: ClassVar[Mapping[str, str]] = {"cloak_area_km2": "area of a cloak"}
    unit: ClassVar[str] = "share"
    units: ClassVar[Mapping[str, str]] = {"cloak_area_km2": "km²"}
    better: ClassVar[str] = "lower"
    topic: ClassVar[str] = "privacy"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Count who sends the same rectangle."""
        below, area = [], []
        for release in run.releases:
            if isinstance(release, Cloaks) and release.size:
                below.append(float(np.mean(release.count_senders() < release.k)))
                area.append(float(release.area_m2.mean()) / 1e6)
        return {"cloak_set_below_k": mean(below), "cloak_area_km2": mean(area)}
