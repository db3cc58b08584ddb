"""`geodp publish positions`: where people are, as reports of phones or as counts per cell."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from geodp.curator.count_noise import GAUSSIAN_TERMS
from geodp.curator.mechanisms import Mechanism, Snapshot
from geodp.device import Device
from geodp.errors import UsageError
from geodp.flows.release import Z95
from geodp.frames.snapshots import list_facts, require_sound_grid, settle_expected_workers
from geodp.geometry import Array, Region
from geodp.privacy.noise import Noise, SimulatedNoise
from geodp.public.guarantee import Guarantee, Trust, Unit
from geodp.public.zcdp import epsilon_of_rho
from geodp.publish.methods import find_method, merge_options, require_epsilon
from geodp.publish.outputs import DEGREE_DIGITS, PublishedTable, degree_columns
from geodp.publish.pipeline import Product, PublishPlan, PublishResult, publish
from geodp.publish.private_positions import UsedPositions, find_bounding_box, keep_used_positions, read_rows
from geodp.publish.request import PublicInputs, Request, require_positive
from geodp.publish.statement import Accuracy
from geodp.registry import Plugin, plugins

if TYPE_CHECKING:
    from geodp.display.page import Page
    from geodp.public.release import Cells

DEFAULT_MECHANISM = "planar_geometric"
PARTS = ("user", "lon", "lat")
"""Columns of the private data."""


def publish_positions(
    request: Request, *, mechanism: str = DEFAULT_MECHANISM, expected_workers: float | None = None
) -> PublishResult:
    """Publish a file of positions (user, lon, lat; without user only where every row is a person) by a mechanism.

    A device mechanism (planar_geometric, planar_laplace) gives one reported point per row; a curator's mechanism
    (contour) gives cells with noisy counts.
    """
    require_positive("--expected-workers", expected_workers)
    return publish(request, partial(_prepare, kind=mechanism, expected_workers=expected_workers))


def _prepare(request: Request, inputs: PublicInputs, *, kind: str, expected_workers: float | None) -> PublishPlan:
    mechanism = build(kind, request.epsilon, request.settings)
    if request.one_row_per_person and "user" in request.columns:
        raise UsageError("--one-row-per-person: then no column is the user: leave --column user out.")
    rows = read_rows(
        request.source,
        numbers=("lon", "lat"),
        names=() if request.one_row_per_person else ("user",),
        releasing=request.releasing,
        called=request.columns,
    )
    region = inputs.region(request, lambda: find_bounding_box(rows))
    positions = keep_used_positions(request, inputs, rows, region)
    if isinstance(mechanism, Device):
        if expected_workers is not None:
            raise UsageError(f"--expected-workers is for counts; {kind} reports every row by itself.")
        return ReportedPoints(mechanism, positions)
    if not isinstance(mechanism, Mechanism):
        raise TypeError(f"{mechanism.kind} is no mechanism of a curator")
    if mechanism.window_releases() is not None:
        raise UsageError(
            f"{kind} promises epsilon in a window of releases, and a file of positions is one release: use a mechanism "
            "of single releases, such as uniform_grid."
        )
    if mechanism.guarantee().by_group:
        raise UsageError(
            f"{kind} promises each group of people an epsilon of its own, and a file of positions does not say who is "
            "in which group: use a mechanism of one epsilon, such as uniform_grid, or a scenario."
        )
    bounded, guarantee = _for_cap(mechanism, positions.cap)
    expected = settle_expected_workers(bounded, region, inputs, expected_workers, rows=positions.x_m.size)
    bounded = bounded.resolve(list_facts(region, expected))
    require_sound_grid(bounded, region)
    return CountedCells(bounded, positions, expected, guarantee)


def build(kind: str, epsilon: float | None, settings: Mapping[str, Any]) -> Plugin:
    """Build the mechanism, with errors for people when there is none, or when a field is wrong."""
    points = {name: cls for name, cls in plugins("device").items() if "points" in cls.releases}
    cells = {name: cls for name, cls in plugins("mechanism").items() if "cells" in cls.releases}
    cls = find_method("positions", kind, points | cells, noun="mechanism")
    known = next((name for name in ("epsilon", "epsilon_per_m") if name in cls.model_fields), None)
    if known is None and epsilon is not None:
        if issubclass(cls, Mechanism) and cls().guarantee().by_group:
            raise UsageError(f"{kind} takes no --epsilon: each group of people has one of its own.")
        raise UsageError(f"{kind} promises nothing and takes no --epsilon.")
    other_words = {"level", "radius_m"} <= set(settings)
    if other_words and epsilon is not None:
        raise UsageError(f"--epsilon and --set both state the epsilon of {kind}: give only one.")
    fields = merge_options(cls, settings, {} if known is None else {known: epsilon})
    if not other_words:
        require_epsilon(cls, fields)
    return cls.from_options(fields, f"publish positions --mechanism {kind}")


_SAMPLES = 200_000  # the mean error is then known to 0.2 %


class ReportedPoints(PublishPlan):
    """One report per row. The publisher sees the true places: for these reports it is the trusted party."""

    def __init__(self, device: Device, positions: UsedPositions) -> None:
        self.mechanism = device.kind
        self.region, self.remarks = positions.region, positions.remarks
        self.device, self.guarantee = _on_the_ground(device, positions.region)
        most = positions.cap or 1
        self.per_person = self.guarantee.repeat(most)
        if most > 1:
            self.together = self.guarantee.together(most, f"All of a user's at most {most:,} rows")
        whose = "whose they are (column user), " if positions.users is not None else ""
        self.not_hidden = (f"how many rows there are, {whose}and that each lies inside the region",)
        self.fields = self.device.settings_in_force()
        self._positions = positions

    def rehearse(self, noise: Noise) -> None:
        """Report nobody's place."""
        self.device.report(np.empty(0), np.empty(0), rng=noise, region=self.region)

    def draw(self, noise: Noise) -> Product:
        """Report every row.

        A file may be sorted by place, and its order would then tell places. A release is shuffled, and sorted by user
        where there are users; a simulation keeps the order, so that reports can be held against the truth.
        """
        positions = self._positions.choose(noise)
        x_m, y_m = self.device.report(positions.x_m, positions.y_m, rng=noise, region=self.region)
        users = positions.users
        if noise.releasable:
            order = _order(users, noise.uniform(x_m.size))
            x_m, y_m = x_m[order], y_m[order]
            users = None if users is None else users.take(order)
        lon, lat = self.region.projection.to_lonlat(x_m=x_m, y_m=y_m)
        places = degree_columns(lon, lat)
        table = PublishedTable(places if users is None else {"user": users, **places}, "points")

        def draw_map(page: Page) -> None:
            from geodp.publish.released_map import draw_places

            draw_places(page, "Reported places", x_m, y_m, mark="reported place", name="Report", what="reports")

        return Product(table, self._accuracy(), noise.releasable, draw_map)

    def _accuracy(self) -> Accuracy:
        """Simulate the error for places spread evenly over the public region: no private place is used."""
        rng = np.random.default_rng(0)
        x_m, y_m = self.region.sample(_SAMPLES, rng)
        reported = self.device.report(x_m, y_m, rng=SimulatedNoise(rng), region=self.region)
        error_m = np.hypot(reported[0] - x_m, reported[1] - y_m)
        mean_m, most_m = float(error_m.mean()), float(np.quantile(error_m, 0.95))
        text = (
            f"A report lies {mean_m:,.3g} m from the true place on average, 95 % within {most_m:,.3g} m "
            "(for places spread evenly over the region)."
        )
        return Accuracy(text, {"mean_error_m": round(mean_m, 2), "error_95_m": round(most_m, 2)})


def _on_the_ground(device: Device, region: Region) -> tuple[Device, Guarantee]:
    """Return the device, and its promise for a publisher who sees the true places.

    A local projection shows some places further apart than they are on the ground, which costs epsilon. The noise is
    widened by as much (less than 5 %), so that the epsilon asked for is the one that holds on the ground.
    """
    promise = device.guarantee(region)
    asked = getattr(device, "epsilon_per_m", None)
    if promise.unit is not Unit.POINT:
        return device, promise
    if asked is None:
        return device, replace(promise, trust=Trust.CENTRAL)
    inner = asked / (promise.epsilon / asked)
    widened = _with_epsilon(device, inner)
    while widened.guarantee(region).epsilon > asked:  # a rounding error at most
        inner = math.nextafter(inner, 0.0)
        widened = _with_epsilon(device, inner)
    return widened, replace(widened.guarantee(region), epsilon=asked, trust=Trust.CENTRAL)


def _with_epsilon(device: Device, epsilon_per_m: float) -> Device:
    changes: dict[str, Any] = {"epsilon_per_m": epsilon_per_m}
    for name in ("level", "radius_m"):  # other words for the same epsilon, which would now contradict it
        if name in type(device).model_fields:
            changes[name] = None
    return device.model_copy(update=changes)


def _order(users: Any, keys: Array) -> Any:
    """Return a random order of the rows; with users, theirs, and random among the rows of each."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if users is None:
        return np.argsort(keys)
    rows = pa.table({"user": users, "key": keys})
    return pc.sort_indices(rows, sort_keys=[("user", "ascending"), ("key", "ascending")]).to_numpy()


_COUNT_DIGITS = 6


class CountedCells(PublishPlan):
    """One snapshot: cells, each with a noisy count of the rows in it."""

    def __init__(
        self, mechanism: Mechanism, positions: UsedPositions, expected_workers: float, guarantee: Guarantee
    ) -> None:
        self.mechanism, self.fields = mechanism.kind, mechanism.settings_in_force()
        self.region, self.remarks = positions.region, positions.remarks
        self.guarantee = self.per_person = guarantee
        self._mechanism, self._positions = mechanism, positions
        self._nobody = Snapshot(0.0, np.empty(0), np.empty(0), positions.region, expected_workers)

    def rehearse(self, noise: Noise) -> None:
        """Count nobody."""
        self._mechanism.release(self._nobody, noise)

    def draw(self, noise: Noise) -> Product:
        """Count, with noise in every cell."""
        used = self._positions.choose(noise)
        cells = self._mechanism.release(replace(self._nobody, x_m=used.x_m, y_m=used.y_m), noise)
        accuracy = _accuracy(cells, self._positions)
        return Product(self._table(cells), accuracy, noise.releasable, lambda page: _draw_map(page, cells))

    def _table(self, cells: Cells) -> PublishedTable:
        projection = self.region.projection
        west, south = projection.to_lonlat(x_m=cells.west_m, y_m=cells.south_m)
        east, north = projection.to_lonlat(x_m=cells.east_m, y_m=cells.north_m)
        edges = {"west": west, "south": south, "east": east, "north": north}
        counts = {"count": cells.count, "density_per_km2": 1e6 * cells.count / cells.area_m2}
        columns = {name: np.round(values, DEGREE_DIGITS) for name, values in edges.items()}
        return PublishedTable(
            columns | {name: np.round(values, _COUNT_DIGITS) for name, values in counts.items()}, "boxes"
        )


def _for_cap(mechanism: Mechanism, cap: int | None) -> tuple[Mechanism, Guarantee]:
    """Return the mechanism with noise for `cap` rows per person, and the promise about a person.

    Up to `cap` rows of one person change the counts by up to `cap`: each row gets epsilon / cap, all of them epsilon.
    """
    promise = mechanism.guarantee()
    if cap is None or promise.unit is Unit.NOTHING:
        return mechanism, promise
    asked = promise.epsilon
    if promise.rho is not None:  # cap rows at once cost cap² times the ρ of one
        each = epsilon_of_rho(promise.rho / cap**2, promise.delta)
        return mechanism.with_epsilon(each), replace(promise, unit=Unit.USER)
    each = asked / cap
    while (bounded := mechanism.with_epsilon(each)).guarantee().for_users(cap).epsilon > asked:
        each = math.nextafter(each, 0.0)
    return bounded, replace(promise, unit=Unit.USER)


def _accuracy(cells: Cells, positions: UsedPositions) -> Accuracy:
    """E|Lap(b)| = b, and 95 % of the noise lies within b·ln 20; b is the public scale of each count.

    A sum of k Laplace variables with the variance of one has a mean of |x| between b and 1.13 b, and shorter tails;
    Gaussian noise has 95 % within 1.96 standard deviations, √2·b each.
    Without a cap on the rows of a user the noise is all of the error; how many rows a cap leaves out is not paid for.
    """
    capped = positions.cap is not None and positions.users is not None
    missing = f" Rows of a user beyond {positions.cap} are not counted: how many those are is not known."
    what = ("mean_noise", "noise_95") if capped else ("mean_error", "error_95")
    least, most = float(cells.noise_scale.min()), float(cells.noise_scale.max())
    terms = 1.0 if cells.noise_terms is None else cells.noise_terms
    wide = np.where(terms >= GAUSSIAN_TERMS, Z95 * math.sqrt(2), math.log(20))
    mean, most_95 = float(np.mean(cells.noise_scale * _mean_of_sum(cells))), float(np.max(cells.noise_scale * wide))
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
    from geodp.display.layers.densities import CellsLayer, ReleaseLayer
    from geodp.public.release import Contours

    run: Any = SimpleNamespace(releases=[cells])
    contours = isinstance(cells, Contours)
    if contours:
        ReleaseLayer().draw(run, page)
    CellsLayer(shown=not contours).draw(run, page)
