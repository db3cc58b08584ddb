"""Numbers about a run, each defined in one file; verb: `measure`. They read the run folder alone."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from geodp.registry import Plugin

if TYPE_CHECKING:
    import pandas as pd

    from geodp.run_folder.folder import RunFolder

TOPICS = ("tasks", "plan", "effort", "privacy", "published", "other")
"""Order of the parts of a metrics table."""


@dataclass(frozen=True)
class Measured:
    """A number with its 95 % interval; None where undefined, never NaN."""

    value: float | None
    low: float | None = None
    high: float | None = None
    has_interval: bool = False


class Metric(Plugin):
    """Family of metrics; the docstring is the definition."""

    family: ClassVar[str] = "metric"
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
    def unit_of(cls, key: str) -> str:
        """Return the unit of one of the metric's keys; `mae_2` (of the publication in place 2) is that of `mae`."""
        plain = key.rstrip("0123456789").removesuffix("_") if key not in cls.units else key
        return cls.units.get(plain, cls.unit)

    @abstractmethod
    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Return the metric's keys (usually one, equal to `kind`) with their values."""

    def per_task(self, run: RunFolder) -> pd.Series | None:  # noqa: ARG002
        """Return one value per task (index: task id) for paired comparisons, or None when there is none.

        What is published has none per task: one value per person (index: their number) pairs people with themselves.
        """
        return None
