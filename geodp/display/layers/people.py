"""People on the map: where they were, what their phones reported, and where an adversary thinks they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from geodp.display.colours import GUESS, IDLE, REPORT, TRAVELLING
from geodp.display.drawing import Fact, Mark
from geodp.display.layers import Layer
from geodp.public.place_sets import PlaceSets
from geodp.public.release import Points

if TYPE_CHECKING:
    import pandas as pd

    from geodp.display.page import Page
    from geodp.run_folder.folder import RunFolder


class WorkersLayer(Layer):
    """True positions of a sample of workers, moving with the clock (truth)."""

    kind: ClassVar[str] = "workers"
    title: ClassVar[str] = "Workers"
    level: ClassVar[int] = 70

    shown: bool = False
    """Whether the layer is ticked when the map opens."""
    max_workers: int = Field(default=300, gt=0)
    """Maximum number of workers who move on the map."""

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


class ReportsLayer(Layer):
    """Places that phones reported to the server, a sample of people: all it knows about each of them."""

    kind: ClassVar[str] = "reports"
    title: ClassVar[str] = "Reports of phones"
    public: ClassVar[bool] = True
    level: ClassVar[int] = 45

    max_people: int = Field(default=50, gt=0)
    """Maximum number of people, the same at all times."""

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw the reports of a few people; each appears when it is made."""
        releases = [
            release
            for release in run.releases
            if isinstance(release, Points) and not isinstance(release, PlaceSets)  # those have layers of their own
        ]
        if not releases:
            return
        # Where the server works out a density from the reports, that is what a reader looks at first.
        shown = self.shown if "shown" in self.model_fields_set else not run.estimates
        people = min(self.max_people, max(page.max_points // len(releases), 1), releases[0].size)
        if people < releases[0].size:
            page.note(f"reports of {people:,} of {releases[0].size:,} people")
        # Pseudonyms are random, so the first ones are a random sample.
        who, x_m, y_m = (
            np.concatenate([getattr(release, name)[:people] for release in releases]) for name in ("who", "x_m", "y_m")
        )
        time_s = np.repeat([release.time_s for release in releases], people)
        page.points(
            self.model_copy(update={"shown": shown}),
            x_m,
            y_m,
            marks=[Mark("reported place", REPORT, "square")],
            name="Report",
            facts=[Fact("Reported", time_s, form="clock"), Fact("Under the name", who.tolist(), form="words")],
            appears_s=time_s,
            what="reports",
        )


class ReportErrorsLayer(Layer):
    """Lines from where people were to what their phones reported, a sample at one moment (truth)."""

    kind: ClassVar[str] = "report_errors"
    title: ClassVar[str] = "Errors of reports"
    level: ClassVar[int] = 52

    shown: bool = False
    """Whether the layer is ticked when the map opens."""
    max_people: int = Field(default=100, gt=0)
    """Maximum number of people."""

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw true places and reports of the moment in the middle of the run."""
        made = [(number, release) for number, release in enumerate(run.releases) if isinstance(release, Points)]
        if not made:
            return
        number, release = made[len(made) // 2]
        truth = run.positions
        truth = truth[(truth["release"] == number) & truth["who"].isin(release.who)]  # not all need have reported
        truth = truth.sort_values("who").head(self.max_people)
        row = np.searchsorted(release.who, truth["who"].to_numpy(dtype=release.who.dtype))
        true_x, true_y = truth["x_m"].to_numpy(), truth["y_m"].to_numpy()
        x, y = release.x_m[row], release.y_m[row]
        page.note(f"errors of the reports of {len(truth):,} people at {_clock(run, release.time_s)}")
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


def _clock(run: RunFolder, time_s: float) -> str:
    """Return a moment of the run as time of day."""
    minutes = round((run.scenario.start_s + time_s) / 60) % (24 * 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


class GuessesLayer(Layer):
    """Lines from where people were to where the strongest attack thinks they are, a sample at one moment (truth)."""

    kind: ClassVar[str] = "guesses"
    title: ClassVar[str] = "Adversary's guesses"
    level: ClassVar[int] = 54

    shown: bool = False
    """Whether the layer is ticked when the map opens."""
    max_people: int = Field(default=100, gt=0)
    """Maximum number of people."""

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw true places and guesses of the moment in the middle of the run."""
        scores = run.attacks
        if scores.empty:
            self._draw_places(run, page)
            return
        guesses = _strongest(scores)
        moments = np.unique(guesses["release"])
        number = int(moments[moments.size // 2])
        truth = run.positions
        truth = truth[truth["release"] == number].rename(columns={"x_m": "true_x_m", "y_m": "true_y_m"})
        shown = guesses[guesses["release"] == number].merge(truth, on=["release", "who"])
        shown = shown.sort_values("who").head(self.max_people)
        page.note(f"guesses about {len(shown):,} people at {_clock(run, float(run.releases[number].time_s))}")
        page.lines(
            self,
            (shown["true_x_m"].to_numpy(), shown["true_y_m"].to_numpy()),
            (shown["x_m"].to_numpy(), shown["y_m"].to_numpy()),
            mark=Mark("from the true place to the guess", GUESS, "line"),
            name="Guess about worker",
            ids=shown["worker"].to_numpy(),
            facts=[
                Fact("About", shown["time_s"].to_numpy(), form="clock"),
                Fact("Method", shown["method"].to_list(), form="words"),
                Fact("Off by", shown["error_m"].to_numpy(), unit="m"),
                Fact("Without any release", shown["prior_error_m"].to_numpy(), unit="m"),
            ],
            from_s=shown["time_s"].to_numpy(),
            until_s=shown["time_s"].to_numpy(),
            what="guesses",
        )

    def _draw_places(self, run: RunFolder, page: Page) -> None:
        """Draw what was found from everything together, of the first attack on places: homes, places of work."""
        if not run.has("truth/found_places.parquet"):
            return
        found = run.table("truth/found_places.parquet")
        shown = found[found["attack"] == found["attack"].iloc[0]].sort_values("who").head(self.max_people)
        x, y, true_x, true_y = (shown[name].to_numpy() for name in ("x_m", "y_m", "true_x_m", "true_y_m"))
        page.note(f"guesses about {len(shown):,} people, from all there is")
        page.lines(
            self,
            (true_x, true_y),
            (x, y),
            mark=Mark("from the true place to the guess", GUESS, "line"),
            name="Guess",
            facts=[
                Fact("Attack", shown["attack"].to_list(), form="words"),
                Fact("Off by", np.hypot(x - true_x, y - true_y), unit="m"),
            ],
            what="guesses",
        )


def _strongest(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the guesses of the method with the least mean error."""
    errors = scores.groupby(["number", "method"], as_index=False)["error_m"].mean()
    number, method, _ = errors.loc[errors["error_m"].idxmin()]
    chosen: pd.DataFrame = scores[(scores["number"] == number) & (scores["method"] == method)]
    return chosen
