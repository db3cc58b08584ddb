"""One line of the report: a figure, what it is measured against, and what it has to reach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Figure:
    """A measured number; with a yardstick, the target is meant for their ratio."""

    key: str
    value: float | None
    """None where it could not be measured; `note` says why."""
    better: Literal["less", "more"] = "less"
    against: str = ""
    """What the yardstick is, in a word or two that can be part of a key."""
    yardstick: float | None = None
    at_most: float | None = None
    at_least: float | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """How many times better the figure is than its yardstick."""
        if self.value is None or self.yardstick is None:
            return None
        return self.yardstick / self.value if self.better == "less" else self.value / self.yardstick

    @property
    def judged(self) -> float | None:
        """The number that the target speaks of."""
        return self.value if self.yardstick is None else self.ratio

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None where there is no target or nothing was measured."""
        if self.judged is None or (self.at_most is None and self.at_least is None):
            return None
        below = self.at_most is None or self.judged <= self.at_most
        above = self.at_least is None or self.judged >= self.at_least
        return below and above

    def entries(self) -> dict[str, float | None]:
        """Return the figure for the flat JSON file."""
        found = {self.key: self.value}
        if self.yardstick is not None:
            found[f"yardstick_{self.key}_{self.against}"] = self.yardstick
            found[f"{self.key}_ratio_{self.against}"] = self.ratio
        return found

    def line(self) -> str:
        """Return the figure as a line of the table."""
        yardstick = "" if self.yardstick is None else f"{_short(self.yardstick)} {self.against}"
        ratio = "" if self.ratio is None else f"{self.ratio:.1f}x"
        target = "".join(
            f"{sign} {_short(bound)}{'' if self.yardstick is None else 'x'}"
            for sign, bound in (("<=", self.at_most), (">=", self.at_least))
            if bound is not None
        )
        verdict = {True: "met", False: "MISSED", None: self.note}[self.met]
        value = "not measured" if self.value is None else _short(self.value)
        return f"{self.key:46} {value:>12}  {yardstick:34} {ratio:>8}  {target:>10}  {verdict}".rstrip()


HEADER = f"{'figure':46} {'value':>12}  {'yardstick':34} {'ratio':>8}  {'target':>10}"


def _short(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 1000 or number == int(number) else f"{number:.3g}"
