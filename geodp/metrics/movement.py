"""How people of a run move, in the numbers by which real movement is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.run_folder.movement_scores import LAWS, read_laws

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder


class MovementLaws(Metric):
    """Laws of movement: jumps, radius of gyration, visits by rank, new places, entropy, hours, time between visits.

    Of the visits where a run has any with times, else of the stays (20 minutes within 200 m) of the workers whose ways
    it keeps, in runs of a day or more. Numbers of single people are of those with at least ten visits. A run begins on
    a Monday. `geodp datasets describe FILE --laws` measures the same of a file.

    Reference
    ---------
    González et al. 2008; Song et al. 2010.
    """

    kind: ClassVar[str] = "movement_laws"
    labels: ClassVar[Mapping[str, str]] = {key: law.label for key, law in LAWS.items()}
    units: ClassVar[Mapping[str, str]] = {key: law.unit for key, law in LAWS.items()}

    @classmethod
    def key_starts(cls) -> tuple[str, ...]:
        """Return the keys of the laws."""
        return tuple(LAWS)

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Measure the laws."""
        return {key: Measured(value) for key, value in read_laws(run).items()}
