"""Whether published visits still mean what the true ones did: the same district, the same city."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics._publications import measured_by
from geodp.metrics._visits import scored, unit_level
from geodp.metrics.intervals import share

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder
    from geodp.run_folder.published import PublishedRun


class SameDistrictShare(Metric):
    """Share of surviving visits whose published place lies in the same district (and city) as the true one.

    The district is the level of that name, else the one above the finest; the city (`same_city_share`) is the level of
    that name, else the coarsest. Undefined (null) without such levels, and where places are no venues. Interval:
    Wilson, over visits.
    """

    kind: ClassVar[str] = "same_district_share"
    unit: ClassVar[str] = "share"
    better: ClassVar[str] = "higher"
    topic: ClassVar[str] = "published"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Compare units of true and published places."""

        def one(item: PublishedRun) -> dict[str, Measured]:
            found = scored(run, item)
            kept = found.replacements.survived & (found.replacements.released_venue >= 0)
            shares = {}
            for name, key in (("district", self.kind), ("city", "same_city_share")):
                level = unit_level(found.hierarchy, name)
                if level is None:
                    shares[key] = Measured(None, has_interval=True)
                    continue
                unit = found.hierarchy.units[level]
                same = unit[found.replacements.true_venue[kept]] == unit[found.replacements.released_venue[kept]]
                shares[key] = share(int(same.sum()), int(same.size))
            return shares

        return measured_by(run, "visits", one)
