"""Errors of counts over time, against the number of releases and the window in which ε is promised."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, SerializeAsAny

from geodp.figures.kinds import FigureKind, Making, points_table
from geodp.geometry import Array, Grid, Region
from geodp.privacy.noise import SimulatedNoise
from geodp.privacy.primitives import with_laplace
from geodp.registry import Slot, plugin
from geodp.world.mobility import Mobility

if TYPE_CHECKING:
    import pandas as pd

    from geodp.curator.mechanisms import Mechanism, Snapshot
    from geodp.figures.figure_file import FigureFile

WHOLE, WINDOW = "whole", "window"
"""Mean absolute errors of those that promise ε for the whole run, and for any window."""
SPLIT, STEPS, TREE, CUT = "even split", "noisy steps, summed", "tree", "tree without noise"
FIXED, PRINTED, PID = "Kalman, fixed", "Kalman, pid as printed", "Kalman, pid"
UNIFORM, BD, BA, GROUPS = "even split of the window", "distribution", "absorption", "PeGaSus"
_FIRST_S = 6 * 3600.0
_HOURS = 16.0


def _mobility() -> Any:
    return Slot("mobility").build("commuter")


class CountsOverTime(FigureKind):
    """Mean absolute error of a count, over all releases of a day and all cells, at equal promise.

    For the whole run: each release has its even share of ε; the steps y_t = c_t - c_(t-1) of a count get noise and are
    summed; the same in a tree of partial sums (both count the first `cap` stays of anyone, and what that leaves out is
    the line without noise); a part of the releases is measured, at a fixed rate or by a controller. For any window:
    shares of the window, distribution, absorption, and groups of alike releases.

    Reference
    ---------
    Zhu et al. 2017, Differential Privacy and Applications, section 4.3 (continual data release).
    """

    kind: ClassVar[str] = "counts_over_time"

    lines: tuple[str, ...] = (SPLIT, STEPS, TREE, CUT, FIXED, PRINTED, PID, UNIFORM, BD, BA, GROUPS)
    """The lines."""
    vary: Literal["releases", "window"] = "releases"
    """What goes along the horizontal axis."""
    values: tuple[int, ...] = (16, 32, 64, 192)
    """Its values. Releases share 16 hours, from six in the morning; a window is so many releases."""
    length: int = Field(default=192, ge=2)
    """Releases, where windows vary."""
    window_h: float = Field(default=2.0, gt=0, le=_HOURS)
    """Hours of a window, where releases vary."""
    epsilon: float = Field(default=2.0, gt=0)
    """ε of the promise."""
    cap: int = Field(default=3, ge=1)
    """Stays of a person that count in a tree."""
    samples: int = Field(default=8, ge=1)
    """Releases that are measured where others are predicted."""
    people: int = Field(default=20_000, ge=10)
    """People of a synthetic city."""
    cell_m: float = Field(default=700.0, gt=0)
    """Side of a cell, metres."""
    mobility: Annotated[SerializeAsAny[Mobility], Slot("mobility", "commuter")] = Field(default_factory=_mobility)
    """How people move."""
    first_repeat: int = Field(default=0, ge=0)
    """Number of the first world: others are drawn with other numbers."""
    repeats: int = Field(default=4, ge=1)
    """Worlds."""

    def points(self, making: Making) -> pd.DataFrame:
        """Release every series in every world."""
        rows: list[tuple[str, str, float, int, float]] = []
        for repeat in range(self.first_repeat, self.first_repeat + self.repeats):
            for value in self.values:
                for (name, line), error in self.measure_errors(value, repeat).items():
                    rows.append((name, line, float(value), repeat, error))
            if making.on_share is not None:
                making.on_share((repeat - self.first_repeat + 1) / self.repeats)
        return points_table(rows)

    def draw(self, file: FigureFile, points: Mapping[str, pd.DataFrame]) -> Any:
        """Draw a row of axes for either promise, with a legend of its own: no line is in both."""
        from geodp.figures.drawing import panel_axes
        from geodp.sweeps.line_plots import draw_line, label_axes

        own_lines = {WHOLE: self.lines[:7], WINDOW: self.lines[7:]}
        rows = [name for name in (WHOLE, WINDOW) if any((own["y_name"] == name).any() for own in points.values())]
        figure, grid = panel_axes(file, len(rows), list(points))
        look = file.section.axes
        for row, name in enumerate(rows):
            for column, own in enumerate(points.values()):
                axes = grid[row][column]
                for number, line in enumerate(own_lines[name]):
                    part = own[(own["y_name"] == name) & (own["line"] == line)]
                    draw_line(axes, part["x"], part["y"], number, line, dashed=line in look.dashed)
                along = look.y.get(name, name) if column == 0 else ""
                label_axes(axes, look.x if row == len(rows) - 1 else "", along, log_x=look.log_x, log_y=look.log_y)
                axes.set_xticks(self.values, [str(value) for value in self.values])
                axes.set_xticks([], minor=True)
            grid[row][-1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        return figure

    def measure_errors(self, value: int, repeat: int) -> Mapping[tuple[str, str], float]:
        """Return the error of every line at one place of the horizontal axis, in one world."""
        releases = value if self.vary == "releases" else self.length
        window = round(releases * self.window_h / _HOURS) if self.vary == "releases" else value
        day = self._draw_day(releases, repeat)
        grid = self._whole_run(releases)[SPLIT].fit_grid(day[0])
        true = np.array([grid.count(one.x_m, one.y_m) for one in day], dtype=np.float64)

        def error(mechanism: Mechanism) -> float:
            noise = SimulatedNoise(np.random.default_rng([44, repeat]))
            series = mechanism.begin_series(releases)
            found = [series.release(one, noise) for one in day]
            counts = np.array([one.count for one in found if one is not None])
            return float(np.abs(counts - true).mean())

        parts = {WINDOW: self._any_window(max(window, 1))}
        parts |= {WHOLE: self._whole_run(releases)} if self.vary == "releases" else {}
        errors = {(name, line): error(one) for name, own in parts.items() for line, one in own.items()}
        if self.vary == "releases":
            exact = self._count_capped(day, grid)
            errors[WHOLE, CUT] = float(np.abs(exact - true).mean())
            errors[WHOLE, STEPS] = float(np.abs(self._sum_noisy_steps(exact, repeat) - true).mean())
        return errors

    def _whole_run(self, releases: int) -> dict[str, Mechanism]:
        each = {"epsilon": self.epsilon, "samples": self.samples, "sampling": "pid"}
        every = -(-releases // self.samples)
        return {
            SPLIT: plugin("uniform_grid", cell_m=self.cell_m, epsilon=self.epsilon / releases),
            TREE: self._plugin("tree_counts", epsilon=self.epsilon, cap=self.cap),
            FIXED: self._plugin("kalman_counts", epsilon=self.epsilon / -(-releases // every), measure_every=every),
            PRINTED: self._plugin("kalman_counts", variant="literal", **each),
            PID: self._plugin("kalman_counts", **each),
        }

    def _any_window(self, window: int) -> dict[str, Mechanism]:
        share = self.epsilon / window
        return {
            UNIFORM: plugin("uniform_grid", cell_m=self.cell_m, epsilon=share),
            BD: self._plugin("w_event_counts", epsilon=self.epsilon, window=window),
            BA: self._plugin("w_event_counts", epsilon=self.epsilon, window=window, scheme="ba"),
            GROUPS: self._plugin("pegasus", epsilon=share),
        }

    def _plugin(self, kind: str, **fields: Any) -> Mechanism:
        made: Mechanism = plugin(kind, cells={"kind": "uniform_grid", "cell_m": self.cell_m}, **fields)
        return made

    def _draw_day(self, releases: int, repeat: int) -> Sequence[Snapshot]:
        """Return where everyone is at every release, of a city with a number."""
        from geodp.curator.mechanisms import Snapshot

        region, day_s = Region(-122.5135, 37.7113, -122.3627, 37.8327), _HOURS * 3600
        luck = np.random.default_rng([43, repeat])
        people = plugin("synthetic_city", "source", count=self.people).load(region, luck)
        motion = self.mobility.move(people, region, start_s=_FIRST_S, duration_s=day_s, rng=luck)
        who = np.arange(self.people)

        def look() -> Iterator[Snapshot]:
            for time_s in (day_s / releases * np.arange(releases)).tolist():
                x_m, y_m = motion.at(time_s)
                yield Snapshot(time_s, x_m, y_m, region, expected_workers=float(self.people), who=who)

        return list(look())

    def _count_capped(self, day: Sequence[Snapshot], grid: Grid) -> Array:
        from geodp.curator.mechanisms.tree_counts import CappedStays

        stays = CappedStays(self.cap)
        counts = [stays.count(one, grid.locate(one.x_m, one.y_m), grid.size) for one in day]
        return np.array(counts, dtype=np.float64)

    def _sum_noisy_steps(self, exact: Array, repeat: int) -> Array:
        """Return sums of steps with noise of their own: one stay enters and leaves, which changes two steps."""
        steps = np.diff(exact, axis=0, prepend=0.0).astype(np.int64)
        noise = SimulatedNoise(np.random.default_rng([45, repeat]))
        return np.asarray(np.cumsum(with_laplace(steps, 2 * self.cap / self.epsilon, noise), axis=0))
