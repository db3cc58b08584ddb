"""Reports that name a set of places: rectangles of an anonymiser, and places of which one is true."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from geodp.display.colours import REPORT
from geodp.display.drawing import Fact, Mark
from geodp.display.layers import Layer
from geodp.public.place_sets import Candidates, Cloaks

if TYPE_CHECKING:
    from geodp.display.page import Page
    from geodp.public.release import Points
    from geodp.run_folder.folder import RunFolder

_COLOURS = ("#7b3294", "#1b7837", "#b35806", "#2166ac", "#c51b7d", "#4d4d4d", "#8c510a", "#01665e")
"""One for each person whose places are drawn; after the last they begin again."""


class CloaksLayer(Layer):
    """Rectangles in which an anonymiser says that people are, a sample of people: no ε is claimed for them."""

    kind: ClassVar[str] = "cloaks"
    title: ClassVar[str] = "Cloaks (no ε is claimed)"
    public: ClassVar[bool] = False  # nothing is promised about them
    level: ClassVar[int] = 45

    max_people: int = Field(default=40, gt=0)
    """Maximum number of people, the same at all times."""

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw the rectangles of a few people; each stands until the next release."""
        import shapely

        releases = [release for release in run.releases if isinstance(release, Cloaks)]
        if not releases:
            return
        rows, parts = _choose_rows(releases, self.max_people, page), list[dict[str, Any]]()
        for release, row, until_s in zip(releases, rows, _ends(releases), strict=True):
            edges = (release.west_m[row], release.south_m[row], release.east_m[row], release.north_m[row])
            parts.append(
                {
                    "shape": shapely.box(*edges),
                    "who": release.who[row],
                    "senders": release.count_senders()[row],
                    "area": release.area_m2[row] / 1e6,
                    "from": np.full(row.size, release.time_s),
                    "until": np.full(row.size, until_s),
                }
            )
        made = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        few = made["senders"] < releases[0].k
        for title, chosen, colour in (
            ("sent by k people or more", ~few, REPORT),
            ("sent by fewer than k", few, "#b2182b"),
        ):
            if not chosen.any():
                continue
            page.outlines(
                self,
                list(made["shape"][chosen]),
                mark=Mark(f"cloak {title}", colour, "line"),
                title=f"Cloaks {title} (no ε is claimed)",
                name="Cloak",
                facts=[
                    Fact("Reported", made["from"][chosen], form="clock"),
                    Fact("Under the name", made["who"][chosen].tolist(), form="words"),
                    Fact("Area", made["area"][chosen], unit="km²", digits=3),
                    Fact("Sent by", made["senders"][chosen], unit="people"),
                ],
                from_s=made["from"][chosen],
                until_s=made["until"][chosen],
                what="cloaks",
            )


class CandidatesLayer(Layer):
    """Places of a few people of which one is true, as their phones reported them: no ε is claimed for them."""

    kind: ClassVar[str] = "candidates"
    title: ClassVar[str] = "True and made-up places (no ε is claimed)"
    public: ClassVar[bool] = False  # nothing is promised about them
    level: ClassVar[int] = 45

    max_people: int = Field(default=6, gt=0)
    """Maximum number of people, the same at all times; each has a colour."""

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw the places of a few people; each appears when it is reported."""
        releases = [release for release in run.releases if isinstance(release, Candidates)]
        if not releases:
            return
        rows = _choose_rows(releases, self.max_people, page)
        x_m, y_m, who, time_s, person = [], [], [], [], []
        for release, row in zip(releases, rows, strict=True):
            x, y = release.list_places(row)
            x_m.append(x.ravel())
            y_m.append(y.ravel())
            who.append(np.repeat(release.who[row], x.shape[1]))
            person.append(np.repeat(np.arange(row.size), x.shape[1]))
            time_s.append(np.full(x.size, release.time_s))
        people = max(row.size for row in rows)
        marks = [Mark(f"place of person {one + 1}", _COLOURS[one % len(_COLOURS)], "square") for one in range(people)]
        page.points(
            self,
            np.concatenate(x_m),
            np.concatenate(y_m),
            marks=marks,
            mark=np.concatenate(person),
            name="Reported place",
            facts=[
                Fact("Reported", np.concatenate(time_s), form="clock"),
                Fact("Under the name", np.concatenate(who).tolist(), form="words"),
            ],
            appears_s=np.concatenate(time_s),
            what="reported places",
        )


def _choose_rows(releases: list[Any], most: int, page: Page) -> list[Any]:
    """Return the rows of the same few people in every release; pseudonyms are random, so the first are a sample."""
    known = sorted(set(np.concatenate([release.who[: 4 * most] for release in releases]).tolist()))
    chosen = np.array(known[:most], dtype=releases[0].who.dtype)
    total = max(release.size for release in releases)
    if chosen.size < total:
        page.note(f"reports of {chosen.size:,} of {total:,} people")
    return [np.flatnonzero(np.isin(release.who, chosen)) for release in releases]


def _ends(releases: list[Cloaks]) -> list[float]:
    """Return until when each release is the newest one (-1: to the end)."""
    times: list[Points] = list(releases[1:])
    return [*(release.time_s for release in times), -1.0]
