import math
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from scipy.integrate import dblquad

from geodp.device.planar_geometric import PlanarGeometric
from geodp.device.planar_laplace import PlanarLaplace
from geodp.errors import DataError, UsageError
from geodp.geometry import Array, Grid, Region
from geodp.public.channels import Channel, FiniteChannel, PlanarGeometricChannel, PlanarLaplaceChannel
from geodp.public.planar_laws import half_line, rectangle

EPSILON = 0.01


def square_cells(count: int, cell_m: float) -> Grid:
    return Grid(-count * cell_m / 2, -count * cell_m / 2, cell_m, cell_m, count, count)


def box_of(cells: Grid) -> tuple[float, float, float, float]:
    east, north = cells.west_m + cells.columns * cells.cell_x_m, cells.south_m + cells.rows * cells.cell_y_m
    return cells.west_m, cells.south_m, east, north


def centres(cells: Grid) -> tuple[Array, Array]:
    x, y = cells.centres()
    return np.tile(x, cells.rows), np.repeat(y, cells.columns)


def worst_ratio(table: Array, cells: Grid) -> float:
    """Return the largest log-ratio between two rows per metre between their places, over all outputs."""
    x, y = centres(cells)
    distance = np.hypot(x[:, None] - x, y[:, None] - y)
    np.fill_diagonal(distance, np.inf)
    logs = np.log(table)
    return max(float(((column[:, None] - column) / distance).max()) for column in logs.T)


def test_the_density_is_a_law_with_the_promised_ratio() -> None:
    channel = PlanarLaplaceChannel(EPSILON)

    def density(x_m: float, y_m: float) -> float:
        return float(channel.likelihood(x_m, y_m, 0.0, 0.0)[0, 0])

    assert dblquad(lambda r, _: density(r, 0.0) * r, 0, 2 * math.pi, 0, 6000)[0] == pytest.approx(1, abs=1e-9)
    assert density(0.0, 0.0) / density(3000.0, 4000.0) == pytest.approx(math.exp(EPSILON * 5000))
    assert channel.variance_m2 == pytest.approx(3 / EPSILON**2)  # E R² = 6/ε² over two coordinates


def test_the_characteristic_function_of_planar_laplace_noise() -> None:
    """Against the mean of cos(w·z) over 400,000 draws; 6 standard errors."""
    device = PlanarLaplace(epsilon_per_m=EPSILON)
    z = np.column_stack(device.report(np.zeros(400_000), 0.0, rng=np.random.default_rng(0)))
    for w in ([0.003, 0.0], [0.005, -0.012], [0.04, 0.04]):
        found = float(np.cos(z @ w).mean())
        assert PlanarLaplaceChannel(EPSILON).characteristic(*w) == pytest.approx(found, abs=6 / math.sqrt(len(z)))


def test_the_characteristic_function_and_variance_of_planar_geometric_noise() -> None:
    """Against sums over the lattice itself."""
    for step in (0.3, 1.0, 3.0):
        channel = PlanarGeometricChannel(step / 50, 50.0)
        side = np.arange(-200, 201)
        table = channel.probability(side[:, None], side)
        assert table.sum() == pytest.approx(1, abs=1e-12)
        assert channel.variance_m2 == pytest.approx(float((table.sum(axis=1) * side**2).sum() * 50**2))
        direct = float((table * np.cos(0.01 * 50 * side[:, None] - 0.02 * 50 * side)).sum())
        assert channel.characteristic(0.01, -0.02) == pytest.approx(direct)


def test_planar_geometric_is_not_the_snapped_planar_laplace() -> None:
    """At ε·cell = 1 a report stays where it is with probability .154 against .110; acceptance .785/.773/.750."""
    one = square_cells(1, 1.0)
    snapped = PlanarLaplaceChannel(1.0, cell_m=1.0).matrix(one, one)[0, 0]
    assert snapped == pytest.approx(0.110, abs=5e-4)
    assert PlanarGeometricChannel(1.0, 1.0).probability(0, 0) == pytest.approx(0.154, abs=5e-4)
    for step, accepted in ((0.1, 0.785), (0.5, 0.773), (1.0, 0.750)):
        ratio = math.exp(-step / math.sqrt(2))  # of the two discrete Laplaces of scale √2/s that are proposed
        normaliser = PlanarGeometricChannel(step, 1.0).law.normaliser
        assert normaliser * ((1 - ratio) / (1 + ratio)) ** 2 == pytest.approx(accepted, abs=5e-4)


@pytest.mark.parametrize(
    "edges",
    [(-0.5, -0.5, 0.5, 0.5), (0.3, 0.2, 1.3, 1.1), (-1.0, 2.0, 3.0, 4.0), (0.001, 0.0, 0.5, 0.5), (30, 0, 30.1, 0.1)],
)
def test_rectangle_integrals_have_nearly_full_relative_precision(edges: tuple[float, float, float, float]) -> None:
    west, south, east, north = edges
    cuts_x = [west, 0.0, east] if west < 0 < east else [west, east]
    cuts_y = [south, 0.0, north] if south < 0 < north else [south, north]
    exact = sum(
        dblquad(lambda y, x: math.exp(-math.hypot(x, y)) / (2 * math.pi), *x, *y, epsabs=0, epsrel=1e-12)[0]
        for x in pairwise(cuts_x)
        for y in pairwise(cuts_y)
    )
    assert float(rectangle(*edges)) == pytest.approx(exact, rel=1e-9)


def test_half_lines_integrate_to_half_planes() -> None:
    """Summing a half line over its offset gives the probability of the half plane beyond it."""
    nodes, weights = np.polynomial.legendre.leggauss(200)
    offsets, weights = 40 * ((nodes + 1) / 2) ** 2, 2 * 40 * (nodes + 1) / 2 * weights  # both sides, dense at the kink
    for start in (-1.5, 0.0, 0.7, 4.0):
        beyond = float(rectangle(start, -np.inf, np.inf, np.inf))
        assert float(weights @ half_line(np.full(200, start), offsets)) == pytest.approx(beyond, rel=1e-6)


@pytest.mark.parametrize("cell_m", [None, 25.0, 50.0])
@pytest.mark.parametrize("count", [10, 20])
def test_clamping_costs_nothing_and_rejection_costs_a_third(count: int, cell_m: float | None) -> None:
    """The exact channel at ε·cell = .5: clamped within ε, resampled until inside 1.33 to 1.35 times ε."""
    cells = square_cells(count, 50.0)
    clamped = PlanarLaplaceChannel(EPSILON, cell_m, box_of(cells)).matrix(cells, cells)
    np.testing.assert_allclose(clamped.sum(axis=1), 1)
    assert 0.99 * EPSILON < worst_ratio(clamped, cells) <= EPSILON * (1 + 1e-9)
    if cell_m is None:
        rejected = PlanarLaplaceChannel(EPSILON).matrix(cells, cells)
        rejected /= rejected.sum(axis=1, keepdims=True)
        assert worst_ratio(rejected, cells) / EPSILON == pytest.approx({10: 1.33, 20: 1.35}[count], abs=0.005)


def test_planar_geometric_between_grid_points_is_exactly_epsilon() -> None:
    """Clamped into a box, between all pairs of grid points."""
    cells = Grid(-525.0, -525.0, 50.0, 50.0, 21, 21)  # centred on the lattice points -500, -450, …
    table = PlanarGeometricChannel(EPSILON, 50.0, box_of(cells)).matrix(cells, cells)
    np.testing.assert_allclose(table.sum(axis=1), 1)
    assert worst_ratio(table, cells) == pytest.approx(EPSILON, rel=1e-9)


def test_renormalising_on_a_finite_grid_and_two_laplaces_break_the_promise() -> None:
    """exp(-ε d) scaled to sum to 1 in each row costs up to 2 ε; independent coordinates cost √2 ε on the diagonal."""
    cells = square_cells(20, 25.0)
    x, y = centres(cells)
    weight = np.exp(-EPSILON * np.hypot(x[:, None] - x, y[:, None] - y))
    assert 1.5 < worst_ratio(weight / weight.sum(axis=1, keepdims=True), cells) / EPSILON < 2
    shifts = np.abs(np.subtract.outer(cells.centres()[0], cells.centres()[0]))
    one_dimension = np.exp(-EPSILON * shifts) * EPSILON / 2
    both = np.einsum("iz,jw->jiwz", one_dimension, one_dimension).reshape(cells.size, cells.size)
    assert worst_ratio(both, cells) / EPSILON == pytest.approx(math.sqrt(2))


REGION = Region(-0.01, -0.008, 0.01, 0.008)  # about 2.2 km by 1.8 km


@pytest.mark.parametrize(
    "device",
    [
        PlanarLaplace(epsilon_per_m=0.004),
        PlanarLaplace(epsilon_per_m=0.004, cell_m=150.0),
        PlanarGeometric(epsilon_per_m=0.004, cell_m=100.0),
        PlanarLaplace(epsilon_per_m=0.004, remap=True),
    ],
    ids=["plain", "grid", "geometric", "remapped"],
)
def test_reports_follow_the_matrix_of_their_channel(device: PlanarLaplace | PlanarGeometric) -> None:
    """Reports from a place near a corner, counted in 12 × 10 cells; chi-square, false alarm 1e-6."""
    west, south, east, north = REGION.box_m
    channel = device.channel(REGION)
    if isinstance(channel, FiniteChannel):
        cells = channel.cells
        here = Grid(cells.west_m, cells.south_m, cells.cell_x_m, cells.cell_y_m, 1, 1)
    else:
        cells = Grid(west, south, (east - west) / 12, (north - south) / 10, 12, 10)
        here = Grid(west + 60, south + 40, 100.0, 100.0, 1, 1)
    expected = 60_000 * channel.matrix(here, cells)[0]
    x, y = (float(value[0]) for value in here.centres())
    z_x, z_y = device.report(np.full(60_000, x), np.full(60_000, y), rng=np.random.default_rng(8), region=REGION)
    observed = np.bincount(cells.locate(z_x, z_y), minlength=cells.size)
    assert expected.sum() == pytest.approx(60_000)
    common = expected > 10
    observed = np.append(observed[common], observed[~common].sum())
    expected = np.append(expected[common], expected[~common].sum())
    kept = expected > 1e-6
    assert observed[~kept].sum() == 0
    assert stats.chisquare(observed[kept], expected[kept]).pvalue > 1e-6


@pytest.mark.parametrize(
    "channel",
    [
        PlanarLaplaceChannel(0.004, 150.0, REGION.box_m),
        PlanarGeometricChannel(0.004, 100.0, REGION.box_m),
    ],
    ids=["grid", "geometric"],
)
def test_likelihoods_of_all_reports_on_a_lattice_sum_to_one(channel: Channel) -> None:
    step = channel.cell_m  # type: ignore[attr-defined]
    lines = [np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step for low, high in sides()]
    z_x, z_y = np.tile(lines[0], lines[1].size), np.repeat(lines[1], lines[0].size)
    x, y = np.array([0.0, 900.0, REGION.box_m[0]]), np.array([10.0, -700.0, REGION.box_m[3]])
    rows = channel.likelihood(z_x, z_y, x, y)
    assert rows.shape == (z_x.size, 3)
    np.testing.assert_allclose(rows.sum(axis=0), 1, atol=1e-6)


def sides() -> list[tuple[float, float]]:
    west, south, east, north = REGION.box_m
    return [(west, east), (south, north)]


def test_likelihoods_of_clamped_reports_are_densities_lines_and_corners() -> None:
    """Integrated over the inside, the four edges and the four corners they are 1; and each ratio is within ε·d."""
    channel = PlanarLaplaceChannel(0.004, None, REGION.box_m)
    (west, east), (south, north) = sides()
    x, y = np.array([0.0, 850.0]), np.array([100.0, -600.0])
    nodes, weights = np.polynomial.legendre.leggauss(120)
    across, wide = (east + west) / 2 + nodes * (east - west) / 2, weights * (east - west) / 2
    along, high = (south + north) / 2 + nodes * (north - south) / 2, weights * (north - south) / 2
    inside = channel.likelihood(np.tile(across, 120), np.repeat(along, 120), x, y)
    total = (np.repeat(high, 120) * np.tile(wide, 120)) @ inside
    for edge_x in (west, east):
        total += high @ channel.likelihood(np.full(120, edge_x), along, x, y)
    for edge_y in (south, north):
        total += wide @ channel.likelihood(across, np.full(120, edge_y), x, y)
    total += channel.likelihood([west, west, east, east], [south, north, south, north], x, y).sum(axis=0)
    np.testing.assert_allclose(total, 1, atol=2e-4)  # the cusp at the place itself limits the quadrature
    some = channel.likelihood([west, 0.0, east, 300.0], [0.0, north, south, -50.0], x, y)
    distance = math.hypot(850.0, 700.0)
    assert np.abs(np.log(some[:, 0] / some[:, 1])).max() <= 0.004 * distance * (1 + 1e-9)


def test_impossible_channels_are_refused() -> None:
    for epsilon in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(UsageError, match="epsilon_per_m"):
            PlanarLaplaceChannel(epsilon)
    with pytest.raises(UsageError, match="cell_m"):
        PlanarGeometricChannel(1.0, 0.0)
    with pytest.raises(DataError, match="smaller than a cell"):
        PlanarGeometricChannel(0.01, 500.0, (-100.0, -100.0, 100.0, 100.0)).likelihood(0.0, 0.0, 0.0, 0.0)


def test_a_finite_channel_has_no_single_noise_to_take_off() -> None:
    cells = square_cells(2, 10.0)
    table: npt.NDArray[np.float64] = np.array([[0.7, 0.3, 0, 0], [0.2, 0.8, 0, 0], [0, 0, 1, 0], [0, 0, 0.5, 0.5]])
    channel = FiniteChannel(0.1, cells, table)
    np.testing.assert_allclose(channel.matrix(cells, cells), table)
    np.testing.assert_allclose(channel.likelihood([-5.0, 100.0], [-5.0, 100.0], [5.0], [-5.0]), [[0.2], [0.0]])
    with pytest.raises(UsageError, match="no characteristic function"):
        channel.characteristic(0.1, 0.1)
