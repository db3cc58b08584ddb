"""What an adversary makes of all that the server sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from geodp.display.colours import GUESS
from geodp.display.drawing import Fact, Mark
from geodp.display.layers import Layer
from geodp.display.layers.report_errors import clock

if TYPE_CHECKING:
    import pandas as pd

    from geodp.display.page import Page
    from geodp.run_folder.folder import RunFolder


class GuessesLayer(Layer):
    """Lines from where people were to where the strongest attack thinks they are, a sample at one moment (truth)."""

    kind: ClassVar[str] = "guesses"
    title: ClassVar[str] = "Adversary's guesses"
    level: ClassVar[int] = 54

    shown: bool = False
    """Whether the layer is ticked when the map opens."""
    max_people: int = Field(default=100, gt=0)
    """At most so many people."""

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw true places and guesses of the moment in the middle of the run."""
        scores = run.attacks
        if scores.empty:
            return
        guesses = _strongest(scores)
        moments = np.unique(guesses["release"])
        number = int(moments[moments.size // 2])
        truth = run.positions
        truth = truth[truth["release"] == number].rename(columns={"x_m": "true_x_m", "y_m": "true_y_m"})
        drawn = guesses[guesses["release"] == number].merge(truth, on=["release", "who"])
        drawn = drawn.sort_values("who").head(self.max_people)
        page.note(f"guesses about {len(drawn):,} people at {clock(run, float(run.releases[number].time_s))}")
        page.lines(
            self,
            (drawn["true_x_m"].to_numpy(), drawn["true_y_m"].to_numpy()),
            (drawn["x_m"].to_numpy(), drawn["y_m"].to_numpy()),
            mark=Mark("from the true place to the guess", GUESS, "line"),
            name="Guess about worker",
            ids=drawn["worker"].to_numpy(),
            facts=[
                Fact("About", drawn["time_s"].to_numpy(), form="clock"),
                Fact("Method", drawn["method"].to_list(), form="words"),
                Fact("Off by", drawn["error_m"].to_numpy(), unit="m"),
                Fact("Without any release", drawn["prior_error_m"].to_numpy(), unit="m"),
            ],
            from_s=drawn["time_s"].to_numpy(),
            until_s=drawn["time_s"].to_numpy(),
            what="guesses",
        )


def _strongest(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the guesses of the method with the least mean error."""
    errors = scores.groupby(["number", "method"], as_index=False)["error_m"].mean()
    number, method, _ = errors.loc[errors["error_m"].idxmin()]
    chosen: pd.DataFrame = scores[(scores["number"] == number) & (scores["method"] == method)]
    return chosen
