"""How like the workers' own trips published trajectories are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, PublicationMetric
from geodp.run_folder import mobility_scores
from geodp.run_folder import trip_scores as scores

if TYPE_CHECKING:
    from geodp.run_folder.folder import RunFolder
    from geodp.run_folder.published import PublishedRun


class TrajectoryScore(PublicationMetric):
    """Metrics that are the score of two tables of trajectories that has their name."""

    published: ClassVar[str] = "trajectories"

    def score(self, run: RunFolder, item: PublishedRun) -> dict[str, Measured]:
        """Hold the published trajectories against the workers' own."""
        score = mobility_scores.ALL_SCORES[self.kind]
        return {self.kind: Measured(score(run.trajectories, item.read_trips(), run.scenario.area))}


class Divergence(TrajectoryScore):
    """Scores that are a divergence of two distributions."""

    unit: ClassVar[str] = "nats"
    better: ClassVar[str] = "lower"


class DensityJsd(Divergence):
    """Divergence of where the points are: published trajectories against true ones, 20 x 20 cells.

    Jensen-Shannon divergence (natural logarithm, no root: 0 to 0.693) of the shares of points in 20 x 20 cells of the
    region's box. 0 is equal.
    """

    kind: ClassVar[str] = "density_jsd"
    label: ClassVar[str] = "divergence of where points are"


class TransitionJsd(Divergence):
    """Divergence of moves from one cell to the next, 20 x 20 cells.

    Jensen-Shannon divergence (natural logarithm, no root) of the moves to another cell, those included that straight
    lines between points make.
    """

    kind: ClassVar[str] = "transition_jsd"
    label: ClassVar[str] = "divergence of moves"


class TripJsd(Divergence):
    """Divergence of start and end cells of trajectories, 6 x 6 cells each.

    Jensen-Shannon divergence (natural logarithm, no root) of the pairs of first and last cell. 0 is equal.
    """

    kind: ClassVar[str] = "trip_jsd"
    label: ClassVar[str] = "divergence of trip ends"


class DiameterJsd(Divergence):
    """Divergence of the diameters of trajectories.

    The diameter is the greatest distance between two points. Jensen-Shannon divergence (natural logarithm, no root)
    over 20 bins up to the greatest true diameter and one bin beyond.
    """

    kind: ClassVar[str] = "diameter_jsd"
    label: ClassVar[str] = "divergence of trip diameters"


class LengthJsd(Divergence):
    """Divergence of the path lengths of trajectories.

    Jensen-Shannon divergence (natural logarithm, no root) over 20 bins up to the greatest true length and one bin
    beyond.
    """

    kind: ClassVar[str] = "length_jsd"
    label: ClassVar[str] = "divergence of trip lengths"


class PathLengthRatio(TrajectoryScore):
    """Mean length of a published path over that of a true one.

    Above 1, published paths zigzag or are too long; below 1, they are cut short.
    """

    kind: ClassVar[str] = "path_length_ratio"
    label: ClassVar[str] = "length of published paths over true ones"


class PatternF1(TrajectoryScore):
    """How well the 100 most frequent runs of 2 to 5 cells agree: F1.

    Runs are contiguous, on 6 x 6 cells, with the cells that straight lines between points pass; each occurrence counts.
    """

    kind: ClassVar[str] = "pattern_f1"
    label: ClassVar[str] = "agreement of frequent patterns (F1)"
    better: ClassVar[str] = "higher"


class KendallTau(TrajectoryScore):
    """Whether popular places stay popular: Kendall's tau-b of point counts, 20 x 20 cells.

    1 is the same order, 0 no relation.
    """

    kind: ClassVar[str] = "kendall_tau"
    label: ClassVar[str] = "agreement of popular places (τ)"
    better: ClassVar[str] = "higher"


class QueryArePts(TrajectoryScore):
    """Mean relative error of the share of points in 500 random rectangles.

    Rectangles with sides 5 to 30 % of the box, the same for every run; |true − published| over the true share, at least
    1 %.
    """

    kind: ClassVar[str] = "query_are_pts"
    label: ClassVar[str] = "relative error of point shares"
    better: ClassVar[str] = "lower"


class QueryAre(TrajectoryScore):
    """Mean relative error of the number of trajectories with a point in 500 random rectangles.

    Rectangles as for `query_are_pts`; |true − published| over the true number, at least 1 % of all trajectories.
    Counting too few costs at most 1, too many any amount: it rewards published sets that are too small. Never read it
    alone.
    """

    kind: ClassVar[str] = "query_are"
    label: ClassVar[str] = "relative error of range queries"
    better: ClassVar[str] = "lower"


class Memorisation(PublicationMetric):
    """Whether published trajectories repeat true ones: median distance to the nearest, over that of people held out.

    The nearest is looked for in one half of the people; the other half has the distance that trips of strangers have.
    Near or above 1 is no copying, and no proof of anything else: this sees next to nothing of what was learnt by heart
    (an area under the curve of .55 where the attack `synthetic_membership` has .97). `memorised_share` is the share of
    published trajectories that are nearer than all but 5 % of the strangers' ones: about 0.05 when nothing is copied.
    """

    kind: ClassVar[str] = "memorisation"
    label: ClassVar[str] = "distance to the nearest true trip"
    labels: ClassVar[Mapping[str, str]] = {"memorised_share": "published trips that repeat a true one"}
    units: ClassVar[Mapping[str, str]] = {"memorised_share": "share"}
    published: ClassVar[str] = "trajectories"

    def score(self, run: RunFolder, item: PublishedRun) -> dict[str, Measured]:
        """Look for the nearest true trip of every published one."""
        found = scores.memorisation(run.trajectories, item.read_trips())
        return {self.kind: Measured(found.ratio), "memorised_share": Measured(found.near_share)}


class TurningRadPerKm(TrajectoryScore):
    """How much published trips turn at their points, radians per kilometre.

    `turning_ratio` is the same over what true trips turn, `straight_ratio` the share of steps that go on within 15
    degrees over the share of true ones: near 1 the published trips bend as true ones do.
    """

    kind: ClassVar[str] = "turning_rad_per_km"
    label: ClassVar[str] = "turning of published trips"
    unit: ClassVar[str] = "rad/km"
    labels: ClassVar[Mapping[str, str]] = {
        "turning_ratio": "turning over that of true trips",
        "straight_ratio": "straight steps over those of true trips",
    }

    def score(self, run: RunFolder, item: PublishedRun) -> dict[str, Measured]:
        """Add up the angles between steps."""
        made, keys = item.read_trips(), (self.kind, *self.labels)
        found = mobility_scores.MOBILITY_SCORES
        return {key: Measured(found[key](run.trajectories, made, run.scenario.area)) for key in keys}


class GyrationJsd(Divergence):
    """Divergence of radii of gyration: how far trips spread around their middle.

    Jensen-Shannon divergence (natural logarithm, no root) over 20 bins up to the greatest true radius and one beyond.
    """

    kind: ClassVar[str] = "gyration_jsd"
    label: ClassVar[str] = "divergence of radii of gyration"


class SpacingJsd(Divergence):
    """Divergence of mean distances between the points of a trip.

    Jensen-Shannon divergence (natural logarithm, no root) over 20 bins of the logarithm.
    """

    kind: ClassVar[str] = "spacing_jsd"
    label: ClassVar[str] = "divergence of spacings"


class SpeedJsd(Divergence):
    """Divergence of trips' mean speeds.

    Jensen-Shannon divergence (natural logarithm, no root) over 20 bins of the logarithm.
    """

    kind: ClassVar[str] = "speed_jsd"
    label: ClassVar[str] = "divergence of speeds"


class HourJsd(Divergence):
    """Divergence of the hours of the day at which trips depart.

    Jensen-Shannon divergence (natural logarithm, no root) over 24 hours.
    """

    kind: ClassVar[str] = "hour_jsd"
    label: ClassVar[str] = "divergence of hours of departure"


class PointsJsd(Divergence):
    """Divergence of the numbers of points per trip.

    Jensen-Shannon divergence (natural logarithm, no root) over 20 bins of the logarithm.
    """

    kind: ClassVar[str] = "points_jsd"
    label: ClassVar[str] = "divergence of points per trip"


class OdCpc(TrajectoryScore):
    """Common part of the 100 most frequent true pairs of first and last cell, 6 x 6 cells each.

    Twice the smaller shares over all shares: 1 is equal, 0 nothing in common.
    """

    kind: ClassVar[str] = "od_cpc"
    label: ClassVar[str] = "common part of frequent pairs of ends"
    better: ClassVar[str] = "higher"


class RouteDiversityRatio(TrajectoryScore):
    """How far apart published routes between the same cells are, over how far apart true ones are.

    Below 1, published trips between two places are more alike than true ones.
    """

    kind: ClassVar[str] = "route_diversity_ratio"
    label: ClassVar[str] = "diversity of routes over that of true ones"


class OnStreetShare(PublicationMetric):
    """Share of published points within 25 m of a street, where the run or the publication has streets.

    `off_street_share` is the share of points more than 200 m away from all streets.
    """

    kind: ClassVar[str] = "on_street_share"
    label: ClassVar[str] = "published points on streets"
    unit: ClassVar[str] = "share"
    better: ClassVar[str] = "higher"
    labels: ClassVar[Mapping[str, str]] = {"off_street_share": "published points far from streets"}
    units: ClassVar[Mapping[str, str]] = {"off_street_share": "share"}
    published: ClassVar[str] = "trajectories"

    def score(self, run: RunFolder, item: PublishedRun) -> dict[str, Measured]:
        """Measure the distance of points from the nearest street."""
        network = run.network
        if network is None:
            return {self.kind: Measured(None), "off_street_share": Measured(None)}
        on, off = mobility_scores.street_shares(item.read_trips(), network)
        return {self.kind: Measured(on), "off_street_share": Measured(off)}
