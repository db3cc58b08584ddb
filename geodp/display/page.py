"""The page on which layers draw: it samples what is too much, packs what is drawn, and remembers what to say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack

import numpy as np
import numpy.typing as npt

from geodp.display.colours import NOTHING
from geodp.display.drawing import Drawing, Fact, Mark, Moment, Surface
from geodp.display.packing import rings, short, whole
from geodp.geometry import EARTH_RADIUS_M

if TYPE_CHECKING:
    from geodp.display.layers import Layer
    from geodp.geometry import Region

Places = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
T = TypeVar("T")
_GROUND, _LINES, _NAMES = 5, 37, 90  # levels of what is no layer: areas and lines of the ground, names of places
_UNSTEADY = ("cells", "estimate")  # densities whose peaks are noise
_STEPS_ACROSS = 2**15  # places are kept to 1/32768 of the region, or to one metre where that is coarser


class About(TypedDict, total=False):
    """What may be said of circles, outlines and lines: one value for all of them, or one each."""

    name: str
    """Head of their tooltips, before their number."""
    ids: npt.ArrayLike | None
    """Their numbers (default 0, 1, …)."""
    facts: Sequence[Fact]
    """Lines of their tooltips."""
    from_s: npt.ArrayLike
    """When they appear (default 0)."""
    until_s: npt.ArrayLike
    """When they go (default -1: never)."""
    what: str
    """What the caption calls them where not all are drawn."""
    limit: int | None
    """Maximum number of them (default: that of the page)."""


class Page:
    """Collects the drawings of all layers.

    A layer calls `points`, `circles`, `outlines`, `lines`, `ways`, `areas`, `cells`, `movers` or `ground`, each of
    which one of our own scripts draws on a canvas, so a new layer needs no JavaScript. Places are in metres, times in
    seconds from the start of the run.

    Parameters
    ----------
    region
        The public area.
    max_points
        Maximum number of things drawn per layer.
    public
        Whether the page may hold released data only.

    Examples
    --------
    >>> from geodp.display.page import Page
    >>> from geodp.geometry import Region
    >>> page = Page(Region(10.0, 50.0, 10.08, 50.05), max_points=100, public=False)
    >>> page.sample(1000, "workers").size
    100
    """

    def __init__(self, region: Region, *, max_points: int, public: bool) -> None:
        self.region = region
        self.max_points = max_points
        self.public = public
        self.group = ""
        """Arm of a comparison whose layers are being drawn ('' = all arms)."""
        self.hidden = False
        """Whether layers start unticked whatever they say (arms after the first)."""
        self.start_s = 0.0
        """Time of day at which the clock starts."""
        self.duration_s = 1.0
        """How long the clock runs."""
        self.release_times: Sequence[float] = ()
        """When something was released."""
        self.drawings: list[Drawing] = []
        self._agreed: dict[str, Any] = {}
        self._notes: dict[str, dict[str, None]] = {}  # text -> the arms that say it, in order
        self.step_m = max(1.0, max(region.width_m, region.height_m) / _STEPS_ACROSS)

    def scene(self) -> dict[str, Any]:
        """Return what scripts must know to place and time what is drawn: the plane, its steps and the clock."""
        region, centre = self.region, self.region.projection
        return {
            "box": [region.west, region.south, region.east, region.north],
            "centre": [centre.lon, centre.lat],
            "earth_radius_m": EARTH_RADIUS_M,
            "step_m": self.step_m,
            "start_s": self.start_s,
            "duration_s": self.duration_s,
            "release_times": list(self.release_times),
        }

    def sample(self, total: int, what: str, *, limit: int | None = None) -> Integers:
        """Return which of `total` things to draw: all, or evenly spaced ones, which the caption then says."""
        limit = min(self.max_points, total if limit is None else limit)
        if total <= limit:
            return np.arange(total)
        self.note(f"{limit:,} of {total:,} {what}")
        return np.rint(np.linspace(0, total - 1, limit)).astype(np.int64)

    def note(self, text: str) -> None:
        """Say something in the caption; arms that say the same say it together."""
        self._notes.setdefault(text, {})[self.group] = None

    @property
    def notes(self) -> list[str]:
        """What the caption says was left out, each with the arms it is true of."""
        return [f"{', '.join(groups)}: {text}" if any(groups) else text for text, groups in self._notes.items()]

    def agree(self, what: str, value: T) -> T:
        """Return what was first said about something: classes of one layer are the same in all arms."""
        first: T = self._agreed.setdefault(what, value)
        return first

    def settle_scales(self) -> None:
        """Let a colour mean the same at all times, in all arms and in all layers that share a unit.

        Single noisy cells, and estimates that take the noise of reports out, say little about how dense people are:
        they decide only where nothing else does.
        """
        for unit in {drawing.scale for drawing in self.drawings} - {""}:
            sharing = [drawing for drawing in self.drawings if drawing.scale == unit]
            deciding = [drawing for drawing in sharing if drawing.kind not in _UNSTEADY] or sharing
            top = max(drawing.data["top"] for drawing in deciding)
            for drawing in sharing:
                drawing.data["top"] = top
                drawing.legend[0]["top"] = top

    def points(
        self,
        layer: Layer,
        x_m: Places,
        y_m: Places,
        *,
        marks: Sequence[Mark],
        mark: npt.ArrayLike = 0,
        name: str = "",
        ids: npt.ArrayLike | None = None,
        facts: Sequence[Fact] = (),
        radius_m: npt.ArrayLike | None = None,
        appears_s: npt.ArrayLike = 0,
        decided_s: npt.ArrayLike = -1,
        waiting: Mark | None = None,
        what: str = "points",
    ) -> None:
        """Draw points, each with one of the marks, a tooltip, and a circle of `radius_m` when pointed at.

        As it happens, a point appears at `appears_s`, looks like `waiting` until `decided_s` and like its mark after.
        """
        index = self.sample(len(x_m), what)
        data = self._places(x_m, y_m, index) | {
            "name": name,
            "ids": whole(np.arange(len(x_m)) if ids is None else ids)[index],
            "mark": whole(np.broadcast_to(mark, len(x_m)))[index],
            "marks": [{"colour": each.colour, "shape": each.shape, "name": each.name} for each in marks],
            "facts": [fact.pack(index) for fact in facts],
            "appears": whole(np.broadcast_to(appears_s, len(x_m)))[index],
            "decided": whole(np.broadcast_to(decided_s, len(x_m)))[index],
        }
        if waiting is not None:
            data["waiting"] = {"colour": waiting.colour, "shape": waiting.shape, "name": waiting.name}
        if radius_m is not None:
            data["radius"] = whole(np.asarray(radius_m, dtype=np.float64)[index])
        legend = [each.row() for each in marks]
        if waiting is not None:
            legend.append(waiting.row() | {"moment": True})
        self._add(layer, "points", data, legend, timed=True, history=True)

    def circles(
        self, layer: Layer, x_m: Places, y_m: Places, radius_m: Places, *, mark: Mark, **about: Unpack[About]
    ) -> None:
        """Draw circles; as it happens, each from `from_s` until `until_s` (-1: to the end)."""
        index = self._choose_things(len(x_m), "circles", about)
        radius = {"radius": whole(np.asarray(radius_m, dtype=np.float64)[index])}
        data = self._places(x_m, y_m, index) | _describe_things(index, len(x_m), about, {"colour": mark.colour}, radius)
        self._add(layer, "circles", data, [mark.row()], timed=True, history=True)

    def outlines(
        self,
        layer: Layer,
        shapes: Sequence[Any],
        *,
        mark: Mark,
        colours: Sequence[str] | None = None,
        steps: bool = False,
        filled: bool = False,
        title: str | None = None,
        **about: Unpack[About],
    ) -> None:
        """Draw the outlines of shapely polygons; as it happens, each from `from_s` until `until_s` (-1: to the end).

        With `steps` they are filled and show their numbers: parts of one thing, in their order. With `filled` they are
        things of a colour each, the last ones on top.
        """
        index = self._choose_things(len(shapes), "areas", about)
        every = [mark.colour] * len(shapes) if colours is None else list(colours)
        looks = {
            "steps": steps,
            **({"filled": True} if filled else {}),
            "step_m": self.step_m,
            "colours": [every[place] for place in index],
            "shapes": [rings(shapes[place], self.step_m) for place in index],
        }
        data = _describe_things(index, len(shapes), about, looks)
        self._add(layer, "outlines", data, [mark.row()], timed=True, history=True, title=title)

    def lines(
        self,
        layer: Layer,
        start: tuple[Places, Places],
        end: tuple[Places, Places],
        *,
        mark: Mark,
        **about: Unpack[About],
    ) -> None:
        """Draw straight lines; as it happens, somebody moves along each from `from_s` until `until_s`."""
        index = self._choose_things(len(start[0]), "lines", about)
        x, y, to_x, to_y = (whole(place[index], self.step_m) for place in (*start, *end))
        ends = {"x": x, "y": y, "dx": to_x - x, "dy": to_y - y}
        data = _describe_things(index, len(start[0]), about, {"colour": mark.colour}, ends)
        self._add(layer, "lines", data, [mark.row()], timed=True, history=True)

    def ways(
        self,
        layer: Layer,
        first: Integers,
        x_m: Places,
        y_m: Places,
        time_s: Places,
        *,
        mark: Mark,
        name: str = "",
        facts: Sequence[Fact] = (),
        what: str = "ways",
        limit: int | None = None,
    ) -> None:
        """Draw ways through many places: way i has places `first[i]` to `first[i + 1] - 1`, each with a time.

        As it happens, somebody moves along each way.
        """
        index = self.sample(first.size - 1, what, limit=limit)
        lengths = np.diff(first)[index]
        point = np.repeat(first[index] - np.append(0, np.cumsum(lengths)[:-1]), lengths) + np.arange(lengths.sum())
        data = self._places(x_m, y_m, point) | {
            "name": name,
            "colour": mark.colour,
            "ids": index,
            "lengths": lengths,
            "time": whole(time_s[point]),
            "facts": [fact.pack(index) for fact in facts],
        }
        self._add(layer, "ways", data, [mark.row()], timed=True, history=True)

    def areas(
        self,
        layer: Layer,
        moments: Sequence[Moment],
        *,
        ramp: Sequence[str],
        name: str,
        unit: str = "workers/km²",
        top: float | None = None,
        step_m: float | None = None,
        public: bool = True,
        title: str | None = None,
    ) -> None:
        """Draw filled bands, places kept to `step_m`; at any time those of the last moment.

        Colours end at `top` (default: the largest density of all drawings on the page that have this unit).
        """
        step_m = max(self.step_m, step_m or 0.0)
        lows = [band.low for moment in moments for band in moment.bands]
        frames = [
            {
                "time": moment.time_s,
                "bands": [
                    {
                        "low": short(band.low),
                        "high": short(band.high) if np.isfinite(band.high) else None,
                        **rings(band.geometry, step_m),
                    }
                    for band in moment.bands
                ],
            }
            for moment in moments
        ]
        end = short(max([*lows, 1e-9]) if top is None else top)
        legend = [{"ramp": list(ramp), "top": end, "unit": unit}]
        data = {"name": name, "unit": unit, "step_m": step_m, "ramp": list(ramp), "top": end, "frames": frames}
        scale = "" if top else unit
        self._add(layer, "areas", data, legend, timed=len(frames) > 1, title=title, public=public, scale=scale)

    def cells(
        self,
        layer: Layer,
        surfaces: Sequence[Surface],
        *,
        ramp: Sequence[str],
        name: str,
        title: str | None = None,
        unit: str = "workers/km²",
        top: float | None = None,
        public: bool = True,
    ) -> None:
        """Draw rectangles coloured by count per area; at any time those of the last surface.

        Colours end at `top` (default: the largest density of all drawings on the page that have this unit).
        """
        end = short(max([*(surface.brightest_per_km2 for surface in surfaces), 1e-9]) if top is None else top)
        frames = [surface.pack() for surface in surfaces]
        counted = unit.partition("/")[0]
        data = {"name": name, "ramp": list(ramp), "top": end, "nothing": NOTHING, "unit": counted, "frames": frames}
        negative = any(bool(np.any(surface.count < 0)) for surface in surfaces)
        legend: list[dict[str, Any]] = [
            {"ramp": list(ramp), "top": end, "unit": unit},
            {"shape": "fill", "colour": NOTHING, "text": "zero or below" if negative else "none", "nothing": True},
        ]
        scale = "" if top else unit
        self._add(layer, "cells", data, legend, timed=len(frames) > 1, title=title, public=public, scale=scale)

    def movers(
        self, layer: Layer, times_s: Places, x_m: Places, y_m: Places, busy: npt.NDArray[np.bool_], *, marks: list[Mark]
    ) -> None:
        """Draw things that move: `x_m`, `y_m` and `busy` have one row per thing and one column per time."""
        data = {
            "times": whole(times_s),
            "things": len(x_m),
            "x": whole(x_m, self.step_m),
            "y": whole(y_m, self.step_m),
            "busy": whole(busy),
            "marks": [{"colour": mark.colour, "name": mark.name} for mark in marks],
        }
        self._add(layer, "movers", data, [mark.row() for mark in marks], timed=True)

    def ground(self, layer: Layer, *, graticule: bool) -> None:
        """Draw the outline of the region over a shade outside it, and the graticule."""
        import shapely

        shape = self.region.polygon_m
        outline = shapely.box(*self.region.box_m) if shape is None else shape
        legend = [{"shape": "line", "colour": "#5a5f66", "text": "edge of the region"}]
        self._add(layer, "ground", {"graticule": graticule, **rings(outline, self.step_m)}, legend)

    def backdrop(self, title: str, *, areas: Any = (), lines: Any = (), main: Any = ()) -> None:
        """Draw what the ground looks like: areas beneath everything, lines (main ones thicker) above the densities."""
        parts = {"areas": areas, "lines": lines, "main": main}
        packed = {name: rings(shapes, self.step_m) for name, shapes in parts.items() if len(shapes)}
        about: dict[str, Any] = {"group": "", "style": "backdrop", "public": True, "shown": True}
        below = {name: shapes for name, shapes in packed.items() if name == "areas"}
        above = {name: shapes for name, shapes in packed.items() if name != "areas"}
        if below:
            self.drawings.append(Drawing(kind="basemap", title=title, level=_GROUND, data=below, **about))
        if above:
            name = f"{title}: lines" if below else title
            self.drawings.append(Drawing(kind="basemap_lines", title=name, level=_LINES, data=above, **about))

    def labels(self, title: str, x_m: Places, y_m: Places, names: Sequence[str]) -> None:
        """Write names of places, the most important first: those that find no room are left out."""
        everything = self._places(x_m, y_m, np.arange(len(names))) | {"names": list(names)}
        about: dict[str, Any] = {"group": "", "style": "labels", "public": True, "shown": True}
        self.drawings.append(Drawing(kind="places", title=title, level=_NAMES, data=everything, **about))

    def _choose_things(self, total: int, what: str, about: About) -> Integers:
        """Return which of `total` things to draw, called `what` unless `about` says otherwise."""
        return self.sample(total, about.get("what", what), limit=about.get("limit"))

    def _places(self, x_m: Places, y_m: Places, index: Integers) -> dict[str, Any]:
        return {
            "x": whole(np.asarray(x_m)[index], self.step_m),
            "y": whole(np.asarray(y_m)[index], self.step_m),
        }

    def _add(
        self,
        layer: Layer,
        style: str,
        data: dict[str, Any],
        legend: list[dict[str, Any]],
        *,
        timed: bool = False,
        history: bool = False,
        title: str | None = None,
        public: bool = True,
        scale: str = "",
    ) -> None:
        """Add a drawing; `public` is False where this very data may not be published though the layer may."""
        self.drawings.append(
            Drawing(
                kind=layer.kind,
                title=layer.title if title is None else title,
                group=self.group,
                style=style,
                level=layer.level,
                public=layer.public and public,
                shown=layer.shown and not self.hidden,
                story=layer.shown,
                data=data,
                legend=legend,
                timed=timed,
                history=history,
                scale=scale,
            )
        )


def _describe_things(
    index: Integers, total: int, about: About, looks: dict[str, Any], places: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return what is said of the things that are drawn, beside their looks and places."""
    ids = about.get("ids")
    return {
        "name": about.get("name", ""),
        **looks,
        "ids": whole(np.arange(total) if ids is None else ids)[index],
        **(places or {}),
        "from": whole(np.broadcast_to(about.get("from_s", 0), total))[index],
        "until": whole(np.broadcast_to(about.get("until_s", -1), total))[index],
        "facts": [fact.pack(index) for fact in about.get("facts", ())],
    }
