"""Positions published one by one: each row as a mechanism of the phone would report it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from geodp.device import Device
from geodp.geometry import Array, Region
from geodp.privacy.noise import Noise, SimulatedNoise
from geodp.public.guarantee import Guarantee, Trust, Unit
from geodp.publish.outputs import DEGREE_DIGITS, Table
from geodp.publish.pipeline import Plan, Product
from geodp.publish.statement import Accuracy
from geodp.publish.used_positions import Positions

if TYPE_CHECKING:
    from geodp.display.page import Page

_SAMPLES = 200_000  # the mean error is then known to 0.2 %


class ReportedPoints(Plan):
    """One report per row. The publisher sees the true places: for these reports it is the trusted party."""

    def __init__(self, device: Device, positions: Positions) -> None:
        self.mechanism = device.kind
        self.region = positions.region
        self.device, self.guarantee = _on_the_ground(device, positions.region)
        self.per_person = self.guarantee.repeated(positions.cap or 1)
        if (positions.cap or 1) > 1:
            self.together = self.guarantee.together(
                positions.cap or 1, f"All of a user's at most {positions.cap:,} rows"
            )
        whose = "whose they are (column user), " if positions.users is not None else ""
        self.not_hidden = (f"how many rows there are, {whose}and that each lies inside the region",)
        self.fields = self.device.settings_in_force()
        self.remarks = positions.remarks
        self._positions = positions

    def rehearse(self, noise: Noise) -> None:
        """Report nobody's place."""
        self.device.report(np.empty(0), np.empty(0), rng=noise, region=self.region)

    def draw(self, noise: Noise) -> Product:
        """Report every row.

        A file may be sorted by place, and its order would then tell places. A release is shuffled, and sorted by user
        where there are users; a simulation keeps the order, so that reports can be held against the truth.
        """
        positions = self._positions.drawn(noise)
        x_m, y_m = self.device.report(positions.x_m, positions.y_m, rng=noise, region=self.region)
        users = positions.users
        if noise.releasable:
            order = _order(users, noise.uniform(x_m.size))
            x_m, y_m = x_m[order], y_m[order]
            users = None if users is None else users.take(order)
        lon, lat = self.region.projection.to_lonlat(x_m=x_m, y_m=y_m)
        places = {"lon": np.round(lon, DEGREE_DIGITS), "lat": np.round(lat, DEGREE_DIGITS)}
        table = Table(places if users is None else {"user": users, **places}, "points")
        return Product(table, self._accuracy(), noise.releasable, lambda page: self._draw_map(page, x_m, y_m))

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

    def _draw_map(self, page: Page, x_m: Array, y_m: Array) -> None:
        from geodp.display.colours import REPORT
        from geodp.display.drawing import Mark
        from geodp.display.layers.reports import ReportsLayer

        class ReportedPlaces(ReportsLayer):
            title: ClassVar[str] = "Reported places"

        mark = Mark("reported place", REPORT, "square")
        page.points(ReportedPlaces(), x_m, y_m, marks=[mark], name="Report", what="reports")


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
