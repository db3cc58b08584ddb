"""Scores of published trajectories against the workers' own trips: one rule for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from geodp.metrics import Measured
from geodp.metrics._publications import measured_by
from geodp.tables.trajectories.table import Trajectories

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder
    from geodp.run_folder.published import PublishedRun
    from geodp.tables.trajectories.scores import Score


def scored(run: RunFolder, score: Score) -> dict[str, Measured]:
    """Score every publication of trajectories under the score's name ({} when the run has none)."""

    def measure(item: PublishedRun) -> dict[str, Measured]:
        return {score.__name__: Measured(score(run.trajectories, synthetic(run, item), run.scenario.area))}

    return measured_by(run, "trajectories", measure)


def synthetic(run: RunFolder, item: PublishedRun) -> Trajectories:
    """Return the trajectories that were published."""
    return Trajectories.from_frame(item.released, run.scenario.area)
