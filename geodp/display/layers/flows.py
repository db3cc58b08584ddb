"""What was published about flows: people in every zone hour by hour, and arrows from where to where they go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from geodp.display.arrows import SHADES, bend_arrows, shade_arrows
from geodp.display.colours import RELEASED
from geodp.display.drawing import Band, Fact, Mark, Moment
from geodp.display.layers import PublicationLayer

if TYPE_CHECKING:
    import pandas as pd

    from geodp.display.page import Page
    from geodp.run_folder.folder import RunFolder
    from geodp.run_folder.published import PublishedRun

_COLOURS = 12
"""Bands between nobody and the most that are shown."""
_WIDEST = 0.012
"""Width of the largest flow's arrow, of the width of the region."""


class FootfallLayer(PublicationLayer):
    """People in each zone as published, period by period: what is drawn is their density."""

    kind: ClassVar[str] = "footfall"
    title: ClassVar[str] = "Published footfall"
    public: ClassVar[bool] = True
    level: ClassVar[int] = 30
    published: ClassVar[str] = "flows"

    max_periods: int = Field(default=168, gt=0, le=1000)
    """Maximum number of periods drawn, the first ones of the run: a week of hours."""
    top_per_km2: float | None = Field(default=None, gt=0)
    """Density at which colours end, people per km². Default: that of the densest zone on the map."""

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw the zones, coloured by what is published about them."""
        item = self.publication_of(run)
        if item is None or (page.public and not item.guarantee.holds):
            return
        rows = item.released
        rows = rows[(rows["table"] == "footfall") & (rows["level"] == "zone") & (rows["time_s"] >= 0)]
        shapes = outline_zones(item, run)
        times = np.unique(rows["time_s"])
        if times.size > self.max_periods:
            page.note(f"footfall of the first {self.max_periods:,} of {times.size:,} periods")
        kept = rows[rows["time_s"].isin(times[: self.max_periods]) & rows["name"].isin(shapes)]
        if kept.empty:
            return
        area_km2 = {name: shape.area / 1e6 for name, shape in shapes.items()}
        density = np.maximum(kept["value"].to_numpy(np.float64), 0.0) / kept["name"].map(area_km2).to_numpy(np.float64)
        top = self.top_per_km2 or max(float(np.quantile(density, 0.99)), 1e-9)
        bands = np.clip(density / top * _COLOURS, 0, _COLOURS - 1).astype(np.int64)
        kept = kept.assign(band=bands)
        moments = [
            Moment(float(time_s), _paint(kept[kept["time_s"] == time_s], shapes, top / _COLOURS))
            for time_s in np.unique(kept["time_s"].to_numpy(np.float64))
        ]
        title, holds = _name(self.title, item), item.guarantee.holds
        page.areas(self, moments, ramp=RELEASED, name=title, unit="people/km²", top=top, public=holds, title=title)


def _paint(rows: pd.DataFrame, shapes: dict[str, Any], step: float) -> list[Band]:
    """Return the zones of each colour."""
    import shapely

    number, names = rows["band"].to_numpy(np.int64), rows["name"].to_numpy(np.object_)
    return [
        Band(band * step, (band + 1) * step, shapely.union_all([shapes[name] for name in names[number == band]]))
        for band in np.unique(number[number > 0]).tolist()
    ]


class FlowLinesLayer(PublicationLayer):
    """The largest published flows of the whole run, as arrows as wide as they are large."""

    kind: ClassVar[str] = "flow_lines"
    title: ClassVar[str] = "Published flows"
    public: ClassVar[bool] = True
    level: ClassVar[int] = 52
    published: ClassVar[str] = "flows"

    max_flows: int = Field(default=60, gt=0, le=5000)
    """Maximum number of flows drawn, the largest ones."""

    def draw(self, run: RunFolder, page: Page) -> None:
        """Draw an arrow from the middle of one zone to that of another."""
        item = self.publication_of(run)
        if item is None or (page.public and not item.guarantee.holds):
            return
        rows, shapes = item.released, outline_zones(item, run)
        rows = rows[(rows["table"] == "flows") & (rows["level"] == "zone") & (rows["day"] < 0)]
        rows = rows[rows["name"].isin(shapes) & rows["destination"].isin(shapes)]
        if rows.empty:
            return
        if len(rows) > self.max_flows:
            page.note(f"{self.max_flows:,} of {len(rows):,} published flows, the largest")
        rows = rows.nlargest(self.max_flows, "value").iloc[::-1]  # the largest on top
        value = rows["value"].to_numpy(np.float64)
        begin, end = (_middles(shapes, rows[column]) for column in ("name", "destination"))
        title = _name(self.title, item)
        page.outlines(
            self,
            list(bend_arrows(begin, end, value, _WIDEST * run.scenario.area.width_m)),
            mark=Mark("flow, the larger the wider and darker", SHADES[1], "line", len(rows)),
            colours=shade_arrows(value),
            filled=True,
            title=title,
            name="Flow",
            facts=[
                Fact("From", rows["name"].tolist(), form="words"),
                Fact("To", rows["destination"].tolist(), form="words"),
                Fact("Trips", value, unit="people, all days"),
                Fact("Noise (sd)", rows["sd"].to_numpy(np.float64), unit="people"),
            ],
            what="flows",
        )


def outline_zones(item: PublishedRun, run: RunFolder) -> dict[str, Any]:
    """Return the public zones of a publication of flows by name, in metres.

    Parameters
    ----------
    item
        The publication.
    run
        Its run.
    """
    import shapely

    zones = item.facts["zones"]
    projection = run.scenario.area.projection

    def to_plane(points: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.column_stack(projection.to_m(lon=points[:, 0], lat=points[:, 1]))

    shapes = shapely.transform(shapely.from_wkt([zone["outline"] for zone in zones]), to_plane)
    return {zone["name"]: shape for zone, shape in zip(zones, shapes, strict=True)}


def _name(title: str, item: PublishedRun) -> str:
    what = {"person_day": "hides a day", "person_week": "hides a week", "user": "hides a person"}
    return f"{title}, {what.get(str(item.guarantee.unit), 'no promise')}"


def _middles(shapes: dict[str, Any], names: pd.Series) -> npt.NDArray[np.float64]:
    import shapely

    return np.asarray(shapely.get_coordinates(shapely.centroid([shapes[name] for name in names])))
