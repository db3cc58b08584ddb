"""How right published footfall and flows are, and what they tell of single people."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from geodp.metrics import Measured, PublicationMetric
from geodp.metrics.intervals import share

if TYPE_CHECKING:
    import pandas as pd

    from geodp.run_folder.folder import RunFolder
    from geodp.run_folder.published import PublishedRun

Array = npt.NDArray[np.float64]
LARGE = 50
"""Relative errors are of counts at least so large."""
TOP = 100
"""So many of the largest flows are looked for."""
_AT = ["day", "slot", "name"]
_PAIR = ["name", "destination"]


class FlowMetric(PublicationMetric):
    """Metrics of publications of flows; true numbers are those of all that the operator saw, without caps."""

    published: ClassVar[str] = "flows"


def lay_beside(item: PublishedRun, table: str) -> tuple[Array, Array]:
    """Return the published and the true numbers of a table that has a value for every place and time.

    Parameters
    ----------
    item
        The publication.
    table
        `footfall` (of zones) or `trips`.

    Returns
    -------
    tuple[NDArray[float64], NDArray[float64]]
        Published (0 where nothing is) and true ones.
    """
    truth, released = item.truth(table), item.released
    rows = released[released["table"] == table]
    if table == "footfall":
        rows, keys = rows[rows["level"] == "zone"], _AT
    else:
        keys = ["day", "slot"]
    both = truth.merge(rows[[*keys, "value"]], on=keys, how="left")
    return both["value"].fillna(0.0).to_numpy(np.float64), both["people"].to_numpy(np.float64)


class FootfallMae(FlowMetric):
    """Mean absolute error of people in a zone in an hour (or whatever the period is), zones and periods alike."""

    kind: ClassVar[str] = "footfall_mae"
    label: ClassVar[str] = "error of footfall"
    unit: ClassVar[str] = "people"
    better: ClassVar[str] = "lower"

    def score(self, run: RunFolder, item: PublishedRun) -> dict[str, Measured]:  # noqa: ARG002
        """Compare every zone and period."""
        value, truth = lay_beside(item, "footfall")
        return {self.kind: Measured(float(np.abs(value - truth).mean()) if truth.size else None)}


class FootfallMre(FlowMetric):
    """Median relative error of footfall, of zones and periods with at least 50 people; what is left out is off by 1."""

    kind: ClassVar[str] = "footfall_mre"
    label: ClassVar[str] = "median relative error of footfall"
    unit: ClassVar[str] = "share"
    better: ClassVar[str] = "lower"

    def score(self, run: RunFolder, item: PublishedRun) -> dict[str, Measured]:  # noqa: ARG002
        """Compare zones and periods with many people."""
        return {self.kind: Measured(_relative(*lay_beside(item, "footfall")))}


def _relative(value: Array, truth: Array) -> float | None:
    large = truth >= LARGE
    return float(np.median(np.abs(value[large] - truth[large]) / truth[large])) if large.any() else None


@lru_cache(maxsize=8)
def lay_flows_beside(item: PublishedRun) -> pd.DataFrame:
    """Return flows between zones that are published, or there in truth: period, ends, `value` and `people`.

    Period -1 is all of them together. `shown` says which are published.

    Parameters
    ----------
    item
        The publication.
    """
    import pandas as pd

    truth, released = item.truth("flows"), item.released
    rows = released[(released["table"] == "flows") & (released["level"] == "zone")]
    whole = truth.groupby(_PAIR, as_index=False)["people"].sum().assign(day=-1, slot=-1)
    keys = ["day", "slot", *_PAIR]
    both: pd.DataFrame = pd.concat([truth, whole], ignore_index=True)
    both = both.merge(rows[[*keys, "value"]], on=keys, how="outer")
    return both.assign(shown=both["value"].notna()).fillna({"value": 0.0, "people": 0.0})


class FlowMre(FlowMetric):
    """Median relative error of a period's flows of at least 50 people; a flow that is left out is off by 1."""

    kind: ClassVar[str] = "flow_mre"
    label: ClassVar[str] = "median relative error of large flows"
    unit: ClassVar[str] = "share"
    better: ClassVar[str] = "lower"
    labels: ClassVar[Mapping[str, str]] = {"flow_mre_whole": "the same of all days together"}
    units: ClassVar[Mapping[str, str]] = {"flow_mre_whole": "share"}

    def score(self, run: RunFolder, item: PublishedRun) -> dict[str, Measured]:  # noqa: ARG002
        """Compare large flows."""
        flows = lay_flows_beside(item)
        of_days = flows["day"] >= 0
        parts = {self.kind: flows[of_days], f"{self.kind}_whole": flows[~of_days]}
        return {
            key: Measured(_relative(part["value"].to_numpy(np.float64), part["people"].to_numpy(np.float64)))
            for key, part in parts.items()
        }


class PeriodMetric(FlowMetric):
    """Metrics that are a mean over the periods of flows, and `_whole`: the same of all of them together."""

    unit: ClassVar[str] = "share"
    better: ClassVar[str] = "higher"

    def score(self, run: RunFolder, item: PublishedRun) -> dict[str, Measured]:  # noqa: ARG002
        """Measure every period."""
        flows = lay_flows_beside(item)
        found = {day: self.of_period(part) for day, part in flows.groupby(["day", "slot"], sort=True)}
        whole = found.pop((-1, -1), None)
        single = [value for value in found.values() if value is not None]
        mean = Measured(float(np.mean(single)) if single else None)
        return {self.kind: mean, f"{self.kind}_whole": Measured(whole)}

    def of_period(self, flows: pd.DataFrame) -> float | None:
        """Measure one period (None: nobody travelled)."""
        raise NotImplementedError


class FlowTopkRecall(PeriodMetric):
    """Share of the 100 largest flows of a day (or other period) that are among the 100 largest published ones.

    `flow_topk_recall_whole` is of all days together.
    """

    kind: ClassVar[str] = "flow_topk_recall"
    label: ClassVar[str] = "largest flows that are found"
    labels: ClassVar[Mapping[str, str]] = {"flow_topk_recall_whole": "the same of all days together"}
    units: ClassVar[Mapping[str, str]] = {"flow_topk_recall_whole": "share"}

    def of_period(self, flows: pd.DataFrame) -> float | None:
        """Look for the largest ones."""
        true = flows[flows["people"] > 0].nlargest(TOP, "people").index
        shown = flows[flows["shown"]].nlargest(TOP, "value").index
        return len(true.intersection(shown)) / len(true) if len(true) else None


class FlowCpc(PeriodMetric):
    """Common part of published and true flows of a day (or other period): twice the smaller ones over all of both.

    1 is equal, 0 nothing in common; flows that are left out count as none. `flow_cpc_whole` is of all days together.
    """

    kind: ClassVar[str] = "flow_cpc"
    label: ClassVar[str] = "common part of flows"
    labels: ClassVar[Mapping[str, str]] = {"flow_cpc_whole": "the same of all days together"}
    units: ClassVar[Mapping[str, str]] = {"flow_cpc_whole": "share"}

    def of_period(self, flows: pd.DataFrame) -> float | None:
        """Add up the smaller ones."""
        value, truth = np.maximum(flows["value"].to_numpy(np.float64), 0.0), flows["people"].to_numpy(np.float64)
        both = value.sum() + truth.sum()
        return float(2 * np.minimum(value, truth).sum() / both) if both else None


class FlowPublishedShare(PeriodMetric):
    """Share of the people who travelled whose flow is published, on a day (or in another period)."""

    kind: ClassVar[str] = "flow_published_share"
    label: ClassVar[str] = "trips whose flow is published"
    labels: ClassVar[Mapping[str, str]] = {"flow_published_share_whole": "the same of all days together"}
    units: ClassVar[Mapping[str, str]] = {"flow_published_share_whole": "share"}

    def of_period(self, flows: pd.DataFrame) -> float | None:
        """Add up those that are there."""
        total = flows["people"].sum()
        return float(flows.loc[flows["shown"], "people"].sum() / total) if total else None


class HourlyJsd(FlowMetric):
    """Divergence of the hours of the day at which trips begin: published trips per hour against true ones.

    Jensen-Shannon divergence (natural logarithm, no root: 0 to 0.693) of all days together. 0 is equal.
    """

    kind: ClassVar[str] = "hourly_jsd"
    label: ClassVar[str] = "divergence of hours of trips"
    unit: ClassVar[str] = "nats"
    better: ClassVar[str] = "lower"

    def score(self, run: RunFolder, item: PublishedRun) -> dict[str, Measured]:  # noqa: ARG002
        """Compare the profiles of a day."""
        truth = item.truth("trips")
        value, people = lay_beside(item, "trips")
        hours = truth["slot"].to_numpy(np.int64)
        profiles = [np.maximum(np.bincount(hours, weights=numbers), 0.0) for numbers in (value, people)]
        if not all(profile.sum() > 0 for profile in profiles):
            return {self.kind: Measured(None)}
        first, second = (profile / profile.sum() for profile in profiles)
        middle = (first + second) / 2
        divergence = sum(_kullback(one, middle) for one in (first, second)) / 2
        return {self.kind: Measured(float(divergence))}


def _kullback(one: Array, other: Array) -> float:
    positive = one > 0
    return float((one[positive] * np.log(one[positive] / other[positive])).sum())


class PresenceGuess(FlowMetric):
    """How often somebody who knows everybody else's data guesses right whether a person was there on a day.

    Differential privacy's own adversary: it has the true footfall of all others, guesses for up to 500 people from the
    published footfall of zones (was it with her, or without, 50:50), and cannot do better from that table alone.
    `presence_guess_whole` is about all days together, `presence_guess_bound` and `presence_guess_whole_bound` are the
    most that the promise allows anybody, whatever they look at. ½ is tossing a coin.
    """

    kind: ClassVar[str] = "presence_guess"
    label: ClassVar[str] = "right guesses whether someone was there that day"
    unit: ClassVar[str] = "share"
    better: ClassVar[str] = "lower"
    labels: ClassVar[Mapping[str, str]] = {
        "presence_guess_whole": "right guesses whether someone was there at all",
        "presence_guess_bound": "the most that is promised, of a day",
        "presence_guess_whole_bound": "the most that is promised, of all days",
    }
    units: ClassVar[Mapping[str, str]] = dict.fromkeys(labels, "share")

    def score(self, run: RunFolder, item: PublishedRun) -> dict[str, Measured]:  # noqa: ARG002
        """Let it guess about days, and about everything."""
        spend = item.facts.get("spend", {})
        sample, truth = item.truth("sample"), item.truth("footfall")
        released = item.released
        rows = released[(released["table"] == "footfall") & (released["level"] == "zone")]
        cells = sample.merge(truth, on=_AT, how="left").merge(rows[[*_AT, "value", "sd"]], on=_AT, how="left")
        found = {}
        for key, by, about in ((self.kind, ["person", "day"], "day"), (f"{self.kind}_whole", ["person"], "whole")):
            right, tries = guess_presence(cells, by)
            found[key] = share(right, tries)
            bound = spend[about]["risk"] if about in spend else 1.0
            found[f"{key}_bound"] = Measured(float(bound))
        return found


def guess_presence(cells: pd.DataFrame, by: list[str]) -> tuple[int, int]:
    """Return how many guesses are right, of all: each target once with and once without her data.

    Parameters
    ----------
    cells
        A row for every cell that a person is counted in: `people` (with her), published `value` and `sd`.
    by
        What a target is: a person, or a person's day.
    """
    exact = cells["sd"].isna() | (cells["sd"] == 0)
    noise = (cells["value"] - cells["people"]).where(~exact, 0.0)
    weight = np.where(exact, 0.0, 1 / cells["sd"].where(~exact, 1.0) ** 2)
    told = exact & cells["value"].notna()
    targets = cells[by].assign(told=told, moved=weight * noise, there=weight / 2).groupby(by).sum()
    # The likelier of the two: with her, what is published lies beyond the middle between the two true counts.
    with_her = (targets["moved"] + targets["there"] > 0).to_numpy()
    without = (targets["moved"] - targets["there"] <= 0).to_numpy()
    known = (targets["told"] > 0).to_numpy()
    blind = (targets["there"] == 0).to_numpy() & ~known
    right = np.where(known, 2, np.where(blind, 1, with_her.astype(int) + without.astype(int)))
    return int(right.sum()), 2 * len(targets)
