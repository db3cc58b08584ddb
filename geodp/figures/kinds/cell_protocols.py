"""How far off counts are that a server works out from answers about cells, protocol by protocol."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from geodp.device.cell_response import draw_answers
from geodp.figures.kinds import FigureKind, Making, points_table
from geodp.geometry import Grid
from geodp.privacy.noise import SimulatedNoise
from geodp.public.cell_laws import PROTOCOLS, CellLaw, count_variance

if TYPE_CHECKING:
    import pandas as pd

DRAWN, STATED, RATIO = "standard deviation, drawn", "standard deviation, formula", "grr over the least of the others"


class CellProtocols(FigureKind):
    """Standard deviation of the count of an empty cell, against the number of cells: drawn, and by its formula.

    `people` are spread evenly over half of the cells; what is drawn is the root mean square of the counts of the
    others, in `repeats` rounds with luck of their own. The third quantity, of the formulas, says where direct answers
    are best: below 1.

    Reference
    ---------
    [recalled] Wang, Blocki, Li, Jha 2017, Locally differentially private protocols for frequency estimation, section 4.
    """

    kind: ClassVar[str] = "cell_protocols"

    lines: tuple[str, ...] = PROTOCOLS
    """The lines."""
    epsilon: float = Field(default=1.0, gt=0, le=5)
    """ε of one answer."""
    cells: tuple[int, ...] = (4, 6, 8, 10, 11, 16, 24, 40, 64, 100, 160, 256)
    """Numbers of cells."""
    people: int = Field(default=10_000, ge=1)
    """How many answer."""
    repeats: int = Field(default=20, ge=2)
    """Rounds."""

    def points(self, making: Making) -> pd.DataFrame:  # noqa: ARG002 - everything is in the fields
        """Draw answers, and count; beside it the formula."""
        rows = []
        for cells in self.cells:
            for protocol in self.lines:
                law = self._law(protocol, cells)
                if law is None:
                    continue
                stated = self._find_deviation(protocol, cells)
                for number in range(self.repeats):
                    rows.append((DRAWN, protocol, float(cells), number, self._error(law, number)))
                    rows.append((STATED, protocol, float(cells), number, stated))
            rows.append(
                (RATIO, "grr", float(cells), 0, self._find_deviation("grr", cells) / self._find_deviation("oue", cells))
            )
        return points_table(rows)

    def _find_deviation(self, protocol: str, cells: int) -> float:
        return math.sqrt(float(count_variance(protocol, self.epsilon, cells, reports=self.people)))

    def _law(self, protocol: str, cells: int) -> CellLaw | None:
        """Return the law (None: more hash values than cells, which is refused)."""
        from geodp.errors import UsageError

        grid = Grid(west_m=0.0, south_m=0.0, cell_x_m=1.0, cell_y_m=1.0, columns=cells, rows=1)
        try:
            return CellLaw(protocol, self.epsilon, grid)
        except UsageError:
            return None

    def _error(self, law: CellLaw, number: int) -> float:
        rng = np.random.default_rng([number, law.cells.size, PROTOCOLS.index(law.protocol)])
        own = CellLaw(law.protocol, law.epsilon, law.cells, law.functions, pool=int(rng.integers(2**53)))
        half = law.cells.size // 2
        answers = draw_answers(own, np.arange(self.people) % half, SimulatedNoise(rng))
        p, q = own.chances
        counts = (own.add_up(answers) - self.people * q) / (p - q)
        return float(np.sqrt(np.mean(counts[half:] ** 2)))
