"""A matplotlib figure that keeps its style when it is saved later, and shows itself once in a notebook."""

from __future__ import annotations

import io
from typing import Any

from matplotlib.figure import Figure

from geodp.sweeps.line_plots import use_style

_UNDATED: dict[str, dict[str, None]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


class PaperFigure(Figure):
    """A figure in our style, apart from pyplot: nothing has to be closed, and no setting of the user's is changed.

    Examples
    --------
    >>> from geodp.sweeps.paper_figure import PaperFigure
    >>> PaperFigure(figsize=(3, 2)).look
    ('screen', 'sans')
    """

    look: tuple[str, str] = ("screen", "sans")
    """Size and letters."""

    def savefig(self, fname: Any, **options: Any) -> None:
        """Save the figure as matplotlib does, with our letters; the same figure gives the same bytes.

        Parameters
        ----------
        fname
            A path, or an open file.
        options
            As for matplotlib: `format`, `dpi`, …
        """
        ending = str(options.get("format") or str(fname).rpartition(".")[2]).lower()
        if ending in _UNDATED:
            options["metadata"] = _UNDATED[ending] | (options.get("metadata") or {})
        options.setdefault("dpi", "figure")
        with use_style(*self.look):
            super().savefig(fname, **options)

    def _repr_png_(self) -> bytes:
        held = io.BytesIO()
        self.savefig(held, format="png")
        return held.getvalue()
