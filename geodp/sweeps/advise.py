"""Which epsilon, or any one number, is enough for a target on a metric: `success_rate>=0.9`.

A coarse look over the range, then bisection, on the same seeds everywhere: all values meet the same worlds and the same
luck, so that they differ by the number alone. A value meets the target when the whole 95 % interval of the mean over
the seeds does.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geodp.errors import GeodpError, ScenarioError, UsageError
from geodp.metrics import Measured, metric_of, metrics_by_key
from geodp.metrics.intervals import mean
from geodp.model import did_you_mean
from geodp.scenario.file import build_scenario, dump, read_yaml, set_path
from geodp.scenario.schema import Scenario, load_scenario
from geodp.sweeps.executors import LocalExecutor, make_jobs, run_job
from geodp.sweeps.sweep_file import value_at

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
        low, high = measured.ends()
        margin = low - self.value if self.at_least else self.value - high
        return margin > 0 or (margin == 0 and not self.strict)

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
    if metric_of(found["metric"]) is None:
        raise unknown_metric(found["metric"], metrics_by_key())
    return Target(found["metric"], found["sign"] in (">=", ">", "≥"), value, strict=found["sign"] in ("<", ">"))


def unknown_metric(name: str, known: Iterable[str]) -> UsageError:
    """Return the error for a metric that does not exist."""
    names = sorted(known)
    hint = did_you_mean(name, names) or f" There are: {', '.join(names)}."
    return UsageError(f"--target: no metric called '{name}'.{hint}")


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
    monotone: bool
    """Whether the values that meet the target lie together at one end of the range."""
    seeds: list[int]
    private_files: list[Path]
    """Data files that nobody declared public."""

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
    vary: str,
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
        The answer (None: no value of the range meets the target), and every value that was tried.

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
    raw = read_yaml(Path(scenario))
    for dotted, value in (overrides or {}).items():
        set_path(raw, dotted, value)
    field = VariedField(raw, Path(scenario), vary)
    ends = field.ends(base, low, high)
    executor = LocalExecutor(min(workers or os.cpu_count() or 1, seeds), stay=True)
    numbers = list(range(first_seed, first_seed + seeds))
    search = Search(wanted, field, executor, numbers, on_tried)
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
        now = value_at(dump(base.resolved()), self.path)
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

    def spaced(self, low: float, high: float) -> list[float]:
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
    ) -> None:
        self.target, self.field, self.executor, self.seeds, self.on_tried = target, field, executor, seeds, on_tried
        self.known: dict[float, Tried] = {}

    def run(self, low: float, high: float, precision: float, private: list[Path]) -> Advice:
        """Look at spaced values first, then halve what lies between one that meets the target and one that does not."""
        looks = [self.tried(value) for value in self.field.spaced(low, high)]
        smallest = self._smallest(looks)
        ordered = looks if smallest else looks[::-1]  # from the end that is hoped for to the end that surely meets
        answer: Tried | None = None
        beyond: Tried | None = None
        if any(one.met for one in ordered):
            last = max(place for place, one in enumerate(ordered) if one.met)
            first = last
            while first > 0 and ordered[first - 1].met:
                first -= 1
            answer = ordered[first]
            beyond = ordered[first - 1] if first > 0 else None
        while answer is not None and beyond is not None:
            if self.field.near(answer.value, beyond.value, precision):
                break
            middle = self.tried(self.field.between(*sorted((answer.value, beyond.value))))
            if middle in (answer, beyond):
                break
            answer, beyond = (middle, beyond) if middle.met else (answer, middle)
        everything = sorted(self.known.values(), key=lambda one: one.value)
        return Advice(
            self.target, self.field.path, everything, smallest, answer, beyond, _together(everything, smallest),
            self.seeds, private,
        )  # fmt: skip

    def _smallest(self, looks: list[Tried]) -> bool:
        """Tell whether small values are the hard ones: by who meets the target, or else by where the metric goes."""
        if looks[0].met != looks[-1].met:
            return looks[-1].met
        if not looks[0].met:
            return True  # an island, or nothing at all
        margins = [self.target.margin(look.mean) for look in (looks[0], looks[-1])]
        return margins[1] >= margins[0]

    def tried(self, value: float) -> Tried:
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
        tried = Tried(value, by_seed, average, len(defined) == len(by_seed) and self.target.met(average))
        self.known[value] = tried
        if self.on_tried is not None:
            self.on_tried(tried)
        return tried


def _together(tried: list[Tried], smallest: bool) -> bool:
    """Tell whether what meets the target lies at one end: no miss after the first success, from the hard end on."""
    met = [one.met for one in (tried if smallest else tried[::-1])]
    return met == sorted(met)


STAMP = (
    "NOT RELEASABLE: the scenario reads {files}. Choosing a number on private data is itself a release that nobody has "
    "paid for; keep this answer inside, or repeat it on synthetic or public data (--public-data if these are public)."
)


def advice_text(advice: Advice) -> str:
    """Say the answer, what the next step would cost, and all that was tried."""
    lines = [*_answer(advice), "", *(_line(one) for one in advice.tried), ""]
    lines.append(
        f"Each value: {len(advice.seeds)} seeds, the same for all. A value meets the target when the whole 95 % "
        "interval of its mean does."
    )
    if not advice.monotone:
        lines.append(
            "Not monotone: values that meet the target and values that miss it take turns. Look at all of them."
        )
    if not advice.releasable:
        lines.append(STAMP.format(files=", ".join(path.name for path in advice.private_files)))
    return "\n".join(lines)


def _answer(advice: Advice) -> list[str]:
    low, high = advice.tried[0].value, advice.tried[-1].value
    where = f"{advice.path} between {low:g} and {high:g}"
    if advice.answer is None:
        best = max(advice.tried, key=lambda one: advice.target.margin(one.mean))
        return [f"No value of {where} meets {advice.target}.", f"Nearest: {best.value:g} gives {_number(best.mean)}."]
    word, end = ("smallest", "low") if advice.smallest else ("largest", "high")
    found = f"{advice.path} = {advice.answer.value:.4g}"
    if advice.next_step is None:
        return [
            f"Every value of {where} that was tried meets {advice.target}.",
            f"The {word}, {found}, gives {_number(advice.answer.mean)}; try a wider range with --{end}.",
        ]
    step, way = advice.next_step, "down" if advice.smallest else "up"
    return [
        f"{found} is the {word} value found that meets {advice.target}: {_number(advice.answer.mean)}.",
        f"Next step {way}, {step.value:.4g}: {_number(step.mean)}, which misses it; "
        f"paired difference {_number(advice.step_cost(), '+')}.",
    ]


def _line(one: Tried) -> str:
    return f"  {one.value:>10.4g}  {_number(one.mean):<32} {'meets' if one.met else 'misses'}"


def _number(measured: Measured, sign: str = "") -> str:
    return measured.text(lambda value: f"{value:{sign}.4g}")


def advice_values(advice: Advice) -> dict[str, Any]:
    """Return the advice as plain values."""
    cost = advice.step_cost()
    return {
        "target": str(advice.target),
        "path": advice.path,
        "found": advice.answer is not None,
        "value": None if advice.answer is None else advice.answer.value,
        "direction": "smallest" if advice.smallest else "largest",
        "answer": _values(advice.answer),
        "next_step": _values(advice.next_step),
        "difference": cost.value,
        "difference_low": cost.low,
        "difference_high": cost.high,
        "monotone": advice.monotone,
        "releasable": advice.releasable,
        "seeds": advice.seeds,
        "tried": [_values(one) for one in advice.tried],
    }


def _values(one: Tried | None) -> dict[str, Any] | None:
    if one is None:
        return None
    return {"value": one.value, "mean": one.mean.value, "low": one.mean.low, "high": one.mean.high, "meets": one.met}
