"""Workers moving about, a sample of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from geodp.display.colours import IDLE, TRAVELLING
from geodp.display.drawing import Mark
from geodp.display.layers import Layer

if TYPE_CHECKING:
    from geodp.display.page import Page
    from geodp.run_folder.folder import RunFolder


class WorkersLayer(Layer):
    """True positions of a sample of workers, moving with the clock (truth)."""

    kind: ClassVar[str] = "workers"
    title: ClassVar[str] = "Workers"
    level: ClassVar[int] = 70

    max_workers: int = Field(default=300, gt=0)
    """At most so many workers move on the map."""

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw the sampled workers at every recorded time; the browser fills in between."""
        paths = run.paths.sort_values(["worker", "time_s"], kind="stable")
        ids, times = np.unique(paths["worker"]), np.unique(paths["time_s"])
        if not ids.size:
            return
        if len(paths) != ids.size * times.size:  # somebody came late or left early: keep those always present
            whole_day = paths.groupby("worker")["time_s"].transform("size") == times.size
            paths = paths[whole_day]
            ids = np.unique(paths["worker"])
        limit = min(self.max_workers, page.max_points, ids.size)
        keep = np.rint(np.linspace(0, ids.size - 1, limit)).astype(np.int64)
        if limit < run.workers:
            page.note(f"{limit:,} of {run.workers:,} workers move")
        shape = (ids.size, times.size)
        x_m, y_m, busy = (paths[name].to_numpy().reshape(shape)[keep] for name in ("x_m", "y_m", "busy"))
        marks = [Mark("idle worker", IDLE, "dot"), Mark("on the way to a task", TRAVELLING, "dot")]
        page.movers(self, times, x_m, y_m, busy.astype(np.bool_), marks=marks)
