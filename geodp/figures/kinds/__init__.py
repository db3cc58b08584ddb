"""How a figure's numbers are made; verb: `points`. One kind is a sweep of runs, others compute theirs directly."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from geodp.registry import Plugin

if TYPE_CHECKING:
    import pandas as pd

    from geodp.figures.figure_file import FigureFile, Panel

POINT_COLUMNS = ("y_name", "line", "x", "repeat", "y")
"""What `points` returns, one row per measured value: which quantity, which line, where on the horizontal axis, which
repetition (the same number means the same luck on every line, so differences are paired), and the value."""


@dataclass(frozen=True)
class Making:
    """What a kind is given to make one panel of a figure from."""

    file: FigureFile
    """The figure file."""
    panel: str
    """Name of the panel."""
    settings: Panel
    """The panel, with the paths of its data files filled in."""
    folder: Path
    """A folder of the panel's own, kept between calls: what was computed may be kept in it."""
    workers: int | None = None
    """Processes (None: all cores)."""
    fresh: bool = False
    """Forget what an earlier call kept in the folder."""
    data: Mapping[str, Path] = field(default_factory=dict)
    """The files that the panel needs, by the name under which `needs` lists them."""
    on_share: Callable[[float], None] | None = None
    """Called with the share of the panel that is done, where the kind can tell."""


class FigureKind(Plugin):
    """Family of ways to make a figure. A kind computes points; claims are checked on them, lines drawn through them.

    A kind that draws something else than lines overrides `draw`.

    Examples
    --------
    >>> import geodp
    >>> geodp.plugins("figure")["sweep"].family
    'figure'
    """

    family: ClassVar[str] = "figure"

    @abstractmethod
    def points(self, making: Making) -> pd.DataFrame:
        """Return the values of one panel: a table with the columns `POINT_COLUMNS`."""

    def draw(self, file: FigureFile, points: Mapping[str, pd.DataFrame]) -> Any:
        """Return a matplotlib figure of all panels that could be made (name → points)."""
        from geodp.figures.drawing import lines_figure

        return lines_figure(file, points)

    def problems(self, file: FigureFile) -> list[tuple[str, str]]:  # noqa: ARG002 - kinds override it
        """Return what is wrong with a figure file, as far as this kind can tell before anything is computed."""
        return []

    def line_names(self) -> tuple[str, ...] | None:
        """Return the names of the lines, where they are known before anything is computed: here from field `lines`."""
        return tuple(getattr(self, "lines", ())) or None

    def with_settings(self, settings: Mapping[str, Any]) -> Self:
        """Return the kind with other values of some fields, as a panel sets them."""
        plain = {key: value for key, value in self.model_dump().items() if key != "kind"}
        return type(self).model_validate({**plain, **settings}) if settings else self


def points_table(rows: Iterable[tuple[Any, ...]]) -> pd.DataFrame:
    """Return rows of points as the table that `points` gives."""
    import pandas as pd

    return pd.DataFrame(list(rows), columns=list(POINT_COLUMNS))
