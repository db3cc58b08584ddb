"""Following people through their reports."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from geodp.attacks import AttackView, Guesses
from geodp.attacks._hidden_markov import Steps, forward_backward, viterbi
from geodp.attacks._prior import AttackWithPrior, Prior
from geodp.attacks._windows import Windows, around, best_cells, likelihood_of
from geodp.geometry import Array, Region
from geodp.public.release import Points

SMOOTHED, VITERBI = "smoothed", "viterbi"
SIDE = 40
_PADDING = 4.74  # in 1/ε: 95 % of places lie nearer to their report
_PEOPLE_AT_ONCE = 20


class Tracking(AttackWithPrior):
    """Guess each position from all reports of the same person: reports that can be linked tell more than one.

    A hidden Markov model with a public mobility model (people stay, or move by Gaussian steps). `smoothed` is the least
    expected distance under the forward-backward belief at each time, `viterbi` the most likely path. Counts name
    nobody and cannot be linked: nothing is guessed from them.

    Reference
    ---------
    Shokri, Theodorakopoulos, Le Boudec, Hubaux 2011, "Quantifying Location Privacy" (tracking attack).
    """

    kind: ClassVar[str] = "tracking"
    reads: ClassVar[frozenset[str]] = frozenset({"points"})

    people: int = Field(default=200, ge=1)
    """Maximum number of people followed."""
    speed_mps: float = Field(default=2.0, gt=0)
    """Root mean square speed of people on the move, in a straight line from report to report (m/s)."""
    still_share: float = Field(default=0.7, ge=0, lt=1)
    """Probability that somebody has not moved since the last report."""
    still_m: float = Field(default=20.0, gt=0)
    """How far those who have not moved may have strayed (m, standard deviation per coordinate)."""

    def guess(self, view: AttackView) -> Guesses:
        """Follow everyone whose reports are there at all times."""
        numbered = [(number, release) for number, release in enumerate(view.releases) if isinstance(release, Points)]
        blind = self.blind(view.region).best_guess()
        if not numbered:
            return Guesses.joined([], blind)
        numbers, releases = [number for number, _ in numbered], [release for _, release in numbered]
        who = _always_there(releases)[: self.people]
        reports = np.stack([_reports(release, who) for release in releases], axis=1)
        prior = self.informed(view)
        steps = Steps(self.still_share, self.still_m, self.speed_mps)
        tracks = [
            _follow(reports[start : start + _PEOPLE_AT_ONCE], releases, prior, steps, view.region)
            for start in range(0, len(who), _PEOPLE_AT_ONCE)
        ]
        parts = []
        for method in (SMOOTHED, VITERBI):
            path = np.concatenate([track[method] for track in tracks])
            parts += [(method, number, who, path[:, t, 0], path[:, t, 1]) for t, number in enumerate(numbers)]
        return Guesses.joined(parts, blind)


def _follow(reports: Array, releases: Sequence[Points], prior: Prior, steps: Steps, region: Region) -> dict[str, Array]:
    """Return the paths of some people by each method, as [person, time, coordinate]."""
    channel = releases[0].channel
    if channel is None:
        exact = np.stack(region.clamp(reports[..., 0], reports[..., 1]), axis=-1)
        return {SMOOTHED: exact, VITERBI: exact}
    people, times, _ = reports.shape
    windows = _windows(reports, _PADDING / channel.epsilon_per_m, region)
    x, y = windows.places()
    start = prior.at(x, y)
    start[~(start > 0).any(axis=1)] = 1.0
    cells = np.repeat(x, times, axis=0), np.repeat(y, times, axis=0)
    likelihood = likelihood_of(channel, reports[..., 0].ravel(), reports[..., 1].ravel(), *cells)
    likelihood *= np.repeat(start > 0, times, axis=0)  # nobody walks where nobody can be
    square = (SIDE, SIDE)
    seconds = np.diff([release.time_s for release in releases])
    moves = [steps.matrices(float(gap), windows.cell_m, SIDE) for gap in seconds]
    model = likelihood.reshape(people, times, *square), start.reshape(people, *square), moves
    belief = forward_backward(*model).reshape(people * times, -1)
    return {
        SMOOTHED: _path(windows, best_cells(belief, SIDE).reshape(people, times)),
        VITERBI: _path(windows, viterbi(*model)),
    }


def _windows(reports: Array, padding_m: float, region: Region) -> Windows:
    """Return one square per person that holds all of her reports, and room around them."""
    low, high = reports.min(axis=1), reports.max(axis=1)
    half_m = (high - low).max(axis=1) / 2 + padding_m
    middle = (low + high) / 2
    return around(middle[:, 0], middle[:, 1], half_m, region, SIDE)


def _path(windows: Windows, cells: npt.NDArray[np.int64]) -> Array:
    return np.stack([np.stack(windows.pick(cells[:, t]), axis=-1) for t in range(cells.shape[1])], axis=1)


def _always_there(releases: Sequence[Points]) -> npt.NDArray[np.str_]:
    return reduce(np.intersect1d, [release.who for release in releases])


def _reports(release: Points, who: npt.NDArray[np.str_]) -> Array:
    row = np.searchsorted(release.who, who)
    return np.column_stack([release.x_m[row], release.y_m[row]])
