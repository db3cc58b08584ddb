"""What the server planned, against what was true: success, distances, radii, and the regions in which it asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric, TaskMetric, TaskShare
from geodp.metrics.intervals import mean
from geodp.metrics.protocol import (
    find_noted_tasks,
    first_offers,
    first_plans,
    first_regions,
    in_last_circle,
    last_offers,
    plans_circles,
    plans_regions,
)
from geodp.public.events import Note, Reason

if TYPE_CHECKING:
    import pandas as pd

    from geodp.run_folder.folder import RunFolder


class Plan(Metric):
    """Metrics of plans."""

    topic: ClassVar[str] = "plan"


class PlannedSuccess(Plan, TaskMetric):
    """Probability of acceptance that the server's own model expects, mean over offered tasks (mean ASP).

    The first offer of each task counts; unreachable tasks have none and are left out. Undefined with
    `worker_selected`, where nothing is planned.

    Reference
    ---------
    Zhu et al. 2017, Differential Privacy and Applications, eq. (13.9)-(13.11): acceptance probability ASP.
    """

    kind: ClassVar[str] = "planned_success"
    label: ClassVar[str] = "planned success"
    unit: ClassVar[str] = "share"

    def per_task(self, run: RunFolder) -> pd.Series:
        """Return the probability planned for each offered task."""
        return first_offers(run)["planned_success"].astype("float64").dropna()


class SuccessGap(Plan, TaskMetric):
    """Realised minus planned success of the first offers, paired task by task.

    Mean over the answered first offers of (1 when it found a worker, else 0) minus the probability that the
    server planned for that very offer. Like is compared with like: what re-offers add is not in it, nor are
    unreachable tasks, so it differs from `success_rate` - `planned_success`. Zero is honest planning;
    negative means that the server promised too much.
    """

    kind: ClassVar[str] = "success_gap"
    label: ClassVar[str] = "realised minus planned success"
    unit: ClassVar[str] = "share difference"

    def per_task(self, run: RunFolder) -> pd.Series:
        """Return realised (0 or 1) minus planned success of each answered first offer."""
        offers = first_offers(run)
        answered = offers[offers["answered_s"].notna()]
        realised = answered["winners"].astype(bool).astype("float64")
        return (realised - answered["planned_success"].astype("float64")).dropna()


class ExpectedSuccess(Plan, TaskMetric):
    """Chance that enough of the people asked in all rounds accept, from the truth at the first offer; mean over tasks.

    1 - Π(1 - θ) over the idle people whom the first offer asks in all its rounds, each from where she is when it goes
    out: success without the luck of single answers, and so the measure at which methods are compared at equal success.
    Tasks without an offer are left out; undefined with `worker_selected`, and in runs of earlier versions.
    """

    kind: ClassVar[str] = "expected_success"
    label: ClassVar[str] = "expected success"
    unit: ClassVar[str] = "share"
    better: ClassVar[str] = "higher"

    def per_task(self, run: RunFolder) -> pd.Series | None:
        """Return the chance of each offered task."""
        return None if run.offer_truth.empty else run.offer_truth["expected_success"].sort_index()


class DensityErrorAtOffers(Plan, TaskMetric):
    """Error of the number of idle people that the server expects inside its first offers, against the true number.

    |expected - true| / max(true, 1), mean over offered tasks. By age of the release: `…_age_600` are offers from
    releases younger than 600 s, `…_age_1800` up to 1,800 s, `…_age_older` the others, where there is more than one of
    these. Only where offers go to people in a place.
    """

    kind: ClassVar[str] = "density_error_at_offers"
    label: ClassVar[str] = "error of people expected inside offers"
    unit: ClassVar[str] = "share"
    better: ClassVar[str] = "lower"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Return the mean error, and by age."""
        error = self.per_task(run)
        if error is None:
            return {}
        age_s = run.offer_truth["age_s"].reindex(error.index)
        ages = {"600": age_s < 600, "1800": (age_s >= 600) & (age_s < 1800), "older": age_s >= 1800}
        aged = {f"{self.kind}_age_{name}": error[which] for name, which in ages.items() if which.any()}
        return {self.kind: mean(error)} | {key: mean(values) for key, values in aged.items() if len(aged) > 1}

    def per_task(self, run: RunFolder) -> pd.Series | None:
        """Return the error of each offered task."""
        signed = DensityBiasAtOffers().per_task(run)
        return None if signed is None else signed.abs()


class DensityBiasAtOffers(Plan, TaskMetric):
    """Signed error of the number of idle people expected inside first offers: (expected - true) / max(true, 1), mean.

    Positive: the server expects more than there are. Only where offers go to people in a place.
    """

    kind: ClassVar[str] = "density_error_at_offers_signed"
    label: ClassVar[str] = "signed error of people expected inside offers"
    unit: ClassVar[str] = "share"

    def per_task(self, run: RunFolder) -> pd.Series | None:
        """Return the signed error of each offered task."""
        if run.offer_truth.empty or not (plans_circles(run) or plans_regions(run)):
            return None
        true = run.offer_truth["idle_workers"].astype("float64")
        expected = first_offers(run)["expected_workers"].astype("float64").reindex(true.index)
        error: pd.Series = ((expected - true) / true.clip(lower=1)).dropna().sort_index()
        return error


class DistanceError(Plan, TaskMetric):
    """True mean distance of the workers in the circle against the model's 2r/3, mean over offered tasks (DE).

    |mean true distance of the workers in the circle - 2r/3|, with r the radius of the last (widest) offer.
    Workers spread evenly over a disc of radius r lie 2r/3 from its centre on average. Tasks with nobody in
    the circle have no mean distance and are left out; with `worker_selected` there are no circles. The book
    uses DE without defining it; this is our definition.

    Reference
    ---------
    Zhu et al. 2017, Differential Privacy and Applications, eq. (13.10) and section 13.3.4.
    """

    kind: ClassVar[str] = "distance_error_m"
    label: ClassVar[str] = "error about distances"
    unit: ClassVar[str] = "m"
    better: ClassVar[str] = "lower"

    def per_task(self, run: RunFolder) -> pd.Series:
        """Return the error of each offered task that had somebody in its circle."""
        true_mean_m = in_last_circle(run).groupby("task")["distance_m"].mean()
        radius_m = last_offers(run)["radius_m"].astype("float64")
        if not plans_circles(run):
            return radius_m.iloc[:0]
        error: pd.Series = (true_mean_m - 2 * radius_m / 3).abs()  # book eq. 13.10: E d = 2r/3
        return error.dropna()


class RejectionRatio(Plan, TaskShare):
    """Share of tasks whose average worker would have to travel further than any is willing to (RejR).

    2r/3 > maximum travel distance of the workers, with r the radius that the model asked for in its first
    plan *before* any cap; an infinite radius (none suffices) counts as rejected. Tasks for which no radius
    was worked out (no release, no money left, a solver's non-positive radius, counted by `negative_radii`,
    or an offer that states none) are left out; with `worker_selected` there are no radii. The book uses
    RejR without defining it; this is our definition. Interval: Wilson.

    Reference
    ---------
    Zhu et al. 2017, Differential Privacy and Applications, section 13.3.4, fig. 13.9.
    """

    kind: ClassVar[str] = "rejection_ratio"
    label: ClassVar[str] = "tasks out of reach"
    better: ClassVar[str] = "lower"

    def per_task(self, run: RunFolder) -> pd.Series:
        """Return 1 for a task out of reach, else 0, for each task with a radius."""
        plans = first_plans(run)
        radius_m = plans["uncapped_radius_m"].astype("float64").fillna(float("inf"))
        has_radius = ~plans["unreachable"].isin([Reason.PURSE_EMPTY, Reason.NO_RELEASE]) & (radius_m > 0)
        has_radius &= plans["uncapped_radius_m"].notna() | (plans["unreachable"] != Reason.NONE)
        if not plans_circles(run):
            has_radius[:] = False
        return (2 * radius_m[has_radius] / 3 > run.scenario.workers.acceptance.max_travel_m).astype("float64")


class NotedTasks(Plan):
    """Metrics that count the tasks on which the server's solver left a note in any round."""

    unit: ClassVar[str] = "tasks"
    better: ClassVar[str] = "lower"
    note: ClassVar[Note]

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Count the tasks."""
        return {self.kind: Measured(int(find_noted_tasks(run, self.note).sum()))}


class NegativeRadii(NotedTasks):
    """Number of tasks for which the solver returned a radius that is not positive.

    The Taylor solution does so wherever density times reward is high.

    Reference
    ---------
    Zhu et al. 2017, Differential Privacy and Applications, eq. (13.16).
    """

    kind: ClassVar[str] = "negative_radii"
    label: ClassVar[str] = "tasks without a usable radius"
    note: ClassVar[Note] = Note.NEGATIVE_RADIUS


class UnderOneWorker(NotedTasks):
    """Number of tasks offered to a circle in which the server itself expects less than one worker.

    1 - (1 - θ)^n with n < 1 promises what fractions of workers cannot keep: the printed model does so at high
    reward and density; a Poisson field needs n ≥ -ln(1 - target) whatever the reward.

    Reference
    ---------
    Zhu et al. 2017, Differential Privacy and Applications, eq. (13.9).
    """

    kind: ClassVar[str] = "under_one_worker"
    label: ClassVar[str] = "tasks offered to less than one worker"
    note: ClassVar[Note] = Note.UNDER_ONE_WORKER


class CellsPerRegion(Plan, TaskMetric):
    """Cells in a task's first region, mean over offered tasks; a part of a cell counts as one. Only for regions."""

    kind: ClassVar[str] = "cells_per_region"
    label: ClassVar[str] = "cells per region"
    unit: ClassVar[str] = "cells"

    def per_task(self, run: RunFolder) -> pd.Series | None:
        """Return the number of cells of each task's first region."""
        import pandas as pd

        if not plans_regions(run):
            return None
        regions = first_regions(run)
        index = pd.Index(list(regions), name="task", dtype="int64")
        return pd.Series([float(len(edges)) for edges in regions.values()], index=index, dtype="float64")


class Compactness(Plan, TaskMetric):
    """Area of a task's first region against that of the smallest circle around it, mean over offered tasks.

    At most 1; a square has 2/π = 0.64. Only for regions of cells.

    Reference
    ---------
    To, Ghinita and Shahabi 2014, digital compactness measurement (after Kim and Anderson 1984).
    """

    kind: ClassVar[str] = "compactness"
    label: ClassVar[str] = "compactness of regions"
    unit: ClassVar[str] = "share"
    better: ClassVar[str] = "higher"

    def per_task(self, run: RunFolder) -> pd.Series | None:
        """Return the ratio of each task's first region."""
        import numpy as np
        import pandas as pd
        import shapely

        if not plans_regions(run):
            return None
        regions = first_regions(run)
        edges = np.concatenate([np.empty((0, 4)), *regions.values()])
        owner = np.repeat(np.arange(len(regions)), [len(region) for region in regions.values()])
        corners = shapely.points(edges[:, [0, 0, 2, 2]].ravel(), edges[:, [1, 3, 1, 3]].ravel())
        radius = shapely.minimum_bounding_radius(shapely.multipoints(corners, indices=np.repeat(owner, 4)))
        sides = edges[:, 2:] - edges[:, :2]
        area = np.bincount(owner, weights=sides[:, 0] * sides[:, 1], minlength=len(regions))
        index = pd.Index(list(regions), name="task", dtype="int64")
        return pd.Series(area / (np.pi * radius**2), index=index)
