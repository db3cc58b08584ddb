"""The best guess at one position from one report."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from geodp.attacks import ANYONE, AttackView, Guesses
from geodp.attacks.cell_inference import locate_in_cells
from geodp.attacks.inference import (
    SIDE_OF_WINDOWS,
    AttackWithPrior,
    Prior,
    around,
    best_cells,
    from_counts,
    likelihood_of,
)
from geodp.attacks.place_sets import locate_in_sets
from geodp.geometry import Array, Region
from geodp.public.place_sets import PlaceSets
from geodp.public.release import Points

SIDE = SIDE_OF_WINDOWS  # 2,500 cells around each report
_REACH = 6.64  # in 1/ε: 99 % of reports lie nearer to their place
_REPORTS_AT_ONCE = 2000


class BayesLocation(AttackWithPrior):
    """Guess each position from its report alone: least expected distance under prior and noise law.

    argmin over guesses g of Σ d(g, x)·prior(x)·f(z|x), over 2,500 cells around the report; of an answer about the own
    cell, over the cells of the prior, with the exact law of the answer. Of a rectangle or of several places (cloaks,
    dummies) f is 1 in the set and 0 outside. From counts, which name nobody, the guess is the same for everyone: the
    least expected distance under the released density.

    Reference
    ---------
    Shokri, Theodorakopoulos, Le Boudec, Hubaux 2011, "Quantifying Location Privacy" (expected inference error).
    """

    kind: ClassVar[str] = "bayes_location"

    people: int = Field(default=500, ge=1)
    """Maximum number of people attacked, the same ones at all times."""

    def guess(self, view: AttackView) -> Guesses:
        """Guess where each person was at each release."""
        prior = self.learn_prior(view)
        parts = []
        for number, release in enumerate(view.releases):
            answers, rows = view.find_reports(number), slice(self.people)
            if isinstance(release, Points):
                x, y = locate(release, rows, prior, view.region)
                parts.append((self.kind, number, release.who[rows], x, y))
            elif answers is not None:
                x, y = locate_in_cells(answers, rows, prior)
                parts.append((self.kind, number, answers.who[rows], x, y))
            else:
                x_m, y_m = from_counts(prior, release).best_guess()
                parts.append((self.kind, number, np.array([ANYONE]), np.array([x_m]), np.array([y_m])))
        return Guesses.join(parts, self.blind(view.region).best_guess())


def locate(release: Points, rows: slice, prior: Prior, region: Region) -> tuple[Array, Array]:
    """Return the best guess for each of some reports."""
    if isinstance(release, PlaceSets):
        return locate_in_sets(release, rows, prior, region)
    some = release.take(rows)
    guess_x, guess_y = np.empty(some.size), np.empty(some.size)
    for channel, mine in some.by_law():  # each report by the law of its own noise
        if channel is None:
            guess_x[mine], guess_y[mine] = region.clamp(some.x_m[mine], some.y_m[mine])  # the report is the place
            continue
        half_m = _REACH / channel.epsilon_per_m
        for start in range(0, mine.size, _REPORTS_AT_ONCE):
            part = mine[start : start + _REPORTS_AT_ONCE]
            windows = around(some.x_m[part], some.y_m[part], half_m, region, SIDE)
            x, y = windows.places()
            before = prior.at(x, y)
            lost = ~(before > 0).any(axis=1)  # a window where nobody can be: only the noise law is left
            before[lost] = 1.0
            weight = likelihood_of(channel, some.x_m[part], some.y_m[part], x, y) * before
            guess_x[part], guess_y[part] = windows.pick(best_cells(weight, SIDE))
    return guess_x, guess_y
