"""Tests against hidden noisy thresholds: what the answers of one threshold tell together, worked out exactly.

All tests of a threshold share its noise, which nobody sees. Given that noise they are independent, so the probability
of a row of answers is a mean over it. Tests that pass cost nothing by themselves: what a row may tell is far less than
what its tests would tell one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array
from geodp.privacy.noise import Noise, ThresholdLaw

Mask = npt.NDArray[np.bool_]
NO, YES, NOT_ASKED = 0, 1, -1
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_FAR = 45.0
"""Beyond so many scales a Laplace law has less than 1e-19 of its mass."""


@dataclass(frozen=True, eq=False)
class ThresholdTests:
    """Tests that were asked for at once, one per threshold."""

    law: ThresholdLaw
    serial: npt.NDArray[np.int64]
    """Which threshold each is about."""
    true: Array
    other: Array
    passed: Mask


@dataclass(frozen=True, eq=False)
class Threshold:
    """One hidden threshold: the values that were held against it on either input, in order, and the answers."""

    law: ThresholdLaw
    true: Array
    other: Array
    passed: Array
    """Whether each test was passed (1) or not (0)."""

    @cached_property
    def evidence(self) -> tuple[Array, float]:
        """What it says for the first input, in nats: that answers first differ at each test, and that none does."""
        (turned, same), (other_turned, other_same) = (
            log_answers(values, self.passed == YES, self.law) for values in (self.true, self.other)
        )
        return turned - other_turned, same - other_same

    @property
    def cost(self) -> float:
        """The most that its answers may tell, as they are or with another one at any test, where others end."""
        turned, same = self.evidence
        return float(max(np.abs(turned).max(initial=0.0), abs(same)))


@dataclass(frozen=True, eq=False)
class ThresholdsChanged:
    """Thresholds whose tested values differ between the inputs."""

    thresholds: Sequence[Threshold]

    @classmethod
    def among(cls, tested: Sequence[ThresholdTests]) -> ThresholdsChanged | None:
        """Return the thresholds about which something else was asked on the other input (None: there is none)."""
        differ = {number for tests in tested for number in tests.serial[tests.true != tests.other].tolist()}
        rows: dict[int, list[tuple[float, float, float]]] = {number: [] for number in sorted(differ)}
        laws: dict[int, ThresholdLaw] = {}
        for tests in tested:
            for at in np.flatnonzero(np.isin(tests.serial, list(differ))).tolist():
                number = int(tests.serial[at])
                rows[number].append((float(tests.true[at]), float(tests.other[at]), float(tests.passed[at])))
                laws[number] = tests.law
        return cls([Threshold(laws[number], *np.array(row).T) for number, row in rows.items()]) if differ else None

    @property
    def columns(self) -> int:
        """Numbers per answer."""
        return sum(one.true.size for one in self.thresholds)

    @property
    def cost(self) -> float:
        """The most that all answers may tell."""
        return float(self.parts.sum())

    @property
    def parts(self) -> Array:
        """What each threshold may tell at most."""
        return np.array([one.cost for one in self.thresholds])

    @property
    def shows_bits(self) -> bool:
        """Whether last bits may tell something: these are whole numbers."""
        return False

    def answers(self, noise: Noise, present: bool, samples: int) -> Array:
        """Draw answers, one per row, with nothing (-1) for what follows one that differs from those that were given."""
        answers = []
        for one in self.thresholds:
            hidden = one.law.threshold + noise.laplace(one.law.threshold_scale, samples)
            asked = np.full(samples, fill_value=True)
            for value, passed in zip(one.true if present else one.other, one.passed, strict=True):
                answer = np.where(value + noise.laplace(one.law.test_scale, samples) < hidden, YES, NO)
                answers.append(np.where(asked, answer, NOT_ASKED))
                asked = asked & (answer == passed)
        return np.column_stack(answers).astype(np.float64)

    def evidence(self, answers: Array) -> Array:
        """Return what each answer says for the first input, in nats."""
        said, begin = np.zeros(len(answers)), 0
        for one in self.thresholds:
            turned, same = one.evidence
            part = answers[:, begin : begin + one.true.size]
            said += (part == 1 - one.passed) @ turned + np.where((part == one.passed).all(axis=1), same, 0.0)
            begin += one.true.size
        return said


def log_answers(values: Array, passed: Mask, law: ThresholdLaw) -> tuple[Array, float]:
    """Return log-probabilities: that the first other answer is given at each test, and that all are as they were.

    Between the places where a density has a kink all is smooth, and Gauss-Legendre is exact for practical purposes.

    Parameters
    ----------
    values
        What is held against the threshold, test by test.
    passed
        The answers.
    law
        Threshold and noise.
    """
    wide = _FAR * max(law.threshold_scale, law.test_scale)
    kinks = np.unique(np.concatenate([values, [law.threshold]]))
    steps = wide * np.linspace(0, 1, 24)
    edges = np.unique(np.concatenate([kinks[0] - steps, kinks, kinks[-1] + steps]))
    left, half = edges[:-1, None], np.diff(edges)[:, None] / 2
    hidden = (left + half * (_NODES + 1)).ravel()
    weight = np.log((half * _WEIGHTS).ravel())
    weight -= np.abs(hidden - law.threshold) / law.threshold_scale + np.log(2 * law.threshold_scale)
    away = (hidden - np.asarray(values, dtype=np.float64)[:, None]) / law.test_scale
    away = np.where(passed[:, None], away, -away)
    before = np.concatenate([np.zeros((1, hidden.size)), np.cumsum(_log_below(away), axis=0)])
    return _add_up(weight + before[:-1] + _log_below(-away)), float(_add_up(weight + before[-1:])[0])


def _log_below(away: Array) -> Array:
    """Return the logarithm of the distribution function of the Laplace law of scale 1."""
    tail = np.log(0.5) - np.abs(away)
    return np.asarray(np.where(away < 0, tail, np.log1p(-np.exp(tail))))


def _add_up(logs: Array) -> Array:
    most = logs.max(axis=1, initial=-np.inf, keepdims=True)
    return np.asarray(np.log(np.exp(logs - most).sum(axis=1)) + most[:, 0])
