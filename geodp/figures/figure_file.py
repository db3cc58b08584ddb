"""The figure a file describes: how its numbers are made, what the paper claims about them, on which data."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SerializeAsAny, ValidationError, field_validator, model_validator

from geodp.errors import ScenarioError, UsageError
from geodp.figures.kinds import FigureKind
from geodp.model import Model, did_you_mean, problems_of
from geodp.registry import Slot
from geodp.scenario.file import read_yaml
from geodp.scenario.shipped import FIGURES, find_shipped_folder
from geodp.storage.names import require_name

DATA_VARIABLE = "GEODP_DATA"
DATA_MARK = "$GEODP_DATA"
"""How a panel's settings name a file of the data folder: `$GEODP_DATA/gowalla/…`."""
_PLAIN_KEYS = ("geodp", "name", "about", "figure")
TWO_LINES = ("below", "above")


class Axes(Model):
    """How the figure is labelled."""

    x: str = ""
    """Label of the horizontal axis, with its unit; default: the path."""
    y: dict[str, str] = Field(default_factory=dict)
    """Label of each vertical axis, by the name of its quantity; default: that name and its unit."""
    log_x: bool = False
    """Logarithmic horizontal axis."""
    log_y: bool = False
    """Logarithmic vertical axes."""
    dashed: tuple[str, ...] = ()
    """Lines that are drawn dashed."""


class Panel(Model):
    """One data set on which the figure is made."""

    title: str = ""
    """What the data are, in a few words; default: the panel's name."""
    needs: tuple[str, ...] = ()
    """Files under the folder GEODP_DATA without which this panel is left out."""
    set: dict[str, Any] = Field(default_factory=dict)
    """Changes for this panel: dotted paths of the base scenario (kind `sweep`), or fields of another kind.
    `$GEODP_DATA/…` stands for a file that `needs` lists."""

    def fill_paths(self, data: Mapping[str, Path]) -> dict[str, Any]:
        """Return the changes with the paths of data files written out."""
        return {key: _fill_paths(value, data) for key, value in self.set.items()}

    def files(self) -> dict[str, Path] | None:
        """Return the data files by name, or None when one of them is absent."""
        folder = os.environ.get(DATA_VARIABLE)
        found = {name: Path(folder) / name for name in self.needs} if folder else {}
        return found if len(found) == len(self.needs) and all(path.exists() for path in found.values()) else None


def _fill_paths(value: Any, data: Mapping[str, Path]) -> Any:
    if isinstance(value, dict):
        return {key: _fill_paths(item, data) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_fill_paths(item, data) for item in value]
    if isinstance(value, str) and value.startswith(DATA_MARK + "/"):
        name = value.removeprefix(DATA_MARK + "/")
        if name not in data:
            raise UsageError(f"{value}: list '{name}' among the panel's needs")
        return str(data[name].resolve())
    return value


class Claim(Model):
    """One statement of the paper, and how it is checked against our points."""

    says: str = Field(min_length=1)
    """The statement, in the paper's words or close to them."""
    check: Literal[
        "rises", "falls", "rises_then_flattens", "falls_then_flattens", "nearly_flat", "near", "at_least", "at_most",
        "below", "above", "lowest", "highest", "shown",
    ]  # fmt: skip
    """The kind of check; see `geodp.figures.checks`. `shown`: an illustration, nothing to measure."""
    y: str | None = None
    """The quantity, where the figure has several; default: the first."""
    lines: tuple[str | tuple[str, str], ...] = ()
    """The lines it is checked on, a verdict each (default: all); pairs of lines for `below` and `above`."""
    panels: tuple[str, ...] = ()
    """The panels it is checked on; default: all."""
    value: float | None = None
    """The paper's number, for `near`, `at_least` and `at_most`."""
    at: float | str | None = None
    """The place on the horizontal axis at which `near`, `at_least` and `at_most` look; default: the mean of all."""
    tolerance: float | None = Field(default=None, gt=0)
    """`nearly_flat`: largest change, relative to the mean (default 0.1). `near`: largest distance, relative to the
    number (default 0.1; absolute when it is 0). `…_then_flattens`: largest share of the whole change that may fall into
    the second half (default 0.25)."""
    because: str | dict[str, str] = ""
    """Why we do not get what the paper has; printed after what the check found wrong, with a verdict of *not
    reproduced* and only then. By line, by panel or by `panel: line`, where it differs."""
    note: str = ""
    """What a reader should know whatever the verdict."""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.check in ("near", "at_least", "at_most") and self.value is None:
            raise ValueError(f"the check '{self.check}' needs a value")
        pairs = all(isinstance(line, tuple) for line in self.lines)
        if self.check in TWO_LINES and not (self.lines and pairs):
            raise ValueError(f"the check '{self.check}' needs pairs: lines: [[one line, another], …]")
        if self.check not in TWO_LINES and any(isinstance(line, tuple) for line in self.lines):
            raise ValueError(f"the check '{self.check}' looks at single lines, not pairs")
        return self

    def reason(self, panel: str, line: str) -> str:
        """Return why this verdict is not the paper's."""
        if isinstance(self.because, str):
            return self.because
        keys = (f"{panel}: {line}", line, panel)
        return next((self.because[key] for key in keys if key in self.because), "")


class FigureSection(Model):
    """The part of a figure file that makes it a figure."""

    title: str = Field(min_length=1)
    """What is drawn against what."""
    source: str = Field(min_length=1)
    """Paper, section and number of the figure."""
    make: Annotated[SerializeAsAny[FigureKind], Slot("figure", "sweep")]
    """How the points are made: `kind: sweep`, or another kind of figure."""
    panels: dict[str, Panel] = Field(default_factory=lambda: {"generated": Panel()}, min_length=1)
    """Data sets, by name; default: one panel as the file stands."""
    axes: Axes = Field(default_factory=Axes)
    claims: tuple[Claim, ...] = Field(min_length=1)
    """What the paper says."""

    @field_validator("panels")
    @classmethod
    def _folder_names(cls, value: dict[str, Panel]) -> dict[str, Panel]:
        for name in value:
            require_name(name, "the name of a panel")
        return value


@dataclass(frozen=True)
class FigureFile:
    """A figure file that has been read and checked."""

    path: Path
    raw: dict[str, Any]
    section: FigureSection

    @property
    def id(self) -> str:
        """The figure's id: the name of its file."""
        return self.path.stem

    @property
    def about(self) -> str:
        """What stands in for what, and what was chosen where the paper is silent."""
        return " ".join(str(self.raw.get("about", "")).split())


def figures_folder() -> Path:
    """Return the folder of shipped figures: `scenarios/figures` here, or what comes with geodp."""
    here = Path("scenarios") / FIGURES
    return here if here.is_dir() else find_shipped_folder() / FIGURES


def find_repository() -> Path | None:
    """Return the top of the repository whose figures are made; None where they come from an installed package."""
    top = figures_folder().parent.parent
    return top if (top / "pyproject.toml").is_file() or figures_folder().parent == Path("scenarios") else None


def figure_paths(folder: Path | None = None) -> list[Path]:
    """Return all figure files, in the order in which a reader would look for them (13.7 before 13.10)."""
    import re

    def key(path: Path) -> list[tuple[int, int, str]]:
        parts = re.findall(r"\d+|\D+", path.stem)
        return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts]

    return sorted((folder or figures_folder()).glob("*.yaml"), key=key)


def find_figure(name: str) -> FigureFile:
    """Return the figure with an id, or the one in a file of that name."""
    if name.endswith((".yaml", ".yml")):
        return load_figure(Path(name))
    known = {path.stem: path for path in figure_paths()}
    if name not in known:
        hint = did_you_mean(name, known) or f" There are: {', '.join(known)}."
        raise UsageError(f"no figure called '{name}'.{hint}")
    return load_figure(known[name])


def load_figure(path: Path) -> FigureFile:
    """Read and check a figure file; all its problems are reported at once."""
    try:
        require_name(path.stem, "the name of a figure file")
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None
    raw = read_yaml(path)
    if not isinstance(raw.get("figure"), dict):
        raise ScenarioError(str(path), [("figure", "a figure file needs a section 'figure' (title, source, make, …)")])
    try:
        section = FigureSection.model_validate(raw["figure"])
    except ValidationError as error:
        raise ScenarioError(str(path), problems_of(error, "figure")) from None
    file = FigureFile(path, raw, section)
    problems = [*_key_problems(file), *section.make.problems(file), *_claim_problems(file)]
    if problems:
        raise ScenarioError(str(path), problems)
    return file


def _key_problems(file: FigureFile) -> list[tuple[str, str]]:
    problems = [] if file.raw.get("geodp") == 1 else [("geodp", "must be 1, the version of this format")]
    only = "Only figures of kind 'sweep' are sweeps, too"
    others = [str(key) for key in file.raw if key not in _PLAIN_KEYS] if file.section.make.kind != "sweep" else []
    return problems + [(key, f"unknown key.{did_you_mean(key, _PLAIN_KEYS)} {only}") for key in others]


def _claim_problems(file: FigureFile) -> list[tuple[str, str]]:
    problems = []
    lines, panels = file.section.make.line_names(), tuple(file.section.panels)
    for number, claim in enumerate(file.section.claims):
        used = [name for line in claim.lines for name in ((line,) if isinstance(line, str) else line)]
        missing = [("line", name, lines) for name in used if lines is not None and name not in lines]
        missing += [("panel", name, panels) for name in claim.panels if name not in panels]
        problems += [
            (f"figure.claims.{number}.{what}s", f"no {what} is called '{name}'.{did_you_mean(name, known)}")
            for what, name, known in missing
        ]
    return problems
