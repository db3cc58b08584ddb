"""Neighbours of an item, chosen with a sensitivity of the ratings at hand: what one more person changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from geodp.figures.kinds import FigureKind, Making, points_table
from geodp.geometry import Array

if TYPE_CHECKING:
    import pandas as pd

RATIO = "log-ratio of one person"
PRINTED, CLAIMED, COMMON = "as printed", "claimed", "common visitors"


class NeighbourRatio(FigureKind):
    """By how much one more person changes the chance of being chosen as a neighbour.

    One candidate was rated 1 by `raters` people who also rated the target 1, its rival by 11 such people. One more
    person rates the target and the candidate 5. The selection is given ε/2 (the other half is for the ratings), so no
    chance may change by more than e^(ε/2). Its exponent divides by the sensitivity at the ratings at hand (10.19),
    and that person changes it from 1/(raters - 1) to 25/raters. Scores that count common visitors change by one and are
    divided by one.

    Reference
    ---------
    Zhu et al. 2017, Differential Privacy and Applications, section 10.4.2, algorithm 2 and lemma 10.1.
    """

    kind: ClassVar[str] = "neighbour_ratio"

    lines: tuple[str, ...] = (PRINTED, CLAIMED, COMMON)
    """The lines."""
    raters: tuple[int, ...] = (21, 51, 101, 201)
    """How many people rated the candidate without the one."""
    rival_raters: int = Field(default=11, ge=2)
    """How many people rated its rival."""
    neighbours: int = Field(default=1, ge=1)
    """Neighbours that are chosen (k); the ratio is that of the first choice."""
    epsilon: float = Field(default=1.0, gt=0)
    """ε of a recommendation."""

    def points(self, making: Making) -> pd.DataFrame:  # noqa: ARG002 - everything is in the fields
        """Compute the chances with and without the person, exactly."""
        rows = []
        for number in self.raters:
            rows.append((RATIO, PRINTED, float(number), 0, self._ratio_as_printed(number)))
            rows.append((RATIO, CLAIMED, float(number), 0, self.epsilon / (2 * self.neighbours)))
            rows.append((RATIO, COMMON, float(number), 0, self._ratio_of_visitors(number)))
        return points_table(rows)

    def _ratio_as_printed(self, number: int) -> float:
        rival = np.ones(self.rival_raters)
        logits = [
            np.array([self._exponent(mine), self._exponent(rival)])
            for mine in (np.ones(number), np.append(np.ones(number), 5.0))
        ]
        return _largest_ratio(*logits)

    def _exponent(self, ratings: Array) -> float:
        """Return ε·s/(4k·RS) of algorithm 2, where target and candidate have the same ratings: s is 1."""
        return self.epsilon / (4 * self.neighbours * local_sensitivity(ratings, ratings))

    def _ratio_of_visitors(self, number: int) -> float:
        share = self.epsilon / (2 * self.neighbours)
        return _largest_ratio(*(share * np.array([float(mine), self.rival_raters]) for mine in (number, number + 1)))


def local_sensitivity(one: Array, other: Array) -> float:
    """Return the sensitivity of a cosine according to lemma 10.1, eq. (10.19), at the ratings of the common raters.

    The second term is read with the norms of all raters minus those without one, as (10.21) has it: (10.19) prints the
    difference of a number with itself.
    """
    if one.size < 2:
        return 1.0
    squares = np.array([one @ one, other @ other])
    without = np.sqrt((squares[0] - one**2) * (squares[1] - other**2))
    whole = float(np.sqrt(squares.prod()))
    first = one * other / without
    second = float(one @ other) * (whole - without) / (whole * without)
    return float(max(first.max(), second.max()))


def _largest_ratio(one: Array, other: Array) -> float:
    """Return the largest |log P/Q| of the choices with these two rows of logits."""
    logs = [row - np.logaddexp.reduce(row) for row in (one, other)]
    return float(np.abs(logs[0] - logs[1]).max())
