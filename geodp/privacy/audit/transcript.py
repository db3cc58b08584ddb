"""Releases followed question by question: what they ask of their data must cost no more than they claim.

A release asks its data for numbers and gets noisy answers; all else must follow from the answers. So it is run on one
input, and then on its neighbour with the answers of the first run put into its mouth. Three things can go wrong, and
none of them needs samples to be seen: the questions cost more together than is claimed (composition, with the noise
that was really asked for), a question or its noise changes with the data (then so does what it may answer), or the
output differs although all answers were the same (or there is none): something was read that nobody paid for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from geodp.errors import GeodpError
from geodp.privacy.audit_case import TranscriptCase
from geodp.privacy.noise import Array, Integers, Noise, checked_logits


@dataclass(frozen=True, eq=False)
class Asked:
    """A question, and the answer that it got."""

    what: str
    true: Array
    """True numbers (laplace), log-probabilities (choose), nothing (uniform: it asks nothing of the data)."""
    scale: float
    answer: npt.NDArray[Any]


class _ToldApart(Exception):
    """The two inputs ask different things: what is asked depends on data, unpaid."""


class CannotFollow(GeodpError):
    """Noise was drawn apart from what it hides: only samples can tell what such a release gives away."""


class _Followed:
    """Noise that is told what it hides, so that it can give the answers itself."""

    def __init__(self, *, releasable: bool, mode: str) -> None:
        self.releasable = releasable
        self.mode = mode

    def laplace(self, scale: npt.ArrayLike, size: int) -> NoReturn:  # noqa: ARG002
        """Refuse noise by itself."""
        raise CannotFollow("noise was drawn apart from what it hides: use laplace_counts, so that it can be followed")

    geometric = gaussian = laplace


class Overheard(_Followed):
    """Passes questions on to real noise, and notes them with their answers."""

    def __init__(self, source: Noise) -> None:
        super().__init__(releasable=source.releasable, mode=source.mode)
        self.asked: list[Asked] = []
        self._source = source

    def laplace_answer(self, values: npt.NDArray[Any], scale: float) -> Array:
        """Answer with Laplace noise."""
        answer = values + self._source.laplace(scale, values.size).reshape(values.shape)
        self.asked.append(Asked("laplace", np.array(values, dtype=np.float64), scale, answer.copy()))
        return np.asarray(answer)

    def choose(self, logits: npt.ArrayLike, size: int | None = None) -> Integers:
        """Choose by the logits."""
        answer = self._source.choose(logits, size)
        self.asked.append(Asked("choose", _log_probabilities(logits), 1.0, answer.copy()))
        return answer

    def uniform(self, size: int) -> Array:
        """Draw numbers that nothing depends on yet."""
        answer = self._source.uniform(size)
        self.asked.append(Asked("uniform", np.empty(0), 1.0, answer.copy()))
        return answer


class Retold(_Followed):
    """Gives the answers of an earlier run, and adds up how far they tell the two inputs apart."""

    def __init__(self, first: Overheard) -> None:
        super().__init__(releasable=first.releasable, mode=first.mode)
        self.spent = 0.0
        self._left = list(first.asked)

    @property
    def finished(self) -> bool:
        """Whether as much was asked as before."""
        return not self._left

    def laplace_answer(self, values: npt.NDArray[Any], scale: float) -> Array:
        """Answer as before; |change|/scale is the most that an answer may tell."""
        earlier = self._earlier("laplace", values.shape, scale)
        self.spent += float(np.abs(earlier.true - values).sum()) / scale
        return np.array(earlier.answer)

    def choose(self, logits: npt.ArrayLike, size: int | None = None) -> Integers:
        """Choose as before; the most that a choice may tell is the largest change of a log-probability."""
        now = _log_probabilities(logits)
        earlier = self._earlier("choose", now.shape, 1.0)
        draws = len(now) if now.ndim > 1 else 1 if size is None else size
        if earlier.answer.size != draws:
            raise _ToldApart
        most = np.abs(earlier.true - now).max(axis=-1)
        self.spent += float(most.sum() if now.ndim > 1 else most * draws)
        return np.array(earlier.answer)

    def uniform(self, size: int) -> Array:
        """Draw the same numbers."""
        earlier = self._earlier("uniform", (0,), 1.0)
        if earlier.answer.size != size:
            raise _ToldApart
        return np.array(earlier.answer)

    def _earlier(self, what: str, shape: tuple[int, ...], scale: float) -> Asked:
        earlier = self._left.pop(0) if self._left else None
        if earlier is None or (earlier.what, earlier.true.shape, earlier.scale) != (what, shape, scale):
            raise _ToldApart
        return earlier


def spent_along(case: TranscriptCase, noise: Noise) -> float:
    """Return the most that a few releases asked of a pair of inputs, either of them first (infinite: told apart)."""
    return max(_spent_once(case, noise, first) for _ in range(case.runs) for first in (True, False))


def _spent_once(case: TranscriptCase, noise: Noise, first: bool) -> float:
    overheard = Overheard(noise)
    try:
        told = case.release(overheard, first)
    except CannotFollow:
        raise
    except Exception:  # noqa: BLE001 - as below
        case.release(Overheard(noise), not first)  # raises where it fails on both: then nothing is told apart
        return math.inf
    retold = Retold(overheard)
    try:
        again = case.release(retold, not first)
    except Exception:  # noqa: BLE001 - whatever it is, it happens on one input only, which tells the two apart
        return math.inf
    return retold.spent if retold.finished and _same(told, again) else math.inf


def _same(one: Sequence[npt.ArrayLike], other: Sequence[npt.ArrayLike]) -> bool:
    return len(one) == len(other) and all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def _log_probabilities(logits: npt.ArrayLike) -> Array:
    table = checked_logits(logits)
    table = table - table.max(axis=-1, keepdims=True)
    return np.asarray(table - np.log(np.exp(table).sum(axis=-1, keepdims=True)))
