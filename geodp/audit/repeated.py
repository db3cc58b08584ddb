"""Certifying a rho: a release is repeated until its pair of inputs lies far enough apart to be told by samples.

One release at a strict ρ tells so little that an ε at a tiny δ certifies a fraction of it. Of T repeats ρ adds up to
Tρ, and where the noise is Gaussian they are one Gaussian release with √T times the difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from geodp.audit.auditor import LEAST_SAMPLES, NoiseFor, PairAudit, require_sound
from geodp.audit.certify import lower_bound, upper_bound
from geodp.audit.events import Finding
from geodp.errors import GeodpError, UsageError
from geodp.geometry import Array
from geodp.privacy.audit_case import RhoCase
from geodp.privacy.noise import Noise

MOST_REPEATS = 1_000_000
_BLOCK = 1_000_000
"""Answers drawn at a time."""


_ENOUGH = {False: 8_000_000, True: 100_000}
"""Answers to draw on either input, simulated and releasable: the noise of a release takes a hundred times as long."""


@dataclass(frozen=True)
class RhoPair:
    """What was found out about one pair of inputs."""

    name: str
    claimed: float
    """ρ claimed."""
    certified: float
    """ρ certainly spent."""
    repeats: int
    """Releases that make one sample."""

    @property
    def share(self) -> float:
        """What is certainly spent, as a share of the claim."""
        return self.certified / self.claimed

    @property
    def refuted(self) -> bool:
        """Whether more is certainly spent than was claimed."""
        return self.certified > self.claimed


@dataclass(frozen=True)
class RhoAudit:
    """The result of an audit of rhos; alpha was split over all pairs, and over both directions."""

    samples: int
    confidence: float
    pairs: tuple[RhoPair, ...]

    @property
    def refuted(self) -> bool:
        """Whether any pair refutes the claim."""
        return any(pair.refuted for pair in self.pairs)


def audit_rho(
    cases: Sequence[RhoCase], noise_for: NoiseFor, *, samples: int = 10_000, confidence: float = 0.95
) -> RhoAudit:
    """Certify how much ρ a release spends, for each of some pairs of inputs.

    Parameters
    ----------
    cases
        The pairs.
    noise_for
        Noise for each named case; independent between cases.
    samples
        Sums of repeated releases on either input of each pair.
    confidence
        Probability, at least, with which a true claim survives.

    Returns
    -------
    RhoAudit
        What was certified.

    Raises
    ------
    UsageError
        If samples, confidence or a claim are such that nothing could be said.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.audit.repeated import audit_rho
    >>> from geodp.privacy.audit_case import RhoCase
    >>> from geodp.privacy.noise import SimulatedNoise
    >>> def draw(noise, present, number):
    ...     return present + noise.discrete_gaussian(5.0, number)[:, None]
    >>> case = RhoCase("one person more", 0.02, draw, direction=np.ones(1), threshold=0.5)
    >>> found = audit_rho([case], lambda name: SimulatedNoise(np.random.default_rng(1)), samples=1000)
    >>> found.refuted, 0.7 < found.pairs[0].share < 1
    (False, True)
    """
    require_sound(samples, confidence)
    alpha = (1 - confidence) / max(len(cases), 1)
    pairs = []
    for number, case in enumerate(cases):
        repeats = count_repeats(case.claimed)
        noise = noise_for(f"rho.{number}.{case.name}")
        hits = [
            int(np.count_nonzero(_sum_repeats(case, noise, present, samples, repeats) >= repeats * case.threshold))
            for present in (True, False)
        ]
        pairs.append(RhoPair(case.name, case.claimed, _certify(hits, samples, repeats, alpha, case), repeats))
    return RhoAudit(samples, confidence, tuple(pairs))


def repeat_pairs(
    cases: Sequence[RhoCase], noise_for: NoiseFor, *, samples: int, confidence: float
) -> tuple[PairAudit, ...]:
    """Certify what pairs spend of their ρ, with no more samples than are soon drawn, as parts of an audit.

    Releases of many counts are not repeated with releasable noise, which would take too long.

    Parameters
    ----------
    cases, noise_for
        As in `audit_rho`.
    samples
        Sums on either input, at most.
    confidence
        Probability, at least, with which true claims survive together.
    """
    found: list[PairAudit] = []
    each = 1 - (1 - confidence) / max(len(cases), 1)
    for case in cases:
        numbers = count_repeats(case.claimed) * max(case.direction.size, 1)
        releasable = noise_for("rho.kind").releasable
        most = _ENOUGH[releasable] // numbers
        if releasable and most < LEAST_SAMPLES:
            continue  # minutes of exact noise: what was followed speaks for it, and repeats with the same law simulated
        few = max(min(samples, most), LEAST_SAMPLES)
        [pair] = audit_rho([case], noise_for, samples=few, confidence=each).pairs
        name = f"{pair.name} ({pair.repeats:,} releases a sample, N = {few:,})"
        certified = Finding("sums of repeats", "with", pair.certified)
        found.append(PairAudit(name, pair.claimed, (certified,), currency="ρ"))
    return tuple(found)


def count_repeats(rho: float) -> int:
    """Return how many releases of a ρ lie two standard deviations apart: ⌈(2σ/Δ₂)²⌉ = ⌈2/ρ⌉.

    Parameters
    ----------
    rho
        ρ of one.

    Returns
    -------
    int
        Their number.

    Examples
    --------
    >>> from geodp.audit.repeated import count_repeats
    >>> count_repeats(0.02435597)
    83
    """
    if not (math.isfinite(rho) and rho > 0):
        raise UsageError(f"a rho to certify must be a finite number greater than 0, got {rho}")
    repeats = math.ceil(2 / rho)
    if repeats > MOST_REPEATS:
        raise UsageError(f"a rho of {rho:g} needs {repeats:,} repeats of the release to be told (at most 1,000,000)")
    return repeats


def certify_gaussian(hits: Sequence[int], samples: int, repeats: int, alpha: float) -> float:
    """Return the ρ that Gaussian noise certainly spends: μ²/2 of what tells the inputs apart.

    μ̂ = (Φ⁻¹(p) - Φ⁻¹(q))/√T, with Clopper–Pearson bounds: p of a hit with the person from below, q without from above.

    Parameters
    ----------
    hits
        Sums above the threshold, with and without the person.
    samples, repeats
        Sums on either input, and releases in each.
    alpha
        Probability, at most, with which it is too much.

    Returns
    -------
    float
        ρ.

    Examples
    --------
    >>> from geodp.audit.repeated import certify_gaussian
    >>> 0.9 < certify_gaussian([8413, 1587], 10_000, 2, 0.05) < 1
    True
    """
    from scipy.special import ndtri

    low, high = _bounds(hits, samples, alpha)
    if low <= high:
        return 0.0
    return float((ndtri(low) - ndtri(high)) ** 2 / (2 * repeats))


def certify_concentrated(hits: Sequence[int], samples: int, repeats: int, alpha: float) -> float:
    """Return the ρ that any release certainly spends: the largest Rényi divergence of the event, over αT.

    Parameters
    ----------
    hits
        Sums above the threshold, with and without the person.
    samples, repeats
        Sums on either input, and releases in each.
    alpha
        Probability, at most, with which it is too much.

    Returns
    -------
    float
        ρ.

    Examples
    --------
    >>> from geodp.audit.repeated import certify_concentrated
    >>> 0.55 < certify_concentrated([5000, 228], 10_000, 2, 0.05) < 0.65
    True
    """
    low, high = _bounds(hits, samples, alpha)
    if low <= high:
        return 0.0
    orders = 1 + np.exp(np.linspace(-9, 9, 2000))  # α; the true claim holds at each, so any grid is sound
    both = ((low, high), (1 - high, 1 - low))  # the event, and what is not in it with the inputs exchanged
    return max(float((_renyi(p, q, orders) / (orders * repeats)).max()) for p, q in both)


def _renyi(p: float, q: float, orders: Array) -> Array:
    """Return the Rényi divergences of a coin that shows heads with probability p from one with q."""
    with np.errstate(divide="ignore"):
        heads = orders * np.log(p) + (1 - orders) * np.log(q)
        tails = orders * np.log1p(-p) + (1 - orders) * np.log1p(-q)
    return np.asarray(np.logaddexp(heads, tails) / (orders - 1))


def _bounds(hits: Sequence[int], samples: int, alpha: float) -> tuple[float, float]:
    with_, without = hits
    return float(lower_bound(with_, samples, alpha / 2)), float(upper_bound(without, samples, alpha / 2))


def _certify(hits: Sequence[int], samples: int, repeats: int, alpha: float, case: RhoCase) -> float:
    certify: Callable[[Sequence[int], int, int, float], float]
    certify = certify_gaussian if case.gaussian else certify_concentrated
    return certify(hits, samples, repeats, alpha)


def _sum_repeats(case: RhoCase, noise: Noise, present: bool, samples: int, repeats: int) -> Array:
    """Return the weighted sums of repeated releases, one per sample."""
    width = max(case.direction.size, 1)
    block = max(_BLOCK // (repeats * width), 1)
    sums = np.empty(samples)
    for begin in range(0, samples, block):
        number = min(block, samples - begin)
        drawn = np.asarray(case.draw(noise, present, number * repeats), dtype=np.float64)
        if drawn.shape != (number * repeats, case.direction.size):
            raise GeodpError(
                f"audit case '{case.name}': {number * repeats} rows of {case.direction.size} answers were due, got an "
                f"array of shape {drawn.shape}"
            )
        sums[begin : begin + number] = (drawn @ case.direction).reshape(number, repeats).sum(axis=1)
    return sums
