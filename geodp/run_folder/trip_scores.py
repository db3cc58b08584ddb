"""How like the truth synthetic trajectories are: one number per question, from two tables and the public region.

A score is None where it is undefined: no trajectories on one side, or nothing to compare.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geodp.geometry import Array, Grid, Region
from geodp.tables.trajectories.cell_ways import cell_ways, windows
from geodp.tables.trajectories.table import Integers, Mask, Trajectories

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
    grid = Grid.divide(region, FINE, FINE)
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
    return _measure_binned_jsd(diameters_m(real), diameters_m(synthetic))


def length_jsd(real: Trajectories, synthetic: Trajectories, region: Region) -> float | None:  # noqa: ARG001
    """Return the divergence of path lengths in 20 bins up to the greatest real one, and one beyond."""
    return _measure_binned_jsd(real.lengths_m, synthetic.lengths_m)


def pattern_f1(real: Trajectories, synthetic: Trajectories, region: Region) -> float | None:
    """Return how well the 100 most frequent runs of 2 to 5 cells (6 x 6) agree: F1 of the two sets."""
    true, guess = _frequent(real, region), _frequent(synthetic, region)
    if not true.size or not guess.size:
        return None
    return 2 * float(np.intersect1d(true, guess).size) / (true.size + guess.size)


def kendall_tau(real: Trajectories, synthetic: Trajectories, region: Region) -> float | None:
    """Return tau-b between the numbers of points in 20 x 20 cells: whether popular places stay popular."""
    grid = Grid.divide(region, FINE, FINE)
    true, guess = (
        np.sign(count[:, None] - count)
        for count in (grid.count(real.x_m, real.y_m), grid.count(synthetic.x_m, synthetic.y_m))
    )
    untied = float(np.abs(true).sum()) * float(np.abs(guess).sum())  # pairs that differ in either
    return float((true * guess).sum() / np.sqrt(untied)) if untied else None


def transition_jsd(real: Trajectories, synthetic: Trajectories, region: Region) -> float | None:
    """Return the divergence of moves from one of 20 x 20 cells to the next, straight lines between points counted."""
    grid = Grid.divide(region, FINE, FINE)
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
    grid = Grid.divide(region, COARSE, COARSE)
    x, y = region.clamp(trajectories.x_m, trajectories.y_m)
    first, last = trajectories.first[:-1], trajectories.first[1:] - 1
    return grid.locate(x[first], y[first]) * grid.size + grid.locate(x[last], y[last])


def _measure_binned_jsd(real: Array, synthetic: Array) -> float | None:
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
    grid = Grid.divide(region, COARSE, COARSE)
    first, cells = cell_ways(trajectories, grid)
    codes, base = [], 0
    for length in _PATTERN_LENGTHS:
        codes.append(base + windows(first, cells, length, grid.size))
        base += grid.size**length
    found, times = np.unique(np.concatenate(codes), return_counts=True)
    return np.asarray(found[np.lexsort((found, -times))[:_PATTERNS]], dtype=np.int64)


Numbers = npt.NDArray[np.integer] | npt.NDArray[np.floating]


def jsd(one: npt.ArrayLike, other: npt.ArrayLike) -> float | None:
    """Return the divergence of two histograms over the same bins: natural logarithm, no root, 0 to ln 2.

    None when one of them is empty: it has no distribution.
    """
    p, q = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    if p.sum() <= 0 or q.sum() <= 0:
        return None
    p, q = p / p.sum(), q / q.sum()
    middle = (p + q) / 2
    return max(0.0, (_relative_entropy(p, middle) + _relative_entropy(q, middle)) / 2)


def jsd_of_codes(one: npt.NDArray[np.int64], other: npt.NDArray[np.int64]) -> float | None:
    """Return the divergence of two samples of codes, each code a bin of its own."""
    codes, place = np.unique(np.concatenate([one, other]), return_inverse=True)
    return jsd(
        np.bincount(place[: one.size], minlength=codes.size), np.bincount(place[one.size :], minlength=codes.size)
    )


def _relative_entropy(p: npt.NDArray[np.float64], q: npt.NDArray[np.float64]) -> float:
    there = p > 0
    return float(np.sum(p[there] * np.log(p[there] / q[there])))


_DIRECTIONS = 8
_HULL_FROM = 400  # candidates; beyond, their hull is cheaper than their pairs


def diameters_m(trajectories: Trajectories) -> Array:
    """Return the exact diameter of every trajectory.

    The width in a few directions is a lower bound; a point whose furthest corner of the trajectory's box is nearer
    than that cannot be an end of the diameter. The few left are compared pair by pair.
    """
    if not trajectories.size:
        return np.empty(0)
    x, y, first = trajectories.x_m, trajectories.y_m, trajectories.first[:-1]
    bound = np.zeros(trajectories.size)
    for angle in np.arange(_DIRECTIONS) * np.pi / _DIRECTIONS:
        along = x * np.cos(angle) + y * np.sin(angle)
        bound = np.maximum(bound, np.maximum.reduceat(along, first) - np.minimum.reduceat(along, first))
    owner = trajectories.owner
    far_x = np.maximum(x - np.minimum.reduceat(x, first)[owner], np.maximum.reduceat(x, first)[owner] - x)
    far_y = np.maximum(y - np.minimum.reduceat(y, first)[owner], np.maximum.reduceat(y, first)[owner] - y)
    left = trajectories.keep(np.hypot(far_x, far_y) >= bound[owner] * (1 - 1e-12))
    best = np.zeros(left.size)
    many = left.counts > _HULL_FROM
    for number in np.flatnonzero(many):
        points = slice(left.first[number], left.first[number + 1])
        best[number] = _by_hull(left.x_m[points], left.y_m[points])
    best[~many] = _by_pairs(left.select(~many))
    return best


def _by_pairs(trajectories: Trajectories) -> Array:
    """Compare all pairs of points of every trajectory: first neighbours, then those two apart, and so on."""
    x, y, best = trajectories.x_m, trajectories.y_m, np.zeros(trajectories.points)
    stop = np.repeat(trajectories.first[1:], trajectories.counts)
    point, apart = np.arange(trajectories.points), 1
    while (point := point[point + apart < stop[point]]).size:
        distance = (x[point] - x[point + apart]) ** 2 + (y[point] - y[point + apart]) ** 2
        best[point] = np.maximum(best[point], distance)
        apart += 1
    return np.sqrt(np.maximum.reduceat(best, trajectories.first[:-1])) if trajectories.size else np.empty(0)


def _by_hull(x_m: Array, y_m: Array) -> float:
    import shapely
    from scipy.spatial.distance import pdist

    hull = shapely.get_coordinates(shapely.convex_hull(shapely.multipoints(np.column_stack([x_m, y_m]))))
    return float(np.max(pdist(hull), initial=0.0))


_WAYPOINTS = 16
_MOST_TRIED = 2_000
_MOST_KNOWN = 20_000
_SPLIT_SEED = 160_616  # the halves are the same for every method
_NEAR_SHARE = 0.05
_LEAST_M = 1e-3  # held-out trips that repeat known ones to the millimetre: there is no distance to compare with


@dataclass(frozen=True)
class NearestDistances:
    """Distances to the nearest real trajectory, of synthetic and of held-out ones."""

    ratio: float | None
    """Median distance of a synthetic trajectory over that of a held-out one: near or above 1 is no memorising."""
    near_share: float | None
    """Share of the synthetic ones nearer than all but 5 % of the held-out ones: 5 % when nothing is memorised."""


def memorisation(real: Trajectories, synthetic: Trajectories) -> NearestDistances:
    """Compare distances to the nearest of one half of the real trajectories: of synthetic ones and of the other half.

    The halves are people, so that nobody's repeated trips stand on both sides; with a single person, trajectories.
    Both groups are drawn down to at most 2,000 trajectories, the half they are compared with to 20,000. The distance
    of two trajectories is the root mean square distance between 16 places spread evenly along each.
    """
    if real.size < 2 or not synthetic.size:
        return NearestDistances(None, None)
    rng = np.random.default_rng(_SPLIT_SEED)
    known = _half(real, rng)
    if known.all() or not known.any():
        return NearestDistances(None, None)
    shapes = waypoints(real.select(_some(np.flatnonzero(known), _MOST_KNOWN, rng)))
    unseen = waypoints(real.select(_some(np.flatnonzero(~known), _MOST_TRIED, rng)))
    made = waypoints(synthetic.select(_some(np.arange(synthetic.size), _MOST_TRIED, rng)))
    of_unseen, of_made = nearest_m(unseen, shapes), nearest_m(made, shapes)
    usual = float(np.median(of_unseen))
    return NearestDistances(
        float(np.median(of_made)) / usual if usual >= _LEAST_M else None,
        float(np.mean(of_made < np.quantile(of_unseen, _NEAR_SHARE))),
    )


def waypoints(trajectories: Trajectories, number: int = _WAYPOINTS) -> Array:
    """Return places spread evenly along each trajectory's path, ends included: x of all, then y of all, a row each."""
    along = np.cumsum(trajectories.steps_m) - trajectories.steps_m
    start = along[trajectories.first[:-1]]
    # One line through all of them: a gap before each keeps the search for a place on its own trajectory.
    gap = np.arange(trajectories.size) * (float(trajectories.lengths_m.max(initial=0.0)) + 1.0)
    at = along - start[trajectories.owner] + gap[trajectories.owner]
    wanted = gap[:, None] + np.linspace(0, 1, number) * trajectories.lengths_m[:, None]
    return np.hstack([np.interp(wanted, at, trajectories.x_m), np.interp(wanted, at, trajectories.y_m)])


def nearest_m(shapes: Array, known: Array) -> Array:
    """Return each shape's distance to the nearest known one (root mean square over the places)."""
    best = np.empty(len(shapes))
    centre = known.mean(axis=0)  # small numbers keep the differences of squares exact to millimetres
    known, shapes = known - centre, shapes - centre
    squares = np.einsum("ij,ij->i", known, known)
    for begin in range(0, len(shapes), 256):
        part = shapes[begin : begin + 256]
        close = np.argmin(squares - 2 * part @ known.T, axis=1)
        best[begin : begin + 256] = np.linalg.norm(part - known[close], axis=1)
    return np.asarray(best / np.sqrt(known.shape[1] / 2), dtype=np.float64)


def _half(real: Trajectories, rng: np.random.Generator) -> Mask:
    """Choose about half of the trajectories: whole people where there are several."""
    here = np.unique(real.person)
    if here.size == 1:
        return np.asarray(rng.permutation(real.size) < real.size // 2)
    order = rng.permutation(here)
    number = np.bincount(real.person, minlength=int(here.max()) + 1)[order]
    until = int(np.argmin(np.abs(np.cumsum(number)[:-1] - real.size / 2))) + 1
    return np.asarray(np.isin(real.person, order[:until]))


def _some(which: npt.NDArray[np.integer], most: int, rng: np.random.Generator) -> Integers:
    chosen = which if which.size <= most else np.sort(rng.choice(which, most, replace=False))
    return np.asarray(chosen, dtype=np.int64)
