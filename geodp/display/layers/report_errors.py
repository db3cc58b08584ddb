"""How far reports are from where people really were."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from geodp.display.colours import REPORT
from geodp.display.drawing import Fact, Mark
from geodp.display.layers import Layer

if TYPE_CHECKING:
    from geodp.display.page import Page
    from geodp.run_folder.folder import RunFolder


class ReportErrorsLayer(Layer):
    """Lines from where people were to what their phones reported, a sample at one moment (truth)."""

    kind: ClassVar[str] = "report_errors"
    title: ClassVar[str] = "Errors of reports"
    level: ClassVar[int] = 52

    shown: bool = False
    """Whether the layer is ticked when the map opens."""
    max_people: int = Field(default=100, gt=0)
    """At most so many people."""

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw true places and reports of the moment in the middle of the run."""
        from geodp.public.release import Points

        numbers = [number for number, release in enumerate(run.releases) if isinstance(release, Points)]
        if not numbers:
            return
        number = numbers[len(numbers) // 2]
        release = run.releases[number]
        assert isinstance(release, Points)  # noqa: S101 - chosen so above; tells the type
        truth = run.positions
        truth = truth[truth["release"] == number].sort_values("who").head(self.max_people)
        row = np.searchsorted(release.who, truth["who"].to_numpy(dtype=release.who.dtype))
        true_x, true_y = truth["x_m"].to_numpy(), truth["y_m"].to_numpy()
        x, y = release.x_m[row], release.y_m[row]
        page.note(f"errors of the reports of {len(truth):,} people at {clock(run, release.time_s)}")
        page.lines(
            self,
            (true_x, true_y),
            (x, y),
            mark=Mark("from the true place to the report", REPORT, "line"),
            name="Report of worker",
            ids=truth["worker"].to_numpy(),
            facts=[
                Fact("Reported", np.full(len(truth), release.time_s), form="clock"),
                Fact("Off by", np.hypot(x - true_x, y - true_y), unit="m"),
            ],
            from_s=release.time_s,
            until_s=release.time_s,
            what="reports",
        )


def clock(run: RunFolder, time_s: float) -> str:
    """Return a moment of the run as time of day."""
    minutes = round((run.scenario.start_s + time_s) / 60) % (24 * 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}"
