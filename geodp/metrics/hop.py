"""How many radio hops a message to all workers of a region takes (HOP)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from geodp.metrics import Measured, Metric
from geodp.metrics.intervals import mean
from geodp.metrics.protocol import decided, plans_regions
from geodp.public.events import Kind

if TYPE_CHECKING:
    import pandas as pd

    from geodp.run_folder.folder import RunFolder


class Hop(Metric):
    """Diagonal of the smallest box around the workers who were asked, in hops of two radio ranges, mean over tasks.

    The box lies along the axes. Tasks about which nobody was asked have none and are left out; so are those undecided
    when the run ends. Only for regions of cells.

    Reference
    ---------
    To, Ghinita and Shahabi 2014, hop count of the infrastructure-less mode.
    """

    kind: ClassVar[str] = "hop"
    unit: ClassVar[str] = "hops"
    better: ClassVar[str] = "lower"
    topic: ClassVar[str] = "effort"

    radio_range_m: float = Field(100.0, gt=0)
    """Range of a phone's own radio, metres."""

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Average the hops."""
        hops = self.per_task(run)
        return {} if hops is None else {self.kind: mean(hops)}

    def per_task(self, run: RunFolder) -> pd.Series | None:
        """Return the hops of each decided task about which somebody was asked."""
        if not plans_regions(run):
            return None
        events = run.events
        asked = events[events["kind"].isin([Kind.REFUSAL, Kind.ACCEPTANCE])].groupby("task")[["x_m", "y_m"]]
        sides = asked.max() - asked.min()
        diagonal_m: pd.Series = (sides["x_m"] ** 2 + sides["y_m"] ** 2) ** 0.5
        return diagonal_m[diagonal_m.index.isin(decided(run).index)] / (2 * self.radio_range_m)
