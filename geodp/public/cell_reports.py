"""What phones answer when they are asked in which cell they are: reports under names, with their public law."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geodp.public.cell_laws import Answers, CellLaw, Integers
from geodp.public.guarantee import Guarantee


@dataclass(frozen=True, eq=False)
class CellReports:
    """One report per phone about its cell, as the server gets them.

    Parameters
    ----------
    time_s
        When, seconds from the start of the run.
    mechanism, guarantee
        Kind of the mechanism on the phone, and what one report promises.
    law
        The public law of a report.
    who
        Pseudonym of each reporter, ascending; empty where a shuffler took the names off.
    answers
        Reports, a row each, in that order.
    tally
        How often further reports support each cell, where a simulation drew their sum alone (None: there are none).
    further
        How many these are.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.geometry import Grid
    >>> from geodp.public.cell_laws import CellLaw
    >>> from geodp.public.cell_reports import CellReports
    >>> from geodp.public.guarantee import Guarantee
    >>> law = CellLaw("grr", 1.0, Grid(0.0, 0.0, 100.0, 100.0, columns=2, rows=1))
    >>> heard = CellReports(0.0, "mine", Guarantee.none("an example"), law, np.array(["a", "b"]), np.array([[0], [1]]))
    >>> heard.size, heard.supports().tolist()
    (2, [1, 1])
    """

    time_s: float
    mechanism: str
    guarantee: Guarantee
    law: CellLaw
    who: npt.NDArray[np.str_]
    answers: Answers
    tally: Integers | None = None
    further: int = 0

    @property
    def size(self) -> int:
        """Number of reports."""
        return len(self.answers) + self.further

    def supports(self) -> Integers:
        """Return how many reports support each cell."""
        own = self.law.add_up(self.answers)
        return own if self.tally is None else own + self.tally
