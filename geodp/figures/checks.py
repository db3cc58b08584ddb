"""Checks of a paper's claims on our points: each returns whether the claim holds, and our numbers.

Lines share their repetitions, so that a difference is taken repetition by repetition, and its 95 % interval is that of
the mean difference. Where there is only one repetition, the value itself decides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from geodp.errors import GeodpError
from geodp.figures.figure_file import TWO_LINES, Claim, FigureFile
from geodp.metrics import Measured
from geodp.metrics.intervals import mean

if TYPE_CHECKING:
    import pandas as pd

MOST = 0.75
"""Share of the places on the horizontal axis at which a claim about all of them has to hold for itself."""
STEADY = 0.6
"""Least rank correlation (Kendall's tau of the means) of a line that is said to rise or fall."""
NEAR = 0.1
"""Largest relative distance of what is said to be near, and relative change of what is said to be flat."""
LATE = 0.25
"""Largest share of a line's whole change that may come in its second half when it is said to flatten."""


@dataclass(frozen=True)
class Verdict:
    """What we get for one claim on one panel and line."""

    says: str
    panel: str
    line: str
    """The line, or `one < another` for a pair."""
    ours: str
    """Our numbers."""
    reproduced: bool | None
    """None for an illustration."""
    because: str = ""
    note: str = ""

    @property
    def word(self) -> str:
        """The verdict in words."""
        if self.reproduced is None:
            return "shown"
        if self.reproduced:
            return "reproduced"
        return f"not reproduced, because {self.because}" if self.because else "not reproduced"


def check_claims(file: FigureFile, panel: str, points: pd.DataFrame) -> list[Verdict]:
    """Return a verdict for every claim about a panel, line by line."""
    found = []
    for claim in file.section.claims:
        if claim.panels and panel not in claim.panels:
            continue
        if claim.check == "shown":
            found.append(Verdict(claim.says, panel, "", "drawn", None, note=claim.note))
            continue
        lines = _lines(points, claim.y)
        found += [_verdict(claim, panel, lines, wanted) for wanted in claim.lines or tuple(lines)]
    return found


def _verdict(claim: Claim, panel: str, lines: dict[str, pd.DataFrame], wanted: str | tuple[str, str]) -> Verdict:
    names: tuple[str, ...] = (wanted,) if isinstance(wanted, str) else wanted
    absent = [name for name in names if name not in lines]
    if absent:
        raise GeodpError(f"panel '{panel}' has no line called '{absent[0]}'; it has {', '.join(lines)}")
    first, label = lines[names[0]], names[0]
    if claim.check in TWO_LINES:
        ours, fault = _below(first, lines[names[1]], sign=1 if claim.check == "below" else -1)
        label = f" {'<' if claim.check == 'below' else '>'} ".join(names)
    elif claim.check in ("lowest", "highest"):
        others = {name: own for name, own in lines.items() if name != label}
        ours, fault = _extreme(first, others, sign=1 if claim.check == "lowest" else -1)
    else:
        ours, fault = _ALONE[claim.check](first, claim)
    reason = claim.reason(panel, names[0]) if fault else ""
    because = f"{fault}; {reason}" if reason else fault
    return Verdict(
        says=claim.says, panel=panel, line=label, ours=ours, reproduced=not fault, because=because, note=claim.note
    )


def _lines(points: pd.DataFrame, y_name: str | None) -> dict[str, pd.DataFrame]:
    """Return each line of one quantity as a table: a row per repetition, a column per place on the x axis."""
    from pandas.api.types import is_numeric_dtype

    wanted = points["y_name"].iloc[0] if y_name is None else y_name
    own = points[points["y_name"] == wanted]
    if own.empty:
        raise GeodpError(f"the figure has no quantity called '{wanted}'")
    return {
        str(line): part.pivot_table(
            index="repeat", columns="x", values="y", sort=is_numeric_dtype(part["x"]), dropna=False
        )
        for line, part in own.groupby("line", sort=False)
    }


Found = tuple[str, str]
"""Our numbers, and what is wrong with the claim ('' when it holds)."""


def _trend(own: pd.DataFrame, sign: int) -> Found:
    """Tell whether the line ends clearly higher (sign 1) or lower (-1) than it starts, and goes there steadily."""
    if own.shape[1] < 2:
        raise GeodpError("a trend needs two places on the horizontal axis")
    gap = mean((own.iloc[:, -1] - own.iloc[:, 0]).dropna())
    tau = _tau(own.mean().to_numpy())
    ends = " to ".join(f"{_interval(mean(own.iloc[:, at].dropna()))} at {_at(own, at)}" for at in (0, -1))
    ours = f"{ends}; change {_interval(gap, signed=True)}, rank correlation {tau:+.2f}"
    if gap.value is None:
        return ours, "no repetition has a value at both ends"
    if _sure(gap, -sign):
        return ours, "it goes the other way"
    if not _sure(gap, sign):
        return ours, "the change does not stand out from the differences between repetitions"
    return ours, "" if sign * tau >= STEADY else "it does not go there steadily"


def _flattens(own: pd.DataFrame, sign: int, share: float) -> Found:
    """Tell whether the line goes up or down, and most of the way before the middle of its places."""
    ours, fault = _trend(own, sign)
    means = own.mean().to_numpy()
    middle = min(means.size // 2, means.size - 1)
    whole = means[-1] - means[0]
    if fault or whole == 0:
        return ours, fault
    late = (means[-1] - means[middle]) / whole
    ours = f"{ours}; {late:.0%} of it after {_at(own, middle)}"
    return ours, "" if late <= share else f"it has not flattened: {late:.0%} of the change comes in the second half"


def _flat(own: pd.DataFrame, claim: Claim) -> Found:
    means = own.mean().to_numpy()
    centre = abs(np.nanmean(means))
    change = float((np.nanmax(means) - np.nanmin(means)) / centre) if centre else 0.0
    text = f"between {_short(np.nanmin(means))} and {_short(np.nanmax(means))}: {change:.1%} of the mean"
    allowed = claim.tolerance or NEAR
    return text, "" if change <= allowed else f"it changes by more than {allowed:.0%}"


def _level(own: pd.DataFrame, claim: Claim) -> tuple[Measured, str]:
    """Return the line's value at one place, or its mean over all of them."""
    if claim.at is None:
        return mean(own.mean(axis=1).dropna()), "on average" if own.shape[1] > 1 else ""
    here = [place for place in own.columns if place == claim.at]
    if not here:
        places = ", ".join(str(place) for place in own.columns)
        raise GeodpError(f"no point at {claim.at}; there are points at {places}")
    return mean(own[here[0]].dropna()), f"at {claim.at}"


def _near(own: pd.DataFrame, claim: Claim) -> Found:
    level, where = _level(own, claim)
    target = float(claim.value or 0.0)
    allowed = (claim.tolerance or NEAR) * (abs(target) if target else 1.0)
    ours = f"{_interval(level)} {where}".strip() + f", theirs {_short(target)}"
    if level.value is None:
        return ours, "it is undefined"
    near = abs(level.value - target) <= allowed
    return ours, "" if near else f"it is {_short(level.value - target, '+')} away"


def _check_bound(own: pd.DataFrame, claim: Claim, sign: int) -> Found:
    """Tell whether the line is on one side of a number: our interval may not lie wholly on the other."""
    level, where = _level(own, claim)
    target = float(claim.value or 0.0)
    ours = f"{_interval(level)} {where}".strip() + f", theirs {'≥' if sign > 0 else '≤'} {_short(target)}"
    if level.value is None:
        return ours, "it is undefined"
    reach = level.ends()[sign > 0]
    return ours, "" if sign * (reach - target) >= 0 else f"it is {'less' if sign > 0 else 'more'}"


def _below(one: pd.DataFrame, other: pd.DataFrame, sign: int) -> Found:
    """Tell whether one line is clearly below (sign 1) or above (-1) another on average, and at most places."""
    gaps = (one - other)[[place for place in one.columns if place in other.columns]]
    gaps = gaps.dropna(axis=1, how="all")
    if gaps.empty:
        return "no place has values of both", "there is nothing to compare"
    gap = mean(gaps.mean(axis=1).dropna())
    there = int((sign * gaps.mean() < 0).sum())
    base = float(other[gaps.columns].mean().mean())
    relative = "" if gap.value is None or not base else f", {gap.value / abs(base):+.0%}"
    word = "lower" if sign > 0 else "higher"
    ours = f"difference {_interval(gap, signed=True)}{relative} on average; {word} at {there} of {gaps.shape[1]} places"
    if gap.value is not None and _sure(gap, sign):
        return ours, "it is the other way round"
    if gap.value is None or not _sure(gap, -sign):
        return ours, "the difference does not stand out from the differences between repetitions"
    return ours, "" if there >= MOST * gaps.shape[1] else "it does not hold at most places"


def _extreme(own: pd.DataFrame, others: dict[str, pd.DataFrame], sign: int) -> Found:
    """Tell whether a line is below (sign 1) or above (-1) every other one at most places."""
    if not others:
        raise GeodpError("'lowest' and 'highest' need other lines to compare with")
    rivals = np.vstack([sign * other.reindex(columns=own.columns).mean().to_numpy() for other in others.values()])
    mine = sign * own.mean().to_numpy()
    wins = int((mine < np.nanmin(rivals, axis=0)).sum())
    levels = np.nanmean(rivals, axis=1)
    closest = list(others)[int(np.nanargmin(levels))]
    word = "lowest" if sign > 0 else "highest"
    ours = (
        f"{word} at {wins} of {mine.size} places; mean {_short(sign * np.nanmean(mine))}, "
        f"next {closest} {_short(sign * np.nanmin(levels))}"
    )
    return ours, "" if wins >= MOST * mine.size else f"it is not the {word} at most places"


_ALONE: dict[str, Callable[[pd.DataFrame, Claim], Found]] = {
    "rises": lambda own, _claim: _trend(own, 1),
    "falls": lambda own, _claim: _trend(own, -1),
    "rises_then_flattens": lambda own, claim: _flattens(own, 1, claim.tolerance or LATE),
    "falls_then_flattens": lambda own, claim: _flattens(own, -1, claim.tolerance or LATE),
    "nearly_flat": _flat,
    "near": _near,
    "at_least": lambda own, claim: _check_bound(own, claim, 1),
    "at_most": lambda own, claim: _check_bound(own, claim, -1),
}


def _sure(gap: Measured, sign: int) -> bool:
    """Tell whether a difference has a sign beyond doubt: its whole interval lies on one side of 0."""
    low, high = gap.ends()
    return low > 0 if sign > 0 else high < 0


def _tau(means: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """Return Kendall's tau of a sequence against its order; ties count as neither."""
    one, later = np.triu_indices(means.size, 1)
    return float(np.mean(np.sign(means[later] - means[one])))


def _at(own: pd.DataFrame, position: int) -> str:
    place = own.columns[position]
    return place if isinstance(place, str) else _short(float(place))


def _interval(measured: Measured, *, signed: bool = False) -> str:
    return measured.text(lambda value: _short(value, "+" if signed else ""))


def _short(value: float, sign: str = "") -> str:
    """Say a number with three or four figures."""
    if not np.isfinite(value):
        return "undefined"
    return f"{value:{sign},.0f}" if abs(value) >= 1000 else f"{value:{sign}.3g}"
