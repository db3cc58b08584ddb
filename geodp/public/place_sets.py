"""Reports that name a set of places instead of one: a rectangle, or several points. Public, and without an epsilon.

Whoever reads such a report knows that its sender is in the set, and nothing more from the report itself. What is spread
evenly over the set is the reader's own belief: no law stands behind it, so `channel` is None.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array
from geodp.public.release import Points

Rows = npt.NDArray[np.int64] | slice
_ACROSS = 6
"""Midpoints along either side of a rectangle that stand for it where a mean has no closed form."""
_SMALL = 0.01
MEAN_FROM_CENTRE = (np.sqrt(2) + np.log1p(np.sqrt(2))) / 6
"""Mean distance of a place in a square from its centre, in sides: .3826, what a guess of the centre errs."""


@dataclass(frozen=True, eq=False)
class PlaceSets(Points):
    """Reports that name a set of places each; `x_m` and `y_m` are the mean of the set."""

    @abstractmethod
    def expected_distance_m(self, x_m: float, y_m: float, rows: Rows) -> Array:
        """Return the mean distance of a place to the sets of some reports, places of a set being alike."""

    @abstractmethod
    def list_places(self, rows: Rows = slice(None)) -> tuple[Array, Array]:
        """Return places that stand evenly for the sets of some reports, a row per report."""


@dataclass(frozen=True, eq=False)
class Cloaks(PlaceSets):
    """A rectangle for each reporter, in which the anonymiser says that at least `k` people are.

    Parameters
    ----------
    west_m, south_m, east_m, north_m
        Edges of the rectangles, metres, edges included.
    k
        Least number of people inside each when it was made.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.public.guarantee import Guarantee
    >>> from geodp.public.place_sets import Cloaks
    >>> nothing, side = Guarantee.none("an example"), np.array([100.0])
    >>> edges = {"west_m": side * 0, "south_m": side * 0, "east_m": side, "north_m": side}
    >>> cloaks = Cloaks(0.0, "cloak", nothing, np.array(["a"]), side / 2, side / 2, None, 0.0, **edges, k=5)
    >>> round(float(cloaks.expected_distance_m(50.0, 50.0, slice(None))[0]), 2)
    38.26
    """

    kind: ClassVar[str] = "cloaks"
    west_m: Array = field(kw_only=True)
    south_m: Array = field(kw_only=True)
    east_m: Array = field(kw_only=True)
    north_m: Array = field(kw_only=True)
    k: int = field(kw_only=True)

    @property
    def area_m2(self) -> Array:
        """Area of each rectangle."""
        return (self.east_m - self.west_m) * (self.north_m - self.south_m)

    def expected_distance_m(self, x_m: float, y_m: float, rows: Rows) -> Array:
        """Return the mean distance of a place to the points of some rectangles, exactly."""
        west, east = self.west_m[rows] - x_m, self.east_m[rows] - x_m
        south, north = self.south_m[rows] - y_m, self.north_m[rows] - y_m
        return mean_norm(west, south, east, north)

    def list_places(self, rows: Rows = slice(None)) -> tuple[Array, Array]:
        """Return the midpoints of 6 × 6 equal parts of some rectangles, a row per report."""
        share = (np.arange(_ACROSS) + 0.5) / _ACROSS
        x = self.west_m[rows][:, None] + (self.east_m - self.west_m)[rows][:, None] * np.tile(share, _ACROSS)
        y = self.south_m[rows][:, None] + (self.north_m - self.south_m)[rows][:, None] * np.repeat(share, _ACROSS)
        return x, y

    def count_senders(self) -> npt.NDArray[np.int64]:
        """Return, for each report, how many reports have the very same rectangle: those it is really hidden among."""
        edges = np.column_stack([self.west_m, self.south_m, self.east_m, self.north_m])
        _, same, senders = np.unique(edges, axis=0, return_inverse=True, return_counts=True)
        return np.asarray(senders[same.ravel()], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Candidates(PlaceSets):
    """Several places for each reporter, one of which is the true one.

    Parameters
    ----------
    candidate_x_m, candidate_y_m
        The places, a row per reporter, in an order that says nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.public.guarantee import Guarantee
    >>> from geodp.public.place_sets import Candidates
    >>> nothing, x, y = Guarantee.none("an example"), np.array([[0.0, 60.0]]), np.zeros((1, 2))
    >>> who, means = np.array(["a"]), {"x_m": x.mean(axis=1), "y_m": y.mean(axis=1)}
    >>> places = {"candidate_x_m": x, "candidate_y_m": y}
    >>> told = Candidates(0.0, "dummies", nothing, who, channel=None, floor_per_m2=0.0, **means, **places)
    >>> told.expected_distance_m(0.0, 80.0, slice(None)).tolist()
    [90.0]
    """

    kind: ClassVar[str] = "candidates"
    candidate_x_m: Array = field(kw_only=True)
    candidate_y_m: Array = field(kw_only=True)

    def expected_distance_m(self, x_m: float, y_m: float, rows: Rows) -> Array:
        """Return the mean distance of a place to the candidates of some reports."""
        far = np.hypot(self.candidate_x_m[rows] - x_m, self.candidate_y_m[rows] - y_m)
        return np.asarray(far.mean(axis=1))

    def list_places(self, rows: Rows = slice(None)) -> tuple[Array, Array]:
        """Return the candidates of some reports, a row per report."""
        return self.candidate_x_m[rows], self.candidate_y_m[rows]


def mean_norm(west: Array, south: Array, east: Array, north: Array) -> Array:
    """Return the mean distance from the origin to the points of rectangles (of no width or height, too).

    The closed form is a difference of four large numbers; for rectangles that are small beside their distance the
    second-order expansion of the distance is exact to eight digits.
    """
    x, y, wide, high = (west + east) / 2, (south + north) / 2, east - west, north - south
    far = np.hypot(x, y)
    small = (np.hypot(wide, high) < _SMALL * far) & (far > 1e-3)
    least = 1e-6 * (np.hypot(wide, high) + far + 1e-3)  # a line is a rectangle of next to no width
    half_x, half_y = np.maximum(wide, least) / 2, np.maximum(high, least) / 2
    west, east, south, north = x - half_x, x + half_x, y - half_y, y + half_y
    whole = _integral(east, north) - _integral(west, north) - _integral(east, south) + _integral(west, south)
    away = np.where(small, far, 1.0)
    across = ((wide * y) ** 2 + (high * x) ** 2) / (24 * away**3)
    return np.asarray(np.where(small, far + across, whole / ((east - west) * (north - south))))


def _integral(a: Array, b: Array) -> Array:
    """Return ∫∫ sqrt(x² + y²) over [0, a] × [0, b], odd in either corner."""
    width, height = np.abs(a), np.abs(b)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = width * height * np.hypot(width, height) / 3
        value += np.where(width > 0, width**3 * np.arcsinh(height / width), 0.0) / 6
        value += np.where(height > 0, height**3 * np.arcsinh(width / height), 0.0) / 6
    return np.asarray(np.sign(a) * np.sign(b) * value)
