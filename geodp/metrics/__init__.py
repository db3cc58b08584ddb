"""Numbers about a run; verb: `measure`. They read the run folder alone, so a new one works on an old run.

A metric is one class; metrics that share a subject share a file.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from geodp.metrics.intervals import Measured, mean, share, total
from geodp.registry import Plugin, plugins

if TYPE_CHECKING:
    import pandas as pd

    from geodp.geometry import Array
    from geodp.run_folder.folder import RunFolder
    from geodp.run_folder.published import PublishedRun

__all__ = [
    "TOPICS",
    "Measured",
    "Metric",
    "PublicationMetric",
    "RecordErrors",
    "TaskMetric",
    "TaskShare",
    "metric_of",
    "metrics_by_key",
]

TOPICS = ("tasks", "plan", "effort", "privacy", "published", "other")
"""Order of the parts of a metrics table."""


class Metric(Plugin):
    """Family of metrics; the docstring is the definition.

    A subclass measures a run (`measure`) from its folder alone.

    Examples
    --------
    >>> import geodp
    >>> metric = geodp.plugins("metric")["success_rate"]
    >>> metric.unit, metric.better
    ('share', 'higher')
    """

    family: ClassVar[str] = "metric"
    label: ClassVar[str] = ""
    """Few words for axes and tables; '': the kind, in words."""
    labels: ClassVar[Mapping[str, str]] = {}
    """Labels of keys whose label is another."""
    unit: ClassVar[str] = ""
    """Unit for tables: m, s, share, …"""
    units: ClassVar[Mapping[str, str]] = {}
    """Units of keys whose unit is another."""
    better: ClassVar[str] = ""
    """`higher`, `lower`, or '' when neither is better."""
    public: ClassVar[bool] = False
    """Whether the number may be shown in `--public` output (it derives from released data alone)."""
    topic: ClassVar[str] = "other"
    """Part of the summary's table it belongs to: one of `TOPICS`."""
    summed: ClassVar[bool] = False
    """Whether the value is the sum of `per_task` over tasks, instead of their mean."""

    @classmethod
    def key_starts(cls) -> tuple[str, ...]:
        """Return how the metric's keys may begin: with its kind or a labelled key, unless it says otherwise."""
        return (cls.kind, *cls.labels)

    @classmethod
    def unit_of(cls, key: str) -> str:
        """Return the unit of one of the metric's keys; `mae_2` (of the publication in place 2) is that of `mae`."""
        plain = key.rstrip("0123456789").removesuffix("_") if key not in cls.units else key
        return cls.units.get(plain, cls.unit)

    @classmethod
    def label_of(cls, key: str) -> str:
        """Return the words for one of the metric's keys; those of a later publication or attack say which it is."""
        plain = key.rstrip("0123456789").removesuffix("_") if key not in {*cls.labels, cls.kind} else key
        words = cls.labels.get(plain) or (cls.label if plain == cls.kind else "") or plain.replace("_", " ")
        return words if plain == key else f"{words} (no. {key.removeprefix(plain).lstrip('_')})"

    @abstractmethod
    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Return the metric's keys (usually one, equal to `kind`) with their values."""

    def per_task(self, run: RunFolder) -> pd.Series | None:  # noqa: ARG002
        """Return one value per task (index: task id) for paired comparisons, or None when there is none.

        What is published has none per task: one value per person (index: their number) pairs people with themselves.
        """
        return None


def metrics_by_key() -> dict[str, type[Metric]]:
    """Return the metrics that geodp knows now, by how their keys begin."""
    known = [cls for cls in plugins("metric").values() if issubclass(cls, Metric)]
    return {start: cls for cls in known for start in cls.key_starts()}


def metric_of(key: str) -> type[Metric] | None:
    """Return the metric that a key belongs to (None: no metric has such a key)."""
    known = metrics_by_key()
    found = [start for start in known if key.startswith(start)]
    return known[max(found, key=len)] if found else None


class TaskMetric(Metric):
    """Metrics that are the mean of `per_task`, or its sum (`summed`), with the t-interval; no key where it is None.

    Examples
    --------
    >>> import geodp
    >>> import pandas as pd
    >>> metric = geodp.plugins("metric")["waiting_time_s"]()
    >>> metric.over_tasks(pd.Series([30.0, 60.0])).value
    45.0
    """

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Return the mean or sum over tasks."""
        values = self.per_task(run)
        return {} if values is None else {self.kind: self.over_tasks(values)}

    def over_tasks(self, values: pd.Series) -> Measured:
        """Make one number of the values of all tasks."""
        return total(values) if self.summed else mean(values)

    @abstractmethod
    def per_task(self, run: RunFolder) -> pd.Series | None:
        """Return one value per task (index: task id), or None for a run that has no such number."""


class TaskShare(TaskMetric):
    """Metrics that are the share of tasks for which `per_task` is 1 and not 0, with Wilson's interval.

    Examples
    --------
    >>> import geodp
    >>> import pandas as pd
    >>> metric = geodp.plugins("metric")["success_rate"]()
    >>> metric.over_tasks(pd.Series([1.0, 1.0, 0.0, 1.0])).value
    0.75
    """

    unit: ClassVar[str] = "share"

    def over_tasks(self, values: pd.Series) -> Measured:
        """Return the share of ones."""
        return share(int(values.sum()), values.size)


class PublicationMetric(Metric):
    """Metrics that score what was published at the end of a run.

    The first publication of a topic has plain keys (`mae`), later ones end in their place in the scenario's `publish`
    (`mae_2`). A run that published nothing of the kind has no key, so that other runs keep their numbers.

    Examples
    --------
    >>> import geodp
    >>> geodp.plugins("metric")["kendall_tau"].published
    'trajectories'
    """

    topic: ClassVar[str] = "published"
    published: ClassVar[str]
    """What the publications that it scores release: visits, counts or trajectories."""

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Score every publication."""
        return {
            f"{key}{ending}": value
            for ending, item in run.publications_of(self.published)
            for key, value in self.score(run, item).items()
        }

    @abstractmethod
    def score(self, run: RunFolder, item: PublishedRun) -> dict[str, Measured]:
        """Return the metric's keys with their values for one publication."""


class RecordErrors(PublicationMetric):
    """Metrics that are a mean over the people or venues of a publication; interval: t, over those.

    Examples
    --------
    >>> import geodp
    >>> metric = geodp.plugins("metric")["mae"]
    >>> metric.published, metric.better
    ('counts', 'lower')
    """

    better: ClassVar[str] = "lower"

    @abstractmethod
    def errors(self, run: RunFolder, item: PublishedRun) -> Array:
        """Return the error of every person or venue that is looked at (NaN: it has none)."""

    def score(self, run: RunFolder, item: PublishedRun) -> dict[str, Measured]:
        """Return the mean error."""
        import numpy as np

        errors = self.errors(run, item)
        return {self.kind: mean(errors[np.isfinite(errors)])}

    def per_task(self, run: RunFolder) -> pd.Series | None:
        """Return every error in the first publication, to pair people or venues with themselves."""
        import pandas as pd

        first = next(iter(run.publications_of(self.published)), None)
        return None if first is None else pd.Series(self.errors(run, first[1]))
