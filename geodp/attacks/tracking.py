"""Following people through their reports: hidden Markov models of many at once, each on a square window of her own.

A person stays, moves, or now and then is anywhere (by car, or because the model is wrong). Every kind of step is a
product over coordinates, so a step over the plane is a step along and a step across: two small matrices instead of one
large. What is known is kept as [person, time, row, column].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from geodp.attacks import AttackView, Guesses
from geodp.attacks.inference import AttackWithPrior, Prior, Windows, around, best_cells, likelihood_of
from geodp.attacks.place_sets import (
    can_follow,
    choose_candidate,
    find_likeliest_candidates,
    follow_candidates,
    weigh_candidates,
    within,
)
from geodp.geometry import Array, Region
from geodp.public.channels import Channel
from geodp.public.place_sets import Candidates, Cloaks
from geodp.public.release import Points

SMOOTHED, VITERBI = "smoothed", "viterbi"
SIDE = 40
_PADDING = 4.74  # in 1/ε: 95 % of places lie nearer to their report
_PEOPLE_AT_ONCE = 20


class Tracking(AttackWithPrior):
    """Guess each position from all reports of the same person: reports that can be linked tell more than one.

    A hidden Markov model with a public mobility model (people stay, or move by Gaussian steps). `smoothed` is the least
    expected distance under the forward-backward belief at each time, `viterbi` the most likely path. Reports
    that name several places are followed from place to place, rectangles within their edges. Counts name nobody and
    cannot be linked: nothing is guessed from them.

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
    top_speed_mps: float | None = Field(default=None, gt=0)
    """Nobody is faster (m/s): of reports that name several places, those that cannot be reached are made up (null: a
    few people are anywhere by the next report)."""

    def guess(self, view: AttackView) -> Guesses:
        """Follow everyone whose reports are there at all times."""
        numbered = [(number, release) for number, release in enumerate(view.releases) if isinstance(release, Points)]
        blind = self.blind(view.region).best_guess()
        if not numbered:
            return Guesses.join([], blind)
        numbers, releases = [number for number, _ in numbered], [release for _, release in numbered]
        who = _always_there(releases)[: self.people]
        reports = np.stack([_reports(release, who) for release in releases], axis=1)
        prior = self.learn_prior(view)
        paths = {method: np.empty(reports.shape) for method in (SMOOTHED, VITERBI)}
        for channel, mine in _by_law(releases[0], who):  # each person by the law of her own noise
            for start in range(0, mine.size, _PEOPLE_AT_ONCE):
                some = mine[start : start + _PEOPLE_AT_ONCE]
                followed = self._follow(reports[some], releases, channel, prior, view.region, who=who[some])
                for method, track in followed.items():
                    paths[method][some] = track
        parts = []
        for method, path in paths.items():
            parts += [(method, number, who, path[:, t, 0], path[:, t, 1]) for t, number in enumerate(numbers)]
        return Guesses.join(parts, blind)

    def _follow(
        self,
        reports: Array,
        releases: Sequence[Points],
        channel: Channel | None,
        prior: Prior,
        region: Region,
        *,
        who: npt.NDArray[np.str_],
    ) -> dict[str, Array]:
        """Return the paths of people whose reports have one law, by each method, as [person, time, coordinate]."""
        steps = Steps(self.still_share, self.still_m, self.speed_mps, self.top_speed_mps)
        candidates = [release for release in releases if isinstance(release, Candidates)]
        if len(candidates) == len(releases):
            return _follow_candidates(candidates, who, prior, steps, region)
        cloaks = [release for release in releases if isinstance(release, Cloaks)]
        if len(cloaks) == len(releases):
            return _follow_cloaks(cloaks, who, prior, steps, region)
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


def _follow_cloaks(
    releases: Sequence[Cloaks], who: npt.NDArray[np.str_], prior: Prior, steps: Steps, region: Region
) -> dict[str, Array]:
    """Return the paths of some people who are inside one rectangle after the other."""
    rows = [np.searchsorted(release.who, who) for release in releases]
    west, south, east, north = (
        np.stack([getattr(release, side)[row] for release, row in zip(releases, rows, strict=True)], axis=1)
        for side in ("west_m", "south_m", "east_m", "north_m")
    )
    people, times = west.shape
    low, high = np.stack([west, south]).min(axis=2), np.stack([east, north]).max(axis=2)
    middle, half_m = (low + high) / 2, np.maximum((high - low).max(axis=0) / 2, 1.0)
    windows = around(middle[0], middle[1], half_m, region, SIDE)
    x, y = windows.places()
    start = prior.at(x, y)
    start[~(start > 0).any(axis=1)] = 1.0
    cells = np.repeat(x, times, axis=0), np.repeat(y, times, axis=0)
    likelihood = within(*cells, (west.ravel(), south.ravel(), east.ravel(), north.ravel()))
    square = (SIDE, SIDE)
    seconds = np.diff([release.time_s for release in releases])
    moves = [steps.matrices(float(gap), windows.cell_m, SIDE) for gap in seconds]
    model = likelihood.reshape(people, times, *square), start.reshape(people, *square), moves
    belief = forward_backward(*model).reshape(people * times, -1)
    paths = {
        SMOOTHED: _path(windows, best_cells(belief, SIDE).reshape(people, times)),
        VITERBI: _path(windows, viterbi(*model)),
    }
    inside = np.stack([west, south], axis=-1), np.stack([east, north], axis=-1)
    return {method: np.clip(path, *inside) for method, path in paths.items()}


def _follow_candidates(
    releases: Sequence[Candidates], who: npt.NDArray[np.str_], prior: Prior, steps: Steps, region: Region
) -> dict[str, Array]:
    """Return the paths of some people through the places that their reports name."""
    rows = [np.searchsorted(release.who, who) for release in releases]
    places = [release.list_places(row) for release, row in zip(releases, rows, strict=True)]
    seconds = np.diff([release.time_s for release in releases])
    area_m2 = region.width_m * region.height_m
    likely = [
        steps.between(before, after, float(gap), area_m2)
        for before, after, gap in zip(places[:-1], places[1:], seconds, strict=True)
    ]
    start = weigh_candidates(prior, *places[0])
    belief = follow_candidates(start, likely)
    best = find_likeliest_candidates(start, likely)
    everyone = np.arange(len(start))
    smoothed = [np.stack(choose_candidate(*at, belief[:, t]), axis=-1) for t, at in enumerate(places)]
    likeliest = [np.stack([place[everyone, best[:, t]] for place in at], axis=-1) for t, at in enumerate(places)]
    return {SMOOTHED: np.stack(smoothed, axis=1), VITERBI: np.stack(likeliest, axis=1)}


def _by_law(release: Points, who: npt.NDArray[np.str_]) -> list[tuple[Channel | None, npt.NDArray[np.int64]]]:
    """Return the public laws of some people's reports, each with the rows of those people."""
    if release.group is None:
        return [(release.channel, np.arange(len(who)))]
    return release.take(np.searchsorted(release.who, who)).by_law()


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


_LEAST_SPREAD = 0.3  # in cells: a narrower step could not be told from staying in the cell
_ANYWHERE_SHARE = 0.05


@dataclass(frozen=True)
class Steps:
    """The public mobility model: how far people get between two reports."""

    still_share: float
    """Probability that somebody stays where she is until the next report."""
    still_m: float
    """How far those who stay may stray, metres (standard deviation per coordinate)."""
    speed_mps: float
    """Root mean square speed of those who move."""
    top_speed_mps: float | None = None
    """Nobody is faster (None: some are anywhere)."""

    def between(self, before: tuple[Array, Array], after: tuple[Array, Array], seconds: float, area_m2: float) -> Array:
        """Return how likely each step between some places and others is: [person, before, after], per square metre."""
        square = sum((one[:, :, None] - other[:, None, :]) ** 2 for one, other in zip(before, after, strict=True))
        total = np.full(np.shape(square), _ANYWHERE_SHARE / area_m2)
        moved_m = max(self.speed_mps * seconds / np.sqrt(2), self.still_m)
        for share, spread_m in ((self.still_share, self.still_m), (1 - self.still_share, moved_m)):
            density = np.exp(-np.asarray(square) / (2 * spread_m**2)) / (2 * np.pi * spread_m**2)
            total += (1 - _ANYWHERE_SHARE) * share * density
        if self.top_speed_mps is not None:
            total = np.where(can_follow(before, after, self.top_speed_mps * seconds), total, 0.0)
        return total

    def matrices(self, seconds: float, cell_m: Array, side: int) -> list[tuple[float, Array]]:
        """Return the share of each kind of step, and its matrix [person, from, to] along one coordinate."""
        moved_m = self.speed_mps * seconds / np.sqrt(2)  # two coordinates share the mean square
        known = 1 - _ANYWHERE_SHARE
        kinds = [(known * self.still_share, self.still_m), (known * (1 - self.still_share), moved_m)]
        steps = [(share, _gaussian(spread_m / cell_m, side)) for share, spread_m in kinds if share > 0]
        return [*steps, (_ANYWHERE_SHARE, np.full((cell_m.size, side, side), 1 / side))]


def _gaussian(spread_cells: Array, side: int) -> Array:
    """Return steps within the window; whoever would leave it stays inside."""
    place = np.arange(side)
    spread = np.maximum(spread_cells, _LEAST_SPREAD)[:, None, None]
    step = np.exp(-0.5 * ((place[:, None] - place) / spread) ** 2)
    return np.asarray(step / step.sum(axis=2, keepdims=True))


def forward_backward(likelihood: Array, start: Array, moves: list[list[tuple[float, Array]]]) -> Array:
    """Return P(place at each time | all reports), as [person, time, row, column].

    Parameters
    ----------
    likelihood
        f(report | place) as [person, time, row, column], each report up to a factor.
    start
        Prior of the first place, [person, row, column].
    moves
        The kinds of step between each two times.
    """
    times = likelihood.shape[1]
    seen = np.empty_like(likelihood)
    seen[:, 0] = _scale_belief(start * likelihood[:, 0])
    for t in range(1, times):
        seen[:, t] = _scale_belief(_forward(seen[:, t - 1], moves[t - 1]) * likelihood[:, t])
    later = np.ones_like(start)
    for t in range(times - 2, -1, -1):
        later = _scale_belief(_backward(later * likelihood[:, t + 1], moves[t]))
        seen[:, t] = _scale_belief(seen[:, t] * later)
    return seen


def viterbi(likelihood: Array, start: Array, moves: list[list[tuple[float, Array]]]) -> npt.NDArray[np.int64]:
    """Return the cells of the most likely path, as [person, time]; a cell is row · side + column."""
    people, times, side, _ = likelihood.shape
    with np.errstate(divide="ignore"):
        score, seen = np.log(start), np.log(likelihood)
        logs = [[(np.log(share), np.log(matrix)) for share, matrix in kinds] for kinds in moves]
    score = score + seen[:, 0]
    before = np.empty((people, times, side * side), dtype=np.int64)
    for t in range(1, times):
        score, before[:, t] = _best_step(score, logs[t - 1])
        score = score + seen[:, t]
    path = np.empty((people, times), dtype=np.int64)
    path[:, -1] = np.argmax(score.reshape(people, -1), axis=1)
    for t in range(times - 1, 0, -1):
        path[:, t - 1] = np.take_along_axis(before[:, t], path[:, t, None], axis=1)[:, 0]
    return path


def _forward(now: Array, kinds: list[tuple[float, Array]]) -> Array:
    return sum((share * (step.transpose(0, 2, 1) @ now @ step) for share, step in kinds), start=np.zeros_like(now))


def _backward(then: Array, kinds: list[tuple[float, Array]]) -> Array:
    return sum((share * (step @ then @ step.transpose(0, 2, 1)) for share, step in kinds), start=np.zeros_like(then))


def _best_step(score: Array, kinds: list[tuple[Array, Array]]) -> tuple[Array, npt.NDArray[np.int64]]:
    """Return the best score of a path into each cell, and the cell it comes from.

    The step's logarithm is a sum over coordinates, so the best origin is found along columns first, then along rows.
    """
    people, side, _ = score.shape
    best = np.full(score.shape, -np.inf)
    origin = np.zeros((people, side, side), dtype=np.int64)
    for share, step in kinds:
        across = score[:, :, :, None] + step[:, None, :, :]  # [person, row, from column, to column]
        from_column = across.argmax(axis=2)
        upto = np.take_along_axis(across, from_column[:, :, None, :], axis=2)[:, :, 0, :]
        along = upto[:, :, None, :] + step[:, :, :, None]  # [person, from row, to row, column]
        from_row = along.argmax(axis=1)
        total = np.take_along_axis(along, from_row[:, None, :, :], axis=1)[:, 0] + share
        column = np.take_along_axis(from_column, from_row, axis=1)
        better = total > best
        best = np.where(better, total, best)
        origin = np.where(better, from_row * side + column, origin)
    return best, origin.reshape(people, -1)


def _scale_belief(belief: Array) -> Array:
    """Return the beliefs with a largest value of 1 each: products of many stay in range."""
    largest = belief.max(axis=(1, 2), keepdims=True)
    return np.asarray(belief / np.where(largest > 0, largest, 1.0))
