"""Transcripts: what a release asked of its data, and the same answers given to a second run, on a neighbour."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from geodp.audit.decisions import YES, DecisionsChanged, Step
from geodp.audit.sampled import Change, ChoicesChanged, GaussianChanged, NumbersChanged, PlacesChanged
from geodp.audit.thresholds import ThresholdsChanged, ThresholdTests
from geodp.errors import GeodpError
from geodp.privacy.noise import Array, Integers, Noise, ThresholdLaw, check_logits
from geodp.privacy.primitives import (
    planar_geometric_offsets,
)


@dataclass(frozen=True, eq=False)
class Question:
    """A question, and the answer that it got."""

    what: str
    true: Any
    """True numbers (laplace, geometric, gaussian, planar), log-probabilities (choose, series), laws by bag (bags),
    values (thresholds), nothing (uniform)."""
    scale: npt.NDArray[Any]
    """Scale of the noise: it must not change with the data."""
    answer: Any


class _ToldApart(Exception):
    """The two inputs ask different things: what is asked depends on data, unpaid."""


class CannotFollow(GeodpError):
    """Noise was drawn apart from what it hides: only samples can tell what such a release gives away."""


class _NotFollowed(CannotFollow, AttributeError):
    """So that whoever asks whether there is such a thing is told no."""


class _FollowedRun:
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

    geometric = gaussian = discrete_gaussian = laplace

    def __getattr__(self, name: str) -> NoReturn:
        """Refuse what a numpy generator has beside: what is drawn by it cannot be followed."""
        if hasattr(np.random.Generator, name):
            self.drawn_apart = True
            raise _NotFollowed(f"'{name}' was drawn apart from what it hides: use laplace_counts or choose instead")
        raise AttributeError(name)


class Overheard(_FollowedRun):
    """Passes questions on to real noise, and notes them with their answers."""

    def __init__(self, source: Noise) -> None:
        super().__init__(releasable=source.releasable, mode=source.mode)
        self.asked: list[Question] = []
        self._source = source
        self._hidden: dict[int, float] = {}
        """Noisy thresholds that were asked about, by their serial numbers."""

    def laplace_answer(self, values: npt.NDArray[Any], scale: npt.ArrayLike, taken_with: float = 1.0) -> Array:  # noqa: ARG002
        """Answer with Laplace noise."""
        wide = np.broadcast_to(np.asarray(scale, dtype=np.float64), values.shape)
        noise = self._source.laplace(wide.reshape(-1), values.size).reshape(values.shape)
        return np.asarray(self._note_question("laplace", np.array(values, dtype=np.float64), wide, values + noise))

    def geometric_answer(self, values: Integers, scale: float) -> Integers:
        """Answer with two-sided geometric noise."""
        answer = values + self._source.geometric(scale, values.size).reshape(values.shape)
        return np.asarray(self._note_question("geometric", np.array(values), np.array(scale), answer))

    def gaussian_answer(self, values: Integers, scale: float) -> Integers:
        """Answer with discrete Gaussian noise."""
        answer = values + self._source.discrete_gaussian(scale, values.size).reshape(values.shape)
        return np.asarray(self._note_question("gaussian", np.array(values), np.array(scale), answer))

    def planar_answer(self, column: Array, row: Array, *, epsilon_per_m: float, cell_m: float) -> tuple[Array, Array]:
        """Answer with planar geometric noise."""
        east, north = planar_geometric_offsets(column.size, epsilon_per_m, cell_m, self._source)
        true = np.stack([column, row])
        moved = self._note_question(
            "planar", true, np.array(epsilon_per_m * cell_m), true + np.stack([east, north]).reshape(true.shape)
        )
        return moved[0], moved[1]

    def choose(self, logits: npt.ArrayLike, size: int | None = None) -> Integers:
        """Choose by the logits."""
        answer = self._source.choose(logits, size)
        return np.asarray(self._note_question("choose", _log_probabilities(logits), np.ones(1), answer))

    def bags_answer(self, groups: Iterable[tuple[Array, Integers]], bag: Integers) -> Integers:
        """Choose for every slot, and note what came out of every bag, in no order."""
        laws = list(groups)
        chosen = np.empty(bag.size, dtype=np.int64)
        for logits, slots in laws:
            chosen[slots] = self._source.choose(logits, slots.size)
        order = np.lexsort((chosen, bag))
        self._note_question("bags", _laws_by_bag(laws, bag), np.ones(1), (bag[order], chosen[order]))
        return chosen

    def series_answer(self, logits: Array, after: Integers | None) -> Integers:
        """Decide by the logits, and note which decision each follows."""
        place = np.full(len(logits), -1) if after is None else after
        answer = self._source.choose(logits) if len(logits) else np.empty(0, dtype=np.int64)
        return np.asarray(self._note_question("series", _log_probabilities(logits), np.array(place), answer))

    def threshold_answer(self, values: Array, serial: Integers, law: ThresholdLaw) -> npt.NDArray[np.bool_]:
        """Hold values against thresholds, which are drawn when they are first asked about."""
        new = [number for number in serial.tolist() if number not in self._hidden]
        thresholds = law.threshold + self._source.laplace(law.threshold_scale, len(new))
        self._hidden.update(zip(new, thresholds.tolist(), strict=True))
        hidden = np.array([self._hidden[number] for number in serial.tolist()])
        answer = values + self._source.laplace(law.test_scale, values.size) < hidden
        place = _as_numbers(serial, law)
        return np.asarray(self._note_question("thresholds", np.array(values, dtype=np.float64), place, answer))

    def uniform(self, size: int) -> Array:
        """Draw numbers that nothing depends on yet."""
        return np.asarray(self._note_question("uniform", np.empty(0), np.ones(1), self._source.uniform(size)))

    def _note_question(self, what: str, true: Any, scale: npt.NDArray[Any], answer: Any) -> Any:
        kept = answer if isinstance(answer, tuple) else answer.copy()  # the asker may change its own in place
        self.asked.append(Question(what, true, scale, kept))
        return answer


class Retold(_FollowedRun):
    """Gives the answers of an earlier run, and notes how far they tell the two inputs apart."""

    def __init__(self, first: Overheard) -> None:
        super().__init__(releasable=first.releasable, mode=first.mode)
        self.changes: list[Change] = []
        self.coins: list[tuple[float, bool]] = []
        """Of every question with a secret coin: its probability, and whether it took the person."""
        self.told_apart = False
        """Whether something else was asked than before."""
        self.hid: list[bool] = []
        """Of every question: whether it hides something, as far as these two inputs tell."""
        self._left = list(first.asked)
        self._series: list[list[Step]] = []
        self._tested: list[ThresholdTests] = []
        self._yes = np.empty(0, dtype=np.bool_)
        """Which decisions of the step before may be followed by others."""

    @property
    def differences(self) -> tuple[Change, ...]:
        """All that differs between the inputs; decisions that follow one another are one."""
        series = (DecisionsChanged.along(steps) for steps in self._series)
        hidden = ThresholdsChanged.among(self._tested)
        return (
            *self.changes,
            *(change for change in series if change is not None),
            *([] if hidden is None else [hidden]),
        )

    @property
    def spent(self) -> float:
        """The most that all answers together may tell."""
        return sum(change.cost for change in self.differences)

    @property
    def spent_rho(self) -> float:
        """The same as ρ: of Gaussian answers what they spend, of every other one ε²/2; answers in turn add up."""
        return sum(
            change.rho if isinstance(change, GaussianChanged) else change.cost**2 / 2 for change in self.differences
        )

    @property
    def finished(self) -> bool:
        """Whether the same was asked as before, and as much."""
        return not self._left and not self.told_apart

    def laplace_answer(self, values: npt.NDArray[Any], scale: npt.ArrayLike, taken_with: float = 1.0) -> Array:
        """Answer as before."""
        wide = np.broadcast_to(np.asarray(scale, dtype=np.float64), values.shape)
        earlier = self._earlier("laplace", values.shape, wide)
        at = earlier.true != values
        self.hid.append(bool(earlier.true.any() or values.any()))
        if taken_with < 1:
            self.coins.append((taken_with, bool(at.any())))
        if at.any():
            self.changes.append(NumbersChanged(earlier.true[at], values[at] + 0.0, wide[at], taken_with=taken_with))
        return np.array(earlier.answer)

    def geometric_answer(self, values: Integers, scale: float) -> Integers:
        """Answer as before."""
        earlier = self._earlier("geometric", values.shape, np.array(scale))
        at = earlier.true != values
        self.hid.append(bool(earlier.true.any() or values.any()))
        if at.any():
            wide = np.full(np.count_nonzero(at), float(scale))
            self.changes.append(NumbersChanged(earlier.true[at] + 0.0, values[at] + 0.0, wide, whole=True))
        return np.array(earlier.answer)

    def gaussian_answer(self, values: Integers, scale: float) -> Integers:
        """Answer as before."""
        earlier = self._earlier("gaussian", values.shape, np.array(scale))
        at = earlier.true != values
        self.hid.append(bool(earlier.true.any() or values.any()))
        if at.any():
            self.changes.append(GaussianChanged(earlier.true[at] + 0.0, values[at] + 0.0, float(scale)))
        return np.array(earlier.answer)

    def planar_answer(self, column: Array, row: Array, *, epsilon_per_m: float, cell_m: float) -> tuple[Array, Array]:
        """Answer as before."""
        now, step = np.stack([column, row]), epsilon_per_m * cell_m
        earlier = self._earlier("planar", now.shape, np.array(step))
        at = (earlier.true != now).any(axis=0)
        self.hid.append(bool(earlier.true.any() or now.any()))
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
        self.hid.append(not np.array_equal(earlier.true, now))
        self._note_laws(*(np.broadcast_to(laws, (draws, now.shape[-1])) for laws in (earlier.true, now)))
        return np.array(earlier.answer)

    def bags_answer(self, groups: Iterable[tuple[Array, Integers]], bag: Integers) -> Integers:
        """Choose as before, bag by bag; a law that both inputs have in a bag tells nothing."""
        earlier = self._earlier("bags", None, np.ones(1))
        now, (held, choices) = _laws_by_bag(list(groups), bag), earlier.answer
        order = np.argsort(bag, kind="stable")
        self._require(np.array_equal(held, bag[order]))
        self.hid.append(True)
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
        self.hid.append(True)
        follows = (place >= 0) & np.append(self._yes, False)[place]
        self._series[-1].append(Step(earlier.true, now, np.where(follows, place, -1)))
        self._yes = np.asarray(earlier.answer == YES)
        return np.array(earlier.answer)

    def threshold_answer(self, values: Array, serial: Integers, law: ThresholdLaw) -> npt.NDArray[np.bool_]:
        """Answer as before."""
        earlier = self._earlier("thresholds", values.shape, _as_numbers(serial, law))
        self.hid.append(True)
        self._tested.append(ThresholdTests(law, np.array(serial), earlier.true, np.array(values), earlier.answer))
        return np.array(earlier.answer)

    def _note_laws(self, before: Array, now: Array) -> None:
        at = (before != now).any(axis=-1)
        if at.any():
            self.changes.append(ChoicesChanged(before[at], now[at]))

    def uniform(self, size: int) -> Array:
        """Draw the same numbers."""
        earlier = self._earlier("uniform", (0,), np.ones(1))
        self._require(earlier.answer.size == size)
        self.hid.append(False)
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


class Redrawn(Retold):
    """Gives the answers of an earlier run again, on the same input, and draws some anew: what then changes, they made.

    `anew` says which: `numbers` (noise on zeros), `uniforms` and `choices` hide nothing on either input; `paid` are the
    answers to all questions that hide something.
    """

    def __init__(self, first: Overheard, source: Noise, hid: Sequence[bool], *, anew: frozenset[str]) -> None:
        super().__init__(first)
        self._source = source
        self._hid_before = hid
        self._anew = anew

    def laplace_answer(self, values: npt.NDArray[Any], scale: npt.ArrayLike, taken_with: float = 1.0) -> Array:
        """Answer as before, or anew."""
        answer = super().laplace_answer(values, scale, taken_with)
        return Overheard(self._source).laplace_answer(values, scale) if self._is_anew("numbers") else answer

    def geometric_answer(self, values: Integers, scale: float) -> Integers:
        """Answer as before, or anew."""
        answer = super().geometric_answer(values, scale)
        return Overheard(self._source).geometric_answer(values, scale) if self._is_anew("numbers") else answer

    def gaussian_answer(self, values: Integers, scale: float) -> Integers:
        """Answer as before, or anew."""
        answer = super().gaussian_answer(values, scale)
        return Overheard(self._source).gaussian_answer(values, scale) if self._is_anew("numbers") else answer

    def planar_answer(self, column: Array, row: Array, *, epsilon_per_m: float, cell_m: float) -> tuple[Array, Array]:
        """Answer as before, or anew."""
        answer = super().planar_answer(column, row, epsilon_per_m=epsilon_per_m, cell_m=cell_m)
        if not self._is_anew("numbers"):
            return answer
        return Overheard(self._source).planar_answer(column, row, epsilon_per_m=epsilon_per_m, cell_m=cell_m)

    def choose(self, logits: npt.ArrayLike, size: int | None = None) -> Integers:
        """Choose as before, or anew."""
        answer = super().choose(logits, size)
        return self._source.choose(logits, size) if self._is_anew("choices") else answer

    def uniform(self, size: int) -> Array:
        """Draw the same numbers, or others."""
        answer = super().uniform(size)
        return self._source.uniform(size) if self._is_anew("uniforms") else answer

    def _is_anew(self, sort: str) -> bool:
        """Tell whether the question that was asked last is answered anew."""
        last = len(self.hid) - 1
        hides = last >= len(self._hid_before) or self._hid_before[last]
        return ("paid" if hides else sort) in self._anew


def _as_numbers(serial: Integers, law: ThresholdLaw) -> Array:
    """Return which thresholds are asked about, and their law, as numbers that must not change with the data."""
    return np.array([law.threshold, law.threshold_scale, law.test_scale, *serial.tolist()])


def _laws_by_bag(groups: Sequence[tuple[Array, Integers]], bag: Integers) -> dict[int, Counter[bytes]]:
    """Return how many slots of every bag choose by which law (its log-probabilities as bytes)."""
    found: dict[int, Counter[bytes]] = {int(number): Counter() for number in np.unique(bag)}
    for logits, slots in groups:
        law = _log_probabilities(logits).tobytes()
        for number, times in zip(*np.unique(bag[slots], return_counts=True), strict=True):
            found[int(number)][law] += int(times)
    return found


def _log_probabilities(logits: npt.ArrayLike) -> Array:
    table = check_logits(logits)
    table = table - table.max(axis=-1, keepdims=True)
    return np.asarray(table - np.log(np.exp(table).sum(axis=-1, keepdims=True)))
