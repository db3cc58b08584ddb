"""What phones told the server by themselves."""

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


class ReportsLayer(Layer):
    """Places that phones reported to the server, a sample of people: all it knows about each of them."""

    kind: ClassVar[str] = "reports"
    title: ClassVar[str] = "Reports of phones"
    public: ClassVar[bool] = True
    level: ClassVar[int] = 45

    max_people: int = Field(default=50, gt=0)
    """At most so many people, the same at all times."""

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw the reports of a few people; each appears when it is made."""
        from geodp.public.release import Points

        releases = [release for release in run.releases if isinstance(release, Points)]
        if not releases:
            return
        people = min(self.max_people, max(page.max_points // len(releases), 1), releases[0].size)
        if people < releases[0].size:
            page.note(f"reports of {people:,} of {releases[0].size:,} people")
        rows = [slice(people)] * len(releases)  # pseudonyms are random, so the first ones are a random sample
        time_s = np.repeat([release.time_s for release in releases], people)
        who = np.concatenate([release.who[part] for release, part in zip(releases, rows, strict=True)])
        page.points(
            self,
            np.concatenate([release.x_m[part] for release, part in zip(releases, rows, strict=True)]),
            np.concatenate([release.y_m[part] for release, part in zip(releases, rows, strict=True)]),
            marks=[Mark("reported place", REPORT, "square")],
            name="Report",
            facts=[Fact("Reported", time_s, form="clock"), Fact("Under the name", who.tolist(), form="words")],
            appears_s=time_s,
            what="reports",
        )
