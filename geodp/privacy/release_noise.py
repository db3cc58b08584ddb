"""Noise that may leave the house: OpenDP's exact discrete samplers, on lattices that doubles represent exactly.

There is no seed and none is accepted. Continuous laws are drawn on a lattice of step g = 2^-k, chosen from the public
scale alone: g times an exact discrete Laplace or discrete Gaussian. Integers lie on the lattice, so count + noise is
computed without rounding and the set of possible outputs is the same for every count: low bits tell nothing. Choices
with probability ∝ exp(logit) are exact too: uniform proposals, accepted by exact coin flips.
"""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from geodp.errors import UsageError
from geodp.privacy.noise import Array, Integers, check_logits, check_scale

LATTICE_BITS = 20
"""The lattice step is at most 2^-20 of the scale: distribution functions differ by less than 2^-21."""
_WIDE = 500.0
"""Logits that lie farther apart than this are left to Gumbel noise."""
FINEST_BITS = 30
"""No lattice is finer than 2^-30, so that counts up to 2^22 plus noise stay exact in doubles."""
Words = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]
BITS = 52
"""Gaps between logits are rounded to multiples of 2^-52, as doubles around 1 are anyway."""
WORTH = 0.02
"""Below this share of accepted proposals another way to choose is faster."""


def lattice_step(scale: float) -> float:
    """Return the step 2^-k of the lattice for a scale: a power of two, at most 1, so that integers lie on it."""
    bits = LATTICE_BITS - math.floor(math.log2(scale))
    return 2.0 ** -min(max(bits, 0), FINEST_BITS)


class ReleaseNoise:
    """Noise for real releases, from the operating system's randomness through OpenDP.

    Law and slack, against `SimulatedNoise`:

    - `geometric`, `discrete_gaussian`: the same law, exactly (the simulated Gaussian is cut at 12σ, and from σ 1,000
      on rounded: within 2e-8 in total variation).
    - `laplace`, `gaussian`: on the lattice of step g = `lattice_step(scale)`; ε is exact for inputs on the lattice
      (integers always are), and the distribution functions differ by less than 2^-21 while scale ≥ 2^-10.
    - `choose`: the exponential mechanism, by rejection with exact coins where many draws share logits that lie close
      together (gaps are rounded to multiples of 2^-52), otherwise by exact Gumbel noise; no probability is rounded.
    - `uniform`: 106 random bits rounded to the nearest double, relative error at most 2^-52.
    """

    releasable: bool = True
    mode: str = "release"

    def __init__(self) -> None:
        self._dp = _opendp()

    def laplace(self, scale: npt.ArrayLike, size: int) -> Array:
        """Draw lattice Laplace noise: g · discrete Laplace(scale / g)."""
        return self._on_lattice(self._laplace_measurement, scale, size)

    def geometric(self, scale: npt.ArrayLike, size: int) -> Integers:
        """Draw exact two-sided geometric noise."""
        wide = check_scale(scale)
        noise = np.empty(size, dtype=np.int64)
        for value, where in _by_value(wide, size):
            noise[where] = _draw(self._laplace_measurement(value), where.size)
        return noise

    def gaussian(self, scale: npt.ArrayLike, size: int) -> Array:
        """Draw lattice Gaussian noise: g · discrete Gaussian(scale / g)."""
        return self._on_lattice(self._gaussian_measurement, scale, size)

    def discrete_gaussian(self, scale: npt.ArrayLike, size: int) -> Integers:
        """Draw exact discrete Gaussian noise."""
        wide = check_scale(scale)
        noise = np.empty(size, dtype=np.int64)
        for value, where in _by_value(wide, size):
            noise[where] = _draw(self._gaussian_measurement(value), where.size)
        return noise

    def uniform(self, size: int) -> Array:
        """Draw uniforms with 106 random bits, so that small values keep their relative precision."""
        words = np.frombuffer(os.urandom(16 * size), dtype=np.uint64).reshape(2, size) >> np.uint64(11)
        high, low = words.astype(np.float64)
        return np.asarray(np.minimum(high * 2.0**-53 + low * 2.0**-106, np.nextafter(1.0, 0.0)))

    def choose(self, logits: npt.ArrayLike, size: int | None = None) -> Integers:
        """Choose by rejection with exact coins, or by exact report-noisy-max with Gumbel noise: the same law."""
        table = check_logits(logits)
        if table.ndim == 1 and float(np.ptp(table)) < _WIDE and acceptance(table) > WORTH:
            return exact_choice(table, 1 if size is None else size)
        dp = self._dp
        space = dp.vector_domain(dp.atom_domain(T="f64", nan=False)), dp.linf_distance(T="f64")
        select = dp.m.make_noisy_max(*space, dp.zero_concentrated_divergence(), scale=1.0)
        if table.ndim == 1:
            table = np.broadcast_to(table, (1 if size is None else size, table.size))
        return np.array([select(row.tolist()) for row in table], dtype=np.int64)

    def _on_lattice(self, measurement: Any, scale: npt.ArrayLike, size: int) -> Array:
        wide = check_scale(scale)
        noise = np.empty(size, dtype=np.float64)
        for value, where in _by_value(wide, size):
            step = lattice_step(value)
            noise[where] = _draw(measurement(value / step), where.size) * step  # both are powers of two away: exact
        return noise

    def _laplace_measurement(self, scale: float) -> Any:
        dp = self._dp
        return dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64"), scale=scale)

    def _gaussian_measurement(self, scale: float) -> Any:
        dp = self._dp
        return dp.m.make_gaussian(dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64"), scale=scale)


def _opendp() -> Any:
    try:
        import opendp.prelude as dp
    except ImportError:
        raise UsageError(
            "mode 'release' needs OpenDP, which is not installed: pip install 'geodp[release]'.\n"
            "Nothing was drawn, charged or released."
        ) from None
    dp.enable_features("contrib")
    return dp


def _draw(measurement: Any, size: int) -> Integers:
    return np.array(measurement([0] * size), dtype=np.int64)


def _by_value(scale: Array, size: int) -> list[tuple[float, npt.NDArray[np.intp]]]:
    """Group the draws by their scale: one sampler per distinct scale."""
    if size == 0:
        return []
    values, group = np.unique(np.broadcast_to(scale, (size,)), return_inverse=True)
    order = np.argsort(group, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(group, minlength=values.size))[:-1])
    return [(float(value), part) for value, part in zip(values, parts, strict=True)]


def acceptance(logits: Array) -> float:
    """Return the share of uniform proposals that are accepted."""
    return float(np.exp(logits - logits.max()).mean())


def exact_choice(logits: Array, size: int) -> Integers:
    """Choose `size` indices with probability ∝ exp(logit).

    A place drawn uniformly is kept with probability exp(-gap), gap = largest logit - logit: what is kept has the law
    wanted. Both steps are exact: whole numbers below a bound by rejection of random words, and the coin by the method
    of Canonne, Kamath and Steinke (2020, The discrete Gaussian for differential privacy, algorithm 1).
    """
    distance = logits.max() - logits
    whole = np.floor(distance)
    rest = np.round((distance - whole) * 2.0**BITS)
    chosen = np.empty(size, dtype=np.int64)
    waiting = np.arange(size)
    while waiting.size:
        proposed = below(np.full(waiting.size, logits.size, dtype=np.uint64)).astype(np.int64)
        kept = coins(whole[proposed].astype(np.int64), rest[proposed].astype(np.uint64))
        chosen[waiting[kept]] = proposed[kept]
        waiting = waiting[~kept]
    return chosen


def coins(whole: Integers, rest: Words) -> Mask:
    """Flip a coin that shows heads with probability exp(-(whole + rest/2^52)), per entry."""
    heads = _fractional(rest)
    left = whole.copy()
    while True:
        going = np.flatnonzero(heads & (left > 0))
        if not going.size:
            return heads
        heads[going] = _fractional(np.full(going.size, 1 << BITS, dtype=np.uint64))  # exp(-1), once per whole unit
        left[going] -= 1


def _fractional(part: Words) -> Mask:
    """Flip coins with probability exp(-g), g = part/2^52 ≤ 1: the first k with tails of g/k is odd with that chance."""
    length = np.ones(part.size, dtype=np.uint64)
    going = np.arange(part.size)
    while going.size:
        again = below(length[going] << np.uint64(BITS)) < part[going]
        going = going[again]
        length[going] += np.uint64(1)
    return np.asarray(length % np.uint64(2) == 1)


def below(bound: Words) -> Words:
    """Draw whole numbers below each bound, exactly uniform: words from the last, incomplete round are drawn again."""
    numbers = np.empty(bound.size, dtype=np.uint64)
    waiting = np.arange(bound.size)
    while waiting.size:
        word = np.frombuffer(os.urandom(8 * waiting.size), dtype=np.uint64)
        limit = bound[waiting]
        spare = (np.uint64(2**64 - 1) % limit + np.uint64(1)) % limit  # 2^64 mod bound
        good = word <= np.uint64(2**64 - 1) - spare
        numbers[waiting[good]] = word[good] % limit[good]
        waiting = waiting[~good]
    return numbers
