"""A finished run in Python and in a notebook."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from geodp.errors import UsageError
from geodp.run_folder.folder import RunFolder

if TYPE_CHECKING:
    import geopandas
    import pandas as pd

    from geodp.display.folium_map import OfflineMap
    from geodp.frames.release import Release, ReleasedTable


class RunResult:
    """A finished run: its numbers, its tables as (Geo)DataFrames, its releases and its map.

    In a notebook it shows itself. Tables with places are in EPSG:4326; those whose `attrs["truth"]` is true hold what
    nobody outside of the house may know.

    Parameters
    ----------
    path
        The run folder.
    trust_plugins
        Whether to run the plug-in files that the run names.

    Examples
    --------
    >>> import geodp
    >>> small = {"duration_s": 600, "workers.source.count": 200}
    >>> run = geodp.run("scenarios/quickstart.yaml", "tables", overrides=small, draw_map=False)
    >>> release = run.releases[0]
    >>> release.guarantee.epsilon, release.to_geodataframe().crs.to_epsg()
    (0.3, 4326)
    >>> run.tasks.attrs["truth"], run.offers.attrs["truth"]
    (True, False)
    """

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

    @cached_property
    def releases(self) -> list[Release]:
        """What the curator published, or phones reported, in order: each with time, promise, table and map."""
        from geodp.runs.tables import list_releases

        return list_releases(self._one_world("releases"))

    @cached_property
    def publications(self) -> list[ReleasedTable]:
        """What was published at the end of the run ([] when nothing was): each with its table, promise and map."""
        from geodp.runs.tables import list_publications

        return list_publications(self._one_world("publications"))

    @cached_property
    def tasks(self) -> geopandas.GeoDataFrame:
        """One row per task, at its place, with what became of it (truth).

        Index `task`; `arrived_s`, `outcome` (`success`, `failure`, `censored`), `reason`, `decided_s`, `worker`,
        `departed_s`, `completed_s`, `travel_m`, `reward`.
        """
        from geodp.runs.tables import tabulate_tasks

        return tabulate_tasks(self._one_world("tasks"))

    @cached_property
    def offers(self) -> geopandas.GeoDataFrame:
        """One row per offer that was made; the geometry is the circle or the region in which people were asked.

        Columns as in `server_view`. Where people were asked by name, the geometry is the place of the task.
        """
        from geodp.runs.tables import tabulate_offers

        return tabulate_offers(self._one_world("offers"))

    @cached_property
    def server_view(self) -> geopandas.GeoDataFrame:
        """One row per decision of the server, at the place of the task as the server knew it.

        `task`, `round`, `time_s`, `reward`, `radius_m`, `planned_success`, `density_per_m2`, `expected_workers`,
        `unreachable` (why no offer was made), `notes`, `winners` (pseudonyms), `answered_s`, `completed_s`, …
        """
        from geodp.runs.tables import tabulate_server_view

        return tabulate_server_view(self._one_world("server_view"))

    @cached_property
    def trips(self) -> geopandas.GeoDataFrame:
        """One row per worker who went to a task, a line from her place to the task's (truth).

        `task`, `worker`, `departed_s`, `completed_s`, `travel_m`, `reward`.
        """
        from geodp.runs.tables import tabulate_trips

        return tabulate_trips(self._one_world("trips"))

    def _one_world(self, what: str) -> RunFolder:
        """Return the folder, unless the run is a comparison, whose arms have tables of their own."""
        if names := list(self.folder.arms):
            raise UsageError(
                f"this run compares arms ({', '.join(names)}), each with its own {what}: run.arms[{names[0]!r}].{what}."
            )
        return self.folder

    @property
    def arms(self) -> dict[str, RunResult]:
        """The arms of a comparison ({} for a plain run)."""
        return {name: RunResult(arm.path, trust_plugins=arm.trust_plugins) for name, arm in self.folder.arms.items()}

    @property
    def comparison(self) -> pd.DataFrame:
        """The arms side by side with paired differences."""
        import pandas as pd

        return pd.read_csv(self.folder.file("comparison.csv"))

    def map(
        self, *, public: bool = False, basemap: str | Path | None = None, places: str | Path | None = None
    ) -> OfflineMap:
        """Return the map: a Folium map that opens with no network, and to which anything of Folium can be added.

        Parameters
        ----------
        public
            Whether to leave out everything that was not released.
        basemap
            What lies beneath, instead of what the scenario says: `none`, `streets`, `osm`, or a file.
        places
            A gazetteer whose names the map shows, instead of the scenario's.
        """
        from geodp.display.map import make_map

        return make_map(self.folder, public=public, basemap=basemap, places=places)

    def summary(self) -> str:
        """Return the summary as Markdown."""
        return (self.path / "summary.md").read_text(encoding="utf-8")

    def __repr__(self) -> str:
        return f"RunResult({str(self.path)!r})"

    def show(self) -> None:
        """Show numbers, promise and map in a notebook; elsewhere print numbers and promise."""
        from geodp.runs.notebook import describe_in_text, is_notebook

        if is_notebook():
            from IPython.display import display

            display(self)  # type: ignore[no-untyped-call]
        else:
            print(describe_in_text(self.folder))

    def _repr_html_(self) -> str:
        from geodp.runs.notebook import describe_in_html

        return describe_in_html(self.folder) + self.map()._repr_html_()

    def _repr_markdown_(self) -> str:
        return self.summary()


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
