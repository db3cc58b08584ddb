"""The words in which a layer says what it draws: marks, facts, legends, bands, surfaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from geodp.display.packing import short, whole

Shape = Literal["circle", "cross", "square", "diamond", "triangle", "dot", "line", "ring", "fill"]


@dataclass(frozen=True)
class Mark:
    """How one class of things looks; `name` is its line in the legend.

    Parameters
    ----------
    name
        What the legend calls them.
    colour
        As in CSS.
    shape
        `circle`, `line`, …

    Examples
    --------
    >>> from geodp.display.drawing import Mark
    >>> Mark("task", "#d62728", count=3).shape
    'circle'
    """

    name: str
    colour: str
    shape: Shape = "circle"
    count: int | None = None
    """How many there are in the run, drawn or not (None: not said)."""

    def row(self) -> dict[str, Any]:
        """Return the line of the legend."""
        text = self.name if self.count is None else f"{self.name} ({self.count:,})"
        return {"shape": self.shape, "colour": self.colour, "text": text}


@dataclass(frozen=True, eq=False)
class Fact:
    """One line of a tooltip for every thing of a layer: a label and a value each.

    Values are numbers with `digits` decimals and a unit, seconds shown as time of day (`clock`), or words. A number
    that is missing or negative is left out.

    Parameters
    ----------
    label
        What stands before the value.
    values
        One value per thing.
    unit
        Unit of numbers.
    digits
        Decimals of numbers.
    form
        `number`, `clock` or `words`.

    Examples
    --------
    >>> from geodp.display.drawing import Fact
    >>> Fact("Reward", [10.0, 12.5], digits=1).label
    'Reward'
    """

    label: str
    values: Sequence[Any] | npt.NDArray[Any]
    unit: str = ""
    digits: int = 0
    form: Literal["number", "clock", "words"] = "number"

    def pack(self, index: npt.NDArray[np.int64]) -> dict[str, Any]:
        """Return the values of the things that are drawn, as whole numbers."""
        facts: dict[str, Any] = {"label": self.label, "unit": self.unit, "digits": self.digits, "form": self.form}
        if self.form == "words":
            texts = [str(self.values[place]) for place in index]
            words = sorted(set(texts))
            code = {word: number for number, word in enumerate(words)}
            return facts | {"words": words, "values": np.array([code[text] for text in texts], dtype=np.int64)}
        step = 10.0**-self.digits if self.form == "number" else 1.0
        return facts | {"values": whole(np.asarray(self.values, dtype=np.float64)[index], step)}


@dataclass(frozen=True)
class Band:
    """An area between two densities in workers per square kilometre (`high` may be infinite).

    Bands are painted in order, so a band may reach under those that follow it. Their colour follows from `low`.
    """

    low: float
    high: float
    geometry: Any
    """Shapely polygons in metres."""


@dataclass(frozen=True)
class Moment:
    """What an area layer shows from a time on, until the next moment."""

    time_s: float
    bands: list[Band]


@dataclass(frozen=True, eq=False)
class Surface:
    """Rectangles with a number each, from a time on; all in metres."""

    time_s: float
    west_m: npt.NDArray[np.float64]
    south_m: npt.NDArray[np.float64]
    east_m: npt.NDArray[np.float64]
    north_m: npt.NDArray[np.float64]
    count: npt.NDArray[np.float64]
    noise_scale: float | npt.NDArray[np.float64] | None = None
    """Laplace scale of every number, or of each."""
    columns: int = 0
    """Columns of the regular grid that the rectangles form, south row first (0: they form none)."""

    @property
    def per_km2(self) -> npt.NDArray[np.float64]:
        """Count per square kilometre."""
        return 1e6 * self.count / ((self.east_m - self.west_m) * (self.north_m - self.south_m))

    @property
    def brightest_per_km2(self) -> float:
        """The density that all but 2 % of the area stay below: specks must not leave the rest without colour."""
        if self.columns:
            return float(np.quantile(self.per_km2, 0.98))
        area = (self.east_m - self.west_m) * (self.north_m - self.south_m)
        order = np.argsort(self.per_km2)
        place = np.searchsorted(np.cumsum(area[order]), 0.98 * area.sum())
        return float(self.per_km2[order[min(int(place), order.size - 1)]])

    def pack(self) -> dict[str, Any]:
        """Return the counts, and the rectangles: by rule for a regular grid, one by one otherwise."""
        noisy = self.noise_scale is not None and float(np.min(self.noise_scale)) >= 2
        step = 1.0 if noisy or bool(np.all(self.count == np.rint(self.count))) else 0.1  # finer shows digits of noise
        facts = {
            "time": self.time_s,
            "step": step,
            "noise": self._pack_noise(),
            "count": whole(self.count, step),
        }
        if not self.columns:
            return facts | {edge: whole(getattr(self, f"{edge}_m")) for edge in ("west", "south", "east", "north")}
        box = (self.west_m[0], self.south_m[0], self.east_m[-1], self.north_m[-1])
        rows = self.count.size // self.columns
        return facts | {"columns": self.columns, "rows": rows, "box": [round(float(edge), 2) for edge in box]}

    def _pack_noise(self) -> float | npt.NDArray[np.int64] | None:
        """Return one noise scale for all cells, or tenths of each cell's."""
        if isinstance(self.noise_scale, np.ndarray):
            return whole(self.noise_scale, 0.1)
        return short(self.noise_scale) if self.noise_scale else None


@dataclass(frozen=True)
class Drawing:
    """One entry of the layer panel, ready for the page."""

    kind: str
    title: str
    group: str
    """Arm of a comparison ('' = all arms)."""
    style: str
    """Which of our scripts draws it."""
    level: int
    public: bool
    shown: bool
    data: dict[str, Any]
    legend: list[dict[str, Any]] = field(default_factory=list)
    timed: bool = False
    """Whether it changes with the clock."""
    history: bool = False
    """Whether it can show the whole run at once as well as one moment."""
    story: bool = True
    """Whether its layer starts ticked; in an arm after the first it may be so and not be `shown`."""
    scale: str = ""
    """Unit of its colours; drawings of one page with the same unit have the same colour for the same value."""

    def spec(self) -> dict[str, Any]:
        """Return everything but the data: what the panel has to know before anything is unpacked."""
        return {name: value for name, value in vars(self).items() if name != "data"}
