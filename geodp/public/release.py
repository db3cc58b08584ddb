"""What may cross the border to the server, from the curator or from the phones: frozen, public, with its guarantee.

No true point and no true count is in any of these objects, and no number of workers in what a curator publishes (a test
walks them). Phones that report by themselves can be counted: `Points` has one row for each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from math import comb
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from geodp.errors import UsageError
from geodp.geometry import Array, Grid
from geodp.public.guarantee import Guarantee
from geodp.public.z_order import interleave_bits

if TYPE_CHECKING:
    from geodp.public.channels import Channel


_NEARLY_GAUSSIAN = 1000.0  # a sum of so many independent parts has no kurtosis to speak of


@dataclass(frozen=True)
class DensityLaw:
    """A density estimate with the law of its noise: estimate = truth + a sum of weighted Laplace variables.

    `variance` is the noise variance of the estimate; `terms` the effective number of Laplace terms in the
    sum, (Σw²)²/Σw⁴: 1 is a plain Laplace, large is close to Gaussian (excess kurtosis 3/terms).
    """

    estimate_per_m2: Array
    variance: Array
    terms: Array


@dataclass(frozen=True, eq=False)
class Cells:
    """Rectangles of any size with a noisy count each: the common coin of all counts mechanisms.

    Cells do not overlap. `noise_scale` is public: the scale b of Laplace noise with the variance 2b² of each count's
    noise (0: exact). Where a count was worked out from several noisy ones its noise is a weighted sum of Laplace
    variables, and `noise_terms` says of how many in effect (see `DensityLaw`).

    Parameters
    ----------
    time_s
        When, seconds from the start of the run.
    mechanism
        Kind of the mechanism.
    guarantee
        What the release promises.
    west_m, south_m, east_m, north_m
        Edges of each cell, metres.
    count
        Noisy count of each cell.
    noise_scale
        Public scale of each count's noise.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.public.guarantee import Guarantee
    >>> from geodp.public.release import Cells
    >>> edges = [np.array(edge) for edge in ([0.0, 100.0], [0.0, 0.0], [100.0, 200.0], [100.0, 100.0])]
    >>> cells = Cells(0.0, "mine", Guarantee.none("an example"), *edges, np.array([3.0, 5.0]), np.ones(2), 0.0)
    >>> cells.locate([50.0, 150.0, 500.0], [50.0, 50.0, 50.0]).tolist()
    [0, 1, -1]
    """

    kind: ClassVar[str] = "cells"
    time_s: float
    mechanism: str
    guarantee: Guarantee
    west_m: Array
    south_m: Array
    east_m: Array
    north_m: Array
    count: Array
    noise_scale: Array
    floor_per_m2: float
    """Public lower bound on any density: noise must not make a place empty for ever (a public tenth of the mean)."""
    noise_terms: Array | None = field(default=None, kw_only=True)
    """Effective number of Laplace terms in the noise of each count; None: 1 each, plain Laplace noise."""
    measured: bool = field(default=True, kw_only=True)
    """Whether people were counted for it; otherwise it was worked out from earlier releases, which costs nothing."""

    def __post_init__(self) -> None:
        _freeze(self)

    @property
    def area_m2(self) -> Array:
        """Area of each cell."""
        return (self.east_m - self.west_m) * (self.north_m - self.south_m)

    def locate(self, x_m: npt.ArrayLike, y_m: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Return the cell that holds each point, -1 outside all of them."""
        import shapely

        points = shapely.points(np.asarray(x_m, dtype=np.float64), np.asarray(y_m, dtype=np.float64))
        found = np.full(points.shape, -1, dtype=np.int64)
        point, cell = self._tree.query(points)  # boxes are their own bounding boxes: no further test is needed
        last_first = np.argsort(-cell)
        found[point[last_first]] = cell[last_first]  # on a shared edge the first cell wins
        return found

    @cached_property
    def _tree(self) -> Any:
        import shapely

        return shapely.STRtree(shapely.box(self.west_m, self.south_m, self.east_m, self.north_m))

    def density(self, x_m: npt.ArrayLike, y_m: npt.ArrayLike) -> Array:
        """Estimate workers per square metre at each point, never below the public floor."""
        return np.maximum(self.density_law(x_m, y_m).estimate_per_m2, self.floor_per_m2)

    def density_law(self, x_m: npt.ArrayLike, y_m: npt.ArrayLike) -> DensityLaw:
        """Estimate the density at each point, unfloored, together with the law of its noise."""
        cell = self.locate(x_m, y_m)
        area = np.where(cell >= 0, self.area_m2[cell], 1.0)
        estimate = np.where(cell >= 0, self.count[cell] / area, 0.0)
        variance = np.where(cell >= 0, 2 * (self.noise_scale[cell] / area) ** 2, 0.0)
        terms = np.ones_like(estimate) if self.noise_terms is None else np.where(cell >= 0, self.noise_terms[cell], 1.0)
        return DensityLaw(estimate, variance, terms)


@dataclass(frozen=True, eq=False)
class GridCells(Cells):
    """Cells that form one regular grid, so that a point's cell is found by arithmetic.

    Parameters
    ----------
    grid
        The grid.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.geometry import Grid
    >>> from geodp.public.guarantee import Guarantee
    >>> from geodp.public.release import GridCells
    >>> grid = Grid(0.0, 0.0, 100.0, 100.0, columns=2, rows=1)
    >>> nothing = Guarantee.none("an example")
    >>> cells = GridCells(0.0, "mine", nothing, *grid.edges(), np.array([3.0, 5.0]), np.ones(2), 0.0, grid=grid)
    >>> cells.locate([150.0], [50.0]).tolist()
    [1]
    """

    grid: Grid = field(kw_only=True)

    def locate(self, x_m: npt.ArrayLike, y_m: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Return the cell that holds each point, -1 outside the grid."""
        return self.grid.locate(x_m, y_m)


@dataclass(frozen=True, eq=False)
class AdaptiveCells(Cells):
    """Cells of two levels: a regular grid, each cell of which is a regular grid of its own.

    Cells are in the order of the coarse cells, and within one row by row from the south-west. A point's cell is found
    by arithmetic, once on either level.
    """

    coarse: Grid = field(kw_only=True)
    per_side: npt.NDArray[np.int64] = field(kw_only=True)
    """Into how many rows, and as many columns, each coarse cell is divided."""
    fine_scale: float | None = field(default=None, kw_only=True)
    """Public Laplace scale of each fine count as it was measured; None: not stated."""
    coarse_scale: float | None = field(default=None, kw_only=True)
    """The same of each coarse count that fine counts were made to agree with; None: they were not."""
    coarse_count: Array | None = field(default=None, kw_only=True)
    """These coarse counts themselves: noisy like all that is published, and measured apart from the fine ones."""

    @cached_property
    def first(self) -> npt.NDArray[np.int64]:
        """The first cell of each coarse cell, and after the last the number of all cells."""
        return np.concatenate([[0], np.cumsum(self.per_side**2)])

    def locate(self, x_m: npt.ArrayLike, y_m: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Return the cell that holds each point, -1 outside the grid."""
        return locate_in_two_levels(self.coarse, self.per_side, self.first, x_m, y_m)


def locate_in_two_levels(
    coarse: Grid, per_side: npt.NDArray[np.int64], first: npt.NDArray[np.int64], x_m: npt.ArrayLike, y_m: npt.ArrayLike
) -> npt.NDArray[np.int64]:
    """Return the fine cell of each point (-1 outside): `per_side` and `first` are as in `AdaptiveCells`."""
    above = coarse.locate(x_m, y_m)
    row, column = np.divmod(np.maximum(above, 0), coarse.columns)
    side = per_side[above]
    across = (np.asarray(x_m, dtype=np.float64) - coarse.west_m) / coarse.cell_x_m - column
    along = (np.asarray(y_m, dtype=np.float64) - coarse.south_m) / coarse.cell_y_m - row
    fine_column = np.clip((across * side).astype(np.int64), 0, side - 1)
    fine_row = np.clip((along * side).astype(np.int64), 0, side - 1)
    return np.where(above >= 0, first[above] + fine_row * side + fine_column, -1)


@dataclass(frozen=True, eq=False)
class LatticeCells(Cells):
    """Cells whose edges lie on a fine regular lattice, so that a point's cell is read from a table."""

    lattice: Grid = field(kw_only=True)

    def locate(self, x_m: npt.ArrayLike, y_m: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Return the cell that holds each point, -1 outside all of them."""
        square = self.lattice.locate(x_m, y_m)
        return np.where(square >= 0, self.cell_of_square[square], -1)

    @cached_property
    def cell_of_square(self) -> npt.NDArray[np.int64]:
        """The cell of each square of the lattice: each cell's number, added up from the corners where it starts."""
        grid = self.lattice
        west, east = (
            np.rint((edge - grid.west_m) / grid.cell_x_m).astype(np.int64) for edge in (self.west_m, self.east_m)
        )
        south, north = (
            np.rint((e - grid.south_m) / grid.cell_y_m).astype(np.int64) for e in (self.south_m, self.north_m)
        )
        steps = np.zeros((grid.rows + 1, grid.columns + 1), dtype=np.int64)
        number = np.arange(1, self.count.size + 1)
        for row, column, sign in ((south, west, 1), (south, east, -1), (north, west, -1), (north, east, 1)):
            np.add.at(steps, (row, column), sign * number)
        return (steps.cumsum(axis=0).cumsum(axis=1)[:-1, :-1] - 1).ravel()


@dataclass(frozen=True, eq=False)
class QuadtreeCells(Cells):
    """Squares of a quadtree of any depth that cover a lattice, in Z-order, so that a point's cell is found by halving.

    The lattice has as many squares across as along, a power of two; it may be far too fine for a table of its squares.
    """

    lattice: Grid = field(kw_only=True)

    def locate(self, x_m: npt.ArrayLike, y_m: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Return the cell that holds each point, -1 outside the lattice."""
        square = self.lattice.locate(x_m, y_m)
        row, column = np.divmod(np.maximum(square, 0), self.lattice.columns)
        found = np.searchsorted(self._first, interleave_bits(column, row), side="right") - 1
        return np.where(square >= 0, found, -1)

    @cached_property
    def _first(self) -> npt.NDArray[np.int64]:
        """The number of the first square of each cell, in Z-order."""
        grid = self.lattice
        column = np.rint((self.west_m - grid.west_m) / grid.cell_x_m).astype(np.int64)
        row = np.rint((self.south_m - grid.south_m) / grid.cell_y_m).astype(np.int64)
        return interleave_bits(column, row)


@dataclass(frozen=True, eq=False)
class Contours(GridCells):
    """A noisy grid with contour lines: the noisy counts, smoothed, at a few levels.

    The surface and its lines are post-processing of `count`; they cost nothing.
    """

    kind: ClassVar[str] = "contours"
    sigma_cells: float = field(kw_only=True)
    levels: Array = field(kw_only=True)
    """Levels of the lines, in workers per cell, ascending; all positive."""
    reading: str = field(kw_only=True)
    """How a density is read off: `bilinear`, or `between_lines` as in the book."""

    def with_levels(self, levels: Array) -> Contours:
        """Return the same plot with other lines."""
        return replace(self, levels=np.array(levels, dtype=np.float64))

    @cached_property
    def surface(self) -> Array:
        """Smoothed noisy counts, workers per cell, rows (south first) by columns."""
        counts = self.count.reshape(self.grid.rows, self.grid.columns)
        across, along = self._smoothing
        smooth = np.asarray(along.matrix @ counts @ across.matrix.T)
        smooth.setflags(write=False)
        return smooth

    @cached_property
    def _smoothing(self) -> tuple[Smoothing, Smoothing]:
        return (
            Smoothing.gaussian(self.grid.columns, self.sigma_cells),
            Smoothing.gaussian(self.grid.rows, self.sigma_cells),
        )

    def density_law(self, x_m: npt.ArrayLike, y_m: npt.ArrayLike) -> DensityLaw:
        """Read the density off the surface, with the law of its noise.

        Interpolating a smoothed grid is a weighted sum of noisy counts with separable weights, so Σw² and Σw⁴ are
        products of a sum across columns and a sum along rows. Reading between the lines rounds this value to a
        level; its noise is then described by the same law.
        """
        grid = self.grid
        column, across = _between(x_m, grid.west_m, grid.cell_x_m, grid.columns)
        row, along = _between(y_m, grid.south_m, grid.cell_y_m, grid.rows)
        value = _interpolate(self.surface, row, along, column, across)
        if self.reading == "between_lines":
            value = self._between_lines(value)
        in_x, in_y = self._smoothing
        second = in_x.power_sum(2, column, across) * in_y.power_sum(2, row, along)
        fourth = in_x.power_sum(4, column, across) * in_y.power_sum(4, row, along)
        cell = row * grid.columns + column  # noise may differ from cell to cell, but little between neighbours
        scale = self.noise_scale[cell] / grid.cell_area_m2
        each = 1.0 if self.noise_terms is None else self.noise_terms[cell]
        return DensityLaw(value / grid.cell_area_m2, 2 * scale**2 * second, each * second**2 / fourth)

    def _between_lines(self, value: Array) -> Array:
        """Return the mean of the two lines around a value.

        Below the lowest line 0 stands for the lower one, above the highest its own level stands for both.
        """
        if self.levels.size == 0:
            return np.zeros_like(value)
        steps = np.concatenate([[0.0], self.levels, self.levels[-1:]])
        place = np.searchsorted(self.levels, value, side="right")
        on_line = (place > 0) & (self.levels[np.maximum(place, 1) - 1] == value)
        return np.where(on_line, value, (steps[place] + steps[place + 1]) / 2)

    def polygons(self, *, nested: bool = False) -> list[tuple[float, float, Any]]:
        """Return the areas between neighbouring lines.

        Each is a lower and an upper level (workers per cell; infinity for the last) and a shapely geometry in metres.
        """
        import shapely
        from contourpy import FillType, contour_generator

        if self.levels.size == 0:
            return []
        x, y = self.grid.centres()
        west, south = self.grid.west_m, self.grid.south_m
        x = np.concatenate([[west], x, [west + self.grid.columns * self.grid.cell_x_m]])
        y = np.concatenate([[south], y, [south + self.grid.rows * self.grid.cell_y_m]])
        padded = np.pad(self.surface, 1, mode="edge")  # the surface is constant beyond the outermost centres
        contours: Any = contour_generator(x, y, padded, fill_type=FillType.ChunkCombinedOffsetOffset)
        areas = []
        for low, high in zip(self.levels, [*self.levels[1:], np.inf], strict=True):
            points, offsets, outer = (part[0] for part in contours.filled(low, np.inf if nested else high))
            if points is not None:
                kind = shapely.GeometryType.POLYGON
                parts = shapely.from_ragged_array(kind, points, (offsets.astype(np.int64), outer.astype(np.int64)))
                areas.append((float(low), float(high), shapely.multipolygons(parts)))
        return areas

    def lines(self) -> list[tuple[float, list[Array]]]:
        """Return each level (workers per cell) with its contour lines, arrays of x_m, y_m."""
        from contourpy import contour_generator

        x, y = self.grid.centres()
        if self.grid.rows < 2 or self.grid.columns < 2:
            return [(float(level), []) for level in self.levels]
        contours: Any = contour_generator(x, y, self.surface)
        return [(float(level), list(contours.lines(level))) for level in self.levels]


@dataclass(frozen=True, eq=False)
class Points:
    """What phones report to the server by themselves: one place per person, under a name that stays the same.

    A platform knows its accounts, so reports can be linked over time; rows are in the order of the names, which says
    nothing about places.

    Parameters
    ----------
    time_s
        When, seconds from the start of the run.
    mechanism
        Kind of the mechanism on the phone.
    guarantee
        What one report promises.
    x_m, y_m
        The places reported, metres.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.public.guarantee import Guarantee
    >>> from geodp.public.release import Points
    >>> nothing = Guarantee.none("an example")
    >>> Points(0.0, "none", nothing, np.array(["a", "b"]), np.zeros(2), np.ones(2), None, 0.0).size
    2
    """

    kind: ClassVar[str] = "points"
    time_s: float
    mechanism: str
    guarantee: Guarantee
    who: npt.NDArray[np.str_]
    """Pseudonym of each reporter, ascending."""
    x_m: Array
    y_m: Array
    channel: Channel | None
    """The public law of a report given the true place; None: reports are taken as they are."""
    floor_per_m2: float
    """Public lower bound on any density: a tenth of the reports, spread over the region."""
    epsilon_per_m: Array | None = field(default=None, kw_only=True)
    """ε per metre of each report, where phones have levels of their own; None: that of `channel`."""
    group: npt.NDArray[np.str_] | None = field(default=None, kw_only=True)
    """Public group of each reporter, where there are groups."""
    channels: Mapping[str, Channel | None] = field(default_factory=dict, kw_only=True)
    """The public law of each group's reports, by name; `channel` is then that of the least careful group."""

    def __post_init__(self) -> None:
        _freeze(self)

    @property
    def size(self) -> int:
        """Number of reports."""
        return int(self.who.size)

    def by_law(self) -> list[tuple[Channel | None, npt.NDArray[np.int64]]]:
        """Return each public law with the rows it is the law of: one where all phones are alike, else one per group.

        Returns
        -------
        list
            Laws and rows; every row has one law.

        Raises
        ------
        UsageError
            If the law of a group is not told.
        """
        if self.group is None:
            return [(self.channel, np.arange(self.size))]
        names, place = np.unique(self.group, return_inverse=True)
        if missing := sorted(set(names.tolist()) - set(self.channels)):
            raise UsageError(f"these reports do not tell the law of the group {', '.join(missing)}")
        return [(self.channels[name], np.flatnonzero(place == number)) for number, name in enumerate(names.tolist())]

    def take(self, rows: npt.NDArray[np.int64] | slice) -> Points:
        """Return some of the reports, by row; laws and promise stay what they are."""
        columns = ("who", "x_m", "y_m", "epsilon_per_m", "group")
        kept = {name: getattr(self, name) for name in columns if getattr(self, name) is not None}
        return replace(self, **{name: values[rows] for name, values in kept.items()})

    def of_each_law(self) -> list[Points]:
        """Return the reports of each law by themselves: one set where all phones are alike."""
        if self.group is None:
            return [self]
        return [
            replace(self.take(rows), channel=law, group=None, epsilon_per_m=None, channels={})
            for law, rows in self.by_law()
        ]


@dataclass(frozen=True, eq=False)
class DensityEstimate(GridCells):
    """A density that somebody worked out from reported points: post-processing, which costs nothing.

    `count` is never negative and adds up to the number of reports. `noise_scale` is 0: the error is not Laplace noise
    on counts but the chance of where reports fell, and what smoothing hides.
    """

    kind: ClassVar[str] = "estimate"
    variance: Array = field(kw_only=True)
    """Mean square error of each count."""
    err_together: float = field(default=1.0, kw_only=True)
    """How many neighbouring cells err together, in effect."""

    def density_law(self, x_m: npt.ArrayLike, y_m: npt.ArrayLike) -> DensityLaw:
        """Read the density between cell centres with its error (neighbouring cells are taken to err alike)."""
        area = self.grid.cell_area_m2
        estimate = self._read(self.count, x_m, y_m) / area
        variance = self._read(self.variance, x_m, y_m) / area**2
        return DensityLaw(estimate, variance, np.full_like(estimate, _NEARLY_GAUSSIAN))

    def _read(self, values: Array, x_m: npt.ArrayLike, y_m: npt.ArrayLike) -> Array:
        """Interpolate a value per cell bilinearly between the centres of cells."""
        grid = self.grid
        table = values.reshape(grid.rows, grid.columns)
        column, across = _between(x_m, grid.west_m, grid.cell_x_m, grid.columns)
        row, along = _between(y_m, grid.south_m, grid.cell_y_m, grid.rows)
        return _interpolate(table, row, along, column, across)


def _freeze(release: Cells | Points) -> None:
    """Keep read-only views of the arrays that a release was given; the caller's own stay writable."""
    for name, value in vars(release).items():
        if isinstance(value, np.ndarray):
            view = value.view()
            view.setflags(write=False)
            object.__setattr__(release, name, view)


def _interpolate(
    table: Array, row: npt.NDArray[np.int64], along: Array, column: npt.NDArray[np.int64], across: Array
) -> Array:
    """Read a table bilinearly: a share of the way from each row and column to the next."""
    above, right = np.minimum(row + 1, table.shape[0] - 1), np.minimum(column + 1, table.shape[1] - 1)
    lower = table[row, column] * (1 - across) + table[row, right] * across
    upper = table[above, column] * (1 - across) + table[above, right] * across
    return np.asarray(lower * (1 - along) + upper * along)


def _between(place_m: npt.ArrayLike, edge_m: float, cell_m: float, size: int) -> tuple[npt.NDArray[np.int64], Array]:
    """Return the cell centre at or before each place, and the share of the way to the next one."""
    step = np.clip((np.asarray(place_m, dtype=np.float64) - edge_m) / cell_m - 0.5, 0, size - 1)
    index = np.minimum(step.astype(np.int64), max(size - 2, 0))
    return index, step - index


@dataclass(frozen=True)
class Smoothing:
    """Gaussian smoothing along one axis as a banded matrix, with what interpolation does to noise.

    At the border the weights are cut and scaled to sum to 1, so a constant stays a constant.
    """

    matrix: Any
    powers: dict[tuple[int, int], Array]
    """`powers[i, j][k]` = Σ a^i b^j over row k (a) and the row after it (b); the last row is its own successor."""

    @classmethod
    @cache  # the same grid is smoothed for every release of a run
    def gaussian(cls, size: int, sigma_cells: float) -> Smoothing:
        """Build the matrix for `size` cells; sigma 0 leaves everything as it is."""
        from scipy import sparse

        reach = min(int(np.ceil(4 * sigma_cells)), size - 1)
        shifts = np.arange(-reach, reach + 1)
        weight = np.exp(-0.5 * (shifts / sigma_cells) ** 2) if sigma_cells > 0 else np.ones(1)
        bands: Any = [np.full(size - abs(shift), w) for shift, w in zip(shifts, weight, strict=True)]
        matrix: Any = sparse.diags_array(bands, offsets=shifts, shape=(size, size)).tocsr()
        matrix = sparse.diags_array(1 / matrix.sum(axis=1)) @ matrix
        following = matrix[np.minimum(np.arange(size) + 1, size - 1)]
        pairs = [(2, 0), (1, 1), (0, 2), (4, 0), (3, 1), (2, 2), (1, 3), (0, 4)]
        powers = {
            (i, j): np.asarray(
                (matrix.power(i) * following.power(j) if i and j else matrix.power(i) if i else following.power(j)).sum(
                    axis=1
                )
            ).ravel()
            for i, j in pairs
        }
        return cls(matrix, powers)

    def power_sum(self, power: int, index: npt.NDArray[np.int64], share: Array) -> Array:
        """Return Σ ((1-f) a + f b)^power over the weights of an interpolated value, for powers 2 and 4."""
        rest, p = 1 - share, self.powers
        parts = (comb(power, k) * rest ** (power - k) * share**k * p[power - k, k][index] for k in range(power + 1))
        return np.asarray(sum(parts))
