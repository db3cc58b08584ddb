"""How like the truth synthetic trajectories are: one number per question, from two tables and the public region.

A score is None where it is undefined: no trajectories on one side, or nothing to compare.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array, Region
from geodp.tables.trajectories.cell_ways import cell_ways, square_grid, windows
from geodp.tables.trajectories.diameters import diameters_m
from geodp.tables.trajectories.divergence import jsd, jsd_of_codes
from geodp.tables.trajectories.table import Integers, Trajectories

FINE, COARSE = 20, 6  # cells per side
QUERIES = 500
_QUERY_SEED = 500_530  # the rectangles are the same for every method
_LEAST_SIDE, _GREATEST_SIDE = 0.05, 0.30  # of the box
_SANITY = 0.01  # of all points, or trajectories
_BINS = 20
_PATTERNS = 100
_PATTERN_LENGTHS = range(2, 6)

Score = Callable[[Trajectories, Trajectories, Region], float | None]


def density_jsd(real: Trajectories, synthetic: Trajectories, region: Region) -> float | None:
    """Return the divergence of the shares of points in 20 x 20 cells."""
    grid = square_grid(region, FINE)
    return jsd(grid.count(real.x_m, real.y_m), grid.count(synthetic.x_m, synthetic.y_m))


def query_are_pts(real: Trajectories, synthetic: Trajectories, region: Region) -> float | None:
    """Return the mean relative error of the share of points in 500 rectangles, at least 1 % in the denominator."""
    if not real.points or not synthetic.points:
        return None
    boxes = query_boxes(region)
    true, guess = _points_in(real, boxes) / real.points, _points_in(synthetic, boxes) / synthetic.points
    return _relative_error(true, guess, _SANITY)


def query_are(real: Trajectories, synthetic: Trajectories, region: Region) -> float | None:
    """Return the mean relative error of the number of trajectories with a point in each of 500 rectangles.

    At least 1 % of the real trajectories stands in the denominator. Counting too few costs at most 1, too many any
    amount: it rewards synthetic sets that are too small, so it is never to be read alone.
    """
    if not real.size or not synthetic.size:
        return None
    boxes = query_boxes(region)
    true, guess = _trajectories_in(real, boxes), _trajectories_in(synthetic, boxes)
    return _relative_error(true, guess, _SANITY * real.size)


def trip_jsd(real: Trajectories, synthetic: Trajectories, region: Region) -> float | None:
    """Return the divergence of the pairs of first and last cell, of 6 x 6 each."""
    return jsd_of_codes(_ends(real, region), _ends(synthetic, region))


def diameter_jsd(real: Trajectories, synthetic: Trajectories, region: Region) -> float | None:  # noqa: ARG001
    """Return the divergence of diameters in 20 bins up to the greatest real one, and one beyond."""
    return _binned_jsd(diameters_m(real), diameters_m(synthetic))


def length_jsd(real: Trajectories, synthetic: Trajectories, region: Region) -> float | None:  # noqa: ARG001
    """Return the divergence of path lengths in 20 bins up to the greatest real one, and one beyond."""
    return _binned_jsd(real.lengths_m, synthetic.lengths_m)


def pattern_f1(real: Trajectories, synthetic: Trajectories, region: Region) -> float | None:
    """Return how well the 100 most frequent runs of 2 to 5 cells (6 x 6) agree: F1 of the two sets."""
    true, guess = _frequent(real, region), _frequent(synthetic, region)
    if not true.size or not guess.size:
        return None
    return 2 * float(np.intersect1d(true, guess).size) / (true.size + guess.size)


def kendall_tau(real: Trajectories, synthetic: Trajectories, region: Region) -> float | None:
    """Return tau-b between the numbers of points in 20 x 20 cells: whether popular places stay popular."""
    from scipy.stats import kendalltau

    grid = square_grid(region, FINE)
    true, guess = grid.count(real.x_m, real.y_m), grid.count(synthetic.x_m, synthetic.y_m)
    if np.unique(true).size < 2 or np.unique(guess).size < 2:
        return None
    return float(kendalltau(true, guess).statistic)


def transition_jsd(real: Trajectories, synthetic: Trajectories, region: Region) -> float | None:
    """Return the divergence of moves from one of 20 x 20 cells to the next, straight lines between points counted."""
    grid = square_grid(region, FINE)
    return jsd_of_codes(*(windows(*cell_ways(one, grid), 2, grid.size) for one in (real, synthetic)))


def path_length_ratio(real: Trajectories, synthetic: Trajectories, region: Region) -> float | None:  # noqa: ARG001
    """Return the mean length of a synthetic path over that of a real one: above 1, the synthetic ones zigzag."""
    if not synthetic.size or not real.lengths_m.sum():
        return None
    return float(synthetic.lengths_m.mean() / real.lengths_m.mean())


SCORES: dict[str, Score] = {
    score.__name__: score
    for score in (
        density_jsd,
        query_are_pts,
        query_are,
        trip_jsd,
        diameter_jsd,
        length_jsd,
        pattern_f1,
        kendall_tau,
        transition_jsd,
        path_length_ratio,
    )
}
"""Every score that compares two sets, by its key."""


def query_boxes(region: Region) -> tuple[Array, Array, Array, Array]:
    """Return west, south, east and north of 500 rectangles inside the box, sides 5 to 30 % of it: always the same."""
    rng = np.random.default_rng(_QUERY_SEED)
    width, height = rng.uniform(_LEAST_SIDE, _GREATEST_SIDE, (2, QUERIES)) * [[region.width_m], [region.height_m]]
    west = region.box_m[0] + rng.random(QUERIES) * (region.width_m - width)
    south = region.box_m[1] + rng.random(QUERIES) * (region.height_m - height)
    return west, south, west + width, south + height


def _points_in(trajectories: Trajectories, boxes: tuple[Array, Array, Array, Array]) -> Array:
    return np.array([points.size for points in _each_box(trajectories, boxes)], dtype=np.float64)


def _trajectories_in(trajectories: Trajectories, boxes: tuple[Array, Array, Array, Array]) -> Array:
    touched, seen = [], np.zeros(trajectories.size, dtype=np.int64)
    for number, points in enumerate(_each_box(trajectories, boxes), start=1):
        seen[trajectories.owner[points]] = number
        touched.append(np.count_nonzero(seen == number))
    return np.array(touched, dtype=np.float64)


def _each_box(trajectories: Trajectories, boxes: tuple[Array, Array, Array, Array]) -> Iterator[Integers]:
    """Yield the points in each rectangle; sorted by x, only a slab of them has to be looked at."""
    order = np.argsort(trajectories.x_m, kind="stable")
    x, y = trajectories.x_m[order], trajectories.y_m[order]
    west, south, east, north = boxes
    begin, end = np.searchsorted(x, west, side="left"), np.searchsorted(x, east, side="right")
    for box in range(west.size):
        slab = slice(begin[box], end[box])
        yield order[slab][(y[slab] >= south[box]) & (y[slab] <= north[box])]


def _relative_error(true: Array, guess: Array, least: float) -> float:
    return float(np.mean(np.abs(true - guess) / np.maximum(true, least)))


def _ends(trajectories: Trajectories, region: Region) -> Integers:
    grid = square_grid(region, COARSE)
    x, y = region.clamp(trajectories.x_m, trajectories.y_m)
    first, last = trajectories.first[:-1], trajectories.first[1:] - 1
    return grid.locate(x[first], y[first]) * grid.size + grid.locate(x[last], y[last])


def _binned_jsd(real: Array, synthetic: Array) -> float | None:
    if not real.size or not synthetic.size:
        return None
    greatest = float(real.max()) or 1.0  # every real one is 0: then anything longer is beyond
    edges = np.append(np.linspace(0.0, greatest, _BINS + 1), np.inf)
    return jsd(_in_bins(real, edges), _in_bins(synthetic, edges))


def _in_bins(values: Array, edges: Array) -> npt.NDArray[np.int64]:
    """Count values per bin; the greatest real value belongs to the last bin below the overflow."""
    place = np.searchsorted(edges, values, side="right") - 1
    place[values == edges[-2]] = edges.size - 3
    return np.bincount(place, minlength=edges.size - 1)


def _frequent(trajectories: Trajectories, region: Region) -> Integers:
    """Return codes of the most frequent runs of cells; of equally frequent ones the lower code comes first."""
    grid = square_grid(region, COARSE)
    first, cells = cell_ways(trajectories, grid)
    codes, base = [], 0
    for length in _PATTERN_LENGTHS:
        codes.append(base + windows(first, cells, length, grid.size))
        base += grid.size**length
    found, times = np.unique(np.concatenate(codes), return_counts=True)
    return np.asarray(found[np.lexsort((found, -times))[:_PATTERNS]], dtype=np.int64)
