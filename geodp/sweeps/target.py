"""What is asked of a metric: `success_rate>=0.9`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from geodp.errors import UsageError
from geodp.metrics import Measured
from geodp.model import did_you_mean
from geodp.registry import plugins

_FORM = re.compile(r"\s*(?P<metric>[A-Za-z_]\w*)\s*(?P<sign>>=|<=|>|<|≥|≤)\s*(?P<value>\S+)\s*")


@dataclass(frozen=True)
class Target:
    """A bound on a metric."""

    metric: str
    at_least: bool
    value: float
    strict: bool = False
    """Whether the value itself does not do: `>` and `<`, not `>=` and `<=`."""

    def __str__(self) -> str:
        return f"{self.metric} {'>' if self.at_least else '<'}{'' if self.strict else '='} {self.value:g}"

    def met(self, measured: Measured) -> bool:
        """Tell whether a mean meets the target with confidence: its whole 95 % interval does."""
        if measured.value is None:
            return False
        low = measured.value if measured.low is None else measured.low
        high = measured.value if measured.high is None else measured.high
        worst = low if self.at_least else high
        if worst == self.value:
            return not self.strict
        return worst > self.value if self.at_least else worst < self.value

    def margin(self, measured: Measured) -> float:
        """Return by how much a mean is on the right side (negative: on the wrong one)."""
        if measured.value is None:
            return -math.inf
        return measured.value - self.value if self.at_least else self.value - measured.value


def parse_target(text: str) -> Target:
    """Read a target; the metric has to be one that geodp knows."""
    found = _FORM.fullmatch(text)
    if found is None:
        raise UsageError(f"--target {text!r}: write it as METRIC>=NUMBER or METRIC<=NUMBER, e.g. success_rate>=0.9")
    try:
        value = float(found["value"])
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UsageError(f"--target {text!r}: {found['value']!r} is not a number")
    known = plugins("metric")
    if not any(found["metric"].startswith(kind) for kind in known):  # some metrics have several keys
        raise unknown_metric(found["metric"], known)
    return Target(found["metric"], found["sign"] in (">=", ">", "≥"), value, strict=found["sign"] in ("<", ">"))


def unknown_metric(name: str, known: Iterable[str]) -> UsageError:
    """Return the error for a metric that does not exist."""
    names = sorted(known)
    hint = did_you_mean(name, names) or f" There are: {', '.join(names)}."
    return UsageError(f"--target: no metric called '{name}'.{hint}")
