"""The building blocks: noisy counts, the exponential mechanism, planar noise.

Every function checks epsilon before anything is drawn, and takes its noise from a `Noise`. In release mode counts must
lie on the noise's lattice (integers always do), because noise on a shifted lattice would give its shift away.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.errors import DataError, UsageError
from geodp.privacy.noise import AnsweringNoise, Array, Integers, Noise

DEFAULT_PLANAR_EPSILON_PER_M = math.log(4) / 200
"""ln 4 within 200 m: mean displacement 289 m, 95 % within 684 m."""
_ROOT_HALF = math.sqrt(0.5)
WIDEST_RELEASED = 2.0**47
"""Widest noise of a release: beyond 2^53 doubles round it, and counts show through. So far: P < e^-63."""


def laplace_counts(
    counts: npt.ArrayLike, *, epsilon: float, sensitivity: float, noise: Noise, taken_with: float = 1.0
) -> Array:
    """Return counts with Laplace noise of scale sensitivity/epsilon: epsilon-differentially private.

    `sensitivity` is the L1 sensitivity of all counts together; E|noise| is the scale itself. `taken_with` says (to an
    auditor) that everyone is counted with this probability only, by a coin that nobody sees, which makes it cheaper.

    Parameters
    ----------
    counts
        The true counts.
    epsilon
        ε of all of them together.
    sensitivity
        L1 sensitivity of all of them together.
    noise
        Where the noise comes from.
    taken_with
        Probability that anyone is counted.

    Returns
    -------
    Array
        Noisy counts, of the same shape.

    Raises
    ------
    UsageError
        If epsilon or sensitivity is not positive, or a count is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.privacy.noise import SimulatedNoise
    >>> from geodp.privacy.primitives import laplace_counts
    >>> noise = SimulatedNoise(np.random.default_rng(0))
    >>> laplace_counts([10, 5], epsilon=1000.0, sensitivity=1.0, noise=noise).round().tolist()
    [10.0, 5.0]
    """
    scale = positive("sensitivity", sensitivity) / positive("epsilon", epsilon)
    values = _finite_counts(counts)
    if noise.releasable:
        _require_lattice(values, scale)
    return with_laplace(values, scale, noise, taken_with)


def with_laplace(values: npt.NDArray[Any], scale: npt.ArrayLike, noise: Noise, taken_with: float = 1.0) -> Array:
    """Return values with Laplace noise of a public scale (or one each), in one step, so that an auditor can follow it.

    For mechanisms that split ε over whole counts themselves; `laplace_counts` checks more.

    Parameters
    ----------
    values
        The true values.
    scale
        Scale of the noise, public: one for all, or one each.
    noise
        Where the noise comes from.
    taken_with
        Probability that anyone is counted, by a coin that nobody sees: an auditor charges less then.

    Returns
    -------
    Array
        Noisy values, of the same shape.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.privacy.noise import SimulatedNoise
    >>> from geodp.privacy.primitives import with_laplace
    >>> with_laplace(np.array([3, 4]), 0.001, SimulatedNoise(np.random.default_rng(0))).round().tolist()
    [3.0, 4.0]
    """
    if isinstance(noise, AnsweringNoise):
        return noise.laplace_answer(values, scale, taken_with)
    wide = scale if np.ndim(scale) == 0 else np.broadcast_to(np.asarray(scale), values.shape).reshape(-1)
    noisy = noise.laplace(wide, values.size).reshape(values.shape)
    noisy += values  # in place: a fresh array would cost another tenth
    return noisy


def with_geometric(values: Integers, scale: float, noise: Noise) -> Integers:
    """Return whole values with two-sided geometric noise of a public scale, in one step that an auditor can follow.

    Parameters
    ----------
    values
        The true values.
    scale
        Scale of the noise, public.
    noise
        Where the noise comes from.

    Returns
    -------
    Integers
        Noisy values, of the same shape.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.privacy.noise import SimulatedNoise
    >>> from geodp.privacy.primitives import with_geometric
    >>> with_geometric(np.array([3, 4]), 0.001, SimulatedNoise(np.random.default_rng(0))).tolist()
    [3, 4]
    """
    if isinstance(noise, AnsweringNoise):
        return noise.geometric_answer(values, scale)
    return np.asarray(values + noise.geometric(scale, values.size).reshape(values.shape))


def with_discrete_gaussian(values: Integers, scale: float, noise: Noise) -> Integers:
    """Return whole values with discrete Gaussian noise of a public σ, in one step that an auditor can follow.

    Parameters
    ----------
    values
        The true values.
    scale
        σ of the noise, public.
    noise
        Where the noise comes from.

    Returns
    -------
    Integers
        Noisy values, of the same shape.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.privacy.noise import SimulatedNoise
    >>> from geodp.privacy.primitives import with_discrete_gaussian
    >>> with_discrete_gaussian(np.array([3, 4]), 0.001, SimulatedNoise(np.random.default_rng(0))).tolist()
    [3, 4]
    """
    if isinstance(noise, AnsweringNoise):
        return noise.gaussian_answer(values, scale)
    return np.asarray(values + noise.discrete_gaussian(scale, values.size).reshape(values.shape))


def exponential_mechanism(
    scores: npt.ArrayLike,
    *,
    epsilon: float,
    sensitivity: float,
    noise: Noise,
    size: int | None = None,
    one_directional: bool = False,
) -> Integers:
    """Choose candidates by the exponential mechanism and return their indices.

    Parameters
    ----------
    scores
        One row, shared by `size` draws (one when None), or a matrix with one row of scores per draw.
    epsilon, sensitivity
        Budget of one draw, and the most that one person can change any score.
    noise
        Where randomness comes from.
    size
        Number of draws from shared scores.
    one_directional
        Adding a person moves all scores in the same direction: exp(ε q/Δ) suffices instead of exp(ε q/2Δ).

    Returns
    -------
    Integers
        Index of the candidate that is chosen, one per draw.

    Raises
    ------
    UsageError
        If epsilon or sensitivity is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.privacy.noise import SimulatedNoise
    >>> from geodp.privacy.primitives import exponential_mechanism
    >>> noise = SimulatedNoise(np.random.default_rng(0))
    >>> exponential_mechanism([0.0, 9.0, 1.0], epsilon=100.0, sensitivity=1.0, noise=noise, size=2).tolist()
    [1, 1]
    """
    return noise.choose(_logits(scores, epsilon, sensitivity, one_directional=one_directional), size)


def exponential_probabilities(
    scores: npt.ArrayLike, *, epsilon: float, sensitivity: float, one_directional: bool = False
) -> Array:
    """Return the probabilities with which the exponential mechanism chooses (book eq. 2.10); epsilon 0 is uniform."""
    if epsilon == 0:
        table = np.asarray(scores, dtype=np.float64)
        return np.full(table.shape, 1 / table.shape[-1])
    logits = _logits(scores, epsilon, sensitivity, one_directional=one_directional)
    weight = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(weight / weight.sum(axis=-1, keepdims=True))


def _logits(scores: npt.ArrayLike, epsilon: float, sensitivity: float, *, one_directional: bool) -> Array:
    rate = positive("epsilon", epsilon) / positive("sensitivity", sensitivity)
    return np.asarray(scores, dtype=np.float64) * (rate if one_directional else rate / 2)


def planar_laplace_offsets(size: int, epsilon_per_m: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw planar Laplace displacements in metres: density ε²/(2π)·exp(-ε|z|) (book eq. 12.5).

    The angle is uniform and the radius Gamma(2, 1/ε), the density's radial law ε² r e^(-εr), as a sum of two
    exponentials. The distribution function is not inverted (Lambert W), so no rounding of an intermediate can put radii
    on a lattice. Simulation only: doubles of this kind must not be released.
    """
    positive("epsilon_per_m", epsilon_per_m)
    radius = rng.standard_exponential(size)
    radius += rng.standard_exponential(size)
    radius /= epsilon_per_m
    angle = rng.random(size)
    angle *= 2 * np.pi
    x, y = np.cos(angle), np.sin(angle, out=angle)
    x *= radius
    y *= radius
    return x, y


def planar_geometric_offsets(size: int, epsilon_per_m: float, cell_m: float, noise: Noise) -> tuple[Integers, Integers]:
    """Draw planar geometric displacements in whole cells: P(i, j) ∝ exp(-ε·cell·sqrt(i² + j²)).

    Two independent discrete Laplaces of scale √2/(ε·cell) are proposed and accepted with probability
    exp(-ε·cell·(|k|₂ - |k|₁/√2)), which is at most 1 because |k|₁ ≤ √2 |k|₂; about three quarters are accepted.
    The accept step is computed in doubles: in release mode log-probabilities are off by at most 1e-12 for
    ε·cell·|k|₂ ≤ 1,000, beyond which all probability together is below e^-990. That slack is small, but it is not zero.
    """
    step = positive("epsilon_per_m", epsilon_per_m) * positive("cell_m", cell_m)
    i, j = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    missing = size
    while missing:
        tries = int(missing * 1.4) + 16  # acceptance is at least 0.6 for ε·cell ≤ 3; more rounds do no harm
        across, along = noise.geometric(math.sqrt(2) / step, 2 * tries).reshape(2, tries)
        far, sideways = np.hypot(across, along), np.abs(across) + np.abs(along)
        kept = np.flatnonzero(noise.uniform(tries) < np.exp(-step * (far - _ROOT_HALF * sideways)))[:missing]
        start = size - missing
        i[start : start + kept.size], j[start : start + kept.size] = across[kept], along[kept]
        missing -= kept.size
    return i, j


def with_planar_geometric(
    column: Array, row: Array, *, epsilon_per_m: float, cell_m: float, noise: Noise
) -> tuple[Array, Array]:
    """Return places on a grid (whole columns and rows) moved by planar geometric noise, in one step to follow."""
    if isinstance(noise, AnsweringNoise):
        return noise.planar_answer(column, row, epsilon_per_m=epsilon_per_m, cell_m=cell_m)
    east, north = planar_geometric_offsets(column.size, epsilon_per_m, cell_m, noise)
    return column + east.reshape(column.shape), row + north.reshape(row.shape)  # whole numbers far below 2^53: exact


def choose_in_bags(groups: Iterable[tuple[Array, Integers]], bag: Integers, noise: Noise) -> Integers:
    """Choose for every slot by the logits of its group; which slot of a bag got which choice must not be told.

    Then two inputs that give a bag the same laws in another order are alike, and an auditor counts the laws that
    differ. All laws of a bag choose among the same candidates.

    Parameters
    ----------
    groups
        Logits, and the slots that share them.
    bag
        The bag of each slot: of its choices only the numbers are published.
    noise
        Where randomness comes from.
    """
    if isinstance(noise, AnsweringNoise):
        return noise.bags_answer(groups, bag)
    chosen = np.empty(bag.size, dtype=np.int64)
    for logits, slots in groups:
        chosen[slots] = noise.choose(logits, slots.size)
    return chosen


def decide_in_series(logits: Array, noise: Noise, after: Integers | None = None) -> npt.NDArray[np.bool_]:
    """Decide no or yes, with probability ∝ exp(logit), where each decision follows a yes of the call before.

    For trees that are divided from the root: a no is the last decision of its branch. Then a branch cannot tell the
    worst of each of its decisions, and an auditor adds up what whole branches tell.

    Parameters
    ----------
    logits
        One row per decision: of no, and of yes.
    noise
        Where randomness comes from.
    after
        Which decision of the call before each follows, by its row, which was a yes; None: these are the first.

    Returns
    -------
    NDArray[bool]
        Whether each decision is a yes.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.privacy.noise import SimulatedNoise
    >>> from geodp.privacy.primitives import decide_in_series
    >>> noise = SimulatedNoise(np.random.default_rng(0))
    >>> decide_in_series(np.array([[0.0, 50.0], [50.0, 0.0]]), noise).tolist()
    [True, False]
    """
    if isinstance(noise, AnsweringNoise):
        return np.asarray(noise.series_answer(logits, after) == 1)
    return np.asarray(noise.choose(logits) == 1)


def positive(name: str, value: float) -> float:
    """Return the value, or refuse anything but a finite number greater than 0."""
    if not (math.isfinite(value) and value > 0):
        raise UsageError(f"{name} must be a finite number greater than 0, got {value}. Nothing was drawn.")
    return float(value)


def _finite_counts(counts: npt.ArrayLike) -> npt.NDArray[Any]:
    values = np.asarray(counts)
    if np.issubdtype(values.dtype, np.integer):
        return values
    values = values.astype(np.float64, copy=False)
    if not np.isfinite(values).all():
        raise DataError("counts must be finite numbers: some are NaN or infinite. Nothing was drawn.")
    return values


def _require_lattice(counts: npt.NDArray[Any], scale: float) -> None:
    """Refuse counts that noise in release mode would not hide exactly."""
    from geodp.privacy.release_noise import lattice_step

    if scale > WIDEST_RELEASED:  # count + noise would be rounded, and the rounding tells the count
        raise UsageError(
            f"in release mode noise of scale {scale:g} is too wide to be exact in doubles (at most "
            f"{WIDEST_RELEASED:g}): use a larger epsilon or a smaller bound. Nothing was drawn."
        )
    step = lattice_step(scale)
    if (counts / step != np.floor(counts / step)).any():
        raise DataError(
            f"in release mode counts must be multiples of {step:g} (whole numbers are), and some are not: their "
            "fractions would show through the noise. Round them to that lattice within their sensitivity first."
        )
    if (np.abs(counts) > 2.0**52 * step).any():
        raise DataError(f"in release mode counts must stay below {2.0**52 * step:g}: larger ones lose their last bits")
