"""What a plot of a sweep shows: panels of lines through points, each a mean with its 95 % interval over the seeds.

Either axis may be a varied path or a metric. Where the horizontal one is a metric, a point is a cell, with intervals in
both directions, and a line leads through the cells in the order of a varied number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from geodp.errors import UsageError
from geodp.metrics.intervals import Measured, mean
from geodp.pages.labels import NOT_SET, find_labels
from geodp.sweeps.tables import describe_values, list_varying, require_column

if TYPE_CHECKING:
    import pandas as pd

MOST_PANELS = 6
"""More values than this of what is neither axis nor line are pooled, seed by seed."""


@dataclass(frozen=True)
class PlottedPoint:
    """One point: places that are no numbers have words, and no interval."""

    x: Measured | str
    y: Measured
    name: str = ""
    """The value that leads along the line, where the horizontal axis is a metric."""


@dataclass(frozen=True)
class PlottedLine:
    """Points of one line; a `level` one has no place across and is drawn from side to side."""

    label: str
    points: tuple[PlottedPoint, ...]
    level: bool = False


@dataclass(frozen=True)
class PlottedPanel:
    """Lines that share axes."""

    title: str
    lines: tuple[PlottedLine, ...]


@dataclass(frozen=True)
class PlottedData:
    """All that a plot shows."""

    x: str
    y: str
    lines: tuple[str, ...]
    along: str | None
    """The varied number that orders the points of a line, where the horizontal axis is a metric."""
    panels: tuple[PlottedPanel, ...]
    pooled: tuple[str, ...] = ()
    """Varied paths over whose values each seed was averaged first."""


def choose_x(runs: pd.DataFrame, varied: Sequence[str]) -> str:
    """Return the varied path that suits the horizontal axis: the first numeric one that varies."""
    several = list_varying(runs, varied)
    numeric = [path for path in several if _is_number(runs, path)]
    if not varied:
        raise UsageError("this sweep varies nothing: name a metric for the horizontal axis")
    return (numeric or several or list(varied))[0]


def choose_lines(runs: pd.DataFrame, varied: Sequence[str], x: str) -> tuple[str, ...]:
    """Return what makes the lines where nobody says so: the first other path that varies, for a metric a word."""
    others = [path for path in list_varying(runs, varied) if path != x]
    if x not in varied:
        others = [path for path in others if not _is_number(runs, path)]
    return tuple(others[:1])


def find_panels(
    runs: pd.DataFrame,
    varied: Sequence[str],
    *,
    x: str | None,
    y: str,
    lines: str | Sequence[str] | None = None,
    along: str | None = None,
) -> PlottedData:
    """Work out the points of a plot."""
    good = runs[runs["status"] == "ok"].reset_index(drop=True)
    require_column(runs, varied, y)
    if not _is_number(runs, y):
        raise UsageError(f"'{y}' has no numbers, which the vertical axis needs")
    x = require_column(runs, varied, x) if x is not None else choose_x(good, varied)
    chosen = choose_lines(good, varied, x) if lines is None else ((lines,) if isinstance(lines, str) else tuple(lines))
    for path in (*chosen, *(() if along is None else (along,))):
        if path not in varied:
            require_column(runs, varied, path)
            raise UsageError(f"'{path}' is a metric: lines are made of varied paths ({', '.join(varied) or 'none'})")
    measured = x not in varied
    several = list_varying(good, varied)
    if measured and along is None:
        along = next((path for path in several if path not in chosen and _is_number(good, path)), None)
    used = [*chosen, *([along] if along is not None and measured else []), *([] if measured else [x])]
    words = describe_values(good, varied)
    rest = _find_rest(words, several, used)
    pooled: tuple[str, ...] = ()
    if rest and len(words[rest].drop_duplicates()) > MOST_PANELS:
        rest, pooled = [], tuple(rest)
    panels = []
    for title, rows in _split(words, rest):
        own = good.loc[rows]
        made = _find_lines(own, words.loc[rows], x=x, y=y, lines=chosen, along=along if measured else None, used=used)
        panels.append(PlottedPanel(title, made))
    return PlottedData(x=x, y=y, lines=chosen, along=along if measured else None, panels=tuple(panels), pooled=pooled)


def _is_number(runs: pd.DataFrame, name: str) -> bool:
    import pandas as pd

    kind = runs[name].dtype
    return bool(pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind))


def _find_rest(words: pd.DataFrame, several: Sequence[str], used: list[str]) -> list[str]:
    """Return the varying paths that axes and lines leave open; those that follow from others are not open."""
    rest: list[str] = []
    for path in several:
        if path in used:
            continue
        fixed = [*used, *rest]
        cases = len(words[fixed].drop_duplicates()) if fixed else 1
        if len(words[[*fixed, path]].drop_duplicates()) > cases:
            rest.append(path)
    return rest


def _split(words: pd.DataFrame, paths: Sequence[str]) -> list[tuple[str, Any]]:
    """Return words for every combination of values, and its rows, in the order of the cells."""
    if not paths:
        return [("", words.index)]
    labels = find_labels(paths)
    found: dict[str, list[Any]] = {}
    for place, row in zip(words.index, words[list(paths)].to_dict("records"), strict=True):
        title = ", ".join(f"{labels[path].words} {row[path]}" for path in paths)
        found.setdefault(title, []).append(place)
    return list(found.items())


def _find_lines(
    own: pd.DataFrame,
    words: pd.DataFrame,
    *,
    x: str,
    y: str,
    lines: tuple[str, ...],
    along: str | None,
    used: list[str],
) -> tuple[PlottedLine, ...]:
    placeless = own[x].isna() if x in used else own[x].isna() & False
    made = []
    for rows in _group(own[~placeless], words, lines):
        label = " · ".join(words.loc[rows[0], path] for path in lines)
        points = _find_points(own.loc[rows], words.loc[rows], x=x, y=y, along=along, used=used)
        if points:
            made.append(PlottedLine(label, points))
    several = [path for path in words.columns if words[path].nunique() > 1 and path != x]
    for rows in _group(own[placeless], words, tuple(several)):
        level = _average(own.loc[rows], y)
        if level.value is not None:
            said = [words.loc[rows[0], path] for path in several if words.loc[rows[0], path] != NOT_SET]
            name = ", ".join(said) or f"{find_labels([x])[x].words} {NOT_SET}"
            made.append(PlottedLine(name, (PlottedPoint("", level),), level=True))
    return tuple(made)


def _group(own: pd.DataFrame, words: pd.DataFrame, paths: tuple[str, ...]) -> list[list[Any]]:
    """Return the rows of every combination of values: numbers in ascending order, words as the cells come."""
    if own.empty:
        return []
    if not paths:
        return [list(own.index)]
    found: dict[tuple[Any, ...], list[Any]] = {}
    numeric = [path for path in paths if _is_number(own, path)]
    for place, row in zip(own.index, words.loc[own.index, list(paths)].to_dict("records"), strict=True):
        found.setdefault(tuple(row[path] for path in paths), []).append(place)
    groups = list(found.values())
    if numeric:
        groups.sort(key=lambda rows: tuple(_order(own.loc[rows[0], path]) for path in numeric))
    return groups


def _order(value: Any) -> float:
    return math.inf if value is None or math.isnan(value) else float(value)


def _find_points(
    own: pd.DataFrame, words: pd.DataFrame, *, x: str, y: str, along: str | None, used: list[str]
) -> tuple[PlottedPoint, ...]:
    points = []
    if x not in used:
        paths = (along,) if along is not None else ("cell",)
        named = words if along is not None else own[["cell"]].astype("str")
        for rows in _group(own, named, paths):
            part = own.loc[rows]
            part = part[part[x].notna() & part[y].notna()]
            across, up = _average(part, x), _average(part, y)
            if across.value is not None and up.value is not None:
                name = "" if along is None else str(words.loc[rows[0], along])
                points.append(PlottedPoint(across, up, name))
        return tuple(points)
    numeric = _is_number(own, x)
    for rows in _group(own, words, (x,)):
        up = _average(own.loc[rows], y)
        if up.value is not None:
            place = Measured(float(own.loc[rows[0], x])) if numeric else str(words.loc[rows[0], x])
            points.append(PlottedPoint(place, up))
    return tuple(points)


def _average(own: pd.DataFrame, name: str) -> Measured:
    """Return the mean over seeds; cells that are pooled are averaged seed by seed first, where a seed has them all."""
    values = own[["seed", "cell", name]].dropna()
    cells = values["cell"].nunique()
    if cells <= 1:
        return mean(values[name].astype("float64"))
    by_seed = values.groupby("seed")[name].agg(["mean", "count"])
    return mean(by_seed.loc[by_seed["count"] == cells, "mean"].astype("float64"))
