"""What earlier releases measured, one flat JSON file each, and what has moved since.

A figure with a yardstick is judged by its ratio to it, which holds on other machines, too; one without by its value.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

HISTORY = Path(__file__).parent / "history"
NOTICEABLE = 0.2
"""Smaller relative changes are not shown: CPU times vary by about a tenth on a shared machine."""

Measured = Mapping[str, float | None]


@dataclass(frozen=True)
class Release:
    """The figures of one release."""

    version: str
    measured: Measured


@dataclass(frozen=True)
class Move:
    """A figure that is not what it was."""

    key: str
    before: float | None
    after: float | None
    ratio_before: float | None = None
    ratio_after: float | None = None

    def line(self) -> str:
        """Return the move as a line of the table."""
        values = f"{self.key:46} {_short(self.before):>12} → {_short(self.after):>12}"
        return f"{values}  {self._judged()}".rstrip()

    def _judged(self) -> str:
        if self.ratio_before and self.ratio_after:
            word = "better" if self.ratio_after > self.ratio_before else "worse"
            return f"{word}: {self.ratio_before:.3g}x → {self.ratio_after:.3g}x of its yardstick"
        if self.before is None or self.after is None:
            return "new" if self.after is not None else "not measured any more"
        return f"{self.after / self.before - 1:+.0%}" if self.before else ""


def releases() -> list[Release]:
    """Return the figures of all releases, the oldest first."""
    files = sorted(HISTORY.glob("*.json"), key=lambda path: _number(path.stem))
    return [Release(path.stem, read_figures(path)) for path in files]


def read_figures(path: Path) -> dict[str, float | None]:
    """Return the figures that `--json` wrote."""
    found: dict[str, float | None] = json.loads(path.read_text(encoding="utf-8"))
    return found


def moves(before: Measured, after: Measured) -> Iterator[Move]:
    """Yield the figures that have moved noticeably, appeared or gone; those of the machine are no figures.

    Parameters
    ----------
    before, after
        Flat figures, as `--json` writes them.
    """
    for key in sorted({*before, *after}):
        if key.startswith(("machine_", "yardstick_")) or _is_ratio(key, before, after):
            continue
        old, new = before.get(key), after.get(key)
        old_ratio, new_ratio = _ratio(key, before), _ratio(key, after)
        pair = (old, new) if old_ratio is None or new_ratio is None else (old_ratio, new_ratio)
        if _differ(*pair):
            yield Move(key, old, new, old_ratio, new_ratio)


def compared(name: str, before: Release, after: Measured, *, partial: bool = False) -> str:
    """Say in a table what has moved since a release.

    Parameters
    ----------
    name
        What was measured now.
    before
        The release to compare with.
    after
        The figures of now.
    partial
        Whether only some benchmarks were run: what is missing is not said to be gone.
    """
    found = [move for move in moves(before.measured, after) if not (partial and move.key not in after)]
    if not found:
        return f"{name} against {before.version}: nothing moved by more than {NOTICEABLE:.0%}"
    title = f"{name} against {before.version}: what moved by more than {NOTICEABLE:.0%}"
    return "\n".join([title, *(move.line() for move in found)])


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _is_ratio(key: str, *figures: Measured) -> bool:
    base, found, against = key.partition("_ratio_")
    return bool(found) and any(f"yardstick_{base}_{against}" in measured for measured in figures)


def _ratio(key: str, measured: Measured) -> float | None:
    found = [value for name, value in measured.items() if name.startswith(f"{key}_ratio_")]
    return found[0] if found else None


def _differ(old: float | None, new: float | None) -> bool:
    if old is None or new is None:
        return old is not new
    return abs(new - old) > NOTICEABLE * min(abs(old), abs(new))


def _short(number: float | None) -> str:
    return "—" if number is None else f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"
