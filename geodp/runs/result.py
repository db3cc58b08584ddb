"""A finished run in Python and in a notebook."""

from __future__ import annotations

import html
from pathlib import Path
from typing import TYPE_CHECKING

from geodp.display.map import require_page
from geodp.run_folder.folder import RunFolder

if TYPE_CHECKING:
    import pandas as pd


class RunResult:
    """A finished run: its numbers, tables and map. Shows itself in a notebook."""

    def __init__(self, path: str | Path, *, trust_plugins: bool = False) -> None:
        self.folder = RunFolder(Path(path), trust_plugins=trust_plugins)

    @property
    def path(self) -> Path:
        """The run folder."""
        return self.folder.path

    @property
    def metrics(self) -> dict[str, float | None]:
        """Flat name → number; None where undefined."""
        return self.folder.metrics

    @property
    def notices(self) -> list[str]:
        """What was dropped, guessed or clipped on the way, in words."""
        return self.folder.notices

    @property
    def events(self) -> pd.DataFrame:
        """Everything that happened."""
        return self.folder.events

    @property
    def ledger(self) -> pd.DataFrame:
        """One row per charge."""
        return self.folder.ledger

    @property
    def arms(self) -> dict[str, RunResult]:
        """The arms of a comparison ({} for a plain run)."""
        return {name: RunResult(arm.path, trust_plugins=arm.trust_plugins) for name, arm in self.folder.arms.items()}

    @property
    def comparison(self) -> pd.DataFrame:
        """The arms side by side with paired differences."""
        import pandas as pd

        return pd.read_csv(self.folder.file("comparison.csv"))

    def map(self, *, public: bool = False) -> RunMap:
        """Return the map; `public` leaves out everything that was not released."""
        from geodp.display.map import build_map

        return RunMap(build_map(self.folder, public=public))

    def summary(self) -> str:
        """Return the summary as Markdown."""
        return (self.path / "summary.md").read_text(encoding="utf-8")

    def __repr__(self) -> str:
        return f"RunResult({str(self.path)!r})"

    def _repr_markdown_(self) -> str:
        return self.summary()


class RunMap:
    """A map as one HTML page; a notebook shows it in a frame."""

    def __init__(self, page: str) -> None:
        self.html = page

    def save(self, path: str | Path) -> Path:
        """Write the page to a file."""
        path = require_page(Path(path))
        path.write_text(self.html, encoding="utf-8")
        return path

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{html.escape(self.html, quote=True)}" width="100%" height="600" '
            'style="border:none" title="geodp map"></iframe>'
        )


def open_run(path: str | Path, *, trust_plugins: bool = False) -> RunResult:
    """Open a finished run folder.

    Parameters
    ----------
    path
        The folder.
    trust_plugins
        Whether to run the plug-in files that the run names: they are programs of whoever made it. Without them,
        everything is read that does not need them.

    Returns
    -------
    RunResult
        The run: its metrics, events, releases, summary and map.

    Raises
    ------
    DataError
        If the folder is not a run, or was damaged.

    Examples
    --------
    >>> import geodp
    >>> small = {"duration_s": 600, "workers.source.count": 200}
    >>> made = geodp.run("scenarios/quickstart.yaml", "opened", overrides=small, draw_map=False)
    >>> geodp.open_run("opened").metrics["epsilon_spent"]
    0.3
    """
    return RunResult(path, trust_plugins=trust_plugins)
