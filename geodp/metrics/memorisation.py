"""Whether published trajectories repeat true ones: distance to the nearest, against that of people held out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics._publications import measured_by
from geodp.metrics._trajectories import synthetic

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder
    from geodp.run_folder.published import PublishedRun


class Memorisation(Metric):
    """Whether published trajectories repeat true ones: median distance to the nearest, over that of people held out.

    The nearest is looked for in one half of the people; the other half has the distance that trips of strangers have.
    Near or above 1 is no memorising. `memorised_share` is the share of published trajectories that are nearer than all
    but 5 % of the strangers' ones: about 0.05 when nothing is memorised.
    """

    kind: ClassVar[str] = "memorisation"
    topic: ClassVar[str] = "published"
    units: ClassVar[Mapping[str, str]] = {"memorised_share": "share"}

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Compare every publication of trajectories with the truth."""
        from geodp.tables.trajectories.scores import memorisation

        def compared(item: PublishedRun) -> dict[str, Measured]:
            found = memorisation(run.trajectories, synthetic(run, item))
            return {"memorisation": Measured(found.ratio), "memorised_share": Measured(found.near_share)}

        return measured_by(run, "trajectories", compared)
