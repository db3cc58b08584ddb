"""Positions published as cells with noisy counts, as a curator's mechanism releases them."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from geodp.curator.mechanisms import Mechanism, Snapshot
from geodp.errors import DataError, UsageError
from geodp.geometry import Array, Grid
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Guarantee, Unit
from geodp.publish.outputs import DEGREE_DIGITS, Table
from geodp.publish.pipeline import Plan, Product
from geodp.publish.public_inputs import PublicInputs
from geodp.publish.request import NOTHING_DONE
from geodp.publish.statement import Accuracy
from geodp.publish.used_positions import Positions
from geodp.registry import Plugin, PublicFacts

if TYPE_CHECKING:
    from geodp.display.page import Page
    from geodp.public.release import Cells

MAX_CELLS = 25_000_000
_COUNT_DIGITS = 6


class CountedCells(Plan):
    """One snapshot: cells, each with a noisy count of the rows in it."""

    def __init__(
        self, mechanism: Mechanism, positions: Positions, expected_workers: float, guarantee: Guarantee
    ) -> None:
        self.mechanism = mechanism.kind
        self.region = positions.region
        self.fields = mechanism.settings_in_force()
        self.guarantee = self.per_person = guarantee
        self.remarks = positions.remarks
        self._mechanism = mechanism
        self._positions = positions
        self._nobody = Snapshot(0.0, np.empty(0), np.empty(0), positions.region, expected_workers)

    @classmethod
    def prepared(
        cls, mechanism: Plugin, positions: Positions, inputs: PublicInputs, expected_workers: float | None
    ) -> CountedCells:
        """Settle the public number of people and the noise that hides all rows of one of them."""
        if not isinstance(mechanism, Mechanism):
            raise TypeError(f"{mechanism.kind} is no mechanism of a curator")
        bounded, guarantee = _for_cap(mechanism, positions.cap)
        expected = _expected_workers(bounded, positions, inputs, expected_workers)
        bounded = bounded.resolve(_facts(positions, expected))
        _require_sound_grid(bounded, positions)
        return cls(bounded, positions, expected, guarantee)

    def rehearse(self, noise: Noise) -> None:
        """Count nobody."""
        self._mechanism.release(self._nobody, noise)

    def draw(self, noise: Noise) -> Product:
        """Count, with noise in every cell."""
        used = self._positions.drawn(noise)
        cells = self._mechanism.release(replace(self._nobody, x_m=used.x_m, y_m=used.y_m), noise)
        accuracy = _accuracy(cells, self._positions)
        return Product(self._table(cells), accuracy, noise.releasable, lambda page: _draw_map(page, cells))

    def _table(self, cells: Cells) -> Table:
        projection = self.region.projection
        west, south = projection.to_lonlat(x_m=cells.west_m, y_m=cells.south_m)
        east, north = projection.to_lonlat(x_m=cells.east_m, y_m=cells.north_m)
        edges = {"west": west, "south": south, "east": east, "north": north}
        counts = {"count": cells.count, "density_per_km2": 1e6 * cells.count / cells.area_m2}
        columns = {name: np.round(values, DEGREE_DIGITS) for name, values in edges.items()}
        return Table(columns | {name: np.round(values, _COUNT_DIGITS) for name, values in counts.items()}, "boxes")


def _for_cap(mechanism: Mechanism, cap: int | None) -> tuple[Mechanism, Guarantee]:
    """Return the mechanism with noise for `cap` rows per person, and the promise about a person.

    Up to `cap` rows of one person change the counts by up to `cap`: each row gets epsilon / cap, all of them epsilon.
    """
    promise = mechanism.guarantee()
    if cap is None or promise.unit is Unit.NOTHING:
        return mechanism, promise
    asked = promise.epsilon
    each = asked / cap
    while mechanism.model_copy(update={"epsilon": each}).guarantee().for_users(cap).epsilon > asked:
        each = math.nextafter(each, 0.0)
    return mechanism.model_copy(update={"epsilon": each}), replace(promise, unit=Unit.USER)


def _expected_workers(mechanism: Mechanism, positions: Positions, inputs: PublicInputs, given: float | None) -> float:
    """Return the public number of people, where the mechanism uses one (0 where it does not)."""
    used = mechanism.resolve(_facts(positions, 1.0)) != mechanism
    if not used and given is None:
        return 0.0
    if not used and getattr(mechanism, "cell_m", None) is not None:
        raise UsageError(f"--expected-workers has no effect: the cells of {mechanism.kind} are set. {NOTHING_DONE}")
    option = "--expected-workers N, or set the size of the cells (--set cell_m=300)"
    return inputs.settle("expected workers", option, given, lambda: _one_figure(positions.x_m.size))


def _facts(positions: Positions, expected_workers: float) -> PublicFacts:
    region = positions.region
    return PublicFacts(expected_workers, 0.0, 1.0, 0.0, region.width_m, region.height_m)


def _one_figure(count: int) -> float:
    """Round to one significant figure, as scenarios do."""
    return float(f"{count:.0e}")


def _require_sound_grid(mechanism: Mechanism, positions: Positions) -> None:
    region, cell_m = positions.region, getattr(mechanism, "cell_m", None)
    if cell_m is None:
        return
    if cell_m > min(region.width_m, region.height_m):
        raise DataError(
            f"the region ({region.width_m:,.0f} m × {region.height_m:,.0f} m) is smaller than a cell of {cell_m:g} m: "
            f"use a smaller cell_m or a larger region. {NOTHING_DONE}"
        )
    size = Grid.fit(region, cell_m).size
    if size > MAX_CELLS:
        raise DataError(
            f"cells of {cell_m:g} m make {size:,} cells, more than {MAX_CELLS:,}: use a larger cell_m. {NOTHING_DONE}"
        )


def _accuracy(cells: Cells, positions: Positions) -> Accuracy:
    """E|Lap(b)| = b, and 95 % of the noise lies within b·ln 20; b is the public scale of each count.

    A sum of k Laplace variables with the variance of one has a mean of |x| between b and 1.13 b, and shorter tails.
    Without a cap on the rows of a user the noise is all of the error; how many rows a cap leaves out is not paid for.
    """
    capped = positions.cap is not None and positions.users is not None
    missing = f" Rows of a user beyond {positions.cap} are not counted: how many those are is not known."
    what = ("mean_noise", "noise_95") if capped else ("mean_error", "error_95")
    least, most = float(cells.noise_scale.min()), float(cells.noise_scale.max())
    mean, most_95 = float(np.mean(cells.noise_scale * _mean_of_sum(cells))), most * math.log(20)
    spread = f"{mean:.4g}" if least == most else f"{mean:.4g} ({least:.4g} to {most:.4g} by cell)"
    text = (
        f"The noise on a count is ±{spread} on average, 95 % within ±{most_95:.4g}."
        if most
        else "Counts have no noise."
    )
    return Accuracy(text + (missing if capped else ""), dict(zip(what, (mean, most_95), strict=True)))


def _mean_of_sum(cells: Cells) -> Array | float:
    """Return E|x|/b for the sums of Laplace variables that noise is made of: 2 Γ(k + 1/2) / (sqrt(π k) Γ(k))."""
    if cells.noise_terms is None:
        return 1.0
    from scipy.special import gammaln

    k = cells.noise_terms
    return np.asarray(2 / np.sqrt(np.pi * k) * np.exp(gammaln(k + 0.5) - gammaln(k)))


def _draw_map(page: Page, cells: Cells) -> None:
    """Draw the density and the counts with the layers of a run; a publication is a run of one release."""
    from geodp.display.layers.cells import CellsLayer
    from geodp.display.layers.release import ReleaseLayer
    from geodp.public.release import Contours

    run: Any = SimpleNamespace(releases=[cells])
    contours = isinstance(cells, Contours)
    if contours:
        ReleaseLayer().draw(run, page)
    CellsLayer(shown=not contours).draw(run, page)
