"""One Folium element per kind of layer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from geodp import geometry
from geodp.display.folium_map import DrawnLayer
from geodp.display.page import Page
from geodp.errors import UsageError
from geodp.public.release import Cells, Points
from geodp.registry import plugin
from geodp.run_folder.folder import RunFolder

if TYPE_CHECKING:
    from geodp.display.layers import Layer

MAX_POINTS = 5000
"""Maximum number of things drawn per layer, where nobody says otherwise."""


class PluginLayer(DrawnLayer):
    """A layer of a run, of any kind that is known, on any Folium map.

    Parameters
    ----------
    run
        A run (as `geodp.run` and `geodp.open_run` return it) or its folder. Of a comparison: one of its `arms`.
    kind
        Kind of the layer, as it stands under `map.layers` of a scenario; plug-ins of one's own are layers, too.
    name
        What layer controls call it (default: the layer's own title).
    show
        Whether it is shown when the map opens.
    control
        Whether layer controls list it.
    max_points
        Maximum number of things drawn.
    **fields
        Fields of the layer, as in a scenario.

    Raises
    ------
    UsageError
        If the run is a comparison, or no layer is of that kind.

    Examples
    --------
    >>> import folium, geodp
    >>> small = {"duration_s": 600, "workers.source.count": 200}
    >>> run = geodp.run("scenarios/quickstart.yaml", "drawn", overrides=small, draw_map=False)
    >>> m = folium.Map()
    >>> layer = geodp.layers.PluginLayer(run, "trips", max_trips=10).add_to(m)
    >>> layer.layer_name
    'Trips'
    """

    def __init__(
        self,
        run: Any,
        kind: str,
        *,
        name: str | None = None,
        show: bool = True,
        control: bool = True,
        max_points: int = MAX_POINTS,
        **fields: Any,
    ) -> None:
        folder = _open_folder(run)
        page = _new_page(folder.region, max_points)
        scenario = folder.scenario
        page.start_s, page.duration_s = scenario.start_s, scenario.duration_s
        page.release_times = [release.time_s for release in folder.releases]
        layer: Layer = plugin(kind, "layer", **fields)
        layer.draw(folder, page)
        super().__init__(page, layer.title if name is None else name, show=show, control=control)


class _KindLayer(PluginLayer):
    """A layer of one kind, of a run."""

    kind: ClassVar[str]

    def __init__(self, run: Any, **options: Any) -> None:
        super().__init__(run, self.kind, **options)


class _ReleasedLayer(DrawnLayer):
    """A layer of one kind, of releases or of a whole run."""

    kind: ClassVar[str]

    def __init__(
        self,
        released: Any,
        *,
        region: geometry.Region | None = None,
        name: str | None = None,
        show: bool = True,
        control: bool = True,
        max_points: int = MAX_POINTS,
        **fields: Any,
    ) -> None:
        layer: Layer = plugin(self.kind, "layer", **fields)
        if isinstance(released, RunFolder | str | Path) or hasattr(released, "folder"):
            folder = _open_folder(released)
            page = _new_page(folder.region, max_points)
            page.start_s, page.duration_s = folder.scenario.start_s, folder.scenario.duration_s
            page.release_times = [release.time_s for release in folder.releases]
            layer.draw(folder, page)
        else:
            made = _ReleasesAlone(released, region)
            page = _new_page(made.region, max_points)
            times = page.release_times = [release.time_s for release in made.releases]
            page.duration_s = max(times[-1] - min(times[0], 0.0), 1.0)
            stand_in: Any = made  # these layers read the releases and nothing else
            layer.draw(stand_in, page)
        super().__init__(page, layer.title if name is None else name, show=show, control=control)


class _ReleasesAlone:
    """Releases without their run: what layers of released data read."""

    def __init__(self, released: Any, region: geometry.Region | None) -> None:
        items = list(released) if isinstance(released, Sequence) else [released]
        if not items:
            raise UsageError("there is no release to draw")
        self.releases = [getattr(item, "data", item) for item in items]
        wrong = [type(item).__name__ for item in self.releases if not isinstance(item, Cells | Points)]
        if wrong:
            raise UsageError(f"a {wrong[0]} is not a release: give a run, a release of it, or a list of releases")
        known = [item.region for item in items if hasattr(item, "region")]
        if region is None and not known:
            raise UsageError("a release counts metres from the centre of a region: give region=")
        self.region = known[0] if region is None else region


def _open_folder(run: Any) -> RunFolder:
    """Return the folder of a run, however it is given."""
    folder = getattr(run, "folder", run)
    opened = folder if isinstance(folder, RunFolder) else RunFolder(Path(folder))
    if opened.arms:
        names = ", ".join(opened.arms)
        raise UsageError(
            f"this run compares arms ({names}): give one of them, as in run.arms['{next(iter(opened.arms))}']"
        )
    return opened


def _new_page(region: geometry.Region, max_points: int) -> Page:
    return Page(region, max_points=max_points, public=False)


class ReleasedDensity(_ReleasedLayer):
    """Released worker density: filled contours, or cells where there are no contours.

    Parameters
    ----------
    released
        A release, a list of releases, or a run.
    region
        The region in whose metres a bare release counts (default: the release's own).
    name
        What layer controls call it (default: the layer's own title).
    show
        Whether it is shown when the map opens.
    control
        Whether layer controls list it.
    max_points
        Maximum number of things drawn.
    **fields
        Fields of the layer `release`.

    Raises
    ------
    UsageError
        If it is no release, or nothing says where it lies.

    Examples
    --------
    >>> import folium, geodp
    >>> small = {"duration_s": 600, "workers.source.count": 200}
    >>> run = geodp.run("scenarios/quickstart.yaml", "drawn", overrides=small, draw_map=False)
    >>> release = run.folder.releases[0]
    >>> layer = geodp.layers.ReleasedDensity(release, region=run.folder.region).add_to(folium.Map())
    """

    kind: ClassVar[str] = "release"


class ReleasedCells(_ReleasedLayer):
    """Noisy count of every released cell.

    Parameters
    ----------
    released
        A release, a list of releases, or a run.
    region
        The region in whose metres a bare release counts (default: the release's own).
    name
        What layer controls call it (default: the layer's own title).
    show
        Whether it is shown when the map opens.
    control
        Whether layer controls list it.
    max_points
        Maximum number of things drawn.
    **fields
        Fields of the layer `cells`.

    Raises
    ------
    UsageError
        If it is no release, or nothing says where it lies.

    Examples
    --------
    >>> import folium, geodp
    >>> small = {"duration_s": 600, "workers.source.count": 200}
    >>> run = geodp.run("scenarios/quickstart.yaml", "drawn", overrides=small, draw_map=False)
    >>> release = run.folder.releases[0]
    >>> layer = geodp.layers.ReleasedCells(release, region=run.folder.region).add_to(folium.Map())
    """

    kind: ClassVar[str] = "cells"


class PhoneReports(_ReleasedLayer):
    """Places that phones reported to the server, a sample of people.

    Parameters
    ----------
    released
        A release, a list of releases, or a run.
    region
        The region in whose metres a bare release counts (default: the release's own).
    name
        What layer controls call it (default: the layer's own title).
    show
        Whether it is shown when the map opens.
    control
        Whether layer controls list it.
    max_points
        Maximum number of things drawn.
    **fields
        Fields of the layer `reports`.

    Raises
    ------
    UsageError
        If it is no release, or nothing says where it lies.

    Examples
    --------
    >>> import folium, geodp
    >>> small = {"duration_s": 600, "workers.source.count": 200}
    >>> run = geodp.run("scenarios/quickstart.yaml", "drawn", overrides=small, draw_map=False)
    >>> release = run.folder.releases[0]
    >>> layer = geodp.layers.PhoneReports(release, region=run.folder.region).add_to(folium.Map())
    """

    kind: ClassVar[str] = "reports"


class EstimatedDensity(_KindLayer):
    """Density that the server works out from the reports of phones.

    Parameters
    ----------
    run
        A run or its folder; of a comparison, one of its `arms`.
    **options
        `name`, `show`, `control`, `max_points` as of `PluginLayer`, and fields of the layer `estimate`.

    Examples
    --------
    >>> import folium, geodp
    >>> small = {"duration_s": 600, "workers.source.count": 200}
    >>> run = geodp.run("scenarios/quickstart.yaml", "drawn", overrides=small, draw_map=False)
    >>> layer = geodp.layers.EstimatedDensity(run).add_to(folium.Map())
    """

    kind: ClassVar[str] = "estimate"


class TrueDensity(_KindLayer):
    """True worker density when the first release was made (truth).

    Parameters
    ----------
    run
        A run or its folder; of a comparison, one of its `arms`.
    **options
        `name`, `show`, `control`, `max_points` as of `PluginLayer`, and fields of the layer `density`.

    Examples
    --------
    >>> import folium, geodp
    >>> small = {"duration_s": 600, "workers.source.count": 200}
    >>> run = geodp.run("scenarios/quickstart.yaml", "drawn", overrides=small, draw_map=False)
    >>> layer = geodp.layers.TrueDensity(run).add_to(folium.Map())
    """

    kind: ClassVar[str] = "density"


class TaskOutcomes(_KindLayer):
    """Tasks by outcome, each with its offer in a tooltip (truth).

    Parameters
    ----------
    run
        A run or its folder; of a comparison, one of its `arms`.
    **options
        `name`, `show`, `control`, `max_points` as of `PluginLayer`, and fields of the layer `tasks`.

    Examples
    --------
    >>> import folium, geodp
    >>> small = {"duration_s": 600, "workers.source.count": 200}
    >>> run = geodp.run("scenarios/quickstart.yaml", "drawn", overrides=small, draw_map=False)
    >>> layer = geodp.layers.TaskOutcomes(run).add_to(folium.Map())
    """

    kind: ClassVar[str] = "tasks"


class Offers(_KindLayer):
    """Circles or regions of the offers, a sample of them.

    Parameters
    ----------
    run
        A run or its folder; of a comparison, one of its `arms`.
    **options
        `name`, `show`, `control`, `max_points` as of `PluginLayer`, and fields of the layer `offers`.

    Examples
    --------
    >>> import folium, geodp
    >>> small = {"duration_s": 600, "workers.source.count": 200}
    >>> run = geodp.run("scenarios/quickstart.yaml", "drawn", overrides=small, draw_map=False)
    >>> layer = geodp.layers.Offers(run).add_to(folium.Map())
    """

    kind: ClassVar[str] = "offers"


class RegionGrowth(_KindLayer):
    """Cells of one task's region in the order in which they were taken.

    Parameters
    ----------
    run
        A run or its folder; of a comparison, one of its `arms`.
    **options
        `name`, `show`, `control`, `max_points` as of `PluginLayer`, and fields of the layer `growth`.

    Examples
    --------
    >>> import folium, geodp
    >>> small = {"duration_s": 600, "workers.source.count": 200}
    >>> run = geodp.run("scenarios/quickstart.yaml", "drawn", overrides=small, draw_map=False)
    >>> layer = geodp.layers.RegionGrowth(run).add_to(folium.Map())
    """

    kind: ClassVar[str] = "growth"


class Trips(_KindLayer):
    """Trips from where a worker stood to the task (truth).

    Parameters
    ----------
    run
        A run or its folder; of a comparison, one of its `arms`.
    **options
        `name`, `show`, `control`, `max_points` as of `PluginLayer`, and fields of the layer `trips`.

    Examples
    --------
    >>> import folium, geodp
    >>> small = {"duration_s": 600, "workers.source.count": 200}
    >>> run = geodp.run("scenarios/quickstart.yaml", "drawn", overrides=small, draw_map=False)
    >>> layer = geodp.layers.Trips(run).add_to(folium.Map())
    """

    kind: ClassVar[str] = "trips"


class MovingWorkers(_KindLayer):
    """True positions of a sample of workers, moving with the clock (truth).

    Parameters
    ----------
    run
        A run or its folder; of a comparison, one of its `arms`.
    **options
        `name`, `show`, `control`, `max_points` as of `PluginLayer`, and fields of the layer `workers`.

    Examples
    --------
    >>> import folium, geodp
    >>> small = {"duration_s": 600, "workers.source.count": 200}
    >>> run = geodp.run("scenarios/quickstart.yaml", "drawn", overrides=small, draw_map=False)
    >>> layer = geodp.layers.MovingWorkers(run).add_to(folium.Map())
    """

    kind: ClassVar[str] = "workers"


class ReportErrors(_KindLayer):
    """Lines from where people were to what their phones reported (truth).

    Parameters
    ----------
    run
        A run or its folder; of a comparison, one of its `arms`.
    **options
        `name`, `show`, `control`, `max_points` as of `PluginLayer`, and fields of the layer `report_errors`.

    Examples
    --------
    >>> import folium, geodp
    >>> small = {"duration_s": 600, "workers.source.count": 200}
    >>> run = geodp.run("scenarios/quickstart.yaml", "drawn", overrides=small, draw_map=False)
    >>> layer = geodp.layers.ReportErrors(run).add_to(folium.Map())
    """

    kind: ClassVar[str] = "report_errors"


class ReportedCloaks(_KindLayer):
    """Rectangles that were reported instead of places, for which no ε is claimed.

    Parameters
    ----------
    run
        A run or its folder; of a comparison, one of its `arms`.
    **options
        `name`, `show`, `control`, `max_points` as of `PluginLayer`, and fields of the layer `cloaks`.

    Examples
    --------
    >>> import folium, geodp
    >>> small = {"duration_s": 600, "workers.source.count": 200}
    >>> run = geodp.run("scenarios/quickstart.yaml", "drawn", overrides=small, draw_map=False)
    >>> layer = geodp.layers.ReportedCloaks(run).add_to(folium.Map())
    """

    kind: ClassVar[str] = "cloaks"


class ReportedCandidates(_KindLayer):
    """Places of a few people of which one is true, for which no ε is claimed.

    Parameters
    ----------
    run
        A run or its folder; of a comparison, one of its `arms`.
    **options
        `name`, `show`, `control`, `max_points` as of `PluginLayer`, and fields of the layer `candidates`.

    Examples
    --------
    >>> import folium, geodp
    >>> small = {"duration_s": 600, "workers.source.count": 200}
    >>> run = geodp.run("scenarios/quickstart.yaml", "drawn", overrides=small, draw_map=False)
    >>> layer = geodp.layers.ReportedCandidates(run).add_to(folium.Map())
    """

    kind: ClassVar[str] = "candidates"


class AdversaryGuesses(_KindLayer):
    """Lines from where people were to where the strongest attack thinks they are (truth).

    Parameters
    ----------
    run
        A run or its folder; of a comparison, one of its `arms`.
    **options
        `name`, `show`, `control`, `max_points` as of `PluginLayer`, and fields of the layer `guesses`.

    Examples
    --------
    >>> import folium, geodp
    >>> small = {"duration_s": 600, "workers.source.count": 200}
    >>> run = geodp.run("scenarios/quickstart.yaml", "drawn", overrides=small, draw_map=False)
    >>> layer = geodp.layers.AdversaryGuesses(run).add_to(folium.Map())
    """

    kind: ClassVar[str] = "guesses"


class ReleasedTrips(_KindLayer):
    """Published synthetic trips, a sample of them, moving with the clock.

    Parameters
    ----------
    run
        A run or its folder; of a comparison, one of its `arms`.
    **options
        `name`, `show`, `control`, `max_points` as of `PluginLayer`, and fields of the layer `synthetic_trajectories`.

    Examples
    --------
    >>> import folium, geodp
    >>> small = {"duration_s": 600, "workers.source.count": 200}
    >>> run = geodp.run("scenarios/quickstart.yaml", "drawn", overrides=small, draw_map=False)
    >>> layer = geodp.layers.ReleasedTrips(run).add_to(folium.Map())
    """

    kind: ClassVar[str] = "synthetic_trajectories"


class TrueTrips(_KindLayer):
    """True trips of a sample of workers, moving with the clock (truth).

    Parameters
    ----------
    run
        A run or its folder; of a comparison, one of its `arms`.
    **options
        `name`, `show`, `control`, `max_points` as of `PluginLayer`, and fields of the layer `true_trajectories`.

    Examples
    --------
    >>> import folium, geodp
    >>> small = {"duration_s": 600, "workers.source.count": 200}
    >>> run = geodp.run("scenarios/quickstart.yaml", "drawn", overrides=small, draw_map=False)
    >>> layer = geodp.layers.TrueTrips(run).add_to(folium.Map())
    """

    kind: ClassVar[str] = "true_trajectories"


class ReleasedPlaces(_KindLayer):
    """Places of published visits, by how many were published there.

    Parameters
    ----------
    run
        A run or its folder; of a comparison, one of its `arms`.
    **options
        `name`, `show`, `control`, `max_points` as of `PluginLayer`, and fields of the layer `released_places`.

    Examples
    --------
    >>> import folium, geodp
    >>> small = {"duration_s": 600, "workers.source.count": 200}
    >>> run = geodp.run("scenarios/quickstart.yaml", "drawn", overrides=small, draw_map=False)
    >>> layer = geodp.layers.ReleasedPlaces(run).add_to(folium.Map())
    """

    kind: ClassVar[str] = "released_places"


class ReportedPlaces(_KindLayer):
    """Places that phones named in their last report about histories.

    Parameters
    ----------
    run
        A run or its folder; of a comparison, one of its `arms`.
    **options
        `name`, `show`, `control`, `max_points` as of `PluginLayer`, and fields of the layer `told_places`.

    Examples
    --------
    >>> import folium, geodp
    >>> small = {"duration_s": 600, "workers.source.count": 200}
    >>> run = geodp.run("scenarios/quickstart.yaml", "drawn", overrides=small, draw_map=False)
    >>> layer = geodp.layers.ReportedPlaces(run).add_to(folium.Map())
    """

    kind: ClassVar[str] = "told_places"


class TruePlaces(_KindLayer):
    """Venues that people really visited, by how often (truth).

    Parameters
    ----------
    run
        A run or its folder; of a comparison, one of its `arms`.
    **options
        `name`, `show`, `control`, `max_points` as of `PluginLayer`, and fields of the layer `true_places`.

    Examples
    --------
    >>> import folium, geodp
    >>> small = {"duration_s": 600, "workers.source.count": 200}
    >>> run = geodp.run("scenarios/quickstart.yaml", "drawn", overrides=small, draw_map=False)
    >>> layer = geodp.layers.TruePlaces(run).add_to(folium.Map())
    """

    kind: ClassVar[str] = "true_places"


class VisitMoves(_KindLayer):
    """Lines from the places that one person visited to those published instead (truth).

    Parameters
    ----------
    run
        A run or its folder; of a comparison, one of its `arms`.
    **options
        `name`, `show`, `control`, `max_points` as of `PluginLayer`, and fields of the layer `replacements`.

    Examples
    --------
    >>> import folium, geodp
    >>> small = {"duration_s": 600, "workers.source.count": 200}
    >>> run = geodp.run("scenarios/quickstart.yaml", "drawn", overrides=small, draw_map=False)
    >>> layer = geodp.layers.VisitMoves(run).add_to(folium.Map())
    """

    kind: ClassVar[str] = "replacements"


class ClusterAreas(_KindLayer):
    """Outlines of the clusters of venues of a publication.

    Parameters
    ----------
    run
        A run or its folder; of a comparison, one of its `arms`.
    **options
        `name`, `show`, `control`, `max_points` as of `PluginLayer`, and fields of the layer `cluster_areas`.

    Examples
    --------
    >>> import folium, geodp
    >>> small = {"duration_s": 600, "workers.source.count": 200}
    >>> run = geodp.run("scenarios/quickstart.yaml", "drawn", overrides=small, draw_map=False)
    >>> layer = geodp.layers.ClusterAreas(run).add_to(folium.Map())
    """

    kind: ClassVar[str] = "cluster_areas"


class PublishedCounts(_KindLayer):
    """Public venues, coloured by the published number of visitors.

    Parameters
    ----------
    run
        A run or its folder; of a comparison, one of its `arms`.
    **options
        `name`, `show`, `control`, `max_points` as of `PluginLayer`, and fields of the layer `venue_counts`.

    Examples
    --------
    >>> import folium, geodp
    >>> small = {"duration_s": 600, "workers.source.count": 200}
    >>> run = geodp.run("scenarios/quickstart.yaml", "drawn", overrides=small, draw_map=False)
    >>> layer = geodp.layers.PublishedCounts(run).add_to(folium.Map())
    """

    kind: ClassVar[str] = "venue_counts"


class FootfallZones(_KindLayer):
    """Zones of the publication `flows`, coloured by the published number of people.

    Parameters
    ----------
    run
        A run or its folder; of a comparison, one of its `arms`.
    **options
        `name`, `show`, `control`, `max_points` as of `PluginLayer`, and fields of the layer `footfall`.

    Examples
    --------
    >>> import folium, geodp
    >>> small = {"duration_s": 600, "workers.source.count": 200}
    >>> run = geodp.run("scenarios/quickstart.yaml", "drawn", overrides=small, draw_map=False)
    >>> layer = geodp.layers.FootfallZones(run).add_to(folium.Map())
    """

    kind: ClassVar[str] = "footfall"


class FlowLines(_KindLayer):
    """Published flows between zones that stand out from their noise, as lines from where to where.

    Parameters
    ----------
    run
        A run or its folder; of a comparison, one of its `arms`.
    **options
        `name`, `show`, `control`, `max_points` as of `PluginLayer`, and fields of the layer `flow_lines`.

    Examples
    --------
    >>> import folium, geodp
    >>> small = {"duration_s": 600, "workers.source.count": 200}
    >>> run = geodp.run("scenarios/quickstart.yaml", "drawn", overrides=small, draw_map=False)
    >>> layer = geodp.layers.FlowLines(run).add_to(folium.Map())
    """

    kind: ClassVar[str] = "flow_lines"


class RegionOutline(DrawnLayer):
    """Outline of a region over a shade outside it, with a graticule.

    Parameters
    ----------
    region
        A `geodp.geometry.Region`, or anything that has one (a run, a release).
    graticule
        Whether meridians and parallels are drawn.
    name
        What layer controls call it.
    show
        Whether it is shown when the map opens.
    control
        Whether layer controls list it.

    Examples
    --------
    >>> import folium, geodp
    >>> from geodp.geometry import Region
    >>> layer = geodp.layers.RegionOutline(Region(10.0, 50.0, 10.08, 50.05)).add_to(folium.Map())
    >>> layer.get_bounds()
    [[50.0, 10.0], [50.05, 10.08]]
    """

    def __init__(
        self, region: Any, *, graticule: bool = True, name: str = "Region", show: bool = True, control: bool = True
    ) -> None:
        if not isinstance(region, geometry.Region):
            region = region.region if hasattr(region, "region") else _open_folder(region).region
        page = _new_page(region, MAX_POINTS)
        page.ground(plugin("region", "layer"), graticule=graticule)
        super().__init__(page, name, show=show, control=control)
