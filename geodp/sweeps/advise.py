"""Which epsilon, or any one number, is enough for a target on a metric: `success_rate>=0.9`.

A coarse look over the range, then bisection, on the same seeds everywhere: all values meet the same worlds and the same
luck, so that they differ by the number alone. A value meets the target when the whole 95 % interval of the mean over
the seeds does.

There is a smallest or largest value that is enough only where the metric is monotone in what varies. Paired differences
between all values tried decide that (`trend`), and an answer is refused where it both rises and falls. It is refused,
too, where success at a fixed target falls as epsilon grows: there noise is rewarded, because a server that knows less
asks more people, and the answer would be the noisiest value. That question is one for `advise_within`.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geodp.errors import GeodpError, ScenarioError, UsageError
from geodp.metrics import Measured, metric_of, metrics_by_key
from geodp.metrics.intervals import mean
from geodp.model import did_you_mean
from geodp.scenario.file import build_scenario, dump, locate_scenario, read_raw_scenario, set_path
from geodp.scenario.schema import Scenario, load_scenario
from geodp.sweeps.executors import LocalExecutor, make_jobs, run_job
from geodp.sweeps.sweep_file import value_at
from geodp.sweeps.trend import ERROR, Trend, find_trend

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

    def is_met(self, measured: Measured) -> bool:
        """Tell whether a mean meets the target with confidence: its whole 95 % interval does."""
        low, high = measured.ends()
        margin = low - self.value if self.at_least else self.value - high
        return margin > 0 or (margin == 0 and not self.strict)

    def margin(self, measured: Measured) -> float:
        """Return by how much a mean is on the right side (negative: on the wrong one)."""
        if measured.value is None:
            return -math.inf
        return measured.value - self.value if self.at_least else self.value - measured.value


def parse_target(text: str, option: str = "--target", also: Collection[str] = ()) -> Target:
    """Read a target; its metric is one that geodp knows, or one of `also`. `option` is what errors call it."""
    found = _FORM.fullmatch(text)
    if found is None:
        raise UsageError(f"{option} {text!r}: write it as METRIC>=NUMBER or METRIC<=NUMBER, e.g. success_rate>=0.9")
    try:
        value = float(found["value"])
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UsageError(f"{option} {text!r}: {found['value']!r} is not a number")
    if metric_of(found["metric"]) is None and found["metric"] not in also:
        raise unknown_metric(found["metric"], metrics_by_key(), option)
    return Target(found["metric"], found["sign"] in (">=", ">", "≥"), value, strict=found["sign"] in ("<", ">"))


def unknown_metric(name: str, known: Iterable[str], option: str = "--target") -> UsageError:
    """Return the error for a metric that does not exist."""
    names = sorted(known)
    hint = did_you_mean(name, names) or f" There are: {', '.join(names)}."
    return UsageError(f"{option}: no metric called '{name}'.{hint}")


SUCCESSES = ("success_rate", "expected_success", "planned_success")
"""Metrics that noise may raise at a fixed target, because the server then asks more people."""
LOOKS = 5
"""Places of the first, coarse look over the range."""
WIDE = 4.0
"""Ranges whose ends are further apart than this factor are divided geometrically."""


@dataclass(frozen=True)
class Tried:
    """What one value gave: the metric of every seed, and its mean with a 95 % interval."""

    value: float
    by_seed: dict[int, float | None]
    mean: Measured
    met: bool


@dataclass(frozen=True)
class Advice:
    """The answer."""

    target: Target
    path: str
    tried: list[Tried]
    """All values tried, in ascending order."""
    smallest: bool
    """Whether the answer is the smallest value that meets the target (else the largest)."""
    answer: Tried | None
    """None when no value of the range meets the target."""
    next_step: Tried | None
    """The nearest value tried beyond the answer that misses it; None when all meet it."""
    trend: Trend
    """Where the metric clearly rises or falls as the number grows."""
    refused: str
    """Why no answer can be given ('' when one can)."""
    seeds: list[int]
    private_files: list[Path]
    """Data files that nobody declared public."""
    fixed_target: bool = False
    """Whether it is a success at a fixed target that is asked for, while an epsilon varies."""

    @property
    def monotone(self) -> bool:
        """Whether the metric does not both rise and fall as the number grows."""
        return self.trend.monotone

    @property
    def releasable(self) -> bool:
        """Whether the answer may be shown to others: it was chosen on no private data."""
        return not self.private_files

    def step_cost(self) -> Measured:
        """Return the paired difference between the next step and the answer, with its 95 % interval."""
        if self.answer is None or self.next_step is None:
            return Measured(None)
        pairs = [(self.next_step.by_seed[seed], self.answer.by_seed[seed]) for seed in self.seeds]
        return mean([there - here for there, here in pairs if there is not None and here is not None])


def advise(
    scenario: str | Path,
    target: str,
    vary: str = "curator.mechanism.epsilon",
    *,
    low: float | None = None,
    high: float | None = None,
    seeds: int = 8,
    first_seed: int = 0,
    precision: float = 0.05,
    workers: int | None = None,
    overrides: Mapping[str, Any] | None = None,
    public_data: bool = False,
    on_tried: Callable[[Tried], None] | None = None,
) -> Advice:
    """Find the smallest (or largest) value of one number of a scenario that meets a target with confidence.

    Parameters
    ----------
    scenario
        The scenario file.
    target
        A metric and a bound, `success_rate>=0.9`.
    vary
        The dotted path of a number, `curator.mechanism.epsilon`.
    low, high
        The range to search (default: a tenth to ten times what the scenario has).
    seeds, first_seed
        How many runs each value gets, and their first seed.
    precision
        The answer and the next step differ by no more than this share (a whole number: by 1).
    workers
        Processes (default: all cores).
    overrides
        Dotted path → value, applied to the scenario first.
    public_data
        The scenario's data files are public.
    on_tried
        Called with every value tried.

    Returns
    -------
    Advice
        The answer (None: no value of the range meets the target, or it is refused, because the metric is not monotone
        in what varies), where the metric goes, and every value that was tried.

    Raises
    ------
    UsageError
        If the target, the path or the range makes no sense.
    ScenarioError
        If the scenario is wrong.

    Examples
    --------
    >>> import geodp
    >>> small = {"duration_s": 600, "workers.source.count": 200, "map.layers": []}
    >>> advice = geodp.advise(
    ...     "scenarios/quickstart.yaml", "epsilon_spent<=1", "curator.mechanism.epsilon",
    ...     low=0.5, high=2.0, seeds=2, precision=0.5, workers=1, overrides=small,
    ... )
    >>> advice.answer.value <= 1
    True
    """
    wanted = parse_target(target)
    if seeds < 2:
        raise UsageError("--seeds: at least 2, or there is no interval")
    if not 0 < precision < 1:
        raise UsageError("--precision: a share between 0 and 1, such as 0.05")
    base = load_scenario(scenario, overrides, trust_plugins=True)
    if base.compare:
        raise UsageError(f"{scenario}: compares arms; advice needs a scenario without 'compare'")
    file = locate_scenario(Path(scenario))
    raw = read_raw_scenario(file, overrides)
    field = VariedField(raw, file, vary)
    ends = field.ends(base, low, high)
    executor = LocalExecutor(min(workers or os.cpu_count() or 1, seeds), stay=True)
    numbers = list(range(first_seed, first_seed + seeds))
    plans_on_target = getattr(base.server.assignment, "target_success", None) is not None
    search = Search(wanted, field, executor, numbers, on_tried, plans_on_target=plans_on_target)
    try:
        return search.run(*ends, precision, [] if public_data else private_files(base))
    finally:
        executor.close()


def private_files(scenario: Scenario) -> list[Path]:
    """Return the files of people that a scenario reads."""
    parts = [scenario.workers.source, scenario.workers.mobility, scenario.tasks.demand, scenario.workers.visit_source]
    return [path for part in parts if part is not None for path in part.files()]


class VariedField:
    """The number that is varied."""

    def __init__(self, raw: dict[str, Any], file: Path, path: str) -> None:
        self.raw, self.file, self.path, self.whole = raw, file, path, False

    def ends(self, base: Scenario, low: float | None, high: float | None) -> tuple[float, float]:
        """Return the range, after checking that the path is a number and both ends are valid."""
        now = value_at(dump(base.resolve()), self.path)
        if self.path == "seed":
            raise UsageError("--vary seed: seeds are what answers are averaged over; vary something else")
        if now is not None and (isinstance(now, bool) or not isinstance(now, int | float)):
            raise UsageError(f"--vary {self.path}: is not a number but {now!r}")
        if now is None and (low is None or high is None):
            self.scenario(next((end for end in (low, high) if end is not None), 1.0))  # an unknown path is an error
            raise UsageError(f"--vary {self.path}: the scenario gives no number there; give --low and --high")
        self.whole = isinstance(now, int)
        usual = 1.0 if now is None else float(now)
        found = (usual / 10 if low is None else low, usual * 10 if high is None else high)
        if self.whole:
            found = (math.floor(found[0]), math.ceil(found[1]))
        if not found[0] < found[1]:
            raise UsageError(f"--low {found[0]:g} --high {found[1]:g}: the range is empty")
        for end, option, given in ((found[0], "--low", low), (found[1], "--high", high)):
            try:
                self.scenario(end)
            except ScenarioError as error:
                what = "is not valid" if given is not None else f"(the default) is not valid; give {option}"
                raise UsageError(f"{option} {end:g} {what}: {error.problems[0][1]}") from None
        return found

    def scenario(self, value: float) -> Scenario:
        """Return the scenario with the number set."""
        import copy

        raw = copy.deepcopy(self.raw)
        set_path(raw, self.path, int(value) if self.whole else float(value))
        return build_scenario(raw, source=str(self.file), folder=self.file.resolve().parent, trust_plugins=True)

    def between(self, low: float, high: float) -> float:
        """Return the value half-way, geometrically where the range is wide."""
        middle = math.sqrt(low * high) if low > 0 and high > 1.2 * low else (low + high) / 2
        return float(min(max(round(middle), low), high)) if self.whole else middle

    def near(self, one: float, other: float, precision: float) -> bool:
        """Tell whether two values are as near as the answer has to be."""
        gap = abs(one - other)
        return gap <= 1 if self.whole else gap <= precision * max(abs(one), abs(other))

    def space_values(self, low: float, high: float) -> list[float]:
        """Return a few values over the range."""
        steps = range(LOOKS)
        if low > 0 and high > WIDE * low:
            values = [low * (high / low) ** (step / (LOOKS - 1)) for step in steps]
        else:
            values = [low + (high - low) * step / (LOOKS - 1) for step in steps]
        values[-1] = high
        return sorted({float(round(value)) if self.whole else value for value in values})


class Search:
    """Tries values, remembers them, and closes in on the edge."""

    def __init__(
        self,
        target: Target,
        field: VariedField,
        executor: LocalExecutor,
        seeds: list[int],
        on_tried: Callable[[Tried], None] | None,
        *,
        plans_on_target: bool = False,
    ) -> None:
        varies_epsilon = field.path.rsplit(".", 1)[-1].startswith("epsilon")
        self.fixed_target = plans_on_target and varies_epsilon and target.metric in SUCCESSES
        self.target, self.field, self.executor, self.seeds, self.on_tried = target, field, executor, seeds, on_tried
        self.known: dict[float, Tried] = {}

    def run(self, low: float, high: float, precision: float, private: list[Path]) -> Advice:
        """Look at spaced values first, then halve what lies between one that meets the target and one that does not."""
        looks = [self.try_value(value) for value in self.field.space_values(low, high)]
        trend = self._trend(looks)
        smallest = self._smallest(looks, trend)
        answer, beyond = (None, None) if self._refusal(looks, trend) else self._edge(looks, smallest, precision)
        everything = sorted(self.known.values(), key=lambda one: one.value)
        trend = self._trend(everything)
        refused = self._refusal(everything, trend)
        return Advice(
            target=self.target,
            path=self.field.path,
            tried=everything,
            smallest=smallest,
            answer=None if refused else answer,
            next_step=None if refused else beyond,
            trend=trend,
            refused=refused,
            seeds=self.seeds,
            private_files=private,
            fixed_target=self.fixed_target,
        )

    def _edge(self, looks: list[Tried], smallest: bool, precision: float) -> tuple[Tried | None, Tried | None]:
        """Return the value nearest to the hard end that meets the target, and the next one, which does not."""
        ordered = looks if smallest else looks[::-1]  # from the end that is hoped for to the end that surely meets
        if not any(one.met for one in ordered):
            return None, None
        first = max(place for place, one in enumerate(ordered) if one.met)
        while first > 0 and ordered[first - 1].met:
            first -= 1
        answer, beyond = ordered[first], ordered[first - 1] if first > 0 else None
        while beyond is not None and not self.field.near(answer.value, beyond.value, precision):
            middle = self.try_value(self.field.between(*sorted((answer.value, beyond.value))))
            if middle in (answer, beyond):
                break
            answer, beyond = (middle, beyond) if middle.met else (answer, middle)
        return answer, beyond

    def _trend(self, tried: list[Tried]) -> Trend:
        return find_trend([[one.by_seed[seed] for seed in self.seeds] for one in tried])

    def _refusal(self, tried: list[Tried], trend: Trend) -> str:
        """Say why there is no smallest or largest value that is enough ('' where there is one)."""
        metric, path = self.target.metric, self.field.path
        if self.fixed_target and trend.falls is not None:
            return (
                f"{metric} falls as {path} grows ({_between(tried, trend.falls)}): at a fixed target noise is "
                "rewarded, because a server that knows less asks more people. The value that is enough would be the "
                "noisiest one, at a price that this does not show. Ask for the price at equal success: "
                f"geodp advise {self.field.file} --within 0.1"
            )
        if trend.monotone or trend.rises is None or trend.falls is None:
            return ""
        return (
            f"{metric} is not monotone in {path}: it rises ({_between(tried, trend.rises)}) and falls "
            f"({_between(tried, trend.falls)}), so no value is the smallest or largest that is enough. Look at all of "
            f"them, or take a range in which it does one of both (--low, --high). Differences are paired by seed; a "
            f"monotone metric would be refused in at most {ERROR:.0%} of cases."
        )

    def _smallest(self, looks: list[Tried], trend: Trend) -> bool:
        """Tell whether small values are the hard ones: by where the metric goes, or else by who meets the target."""
        if trend.monotone and (trend.rises or trend.falls):
            return (trend.rises is not None) == self.target.at_least
        if looks[0].met != looks[-1].met:
            return looks[-1].met
        if not looks[0].met:
            return True  # an island, or nothing at all
        margins = [self.target.margin(look.mean) for look in (looks[0], looks[-1])]
        return margins[1] >= margins[0]

    def try_value(self, value: float) -> Tried:
        """Run all seeds at a value."""
        if value in self.known:
            return self.known[value]
        jobs = make_jobs(self.field.scenario(value), f"{self.field.path}={value:g}", self.seeds)
        found: dict[int, float | None] = {}
        for outcome in self.executor.outcomes(jobs, run_job):
            if outcome["status"] != "ok":
                raise GeodpError(
                    f"a run failed: {outcome['error']}\n  repeat it:  geodp run {self.field.file} --seed "
                    f"{outcome['seed']} --set {self.field.path}={value:g} --debug"
                )
            if self.target.metric not in outcome["metrics"]:
                raise unknown_metric(self.target.metric, outcome["metrics"])
            found[outcome["seed"]] = outcome["metrics"][self.target.metric]
        by_seed = {seed: found[seed] for seed in self.seeds}
        defined = [one for one in by_seed.values() if one is not None]
        average = mean(defined)
        tried = Tried(value, by_seed, average, len(defined) == len(by_seed) and self.target.is_met(average))
        self.known[value] = tried
        if self.on_tried is not None:
            self.on_tried(tried)
        return tried


def _between(tried: list[Tried], pair: tuple[int, int]) -> str:
    first, second = (tried[place] for place in pair)
    return f"{first.mean.value:.4g} at {first.value:.4g}, {second.mean.value:.4g} at {second.value:.4g}"
