"""What a release asks of a pair of inputs, as outputs to draw; and whole releases, where nobody can follow them.

Following believes that noise has the law it is said to have; samples do not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from geodp.audit.decisions import DecisionsChanged
from geodp.audit.thresholds import ThresholdsChanged
from geodp.geometry import Array
from geodp.privacy.audit_case import AuditCase, RhoCase, TranscriptCase
from geodp.privacy.noise import Noise
from geodp.privacy.primitives import with_discrete_gaussian, with_geometric, with_laplace, with_planar_geometric

_FEWEST_ANSWERS, _MOST_NUMBERS = 1000, 4_000_000
"""Answers that are drawn at least, however many numbers each has; and numbers beyond which no more are drawn."""
_WHOLE = 0.9
"""Share of a claim that is as good as all of it."""
_PILOT = 40
_DRAWN = 2000
"""Releases that are drawn at most: each is a whole one."""


@dataclass(frozen=True, eq=False)
class NumbersChanged:
    """Numbers that differ between the two inputs, in answers with Laplace or two-sided geometric noise."""

    true: Array
    other: Array
    scale: Array
    whole: bool = False
    """Whether the noise is geometric."""
    taken_with: float = 1.0
    """Everyone is counted with this probability only, by a coin that nobody sees."""

    @property
    def columns(self) -> int:
        """Numbers per answer."""
        return self.true.size

    @property
    def cost(self) -> float:
        """The most that the answer may tell: Σ|change|/scale.

        Where a secret coin takes the person with probability p only, odds change by 1 - p + p·e^cost at most.
        """
        return float(self._behind_coin((np.abs(self.true - self.other) / self.scale).sum()))

    @property
    def parts(self) -> Array:
        """What each number tells by itself."""
        return self._behind_coin(np.abs(self.true - self.other) / self.scale)

    def only(self, at: int) -> NumbersChanged:
        """Return one of the numbers by itself, without the coin."""
        one = slice(at, at + 1)
        return NumbersChanged(self.true[one], self.other[one], self.scale[one], whole=self.whole)

    @property
    def shows_bits(self) -> bool:
        """Whether a number is 0 on one of the inputs: there doubles are finest, and their last bits tell most."""
        return not self.whole and bool(((self.true == 0) | (self.other == 0)).any())

    def answers(self, noise: Noise, present: bool, samples: int) -> Array:
        """Draw answers, one per row."""
        there = np.full((samples, 1), present)
        if present and self.taken_with < 1:
            there = noise.uniform(samples)[:, None] < self.taken_with
        values = np.where(there, self.true, self.other)
        if self.whole:
            answers = [
                with_geometric(at.astype(np.int64), wide, noise) for at, wide in zip(values.T, self.scale, strict=True)
            ]
            return np.column_stack(answers).astype(np.float64)
        return with_laplace(values, np.broadcast_to(self.scale, values.shape), noise)

    def evidence(self, answers: Array) -> Array:
        """Return what each answer says for the first input, in nats."""
        nearer = (np.abs(answers - self.other) - np.abs(answers - self.true)) / self.scale
        return self._behind_coin(nearer.sum(axis=1))

    def _behind_coin(self, nats: npt.ArrayLike) -> Array:
        """Return ln(1 - p + p·e^nats)."""
        if self.taken_with >= 1:
            return np.asarray(nats)
        if self.taken_with <= 0:
            return np.zeros_like(nats)
        return np.asarray(np.logaddexp(math.log1p(-self.taken_with), math.log(self.taken_with) + np.asarray(nats)))


@dataclass(frozen=True, eq=False)
class GaussianChanged:
    """Whole numbers that differ between the two inputs, in answers with discrete Gaussian noise."""

    true: Array
    other: Array
    scale: float
    """σ."""

    @property
    def columns(self) -> int:
        """Numbers per answer."""
        return self.true.size

    @property
    def cost(self) -> float:
        """The most that the answer may tell as a pure ε: no ε bounds it. What it spends is `rho`."""
        return math.inf

    @property
    def rho(self) -> float:
        """What the answer spends: Σ change²/(2σ²)."""
        return float(self.parts.sum())

    @property
    def parts(self) -> Array:
        """The ρ of each number by itself."""
        return np.asarray((self.true - self.other) ** 2 / (2 * self.scale**2))

    def only(self, at: int) -> GaussianChanged:
        """Return one of the numbers by itself."""
        one = slice(at, at + 1)
        return GaussianChanged(self.true[one], self.other[one], self.scale)

    @property
    def shows_bits(self) -> bool:
        """Whether last bits may tell something: these are whole numbers."""
        return False

    def answers(self, noise: Noise, present: bool, samples: int) -> Array:
        """Draw answers, one per row."""
        values = np.tile((self.true if present else self.other).astype(np.int64), (samples, 1))
        return with_discrete_gaussian(values, self.scale, noise).astype(np.float64)

    def evidence(self, answers: Array) -> Array:
        """Return what each answer says for the first input, in nats."""
        nearer = (answers - self.other) ** 2 - (answers - self.true) ** 2
        return np.asarray(nearer.sum(axis=1) / (2 * self.scale**2))


@dataclass(frozen=True, eq=False)
class PlacesChanged:
    """Places that differ, in answers with planar geometric noise: columns and rows of a grid."""

    true: Array
    """Two rows: columns, and rows."""
    other: Array
    step: float
    """ε times the width of a cell."""

    @property
    def columns(self) -> int:
        """Numbers per answer."""
        return self.true.size

    @property
    def cost(self) -> float:
        """The most that the answer may tell: ε times the distance on the grid."""
        return float(self.parts.sum())

    @property
    def parts(self) -> Array:
        """What each place tells by itself."""
        return np.asarray(self.step * np.hypot(*(self.true - self.other)))

    def only(self, at: int) -> PlacesChanged:
        """Return one of the places by itself."""
        return PlacesChanged(self.true[:, at : at + 1], self.other[:, at : at + 1], self.step)

    @property
    def shows_bits(self) -> bool:
        """Whether last bits may tell something: these are whole numbers."""
        return False

    def answers(self, noise: Noise, present: bool, samples: int) -> Array:
        """Draw answers, one per row: all columns, then all rows."""
        east, north = (np.tile(part, samples) for part in (self.true if present else self.other))
        moved = with_planar_geometric(east, north, epsilon_per_m=self.step, cell_m=1.0, noise=noise)
        return np.column_stack([part.reshape(samples, -1) for part in moved])

    def evidence(self, answers: Array) -> Array:
        """Return what each answer says for the first input, in nats."""
        places = answers.reshape(len(answers), 2, -1)
        away, near = (np.hypot(*np.moveaxis(places - place, 1, 0)).sum(axis=1) for place in (self.other, self.true))
        return np.asarray(self.step * (away - near))


@dataclass(frozen=True, eq=False)
class ChoicesChanged:
    """Choices whose laws differ: one row of log-probabilities each."""

    true: Array
    other: Array

    @property
    def columns(self) -> int:
        """Numbers per answer."""
        return len(self.true)

    @property
    def cost(self) -> float:
        """The most that the answer may tell: the largest change of a log-probability, of every choice."""
        return float(self.parts.sum())

    @property
    def parts(self) -> Array:
        """What each choice tells by itself."""
        return np.asarray(np.abs(self.true - self.other).max(axis=-1, initial=0.0))

    def only(self, at: int) -> ChoicesChanged:
        """Return one of the choices by itself."""
        return ChoicesChanged(self.true[at : at + 1], self.other[at : at + 1])

    @property
    def shows_bits(self) -> bool:
        """Whether last bits may tell something: these are whole numbers."""
        return False

    def answers(self, noise: Noise, present: bool, samples: int) -> Array:
        """Draw answers, one per row."""
        laws = self.true if present else self.other
        return np.column_stack([noise.choose(law, samples) for law in laws]).astype(np.float64)

    def evidence(self, answers: Array) -> Array:
        """Return what each answer says for the first input, in nats."""
        said = self.true - self.other
        return np.asarray(sum(row[column.astype(np.int64)] for row, column in zip(said, answers.T, strict=True)))


Change = NumbersChanged | GaussianChanged | PlacesChanged | ChoicesChanged | DecisionsChanged | ThresholdsChanged
"""What a question hides differently on the two inputs."""


def certifiable_share(case: TranscriptCase, changes: Sequence[Change]) -> float:
    """Return what samples can certify of the claim, roughly: the spread of the evidence, as a share of it.

    Numbers that tell a little each hardly ever speak for the same input all at once: their evidence adds up like noise,
    by squares. One number that tells everything does so in every other answer.
    """
    return math.sqrt(sum(float((change.parts**2).sum()) for change in changes)) / case.claimed


def sample_answers(case: TranscriptCase, changes: Sequence[Change]) -> AuditCase:
    """Return a followed pair with answers to draw: its questions, with what they hide on either input."""
    ends = np.cumsum([change.columns for change in changes])

    def draw(noise: Noise, present: bool, samples: int) -> Array:
        return np.column_stack([change.answers(noise, present, samples) for change in changes])

    def score(answers: Array) -> Array:
        parts = np.split(answers.reshape(len(answers), -1), ends[:-1], axis=1)
        return np.asarray(sum(change.evidence(part) for change, part in zip(changes, parts, strict=True)))

    most = max(_FEWEST_ANSWERS, _MOST_NUMBERS // int(ends[-1]))
    return AuditCase(
        f"sampled: {case.name}",
        case.claimed,
        draw,
        score,
        threshold=0.9 * sum(change.cost for change in changes),
        most=most,
    )


def repeat_answers(case: TranscriptCase, changes: Sequence[Change]) -> RhoCase | None:
    """Return a followed pair whose Gaussian answers are to be drawn again and again (None: it has none).

    Answers without Gaussian noise are left out: what the others tell is spent in any case.
    """
    gaussian = [change for change in changes if isinstance(change, GaussianChanged)]
    if not gaussian or case.rho is None:
        return None
    weights = [(change.true - change.other) / change.scale**2 for change in gaussian]
    middle = sum(
        float(weight @ (change.true + change.other)) / 2 for weight, change in zip(weights, gaussian, strict=True)
    )

    def draw(noise: Noise, present: bool, number: int) -> Array:
        return np.column_stack([change.answers(noise, present, number) for change in gaussian])

    return RhoCase(f"repeated: {case.name}", case.rho, draw, np.concatenate(weights), middle)


def sample_noise(changes: Sequence[tuple[TranscriptCase, Change]]) -> list[AuditCase]:
    """Return, for every sort of noise, the one answer that tells most, against what noise of its scale may tell.

    Where a release asks many things, no pair may spend all that is claimed, or only in answers that hardly ever agree:
    then samples of all answers together cannot say that the noise is too small. One answer can. (Where an
    answer spends all that is claimed, it is sampled as it is.)

    Parameters
    ----------
    changes
        What differs, with the pairs in which it does.
    """
    found: dict[tuple[type, bool], tuple[tuple[float, bool], AuditCase]] = {}
    whole: set[tuple[type, bool]] = set()
    for case, change in changes:
        if isinstance(change, DecisionsChanged | ThresholdsChanged) or not change.parts.size:
            continue
        alone = change.only(int(np.argmax(change.parts)))
        sort = type(alone), isinstance(alone, NumbersChanged) and alone.whole
        rank = round(alone.cost, 6), alone.shows_bits
        if alone.cost >= _WHOLE * case.claimed:
            whole.add(sort)
        elif alone.cost > 0 and (sort not in found or rank > found[sort][0]):
            answers = sample_answers(replace(case, claimed=alone.cost), [alone])
            found[sort] = rank, replace(answers, name=f"the noise of one answer: {case.name}", of_noise=True)
    return [case for sort, (_, case) in found.items() if sort not in whole]


def sample_release(case: TranscriptCase, noise: Noise) -> AuditCase:
    """Return the pair with one number to look at: the one that tells the inputs apart best in a few releases.

    A few releases on either input choose the number and the side that speaks for the person; the audit draws new ones.
    """
    pilot = [_release_rows(case, noise, present, _PILOT) for present in (True, False)]
    size = min(table.shape[1] for table in pilot)
    with_, without = (table[:, :size] for table in pilot)
    apart = with_.mean(axis=0) - without.mean(axis=0)
    spread = np.sqrt(with_.var(axis=0) + without.var(axis=0)) + 1e-12
    best = int(np.argmax(np.abs(apart) / spread)) if size else 0
    sign = 1.0 if not size or apart[best] >= 0 else -1.0

    def draw(noise: Noise, present: bool, samples: int) -> Array:
        return _release_rows(case, noise, present, samples, column=best)[:, 0]

    middle = float((with_[:, best].mean() + without[:, best].mean()) / 2) if size else 0.0
    return AuditCase(
        f"sampled: {case.name}",
        case.claimed,
        draw,
        lambda numbers: sign * numbers,
        threshold=sign * middle,
        most=_DRAWN,
    )


def _release_rows(case: TranscriptCase, noise: Noise, present: bool, times: int, column: int | None = None) -> Array:
    """Return releases as rows of numbers, as long as the shortest; texts are left out."""
    rows = [_numbers(case.release(noise, present)) for _ in range(times)]
    if column is not None:
        return np.array([[row[column] if column < row.size else np.inf] for row in rows])
    size = min(row.size for row in rows)
    return np.array([row[:size] for row in rows])


def _numbers(published: object) -> npt.NDArray[np.float64]:
    parts = [np.asarray(part) for part in published] if isinstance(published, list | tuple) else [np.asarray(published)]
    return np.concatenate(
        [
            np.empty(0),
            *(np.nan_to_num(part.astype(np.float64)).reshape(-1) for part in parts if part.dtype.kind in "biuf"),
        ]
    )
