"""Releases followed question by question: what they ask of their data must cost no more than they claim.

A release asks its data for numbers and gets noisy answers; all else must follow from the answers. So it is run on one
input, and then on its neighbour with the answers of the first run put into its mouth. Three things can go wrong, and
none of them needs samples to be seen: the questions cost more together than is claimed (composition, with the noise
that was really asked for), a question or its noise changes with the data (then so does what it may answer), or the
output differs although all answers were the same (or there is none): something was read that nobody paid for.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from geodp.audit.certify import lower_bound
from geodp.audit.decisions import YES, DecisionsChanged, Step
from geodp.audit.sampled import Change, ChoicesChanged, NumbersChanged, PlacesChanged
from geodp.errors import GeodpError
from geodp.privacy.audit_case import TranscriptCase
from geodp.privacy.noise import Array, Integers, Noise, checked_logits
from geodp.privacy.primitives import (
    planar_geometric_offsets,
)

_COINS, _FALSE_ALARM = 100, 1e-9
"""Releases by which a secret coin is tried, and the probability that a true one is taken for a false one."""


@dataclass(frozen=True, eq=False)
class Question:
    """A question, and the answer that it got."""

    what: str
    true: Any
    """True numbers (laplace, geometric, planar), log-probabilities (choose, series), laws by bag (bags), nothing
    (uniform)."""
    scale: npt.NDArray[Any]
    """Scale of the noise: it must not change with the data."""
    answer: Any


class _ToldApart(Exception):
    """The two inputs ask different things: what is asked depends on data, unpaid."""


class CannotFollow(GeodpError):
    """Noise was drawn apart from what it hides: only samples can tell what such a release gives away."""


class _NotFollowed(CannotFollow, AttributeError):
    """So that whoever asks whether there is such a thing is told no."""


class _Followed:
    """Noise that is told what it hides, so that it can give the answers itself."""

    def __init__(self, *, releasable: bool, mode: str) -> None:
        self.releasable = releasable
        self.mode = mode
        self.drawn_apart = False
        """Whether noise was asked for by itself, which cannot be followed."""

    def laplace(self, scale: npt.ArrayLike, size: int) -> NoReturn:  # noqa: ARG002
        """Refuse noise by itself."""
        self.drawn_apart = True
        raise CannotFollow("noise was drawn apart from what it hides: use laplace_counts, so that it can be followed")

    geometric = gaussian = laplace

    def __getattr__(self, name: str) -> NoReturn:
        """Refuse what a numpy generator has beside: what is drawn by it cannot be followed."""
        if hasattr(np.random.Generator, name):
            self.drawn_apart = True
            raise _NotFollowed(f"'{name}' was drawn apart from what it hides: use laplace_counts or choose instead")
        raise AttributeError(name)


class Overheard(_Followed):
    """Passes questions on to real noise, and notes them with their answers."""

    def __init__(self, source: Noise) -> None:
        super().__init__(releasable=source.releasable, mode=source.mode)
        self.asked: list[Question] = []
        self._source = source

    def laplace_answer(self, values: npt.NDArray[Any], scale: npt.ArrayLike, taken_with: float = 1.0) -> Array:  # noqa: ARG002
        """Answer with Laplace noise."""
        wide = np.broadcast_to(np.asarray(scale, dtype=np.float64), values.shape)
        drawn = self._source.laplace(wide.reshape(-1), values.size).reshape(values.shape)
        return np.asarray(self._noted("laplace", np.array(values, dtype=np.float64), wide, values + drawn))

    def geometric_answer(self, values: Integers, scale: float) -> Integers:
        """Answer with two-sided geometric noise."""
        answer = values + self._source.geometric(scale, values.size).reshape(values.shape)
        return np.asarray(self._noted("geometric", np.array(values), np.array(scale), answer))

    def planar_answer(self, column: Array, row: Array, *, epsilon_per_m: float, cell_m: float) -> tuple[Array, Array]:
        """Answer with planar geometric noise."""
        east, north = planar_geometric_offsets(column.size, epsilon_per_m, cell_m, self._source)
        true = np.stack([column, row])
        moved = self._noted(
            "planar", true, np.array(epsilon_per_m * cell_m), true + np.stack([east, north]).reshape(true.shape)
        )
        return moved[0], moved[1]

    def choose(self, logits: npt.ArrayLike, size: int | None = None) -> Integers:
        """Choose by the logits."""
        answer = self._source.choose(logits, size)
        return np.asarray(self._noted("choose", _log_probabilities(logits), np.ones(1), answer))

    def bags_answer(self, groups: Iterable[tuple[Array, Integers]], bag: Integers) -> Integers:
        """Choose for every slot, and note what came out of every bag, in no order."""
        laws = list(groups)
        chosen = np.empty(bag.size, dtype=np.int64)
        for logits, slots in laws:
            chosen[slots] = self._source.choose(logits, slots.size)
        order = np.lexsort((chosen, bag))
        self._noted("bags", _laws_by_bag(laws, bag), np.ones(1), (bag[order], chosen[order]))
        return chosen

    def series_answer(self, logits: Array, after: Integers | None) -> Integers:
        """Decide by the logits, and note which decision each follows."""
        place = np.full(len(logits), -1) if after is None else after
        answer = self._source.choose(logits) if len(logits) else np.empty(0, dtype=np.int64)
        return np.asarray(self._noted("series", _log_probabilities(logits), np.array(place), answer))

    def uniform(self, size: int) -> Array:
        """Draw numbers that nothing depends on yet."""
        return np.asarray(self._noted("uniform", np.empty(0), np.ones(1), self._source.uniform(size)))

    def _noted(self, what: str, true: Any, scale: npt.NDArray[Any], answer: Any) -> Any:
        kept = answer if isinstance(answer, tuple) else answer.copy()  # the asker may change its own in place
        self.asked.append(Question(what, true, scale, kept))
        return answer


class Retold(_Followed):
    """Gives the answers of an earlier run, and notes how far they tell the two inputs apart."""

    def __init__(self, first: Overheard) -> None:
        super().__init__(releasable=first.releasable, mode=first.mode)
        self.changes: list[Change] = []
        self.coins: list[tuple[float, bool]] = []
        """Of every question with a secret coin: its probability, and whether it took the person."""
        self.told_apart = False
        """Whether something else was asked than before."""
        self._left = list(first.asked)
        self._series: list[list[Step]] = []
        self._yes = np.empty(0, dtype=np.bool_)
        """Which decisions of the step before may be followed by others."""

    @property
    def told(self) -> tuple[Change, ...]:
        """All that differs between the inputs; decisions that follow one another are one."""
        series = (DecisionsChanged.along(steps) for steps in self._series)
        return (*self.changes, *(change for change in series if change is not None))

    @property
    def spent(self) -> float:
        """The most that all answers together may tell."""
        return sum(change.cost for change in self.told)

    @property
    def finished(self) -> bool:
        """Whether the same was asked as before, and as much."""
        return not self._left and not self.told_apart

    def laplace_answer(self, values: npt.NDArray[Any], scale: npt.ArrayLike, taken_with: float = 1.0) -> Array:
        """Answer as before."""
        wide = np.broadcast_to(np.asarray(scale, dtype=np.float64), values.shape)
        earlier = self._earlier("laplace", values.shape, wide)
        at = earlier.true != values
        if taken_with < 1:
            self.coins.append((taken_with, bool(at.any())))
        if at.any():
            self.changes.append(NumbersChanged(earlier.true[at], values[at] + 0.0, wide[at], taken_with=taken_with))
        return np.array(earlier.answer)

    def geometric_answer(self, values: Integers, scale: float) -> Integers:
        """Answer as before."""
        earlier = self._earlier("geometric", values.shape, np.array(scale))
        at = earlier.true != values
        if at.any():
            wide = np.full(np.count_nonzero(at), float(scale))
            self.changes.append(NumbersChanged(earlier.true[at] + 0.0, values[at] + 0.0, wide, whole=True))
        return np.array(earlier.answer)

    def planar_answer(self, column: Array, row: Array, *, epsilon_per_m: float, cell_m: float) -> tuple[Array, Array]:
        """Answer as before."""
        now, step = np.stack([column, row]), epsilon_per_m * cell_m
        earlier = self._earlier("planar", now.shape, np.array(step))
        at = (earlier.true != now).any(axis=0)
        if at.any():
            self.changes.append(PlacesChanged(earlier.true[:, at], now[:, at], step))
        answer = np.array(earlier.answer)
        return answer[0], answer[1]

    def choose(self, logits: npt.ArrayLike, size: int | None = None) -> Integers:
        """Choose as before."""
        now = _log_probabilities(logits)
        earlier = self._earlier("choose", now.shape, np.ones(1))
        draws = len(now) if now.ndim > 1 else 1 if size is None else size
        self._require(earlier.answer.size == draws)
        self._note_laws(*(np.broadcast_to(laws, (draws, now.shape[-1])) for laws in (earlier.true, now)))
        return np.array(earlier.answer)

    def bags_answer(self, groups: Iterable[tuple[Array, Integers]], bag: Integers) -> Integers:
        """Choose as before, bag by bag; a law that both inputs have in a bag tells nothing."""
        earlier = self._earlier("bags", None, np.ones(1))
        now, (held, choices) = _laws_by_bag(list(groups), bag), earlier.answer
        order = np.argsort(bag, kind="stable")
        self._require(np.array_equal(held, bag[order]))
        for number, before in earlier.true.items():
            gone, come = list((before - now[number]).elements()), list((now[number] - before).elements())
            self._require(len(gone) == len(come) and len({len(law) for law in gone + come}) <= 1)
            if gone:
                self._note_laws(*(np.array([np.frombuffer(law) for law in laws]) for laws in (gone, come)))
        chosen = np.empty(bag.size, dtype=np.int64)
        chosen[order] = choices
        return chosen

    def series_answer(self, logits: Array, after: Integers | None) -> Integers:
        """Decide as before; what follows a no is not of its series, and begins one of its own."""
        now = _log_probabilities(logits)
        place = np.full(len(now), -1) if after is None else np.array(after)
        earlier = self._earlier("series", now.shape, place)
        if after is None:
            self._series.append([])
        self._require(bool(self._series) and bool((place < self._yes.size).all()))
        follows = (place >= 0) & np.append(self._yes, False)[place]
        self._series[-1].append(Step(earlier.true, now, np.where(follows, place, -1)))
        self._yes = np.asarray(earlier.answer == YES)
        return np.array(earlier.answer)

    def _note_laws(self, before: Array, now: Array) -> None:
        at = (before != now).any(axis=-1)
        if at.any():
            self.changes.append(ChoicesChanged(before[at], now[at]))

    def uniform(self, size: int) -> Array:
        """Draw the same numbers."""
        earlier = self._earlier("uniform", (0,), np.ones(1))
        self._require(earlier.answer.size == size)
        return np.array(earlier.answer)

    def _earlier(self, what: str, shape: tuple[int, ...] | None, scale: npt.NDArray[Any]) -> Question:
        earlier = self._left.pop(0) if self._left else None
        same = earlier is not None and earlier.what == what and np.array_equal(earlier.scale, scale)
        self._require(same and (shape is None or earlier is None or earlier.true.shape == shape))
        assert earlier is not None  # noqa: S101 - for the type checker
        return earlier

    def _require(self, same: bool) -> None:
        if not same:
            self.told_apart = True
            raise _ToldApart


def _laws_by_bag(groups: Sequence[tuple[Array, Integers]], bag: Integers) -> dict[int, Counter[bytes]]:
    """Return how many slots of every bag choose by which law (its log-probabilities as bytes)."""
    found: dict[int, Counter[bytes]] = {int(number): Counter() for number in np.unique(bag)}
    for logits, slots in groups:
        law = _log_probabilities(logits).tobytes()
        for number, times in zip(*np.unique(bag[slots], return_counts=True), strict=True):
            found[int(number)][law] += int(times)
    return found


@dataclass(frozen=True)
class Followed:
    """What a release asked of a pair of inputs."""

    spent: float
    """The most that all its answers together may tell (infinite: something else tells the inputs apart)."""
    changes: tuple[Change, ...] = ()
    coins: tuple[tuple[float, bool], ...] = ()


def follow(case: TranscriptCase, noise: Noise) -> Followed:
    """Follow a few releases on a pair of inputs, either of them first, and return the one that asked most.

    Secret coins are tried more often: one that takes the person more often than it says is no such coin.
    """
    found = [_follow_once(case, noise, first) for _ in range(case.runs) for first in (True, False)]
    most = max(found, key=lambda followed: followed.spent)
    if not most.coins or most.spent == math.inf:
        return most
    tried = [once for once in (_follow_once(case, noise, True) for _ in range(_COINS)) if once.coins]
    for said, *taken in zip([chance for chance, _ in most.coins], *(once.coins for once in tried), strict=False):
        hits = sum(took for _, took in taken)
        if lower_bound(hits, len(taken), _FALSE_ALARM) > said:
            return Followed(math.inf)
    return most


def _follow_once(case: TranscriptCase, noise: Noise, first: bool) -> Followed:
    overheard = Overheard(noise)
    try:
        told = case.release(overheard, first)
    except CannotFollow:
        raise
    except Exception:  # noqa: BLE001 - as below
        case.release(Overheard(noise), not first)  # raises where it fails on both: then nothing is told apart
        return Followed(math.inf)
    retold = Retold(overheard)
    try:
        again = case.release(retold, not first)
    except Exception:  # noqa: BLE001 - whatever it is, it happens on one input only, which tells the two apart
        return Followed(math.inf)
    if not retold.finished or not _same(told, again):
        return Followed(math.inf)
    return Followed(retold.spent, retold.told, tuple(retold.coins))


def _same(one: Sequence[npt.ArrayLike], other: Sequence[npt.ArrayLike]) -> bool:
    return len(one) == len(other) and all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def _log_probabilities(logits: npt.ArrayLike) -> Array:
    table = checked_logits(logits)
    table = table - table.max(axis=-1, keepdims=True)
    return np.asarray(table - np.log(np.exp(table).sum(axis=-1, keepdims=True)))
