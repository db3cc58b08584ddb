"""Layers of a run, or of a single release, as elements of any Folium map.

`geodp.layers.ReleasedDensity(release).add_to(m)` adds one to a `folium.Map`; its scripts and data stand in the page, so
that it asks nothing of the network. Each draws what the layer of the same subject draws on the map of a run.
"""

from geodp.layers.elements import (
    AdversaryGuesses,
    ClusterAreas,
    EstimatedDensity,
    MovingWorkers,
    Offers,
    PhoneReports,
    PluginLayer,
    PublishedCounts,
    RegionGrowth,
    RegionOutline,
    ReleasedCells,
    ReleasedDensity,
    ReleasedPlaces,
    ReleasedTrips,
    ReportedCandidates,
    ReportedCloaks,
    ReportedPlaces,
    ReportErrors,
    TaskOutcomes,
    Trips,
    TrueDensity,
    TruePlaces,
    TrueTrips,
    VisitMoves,
)

__all__ = [
    "AdversaryGuesses",
    "ClusterAreas",
    "EstimatedDensity",
    "MovingWorkers",
    "Offers",
    "PhoneReports",
    "PluginLayer",
    "PublishedCounts",
    "RegionGrowth",
    "RegionOutline",
    "ReleasedCells",
    "ReleasedDensity",
    "ReleasedPlaces",
    "ReleasedTrips",
    "ReportErrors",
    "ReportedCandidates",
    "ReportedCloaks",
    "ReportedPlaces",
    "TaskOutcomes",
    "Trips",
    "TrueDensity",
    "TruePlaces",
    "TrueTrips",
    "VisitMoves",
]
