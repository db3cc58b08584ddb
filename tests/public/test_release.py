from dataclasses import replace

import numpy as np
import pytest
import shapely
from scipy import ndimage, stats

from geodp.geometry import Grid, Region
from geodp.public.guarantee import Guarantee
from geodp.public.release import Cells, Contours, DensityEstimate, LatticeCells, Points, QuadtreeCells, Smoothing

REGION = Region(0.0, 0.0, 0.09, 0.09)
NOTHING = Guarantee.none("a test")


def contours(
    counts: np.ndarray,
    *,
    sigma: float = 0.0,
    levels: tuple[float, ...] = (),
    noise: float = 0.0,
    reading: str = "bilinear",
    floor: float = 0.0,
) -> Contours:
    rows, columns = counts.shape
    west, south, _, _ = REGION.box_m
    grid = Grid(west, south, REGION.width_m / columns, REGION.height_m / rows, columns, rows)
    edges = grid.edges()
    return Contours(
        0.0,
        "test",
        NOTHING,
        *edges,
        counts.ravel().astype(float),
        np.full(grid.size, noise),
        floor,
        grid=grid,
        sigma_cells=sigma,
        levels=np.array(levels),
        reading=reading,
    )


def test_smoothing_is_a_gaussian_filter_inside_and_keeps_constants_at_the_border() -> None:
    rng = np.random.default_rng(0)
    counts = rng.poisson(5, (30, 25)).astype(float)
    ours = contours(counts, sigma=1.5).surface
    theirs = ndimage.gaussian_filter(counts, 1.5, truncate=4.0)
    assert ours[8:-8, 8:-8] == pytest.approx(theirs[8:-8, 8:-8], rel=1e-3)
    assert contours(np.full((9, 7), 4.0), sigma=2.0).surface == pytest.approx(4.0)


def test_density_is_workers_per_square_metre_exact_at_cell_centres_and_linear_between() -> None:
    counts = np.array([[9.0, 18.0], [27.0, 36.0]])
    plot = contours(counts)
    x, y = plot.grid.centres()
    area = plot.grid.cell_area_m2
    assert plot.density([x[0], x[1]], [y[0], y[1]]) == pytest.approx(np.array([9.0, 36.0]) / area)
    assert plot.density([x.mean()], [y.mean()]) == pytest.approx(22.5 / area)
    assert plot.density([x[0] - 1e4], [y[0]]) == pytest.approx(9.0 / area)


def test_a_300_m_cell_with_nine_workers_is_100_per_square_kilometre() -> None:
    """The printed text takes the count itself as the density: off by 1/0.09 = 11.1."""
    grid = Grid(0.0, 0.0, 300.0, 300.0, 1, 1)
    cells = Contours(
        0.0,
        "test",
        NOTHING,
        *grid.edges(),
        np.array([9.0]),
        np.zeros(1),
        0.0,
        grid=grid,
        sigma_cells=0.0,
        levels=np.empty(0),
        reading="bilinear",
    )
    assert cells.density([150.0], [150.0]) * 1e6 == pytest.approx(100.0)


def test_densities_never_fall_below_the_public_floor() -> None:
    plot = contours(np.array([[-5.0, 2.0]]), floor=1e-6)
    x, y = plot.grid.centres()
    assert plot.density([x[0]], [y[0]])[0] == 1e-6
    assert plot.density_law([x[0]], [y[0]]).estimate_per_m2[0] < 0


def test_between_two_lines_the_density_is_the_mean_of_their_levels() -> None:
    counts = np.array([[0.5, 10.0, 15.0, 40.0]])
    plot = contours(counts, levels=(1.0, 10.0, 30.0), reading="between_lines")
    x, y = plot.grid.centres()
    read = plot.density(x, np.full(4, y[0])) * plot.grid.cell_area_m2
    assert read == pytest.approx([0.5, 10.0, 20.0, 30.0])  # below the first; on a line; between two; above the last


def test_the_noise_law_of_an_interpolated_smoothed_density_is_right() -> None:
    """Variance ratios of 4,000 releases at 40 places; false alarm < 1e-6 (chi-square, Laplace kurtosis allowed for)."""
    rng = np.random.default_rng(5)
    x, y = REGION.sample(40, rng)
    estimates = []
    for _ in range(4000):
        noisy = contours(rng.laplace(0, 3.0, (12, 14)), sigma=1.0, noise=3.0)
        estimates.append(noisy.density_law(x, y).estimate_per_m2)
    law = noisy.density_law(x, y)
    ratio = np.var(estimates, axis=0) / law.variance
    assert np.abs(ratio - 1).max() < 0.17
    kurtosis = stats.kurtosis(np.array(estimates), axis=0)
    assert np.corrcoef(kurtosis, 3 / law.terms)[0, 1] > 0.5


def plot_centre(plot: Contours) -> tuple[np.ndarray, np.ndarray]:
    x, y = plot.grid.centres()
    return x[:1], y[:1]


def test_interpolation_sums_agree_with_explicit_weights() -> None:
    smoothing = Smoothing.gaussian(9, 1.3)
    dense = smoothing.matrix.toarray()
    for index, share in [(0, 0.0), (3, 0.25), (7, 0.9)]:
        weight = (1 - share) * dense[index] + share * dense[index + 1]
        at = np.array([index])
        assert smoothing.power_sum(2, at, np.array([share]))[0] == pytest.approx((weight**2).sum())
        assert smoothing.power_sum(4, at, np.array([share]))[0] == pytest.approx((weight**4).sum())


@pytest.mark.parametrize("terms", [None, 2.5])
def test_the_effective_terms_of_a_reading_are_those_of_its_weights(terms: float | None) -> None:
    """(Σw²)²/Σw⁴ of the explicit weights, times the terms in each count: inside, at an edge, in a corner."""
    plot = contours(np.ones((7, 9)), sigma=1.1, noise=3.0)
    if terms is not None:
        plot = replace(plot, noise_terms=np.full(63, terms))
    across, along = (Smoothing.gaussian(size, 1.1).matrix.toarray() for size in (9, 7))
    x, y = plot.grid.centres()
    for column, row, east, north in [
        (4, 3, 0.0, 0.0),
        (4, 3, 0.3, 0.8),
        (0, 3, 0.5, 0.0),
        (0, 0, 0.0, 0.0),
        (7, 5, 1, 1),
    ]:
        place = x[column] + east * plot.grid.cell_x_m, y[row] + north * plot.grid.cell_y_m
        in_x = (1 - east) * across[column] + east * across[column + 1]
        in_y = (1 - north) * along[row] + north * along[row + 1]
        weight = np.outer(in_y, in_x)
        law = plot.density_law(*place)
        assert law.variance == pytest.approx(2 * (3.0 / plot.grid.cell_area_m2) ** 2 * (weight**2).sum())
        assert law.terms == pytest.approx((terms or 1.0) * (weight**2).sum() ** 2 / (weight**4).sum())


def test_an_estimate_from_many_reports_is_nearly_gaussian() -> None:
    grid = Grid(0.0, 0.0, 100.0, 100.0, 2, 1)
    facts = (0.0, "x", NOTHING, *grid.edges(), np.ones(2), np.zeros(2), 0.0)
    law = DensityEstimate(*facts, grid=grid, variance=np.ones(2)).density_law([50.0], [50.0])
    assert 3 / law.terms[0] < 0.01  # excess kurtosis


def test_the_areas_between_lines_partition_what_lies_above_the_lowest_line() -> None:
    rng = np.random.default_rng(1)
    plot = contours(rng.poisson(20, (20, 20)).astype(float), sigma=1.0, levels=(1e-3, 18.0, 20.0, 22.0))
    areas = plot.polygons()
    assert [(low, high) for low, high, _ in areas] == [
        (1e-3, 18.0),
        (18.0, 20.0),
        (20.0, 22.0),
        (22.0, np.inf),
    ]
    assert sum(shape.area for _, _, shape in areas) == pytest.approx(REGION.area_m2, rel=1e-9)
    assert all(shape.is_valid for _, _, shape in areas)
    x, y = REGION.sample(300, rng)
    value = plot.density_law(x, y).estimate_per_m2 * plot.grid.cell_area_m2
    for low, high, shape in areas:
        sure = (value > low + 0.3) & (value < high - 0.3)  # contour segments are straight, bilinear ones are curved
        assert shapely.contains_xy(shape, x[sure], y[sure]).all()


def test_no_positive_value_means_no_lines_and_no_areas() -> None:
    plot = contours(np.zeros((3, 3)), reading="between_lines")
    assert plot.polygons() == []
    assert plot.density([0.0], [0.0])[0] == 0.0


def test_cells_of_any_size_are_found_by_place() -> None:
    cells = Cells(
        0.0,
        "test",
        NOTHING,
        np.array([0.0, 10.0, 10.0]),
        np.array([0.0, 0.0, 5.0]),
        np.array([10.0, 30.0, 30.0]),
        np.array([10.0, 5.0, 10.0]),
        np.array([5.0, 1.0, 2.0]),
        np.array([1.0, 1.0, 1.0]),
        0.0,
    )
    assert cells.locate([1.0, 20.0, 20.0, 99.0], [1.0, 1.0, 7.0, 1.0]).tolist() == [0, 1, 2, -1]
    law = cells.density_law([1.0, 99.0], [1.0, 1.0])
    assert law.estimate_per_m2.tolist() == [0.05, 0.0]
    assert law.variance.tolist() == [2 * (1 / 100) ** 2, 0.0]


def test_a_point_on_a_shared_edge_or_corner_belongs_to_the_first_cell_there() -> None:
    """Squares of a lattice in a shuffled order: every corner of the lattice is shared by up to four of them."""
    lattice = Grid(0.0, 0.0, 10.0, 10.0, 9, 8)
    order = np.random.default_rng(3).permutation(lattice.size)
    west, south, east, north = (edge[order] for edge in lattice.edges())
    count, scale = np.ones(lattice.size), np.ones(lattice.size)
    cells = Cells(0.0, "test", NOTHING, west, south, east, north, count, scale, 0.0)
    x, y = (axis.ravel() for axis in np.meshgrid(np.arange(0.0, 95.0, 5.0), np.arange(0.0, 85.0, 5.0)))
    holds = (west <= x[:, None]) & (x[:, None] <= east) & (south <= y[:, None]) & (y[:, None] <= north)
    assert (holds.sum(axis=1) > 1).sum() > 100
    assert cells.locate(x, y).tolist() == holds.argmax(axis=1).tolist()


def test_cells_on_a_lattice_are_found_by_table() -> None:
    """Three cells on a lattice of 3 × 2 squares, the square in the far corner belonging to none."""
    lattice = Grid(100.0, 0.0, 10.0, 5.0, 3, 2)
    edges = np.array([[0, 0, 1, 2], [1, 0, 3, 1], [1, 1, 2, 2]]).T * np.array([[10.0], [5.0], [10.0], [5.0]])
    west, south, east, north = edges + np.array([[100.0], [0.0], [100.0], [0.0]])
    count, scale, terms = np.array([5.0, 1.0, 2.0]), np.ones(3), np.array([1.0, 2.0, 3.0])
    facts = (0.0, "test", NOTHING, west, south, east, north, count, scale, 0.0)
    cells = LatticeCells(*facts, lattice=lattice, noise_terms=terms)
    x, y = np.array([105.0, 105.0, 125.0, 115.0, 125.0, 99.0]), np.array([1.0, 9.0, 1.0, 9.0, 9.0, 1.0])
    assert cells.locate(x, y).tolist() == [0, 0, 1, 2, -1, -1]
    assert Cells(*facts).locate(x, y).tolist() == [0, 0, 1, 2, -1, -1]
    law = cells.density_law(x, y)
    assert law.terms.tolist() == [1.0, 1.0, 2.0, 3.0, 1.0, 1.0]
    assert law.variance == pytest.approx([2e-4, 2e-4, 2e-4, 8e-4, 0.0, 0.0])


def test_cells_of_a_quadtree_are_found_by_halving() -> None:
    """The north-eastern quarter is divided, and its south-western quarter again: ten cells, in Z-order."""
    lattice = Grid(100.0, -40.0, 10.0, 5.0, 8, 8)
    squares = [
        (0, 0, 4),
        (4, 0, 4),
        (0, 4, 4),
        (4, 4, 1),
        (5, 4, 1),
        (4, 5, 1),
        (5, 5, 1),
        (6, 4, 2),
        (4, 6, 2),
        (6, 6, 2),
    ]
    column, row, side = np.array(squares, dtype=np.float64).T
    west, east = 100.0 + 10 * column, 100.0 + 10 * (column + side)
    south, north = -40.0 + 5 * row, -40.0 + 5 * (row + side)
    facts = (0.0, "test", NOTHING, west, south, east, north, np.arange(10.0), np.ones(10), 0.0)
    x, y = np.random.default_rng(0).uniform((95.0, -45.0), (185.0, 5.0), (2000, 2)).T
    found = QuadtreeCells(*facts, lattice=lattice).locate(x, y)
    assert found.tolist() == Cells(*facts).locate(x, y).tolist()
    assert set(found) == set(range(-1, 10))


def test_releases_cannot_be_changed() -> None:
    plot = contours(np.ones((2, 2)))
    with pytest.raises(ValueError, match="read-only"):
        plot.count[0] = 7


def test_who_makes_a_release_keeps_arrays_that_can_be_changed() -> None:
    low, high, counts = np.zeros(1), np.ones(1), np.array([5.0])
    names = np.array(["a"])
    cells = Cells(0.0, "test", NOTHING, low, low, high, high, counts, np.zeros(1), 0.0)
    points = Points(0.0, "test", NOTHING, names, low, low, None, 0.0)
    assert counts.flags.writeable
    assert names.flags.writeable
    assert not cells.count.flags.writeable
    assert not points.who.flags.writeable


def test_an_estimate_is_read_between_cell_centres_and_never_below_the_floor() -> None:
    grid = Grid(0.0, 0.0, 100.0, 100.0, 2, 1)
    count, variance = np.array([2.0, 0.0]), np.array([1.0, 4.0])
    made = DensityEstimate(0.0, "x", NOTHING, *grid.edges(), count, np.zeros(2), 5e-5, grid=grid, variance=variance)
    assert made.density([50.0, 100.0, 150.0], [50.0] * 3) == pytest.approx([2e-4, 1e-4, 5e-5])
    law = made.density_law([50.0, 100.0, 150.0], [50.0] * 3)
    assert law.estimate_per_m2 == pytest.approx([2e-4, 1e-4, 0.0])
    assert law.variance == pytest.approx(np.array([1.0, 2.5, 4.0]) / 1e8)
    assert (law.terms > 100).all()  # many small errors together: hardly any kurtosis


def test_reports_cannot_be_changed() -> None:
    points = Points(0.0, "x", NOTHING, np.array(["a"]), np.zeros(1), np.zeros(1), None, 1e-6)
    assert points.size == 1
    with pytest.raises(ValueError, match="read-only"):
        points.x_m[0] = 7
