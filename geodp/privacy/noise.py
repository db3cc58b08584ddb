"""Where noise comes from. Mechanisms are handed a `Noise`, never a seed.

`SimulatedNoise` draws from a seeded numpy generator: right for runs, sweeps, tests and audits, and never
for a real release (of the doubles that `1 + laplace` gives, at most 39.7 % can come from `0 + laplace`, so one
output can refute any epsilon; Mironov 2012). Everything it touches is stamped not releasable.
`ReleaseNoise` (in `release_noise.py`) draws the same laws from OpenDP's exact discrete samplers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from geodp.errors import NotReleasable, UsageError, answer_old_names
from geodp.model import did_you_mean

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

MODES = ("simulate", "release")
_REACH = 12.0
"""How far the simulated discrete Gaussian reaches, in σ."""
_ROUNDED_FROM = 1000.0
"""σ from which on rounded normals have its law, but for a total variation of 2e-8."""


@runtime_checkable
class Noise(Protocol):
    """A source of noise; `releasable` tells whether its output may leave the house.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.privacy.noise import Noise, SimulatedNoise
    >>> noise = SimulatedNoise(np.random.default_rng(0))
    >>> isinstance(noise, Noise), noise.releasable
    (True, False)
    >>> noise.laplace(2.0, 3).shape
    (3,)
    """

    @property
    def mode(self) -> str:
        """`simulate` or `release`."""
        ...

    @property
    def releasable(self) -> bool:
        """Whether outputs may be published as real releases."""
        ...

    def laplace(self, scale: npt.ArrayLike, size: int) -> Array:
        """Draw Laplace noise: density exp(-|x|/b)/(2b), mean |x| = b."""
        ...

    def geometric(self, scale: npt.ArrayLike, size: int) -> Integers:
        """Draw two-sided geometric noise (discrete Laplace): P(k) ∝ exp(-|k|/scale)."""
        ...

    def gaussian(self, scale: npt.ArrayLike, size: int) -> Array:
        """Draw Gaussian noise with standard deviation `scale`."""
        ...

    def discrete_gaussian(self, scale: npt.ArrayLike, size: int) -> Integers:
        """Draw discrete Gaussian noise: P(k) ∝ exp(-k²/(2·scale²)) on the whole numbers."""
        ...

    def uniform(self, size: int) -> Array:
        """Draw uniforms on [0, 1)."""
        ...

    def choose(self, logits: npt.ArrayLike, size: int | None = None) -> Integers:
        """Choose indices with probability ∝ exp(logit).

        One row of logits is shared by `size` draws; with a matrix there is one draw per row.
        """
        ...


@dataclass(frozen=True)
class ThresholdLaw:
    """The public law of hidden thresholds and of the tests against them."""

    threshold: float
    """What noise is added to."""
    threshold_scale: float
    """Laplace scale of a threshold's noise, drawn once."""
    test_scale: float
    """Laplace scale of every test's noise."""


@runtime_checkable
class AnsweringNoise(Protocol):
    """Noise of an auditor: it is told what it hides, and gives the answer itself."""

    def laplace_answer(self, values: npt.NDArray[Any], scale: npt.ArrayLike, taken_with: float = 1.0) -> Array:
        """Return the values with Laplace noise of a scale, or of one scale each.

        `taken_with`: everyone is counted with this probability only, by a coin that nobody sees.
        """
        ...

    def geometric_answer(self, values: Integers, scale: float) -> Integers:
        """Return whole values with two-sided geometric noise of a scale."""
        ...

    def gaussian_answer(self, values: Integers, scale: float) -> Integers:
        """Return whole values with discrete Gaussian noise of a scale."""
        ...

    def planar_answer(self, column: Array, row: Array, *, epsilon_per_m: float, cell_m: float) -> tuple[Array, Array]:
        """Return places on a grid, moved by planar geometric noise."""
        ...

    def bags_answer(self, groups: Iterable[tuple[Array, Integers]], bag: Integers) -> Integers:
        """Return a choice for every slot, of which only the numbers per bag are told."""
        ...

    def series_answer(self, logits: Array, after: Integers | None) -> Integers:
        """Return no (0) or yes (1) for every row; each follows a yes of the question before, or (-1, None) nothing."""
        ...

    def threshold_answer(self, values: Array, serial: Integers, law: ThresholdLaw) -> npt.NDArray[np.bool_]:
        """Tell which values are, with noise, below hidden noisy thresholds; one `serial` number is one threshold."""
        ...


@dataclass(frozen=True)
class SimulatedNoise:
    """Seeded noise for simulation; the same law as a release, but not releasable."""

    rng: np.random.Generator
    releasable: bool = False
    mode: str = "simulate"

    def laplace(self, scale: npt.ArrayLike, size: int) -> Array:
        """Draw Laplace noise from the seeded generator."""
        return self.rng.laplace(0.0, check_scale(scale), size)

    def geometric(self, scale: npt.ArrayLike, size: int) -> Integers:
        """Draw two-sided geometric noise from the seeded generator.

        The floor of an exponential with mean b is geometric with ratio exp(-1/b); the difference of two of them is
        the discrete Laplace.
        """
        wide = check_scale(scale)
        first, second = (np.floor(self.rng.standard_exponential(size) * wide) for _ in range(2))
        return (first - second).astype(np.int64)

    def gaussian(self, scale: npt.ArrayLike, size: int) -> Array:
        """Draw Gaussian noise from the seeded generator."""
        return self.rng.normal(0.0, check_scale(scale), size)

    def discrete_gaussian(self, scale: npt.ArrayLike, size: int) -> Integers:
        """Draw discrete Gaussian noise from the seeded generator.

        By inverting the cumulated law within 12σ (beyond: P < 1e-32); from σ = 1,000 on as rounded normals, whose law
        is within 2e-8 of it in total variation.
        """
        scales = check_scale(scale)
        if scales.ndim == 0:
            return self._discrete_gaussian(float(scales), size)
        noise = np.empty(size, dtype=np.int64)
        each = np.broadcast_to(scales, (size,))
        for value in np.unique(each):
            where = np.flatnonzero(each == value)
            noise[where] = self._discrete_gaussian(float(value), where.size)
        return noise

    def _discrete_gaussian(self, scale: float, size: int) -> Integers:
        if scale >= _ROUNDED_FROM:
            return np.rint(self.rng.normal(0.0, scale, size)).astype(np.int64)
        steps, cumulated = cumulate_gaussian(scale)
        return np.asarray(steps[np.searchsorted(cumulated, self.rng.random(size), side="right")], dtype=np.int64)

    def uniform(self, size: int) -> Array:
        """Draw uniforms from the seeded generator."""
        return self.rng.random(size)

    def choose(self, logits: npt.ArrayLike, size: int | None = None) -> Integers:
        """Choose by inverting the cumulative weights: one cumulative sum for shared logits."""
        table = check_logits(logits)
        weight = np.cumsum(np.exp(table - table.max(axis=-1, keepdims=True)), axis=-1)
        if table.ndim == 1:
            target = self.rng.random(1 if size is None else size) * weight[-1]
            return np.asarray(np.searchsorted(weight, target, side="right"), dtype=np.int64)
        target = self.rng.random(len(table)) * weight[:, -1]
        return np.asarray(np.sum(weight <= target[:, None], axis=1), dtype=np.int64)


def cumulate_gaussian(scale: float) -> tuple[Integers, Array]:
    """Return the whole numbers within 12σ, and the discrete Gaussian's probability of each or a lower one.

    Parameters
    ----------
    scale
        σ.

    Returns
    -------
    tuple[Integers, Array]
        The numbers, and their cumulated law, which ends with exactly 1.

    Examples
    --------
    >>> from geodp.privacy.noise import cumulate_gaussian
    >>> steps, cumulated = cumulate_gaussian(0.1)
    >>> steps.tolist(), cumulated.tolist()[1:]
    ([-2, -1, 0, 1, 2], [1.9287498479639178e-22, 1.0, 1.0, 1.0])
    """
    reach = max(math.ceil(_REACH * scale), 1)
    steps = np.arange(-reach, reach + 1, dtype=np.int64)
    law = np.exp(-0.5 * (steps / scale) ** 2)
    cumulated = np.cumsum(law)
    cumulated /= cumulated[-1]
    return steps, cumulated


def as_noise(source: np.random.Generator | Noise) -> Noise:
    """Take a numpy generator as simulated noise; a `Noise` is returned as it is.

    Parameters
    ----------
    source
        A generator, or noise.

    Returns
    -------
    Noise
        The noise.

    Raises
    ------
    UsageError
        If it is neither: a mechanism takes no seed.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.privacy.noise import as_noise
    >>> as_noise(np.random.default_rng(0)).releasable
    False
    """
    if isinstance(source, np.random.Generator):
        return SimulatedNoise(source)
    if isinstance(source, Noise):
        return source
    raise UsageError(
        f"noise must come from a numpy Generator or a Noise, got {type(source).__name__}: a mechanism takes no seed "
        "(use numpy.random.default_rng(seed) to simulate)"
    )


_audited: ContextVar[Noise | None] = ContextVar("noise of an auditor", default=None)


@contextmanager
def intercept_noise(noise: Noise) -> Iterator[None]:
    """Let an auditor answer the questions of releases in this block: what comes out must be thrown away."""
    token = _audited.set(noise)
    try:
        yield
    finally:
        _audited.reset(token)


def noise_source(mode: str, *, seed: int | None = None) -> Noise:
    """Return the noise of a mode: `simulate` with a seed (0 when none is given), `release` never with one."""
    if mode == "simulate":
        return SimulatedNoise(np.random.default_rng(0 if seed is None else seed))
    if mode == "release":
        if seed is not None:
            raise UsageError(
                f"mode 'release' takes no seed (got {seed}): noise that can be drawn again can be taken off again. "
                "Leave the seed out, or use mode 'simulate'."
            )
        heard = _audited.get()
        if heard is not None:
            return heard
        from geodp.privacy.release_noise import ReleaseNoise

        return ReleaseNoise()
    raise UsageError(f"no mode called '{mode}'.{did_you_mean(mode, MODES)} Modes: {', '.join(MODES)}.")


def require_releasable(noise: Noise, what: str) -> None:
    """Refuse to let simulated noise leave as a release."""
    if not noise.releasable:
        raise NotReleasable(
            f"{what} was made with simulated noise, which is predictable from the seed and leaks through "
            "floating point: it must not be published as a release."
        )


def check_scale(scale: npt.ArrayLike) -> Array:
    """Return a noise scale as an array, or refuse it before anything is drawn."""
    values = np.asarray(scale, dtype=np.float64)
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise UsageError(f"a noise scale must be a finite number greater than 0, got {values}")
    return values


def check_logits(logits: npt.ArrayLike) -> Array:
    """Return logits as one row or a matrix, or refuse them before anything is drawn."""
    values = np.asarray(logits, dtype=np.float64)
    if values.ndim not in (1, 2) or values.shape[-1] == 0:
        raise UsageError(f"choosing needs one row of scores or a matrix with a row per draw, got {values.shape}")
    if not np.isfinite(values).all():
        raise UsageError("choosing needs finite scores: some are NaN or infinite")
    return values


if not TYPE_CHECKING:
    __getattr__ = answer_old_names(
        __name__,
        {"audited_release": "intercept_noise", "checked_logits": "check_logits", "checked_scale": "check_scale"},
    )
