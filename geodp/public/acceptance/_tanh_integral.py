"""G(x) = ∫₀ˣ 2u tanh(1/u) du and its inverse: the one curve behind every reach and radius of 13.7.

With u = s/(cw) the number of willing workers around a task, ∫₀ʳ tanh(cw/s) 2πs ds, is π(cw)² G(r/(cw)),
so one table serves every reward, radius and ceiling.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

_NEAR = 0.05  # below: tanh(1/u) = 1 - 2e^(-2/u) differs from 1 by less than 1e-17, so G(x) = x²
_FAR = 10.0  # above: the series in 1/x below is good to 1e-13
_OFFSET = -14 * 1.2020569031595943 / np.pi**2  # lim G(x) - 2x = -14 ζ(3)/π²
_NODES = 801  # Hermite error is (step in ln x)⁴ f⁗/384: about 1e-11 relative


def tanh_integral(x: npt.ArrayLike) -> Array:
    """Return G(x) for x >= 0, to 1e-10 relative."""
    value = np.asarray(x, dtype=np.float64)
    middle = np.clip(value, _NEAR, _FAR)
    curve = np.exp(_curve()(np.log(middle)))
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
    curve = np.exp(_inverse_curve()(np.log(np.clip(value, near, far))))
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
def _nodes() -> tuple[Array, Array]:
    """Return nodes x, even in ln x, and G there, by Gauss-Legendre quadrature from node to node."""
    x = np.geomspace(_NEAR, _FAR, _NODES)
    points, weights = np.polynomial.legendre.leggauss(8)
    half, centre = np.diff(x) / 2, (x[1:] + x[:-1]) / 2
    u = centre[:, None] + half[:, None] * points
    pieces = half * (2 * u * np.tanh(1 / u) @ weights)
    return x, _NEAR**2 + np.concatenate([[0.0], np.cumsum(pieces)])


def _logs() -> tuple[Array, Array, Array]:
    """Return ln x, ln G and the slope d ln G / d ln x at the nodes."""
    x, g = _nodes()
    return np.log(x), np.log(g), x * tanh_integral_slope(x) / g


@cache
def _curve() -> Any:
    from scipy.interpolate import CubicHermiteSpline

    log_x, log_g, slope = _logs()
    return CubicHermiteSpline(log_x, log_g, slope)


@cache
def _inverse_curve() -> Any:
    from scipy.interpolate import CubicHermiteSpline

    log_x, log_g, slope = _logs()
    return CubicHermiteSpline(log_g, log_x, 1 / slope)
