"""The sweep a user writes: a base scenario, seeds, and a union of grids over dotted paths."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import Field, ValidationError, field_validator

from geodp.errors import ScenarioError, UsageError
from geodp.metrics import metric_of, metrics_by_key
from geodp.model import Model, did_you_mean, problems_of
from geodp.runs.equal_success import COLUMNS, LOWEST, MOST_SUCCESS, require_target
from geodp.scenario.file import (
    build_scenario,
    current_path,
    dump,
    order_changes,
    read_raw_scenario,
    read_yaml,
    refuse_other_kind,
    set_path,
)
from geodp.scenario.schema import Scenario
from geodp.scenario.shipped import SWEEPS, locate_file
from geodp.storage.files import is_regular
from geodp.storage.names import require_name

MOST_SEEDS = 100_000
MOST_CELLS = 10_000
"""Every cell is checked before the first run, and has a row in every table."""


class SeedRange(Model):
    """Consecutive seeds."""

    first: int = Field(default=0, ge=0, le=10**15)
    """The first seed."""
    count: int = Field(gt=0, le=MOST_SEEDS)
    """How many."""


class Plot(Model):
    """One figure of a sweep: a metric against a varied path or another metric, a line for each value of a path."""

    y: str
    """The metric on the vertical axis."""
    x: str | None = None
    """The varied path or the metric on the horizontal axis; default: the first path whose values are numbers. With a
    metric every cell is a point, with intervals in both directions: how methods with unlike epsilons share an axis."""
    lines: str | tuple[str, ...] | None = None
    """The varied path that makes the lines, or several; default: the first other one. What is left makes panels."""
    along: str | None = None
    """With a metric on the horizontal axis: the varied number that orders the points of a line and is written beside
    them; default: the first that is not used otherwise."""
    title: str = ""
    """Title; default: what is drawn, on `screen`; none in papers' sizes, where captions say it."""
    x_label: str = ""
    """Label of the horizontal axis; default: words and unit."""
    y_label: str = ""
    """Label of the vertical axis; default: words and unit."""
    log_x: bool = False
    """Logarithmic horizontal axis."""
    log_y: bool = False
    """Logarithmic vertical axis."""
    size: Literal["screen", "column", "page"] = "screen"
    """For a screen, or as wide as a `column` (8.6 cm) or the `page` (18 cm) of a two-column paper."""
    font: Literal["sans", "serif"] = "sans"
    """Letters without serifs, or with (STIX, beside Times)."""
    formats: tuple[Literal["png", "svg", "pdf"], ...] = Field(default=("png", "svg", "pdf"), min_length=1)
    """The files to write."""


class Sweep(Model):
    """Many runs of one scenario: every cell of the grids with every seed."""

    geodp: Literal[1]
    """Version of this format."""
    name: str
    """Short name: letters, digits, `-`, `_` and `.`."""
    about: str = ""
    """The question that the sweep answers."""
    base: str
    """The scenario that is varied, relative to this file."""
    seeds: tuple[int, ...] | SeedRange = (0,)
    """The seeds of every cell: a list, or `{first, count}`."""
    grids: tuple[dict[str, tuple[Any, ...]], ...] = Field(min_length=1)
    """Each grid is every combination of its values; the sweep is the union of the grids."""
    baseline: dict[str, Any] = Field(default_factory=dict)
    """The cell that others are compared with: some of its varied values; default: the first cell."""
    keep: tuple[Literal["metrics", "events", "releases", "summary", "map", "run"], ...] = ("metrics",)
    """What is kept of each run: `metrics` alone, or also parts of its folder, or the whole `run`."""
    plot: tuple[Plot, ...] = ()
    """Figures."""
    at_success: float | None = Field(default=None, ge=LOWEST, le=MOST_SUCCESS)
    """Price every run at this expected success, too: its target is moved until it is met, on the same world and luck.
    Adds `cost_at_success` (workers asked per task; infinite where no target is enough), `target_at_success` and others;
    a run takes three to five times as long."""
    time_limit_s: float | None = Field(default=None, gt=0)
    """A run that takes longer is stopped and counts as failed, seconds."""
    figure: dict[str, Any] | None = None
    """What a paper shows of this sweep and claims about it; read by `geodp figures`, of no account to a sweep."""

    @field_validator("name")
    @classmethod
    def _a_folder_name(cls, value: str) -> str:
        return require_name(value)

    @field_validator("plot", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return [value] if isinstance(value, dict) else value

    @field_validator("seeds", mode="before")
    @classmethod
    def _seeds_or_a_range(cls, value: Any) -> Any:
        if isinstance(value, list | tuple | dict | SeedRange):
            return value
        example = value if isinstance(value, int) and 0 < value <= MOST_SEEDS else 10
        raise ValueError(
            f"must be a list of seeds such as [0, 1, 2], or a range: {{first: 0, count: {example}}} stands for the "
            f"{example} seeds from 0 on; got {str(value)[:40]!r}"
        )

    @field_validator("seeds", mode="after")
    @classmethod
    def _no_seed_twice(cls, value: tuple[int, ...] | SeedRange) -> tuple[int, ...] | SeedRange:
        if isinstance(value, tuple) and (len(set(value)) < len(value) or not value or min(value) < 0):
            raise ValueError("must be a list of different seeds, none of them negative")
        return value

    @field_validator("grids", mode="after")
    @classmethod
    def _values_everywhere(
        cls, value: tuple[dict[str, tuple[Any, ...]], ...]
    ) -> tuple[dict[str, tuple[Any, ...]], ...]:
        for grid in value:
            for path, values in grid.items():
                if not values:
                    raise ValueError(f"'{path}' has no values")
                if path == "seed":
                    raise ValueError("vary seeds with 'seeds', not in a grid: all cells share the same ones")
        if (cells := sum(math.prod(len(values) for values in grid.values()) for grid in value)) > MOST_CELLS:
            raise ValueError(f"make {cells:,} cells; a sweep has at most {MOST_CELLS:,}: use fewer values")
        return value

    def seed_list(self) -> list[int]:
        """Return the seeds."""
        if isinstance(self.seeds, SeedRange):
            return list(range(self.seeds.first, self.seeds.first + self.seeds.count))
        return list(self.seeds)


@dataclass(frozen=True)
class Cell:
    """One combination of varied values, and the scenario it makes."""

    index: int
    values: dict[str, Any]
    """Path → value, for every varied path of the sweep (the base's value where a grid leaves a path alone)."""
    scenario: Scenario

    @property
    def name(self) -> str:
        """Short name, unique in the sweep."""
        return f"c{self.index:04d}"

    def label(self) -> str:
        """Say the values in one line."""
        return _combination(self.values)

    def has(self, values: Mapping[str, Any]) -> bool:
        """Tell whether the cell has these values, among others."""
        return all(self.values.get(path) == value for path, value in values.items())


@dataclass(frozen=True)
class LoadedSweep:
    """A sweep whose every cell has been checked."""

    sweep: Sweep
    path: Path
    cells: list[Cell]

    @property
    def varied(self) -> list[str]:
        """The varied paths, in the order of the file."""
        return list(self.cells[0].values)

    def baseline(self) -> Cell:
        """Return the cell that others are compared with."""
        return next(cell for cell in self.cells if cell.has(self.sweep.baseline))


def load_sweep(path: str | Path, overrides: Mapping[str, Any] | None = None) -> LoadedSweep:
    """Read and check a sweep file and every cell of it; all problems are reported at once.

    `overrides` (dotted path → value) change the base scenario before the grids do. Its plug-in files are loaded: a
    sweep is read in order to be run (a dry run tries one run, too).
    """
    path = locate_file(path, SWEEPS)
    raw = read_yaml(path)
    refuse_other_kind(raw, path, "sweep")
    try:
        sweep = Sweep.model_validate(raw)
    except ValidationError as error:
        raise ScenarioError(str(path), problems_of(error)) from None
    base_path = find_base(path, sweep.base)
    base = read_raw_scenario(base_path, overrides)
    cells, problems = _cells(sweep, base, base_path.parent)
    problems += _sweep_problems(sweep, cells)
    if problems:
        raise ScenarioError(str(path), problems)
    return LoadedSweep(sweep, path, cells)


def find_base(path: Path, base: str) -> Path:
    """Return the scenario that a sweep varies: from the sweep's folder, or the shipped one of that name."""
    beside = (path.resolve().parent / base).resolve()
    if is_regular(beside):
        return beside
    try:
        found = locate_file(base)
    except UsageError as error:
        raise ScenarioError(str(path), [("base", str(error))]) from None
    if not found.is_absolute():
        raise ScenarioError(str(path), [("base", f"no such file: {beside}")])
    return found


def _cells(sweep: Sweep, base: dict[str, Any], folder: Path) -> tuple[list[Cell], list[tuple[str, str]]]:
    import copy

    problems: list[tuple[str, str]] = []
    if base.get("compare"):
        problems.append(("base", "the base compares arms by itself: vary the paths in 'grids', and drop 'compare'"))
        base = {key: value for key, value in base.items() if key != "compare"}
    varied = list(dict.fromkeys(path for grid in sweep.grids for path in grid))
    cells: dict[str, Cell] = {}  # by what they come to: the same combination may stand in two grids
    faults: dict[str, tuple[str, str]] = {}  # by message: the same mistake of the base stands in every cell
    for number, grid in enumerate(sweep.grids):
        for combination in itertools.product(*grid.values()):
            raw, values = copy.deepcopy(base), dict(zip(grid, combination, strict=True))
            try:
                for dotted, value in order_changes(values):
                    set_path(raw, dotted, copy.deepcopy(value))
                scenario = build_scenario(raw, source=sweep.base, folder=folder, trust_plugins=True)
            except (ScenarioError, UsageError) as error:
                found = error.problems if isinstance(error, ScenarioError) else [("", str(error))]
                for where, text in found:
                    message = f"{where}: {text}" if where else text
                    said = f"{message} (first in the cell {_combination(values)})"
                    faults.setdefault(message, (f"grids.{number}", said))
                continue
            row = {path: value_at(raw, path) for path in varied}
            cells.setdefault(json.dumps(dump(scenario), sort_keys=True), Cell(len(cells), row, scenario))
    return list(cells.values()), [*problems, *faults.values()]


def _combination(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{path}={as_text(value)}" for path, value in values.items()) or "base"


def value_at(raw: dict[str, Any], dotted: str) -> Any:
    """Return what stands at a dotted path of plain values (None where there is nothing)."""
    here: Any = raw
    for key in current_path(dotted).split("."):
        if isinstance(here, list) and key.isdigit() and int(key) < len(here):
            here = here[int(key)]
        elif isinstance(here, dict):
            here = here.get(key)
        else:
            return None
    return here


def _sweep_problems(sweep: Sweep, cells: list[Cell]) -> list[tuple[str, str]]:
    problems: list[tuple[str, str]] = []
    varied = list(dict.fromkeys(path for grid in sweep.grids for path in grid))
    problems += [
        ("baseline", f"'{path}' is not varied.{did_you_mean(path, varied)}")
        for path in sweep.baseline
        if path not in varied
    ]
    if cells and not problems and not any(cell.has(sweep.baseline) for cell in cells):
        problems.append(("baseline", f"no cell has {sweep.baseline}"))
    if sweep.at_success is not None:
        problems += _find_unpriced(cells)
    for number, plot in enumerate(sweep.plot):
        problems += _plot_problems(plot, f"plot.{number}", varied, priced=sweep.at_success is not None)
    return problems


def _plot_problems(plot: Plot, place: str, varied: list[str], *, priced: bool) -> list[tuple[str, str]]:
    """Say what a plot names that this sweep will not have."""
    problems = []
    for axis, name in (("y", plot.y), ("x", plot.x)):
        if name is None or (axis == "x" and name in varied):
            continue
        if name in COLUMNS:
            if not priced:
                problems.append((f"{place}.{axis}", f"'{name}' needs the success it is at: give at_success: 0.9"))
        elif metric_of(name) is None:
            known = [*metrics_by_key(), *COLUMNS, "interaction_leakage_mean", "interaction_leakage_max"]
            if axis == "y":
                problems.append((f"{place}.y", f"no metric called '{name}'.{did_you_mean(name, known)}"))
            else:
                hint = did_you_mean(name, [*varied, *known])
                problems.append((f"{place}.x", f"'{name}' is not varied, and no metric is called so.{hint}"))
    chosen = plot.lines if isinstance(plot.lines, tuple) else (plot.lines,)
    for axis, path in (*(("lines", path) for path in chosen), ("along", plot.along)):
        if path is not None and path not in varied:
            problems.append((f"{place}.{axis}", f"'{path}' is not varied.{did_you_mean(path, varied)}"))
    return problems


def _find_unpriced(cells: list[Cell]) -> list[tuple[str, str]]:
    """Name the first cell whose server plans on no target: there is nothing to move until successes are equal."""
    for cell in cells:
        try:
            require_target(cell.scenario)
        except UsageError as error:
            return [("at_success", f"{error} (first in the cell {cell.label()})")]
    return []


def as_text(value: Any) -> str:
    """Say a varied value in one short line."""
    if isinstance(value, dict | list | tuple):
        text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10**6).strip()
        return text.removesuffix("...").strip()
    return "null" if value is None else str(value)
