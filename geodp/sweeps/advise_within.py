"""Which epsilon is enough: the smallest whose price at equal success is within a share of that of exact counts.

Every value is calibrated to the same expected success, seed by seed (`equal_success`). Its price is how many more
workers are asked per task than by the same assignment on exact counts, on the same worlds and the same draws: the
exponential of the mean difference of logarithms, with its 95 % interval (Student's t over the seeds).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodp.errors import ScenarioError, UsageError
from geodp.runs.equal_success import require_success, require_target
from geodp.scenario.file import locate_scenario, read_raw_scenario
from geodp.scenario.schema import load_scenario
from geodp.sweeps.advise import private_files
from geodp.sweeps.executors import LocalExecutor
from geodp.sweeps.prices import Priced, PriceProgress, Prices, Reference
from geodp.sweeps.trend import Trend, find_trend
from geodp.sweeps.varied_epsilon import SpentBudget, VariedEpsilon, find_epsilon

if TYPE_CHECKING:
    from geodp.sweeps.sweep_folder import AdviceFolder

DEFAULT_SUCCESS = 0.9
"""At which prices are compared where the scenario itself plans on no target."""
LEAST_SEEDS = 8
"""Fewer give no interval worth the name."""
LEAST_TASKS = 300
"""Fewer per seed leave a calibration to chance."""
PRECISION = 0.15
"""The answer and the next step differ by no more than this share."""
_FURTHER = 2  # steps beyond a range that nobody gave, where all of it misses or meets
_EXPECTED_STEPS = 3  # of halving, for estimates of time


@dataclass(frozen=True)
class PriceAdvice:
    """The answer: the smallest epsilon whose price is within what may be paid."""

    path: str
    within: float
    success: float
    reference: Reference
    tried: list[Priced]
    """All values tried, in ascending order."""
    answer: Priced | None
    """None when no value of the range is within."""
    next_step: Priced | None
    """The nearest smaller value that costs more; None when all are within."""
    spent: SpentBudget | None
    """What the answer comes to over a run."""
    trend: Trend
    """Where the price clearly rises or falls as epsilon grows."""
    seeds: list[int]
    tasks: tuple[int, int]
    """Fewest and most tasks decided in one run."""
    runs: int
    """How many runs all calibrations took."""
    private_files: list[Path] = field(default_factory=list)
    """Data files that nobody declared public."""

    @property
    def monotone(self) -> bool:
        """Whether the price nowhere clearly rises as epsilon grows."""
        return self.trend.rises is None

    @property
    def releasable(self) -> bool:
        """Whether the answer may be shown to others: it was chosen on no private data."""
        return not self.private_files

    @property
    def enough_tasks(self) -> bool:
        """Whether every run had as many tasks as a calibration needs."""
        return self.tasks[0] >= LEAST_TASKS

    def plot(self) -> Any:
        """Return a matplotlib figure: success and price against epsilon."""
        from geodp.sweeps.price_plot import draw_price

        return draw_price(self)


def advise_within(
    scenario: str | Path,
    within: float,
    vary: str | None = None,
    *,
    success: float | None = None,
    low: float | None = None,
    high: float | None = None,
    seeds: int = LEAST_SEEDS,
    first_seed: int = 0,
    precision: float = PRECISION,
    out: str | Path | None = None,
    fresh: bool = False,
    workers: int | None = None,
    overrides: Mapping[str, Any] | None = None,
    public_data: bool = False,
    on_progress: Callable[[PriceProgress], None] | None = None,
) -> PriceAdvice:
    """Find the smallest epsilon that asks, at equal success, at most a share more workers than exact counts do.

    Parameters
    ----------
    scenario
        The scenario file; its assignment must have a `target_success`.
    within
        The share more that may be paid with confidence, 0.1 for 10 %.
    vary
        The dotted path of an epsilon (default: that of the curator's mechanism, or of the phones').
    success
        The mean expected success at which prices are compared (default: the scenario's target).
    low, high
        The range to search (default: a tenth to ten times what the scenario has, and further where that is not enough).
    seeds, first_seed
        How many worlds each value gets (at least 8), and their first seed.
    precision
        The answer and the next step differ by no more than this share.
    out
        A folder for results, plot and answer; with the same folder a later call goes on where this one stopped.
    fresh
        Forget the results in the folder.
    workers
        Processes (default: all cores).
    overrides
        Dotted path → value, applied to the scenario first.
    public_data
        The scenario's data files are public.
    on_progress
        Called after every calibration.

    Returns
    -------
    PriceAdvice
        The answer (None: no value of the range is within), and every value that was tried.

    Raises
    ------
    UsageError
        If the options, the path or the range make no sense, or the scenario plans on no target.
    ScenarioError
        If the scenario is wrong.
    GeodpError
        If a run failed, or exact counts do not reach the success either.
    OutputError
        If the folder cannot be written, or holds something else.

    Examples
    --------
    >>> import geodp
    >>> small = {"duration_s": 300, "workers.source.count": 2000}
    >>> advice = geodp.advise_within(
    ...     "scenarios/quickstart.yaml", 1.0, low=3.0, high=6.0, success=0.6, precision=0.5, workers=1, overrides=small
    ... )
    >>> len(advice.reference.priced.costs)
    8
    """
    if not (math.isfinite(within) and within > 0):
        raise UsageError("--within: a share above 0, such as 0.1 for 10 % more workers asked than with exact counts")
    if seeds < LEAST_SEEDS:
        raise UsageError(f"--seeds {seeds}: a price needs at least {LEAST_SEEDS}, or its interval says nothing")
    if not 0 < precision < 1:
        raise UsageError("--precision: a share between 0 and 1, such as 0.15")
    base = load_scenario(scenario, overrides, trust_plugins=True)
    if base.compare:
        raise UsageError(f"{scenario}: compares arms; advice needs a scenario without 'compare'")
    require_target(base)
    planned: float | None = base.server.assignment.target_success  # type: ignore[attr-defined]
    wanted = (planned or DEFAULT_SUCCESS) if success is None else success
    require_success(wanted)
    path = find_epsilon(base, vary)
    file = locate_scenario(Path(scenario))
    raw = read_raw_scenario(file, overrides)
    epsilon = VariedEpsilon(raw, file, path, base)
    ends = epsilon.ends(base, low, high)
    numbers = list(range(first_seed, first_seed + seeds))
    executor = LocalExecutor(min(workers or os.cpu_count() or 1, seeds), stay=True)
    folder = None if out is None else _advice_folder(Path(out))
    try:
        with nullcontext() if folder is None else folder.hold_for_advice(base.name, fresh=fresh):
            prices = Prices(
                epsilon=epsilon,
                success=wanted,
                within=within,
                executor=executor,
                seeds=numbers,
                folder=folder,
                on_progress=on_progress,
            )
            search = PriceSearch(prices, precision, open_ends=(low is None, high is None))
            advice = search.run(*ends, [] if public_data else private_files(base))
            if folder is not None:
                _write_advice(folder, advice, base.name)
            return advice
    finally:
        executor.close()


def _advice_folder(out: Path) -> AdviceFolder:
    from geodp.sweeps.sweep_folder import AdviceFolder

    return AdviceFolder(out)


def _write_advice(folder: AdviceFolder, advice: PriceAdvice, name: str) -> None:
    from geodp.sweeps.advice_text import price_values
    from geodp.sweeps.line_plots import save

    figures = folder.path / "figures"
    figures.mkdir(exist_ok=True)
    save(advice.plot(), figures / "price_by_epsilon")
    folder.finish_advice(name, price_values(advice))


class PriceSearch:
    """Looks over the range, then halves what lies between a value that is enough and one that is not."""

    def __init__(self, prices: Prices, precision: float, open_ends: tuple[bool, bool]) -> None:
        self.prices, self.precision, self.open_ends = prices, precision, open_ends

    def run(self, low: float, high: float, private: list[Path]) -> PriceAdvice:
        """Find the smallest value from which on all that were tried are enough."""
        prices, epsilon = self.prices, self.prices.epsilon
        looks = epsilon.space_values(low, high)
        prices.progress.total = (1 + len(looks) + _EXPECTED_STEPS) * len(prices.seeds)
        reference = prices.price_reference()
        ordered = self._extend_range(prices.price(looks))
        answer, below = _edge(ordered)
        while answer is not None and below is not None:
            if epsilon.near(answer.value, below.value, self.precision):
                break
            middle = prices.price([epsilon.between(below.value, answer.value)])[0]
            if middle in (answer, below):
                break
            answer, below = (middle, below) if middle.enough else (answer, middle)
        tried = sorted(prices.known.values(), key=lambda one: one.value)
        counts = [int(own["tasks"] or 0) for one in (*tried, reference.priced) for own in one.by_seed.values()]
        runs = [int(own["runs"] or 0) for one in (*tried, reference.priced) for own in one.by_seed.values()]
        return PriceAdvice(
            path=epsilon.path,
            within=prices.within,
            success=prices.success,
            reference=reference,
            tried=tried,
            answer=answer,
            next_step=below,
            spent=None if answer is None else epsilon.sum_spent(answer.value),
            trend=find_trend([[math.log(cost) for cost in one.costs] for one in tried]),
            seeds=prices.seeds,
            tasks=(min(counts), max(counts)),
            runs=sum(runs),
            private_files=private,
        )

    def _extend_range(self, looks: list[Priced]) -> list[Priced]:
        """Go beyond an end that nobody gave, where all of the range misses or all of it is enough."""
        factor = math.sqrt(10.0)
        for _ in range(_FURTHER):
            if self.open_ends[1] and not looks[-1].enough:
                value = looks[-1].value * factor
            elif self.open_ends[0] and all(look.enough for look in looks):
                value = looks[0].value / factor
            else:
                break
            try:
                further = self.prices.price([self.prices.epsilon.round_value(value)])
            except ScenarioError:  # the number has a bound of its own
                break
            looks = sorted([*looks, *further], key=lambda one: one.value)
        return looks


def _edge(ordered: list[Priced]) -> tuple[Priced | None, Priced | None]:
    """Return the smallest value from which on all are enough, and the one before it."""
    first = len(ordered)
    while first > 0 and ordered[first - 1].enough:
        first -= 1
    return ordered[first] if first < len(ordered) else None, ordered[first - 1] if first > 0 else None
