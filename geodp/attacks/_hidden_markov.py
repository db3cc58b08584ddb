"""Hidden Markov models of many people at once, each on a square window of her own.

A person stays, moves, or now and then is anywhere (by car, or because the model is wrong). Every kind of step is a
product over coordinates, so a step over the plane is a step along and a step across: two small matrices instead of one
large. What is known is kept as [person, time, row, column].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array

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
    seen[:, 0] = _scaled(start * likelihood[:, 0])
    for t in range(1, times):
        seen[:, t] = _scaled(_forward(seen[:, t - 1], moves[t - 1]) * likelihood[:, t])
    later = np.ones_like(start)
    for t in range(times - 2, -1, -1):
        later = _scaled(_backward(later * likelihood[:, t + 1], moves[t]))
        seen[:, t] = _scaled(seen[:, t] * later)
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


def _scaled(belief: Array) -> Array:
    """Return the beliefs with a largest value of 1 each: products of many stay in range."""
    largest = belief.max(axis=(1, 2), keepdims=True)
    return np.asarray(belief / np.where(largest > 0, largest, 1.0))
