"""Willingness that grows with reward and falls with distance (book eq. 13.7).

Behind every reach and radius is one curve, G(x) = ∫₀ˣ 2u tanh(1/u) du: with u = s/(cw) the number of willing workers
around a task, ∫₀ʳ tanh(cw/s) 2πs ds, is π(cw)² G(r/(cw)), so one table serves every reward, radius and ceiling.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field

from geodp.public.acceptance import Acceptance, Array
from geodp.registry import PublicFacts

HALF_WAY_SHARE = 0.4  # default c: at the mean reward and half the maximum distance, 0.4 of the ceiling accept
_LEAST_PULL_M = 1e-9  # a reward worth less than a nanometre attracts nobody (and would overflow squares)
_EAGERNESS_NODES = 32  # Gauss-Hermite nodes over the log-normal eagerness
_NEAR = 0.05  # below: tanh(1/u) = 1 - 2e^(-2/u) differs from 1 by less than 1e-17, so G(x) = x²
_FAR = 10.0  # above: the series in 1/x below is good to 1e-13
_OFFSET = -14 * 1.2020569031595943 / np.pi**2  # lim G(x) - 2x = -14 ζ(3)/π²
_NODES = 801  # Hermite error is (step in ln x)⁴ f⁗/384: about 1e-11 relative


class TanhReward(Acceptance):
    """Probability ceiling · tanh(c · reward / distance); nobody works beyond `max_travel_m` or too cheaply.

    With a ceiling of 1 everyone near a task accepts, and 2.3 workers in the circle suffice for a success of
    0.9; the default is nearer to the acceptance rates that other models assume.

    Reference
    ---------
    Zhu et al. 2017, Differential Privacy and Applications, eq. (13.7), which is `ceiling: 1`. The derivative
    by distance is negative; eq. (13.8) prints the wrong sign.
    """

    kind: ClassVar[str] = "tanh_reward"

    ceiling: float = Field(0.25, gt=0, le=1)
    """Probability at distance 0, whatever the reward (1: the book's formula)."""
    metres_per_reward: float | None = Field(None, gt=0)
    """The book's c, in metres per unit of reward. Default: so that 0.4 of the ceiling accept the mean reward
    (1 where none is known) at half of `max_travel_m`; set it when you sweep rewards, or it follows them."""
    max_travel_m: float = Field(3600.0, gt=0)
    """Distance beyond which nobody accepts, in metres (the book's MTD)."""
    spread: float = Field(0.0, ge=0, le=3)
    """Differences between workers: standard deviation of the logarithm of a worker's own c (mean c)."""
    minimum_reward: float | None = Field(None, ge=0)
    """Reward below which nobody accepts (the book's w0). Default: the scenario's `tasks.reward.minimum`."""

    def resolve(self, facts: PublicFacts) -> Self:
        """Write out c and the minimum reward."""
        mean = facts.mean_reward if facts.mean_reward > 0 else 1.0
        return super().resolve(facts).model_copy(update={"metres_per_reward": self._metres_per_reward(mean)})

    def _metres_per_reward(self, mean_reward: float = 1.0) -> float:
        if self.metres_per_reward is not None:
            return self.metres_per_reward
        return math.atanh(HALF_WAY_SHARE) * self.max_travel_m / 2 / mean_reward

    def pull_m(self, reward: npt.ArrayLike, eagerness: npt.ArrayLike = 1.0) -> Array:
        """Return c·w in metres: at that distance 0.76 of the ceiling accept; 0 below the minimum reward."""
        worth = np.asarray(reward, dtype=np.float64)
        pull = self._metres_per_reward() * worth * np.asarray(eagerness, dtype=np.float64)
        return np.where(self.pays_enough(worth) & (pull > _LEAST_PULL_M), pull, 0.0)

    def probability(self, reward: npt.ArrayLike, distance_m: npt.ArrayLike, eagerness: npt.ArrayLike = 1.0) -> Array:
        """Return the probability that a worker at that distance accepts that reward."""
        ratio = self._ratio(reward, distance_m, eagerness)
        return np.asarray(self.ceiling * np.tanh(ratio), dtype=np.float64)

    def curve(self, reward: float) -> Callable[[float], float]:
        """Return the probability by distance as a plain function; with `spread`, its mean over eagerness."""
        pull, ceiling, reach_m, tanh = float(self.pull_m(reward)), self.ceiling, self.max_travel_m, math.tanh
        if pull == 0:
            return lambda _: 0.0
        eagerness, weight = (part.tolist() for part in self._eagerness_rule())
        parts = [(pull * each, ceiling * share) for each, share in zip(eagerness, weight, strict=True)]

        def alike(distance_m: float) -> float:
            if distance_m > reach_m:
                return 0.0
            return ceiling * tanh(pull / distance_m) if distance_m > 0 else ceiling

        def weigh_parts(distance_m: float) -> float:
            if distance_m > reach_m:
                return 0.0
            return sum(share * tanh(own / distance_m) for own, share in parts) if distance_m > 0 else ceiling

        return alike if len(parts) == 1 else weigh_parts

    def log_refusal(self, reward: npt.ArrayLike, distance_m: npt.ArrayLike, eagerness: npt.ArrayLike = 1.0) -> Array:
        """Return ln(1 - probability); with ceiling 1 it stays exact where the probability rounds to 1."""
        ratio = self._ratio(reward, distance_m, eagerness)
        if self.ceiling < 1:
            return np.asarray(np.log1p(-self.ceiling * np.tanh(ratio)), dtype=np.float64)
        # ln(1 - tanh x) = -ln((e^2x + 1)/2), written so that nothing overflows or cancels
        return np.asarray(-(2 * ratio + np.log1p(np.expm1(-2 * ratio) / 2)), dtype=np.float64)

    def _ratio(self, reward: npt.ArrayLike, distance_m: npt.ArrayLike, eagerness: npt.ArrayLike) -> Array:
        """Return c·w/d: infinite at distance 0, zero for whoever never accepts."""
        pull, distance = np.broadcast_arrays(self.pull_m(reward, eagerness), np.asarray(distance_m, dtype=np.float64))
        ratio = np.where(pull > 0, np.inf, 0.0)
        np.divide(pull, distance, out=ratio, where=distance > 0)
        return np.where(distance <= self.max_travel_m, ratio, 0.0)

    def reach_m2(self, reward: npt.ArrayLike, radius_m: npt.ArrayLike) -> Array:
        """Return the area-equivalent of a circle: density times this is the mean number of acceptors.

        With `spread` it is the mean over the eagerness of workers.
        """
        radius = np.minimum(np.asarray(radius_m, dtype=np.float64), self.max_travel_m)
        reach, _ = self._find_uncapped_reach(self.pull_m(reward), radius)
        return reach

    def radius_for(self, reward: npt.ArrayLike, reach_m2: npt.ArrayLike) -> Array:
        """Return the radius that gives a reach, with eq. (13.7) continued beyond the maximum distance."""
        pull, reach = np.broadcast_arrays(self.pull_m(reward), np.asarray(reach_m2, dtype=np.float64))
        some = pull > 0
        safe_pull = np.where(some, pull, 1.0)
        radius = safe_pull * inverse_tanh_integral(reach / (np.pi * self.ceiling * safe_pull**2))
        radius = np.where(some, radius, np.where(reach > 0, np.inf, 0.0))
        return radius if self.spread == 0 else self._spread_radius(pull, reach, radius)

    def _spread_radius(self, pull: Array, reach: Array, start_m: Array) -> Array:
        """Solve for the radius when workers differ: the reach is convex in it, so Newton cannot stray."""
        solvable = np.isfinite(start_m) & (start_m > 0)
        radius = np.where(solvable, start_m, 1.0)
        for _ in range(60):
            value, slope = self._find_uncapped_reach(pull, radius)
            step = np.where(solvable, (value - reach) / np.where(slope > 0, slope, 1.0), 0.0)
            radius = np.maximum(radius - step, radius / 8)
            if np.all(np.abs(step) <= 1e-12 * radius):
                break
        return np.where(solvable, radius, start_m)

    def _find_uncapped_reach(self, pull_m: Array, radius_m: Array) -> tuple[Array, Array]:
        """Return the reach and its derivative by the radius, averaged over eagerness."""
        pull, radius = np.broadcast_arrays(pull_m, radius_m)
        reach, slope = np.zeros(pull.shape), np.zeros(pull.shape)
        for eagerness, weight in zip(*self._eagerness_rule(), strict=True):
            scale = np.where(pull > 0, pull * eagerness, 1.0)
            share = np.where(pull > 0, np.pi * self.ceiling * weight, 0.0)
            reach += share * scale**2 * tanh_integral(radius / scale)
            slope += share * scale * tanh_integral_slope(radius / scale)
        return reach, slope

    def _eagerness_rule(self) -> tuple[Array, Array]:
        """Return quadrature nodes and weights of the log-normal eagerness (one node when all are alike)."""
        if self.spread == 0:
            return np.ones(1), np.ones(1)
        nodes, weights = np.polynomial.hermite_e.hermegauss(_EAGERNESS_NODES)
        return np.exp(self.spread * nodes - self.spread**2 / 2), weights / weights.sum()

    def eagerness(self, workers: int, rng: np.random.Generator) -> Array | None:
        """Draw each worker's eagerness: log-normal with mean 1, or None when all are alike."""
        if self.spread == 0:
            return None
        return rng.lognormal(-(self.spread**2) / 2, self.spread, workers)


def tanh_integral(x: npt.ArrayLike) -> Array:
    """Return G(x) for x >= 0, to 1e-10 relative."""
    value = np.asarray(x, dtype=np.float64)
    middle = np.clip(value, _NEAR, _FAR)
    curve = np.exp(_curves()[0](np.log(middle)))
    return np.where(value < _NEAR, value**2, np.where(value > _FAR, _far(np.maximum(value, _FAR)), curve))


def tanh_integral_slope(x: npt.ArrayLike) -> Array:
    """Return G'(x) = 2x tanh(1/x)."""
    value = np.asarray(x, dtype=np.float64)
    inverse = np.divide(1.0, value, out=np.full(value.shape, np.inf), where=value > 0)
    return np.asarray(2 * value * np.tanh(inverse), dtype=np.float64)


def inverse_tanh_integral(g: npt.ArrayLike) -> Array:
    """Return the x with G(x) = g for g >= 0, to 1e-10 relative; infinite for infinite g."""
    value = np.asarray(g, dtype=np.float64)
    near, far = _NEAR**2, float(_far(np.array(_FAR)))
    curve = np.exp(_curves()[1](np.log(np.clip(value, near, far))))
    beyond = np.where(np.isfinite(value), np.maximum(value, far), far)
    x = (beyond - _OFFSET) / 2
    for _ in range(3):  # G is convex and x starts within 0.2 %: Newton reaches rounding error
        x -= (_far(x) - beyond) / tanh_integral_slope(x)
    finite = np.where(value < near, np.sqrt(value), np.where(value > far, x, curve))
    return np.where(np.isfinite(value), finite, np.inf)


def _far(x: Array) -> Array:
    """Sum the series for large x, which is tanh t = t - t³/3 + 2t⁵/15 - 17t⁷/315 + … integrated by terms."""
    t = 1 / x
    tail = t * (2 / 3 - t**2 * (4 / 45 - t**2 * (34 / 1575 - t**2 * (124 / 19845 - t**2 * 2764 / 1403325))))
    return 2 * x + _OFFSET + tail


@cache
def _curves() -> tuple[Any, Any]:
    """Return ln G as a function of ln x, and ln x of ln G: through nodes even in ln x, with their slopes.

    G at the nodes is by Gauss-Legendre quadrature from node to node.
    """
    from scipy.interpolate import CubicHermiteSpline

    x = np.geomspace(_NEAR, _FAR, _NODES)
    points, weights = np.polynomial.legendre.leggauss(8)
    half, centre = np.diff(x) / 2, (x[1:] + x[:-1]) / 2
    u = centre[:, None] + half[:, None] * points
    pieces = half * (2 * u * np.tanh(1 / u) @ weights)
    g = _NEAR**2 + np.concatenate([[0.0], np.cumsum(pieces)])
    log_x, log_g, slope = np.log(x), np.log(g), x * tanh_integral_slope(x) / g
    return CubicHermiteSpline(log_x, log_g, slope), CubicHermiteSpline(log_g, log_x, 1 / slope)
