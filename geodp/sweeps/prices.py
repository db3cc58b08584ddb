"""Prices of values of epsilon at equal success, against exact counts, seed by seed; kept in a folder as they come."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from geodp.errors import GeodpError
from geodp.metrics.intervals import Measured, mean
from geodp.sweeps.equal_success import price_job, price_jobs
from geodp.sweeps.executors import LocalExecutor

if TYPE_CHECKING:
    from geodp.scenario.schema import Scenario
    from geodp.sweeps.sweep_folder import AdviceFolder
    from geodp.sweeps.varied_epsilon import VariedEpsilon


def cost_ratio(costs: Sequence[float], reference: Sequence[float]) -> Measured:
    """Return how many times a reference's costs are paid, seed by seed: exp(mean ± t·sd/√S) of ln cost - ln reference.

    Infinite, with no interval, where a seed's cost is.
    """
    if not all(math.isfinite(cost) for cost in costs):
        return Measured(math.inf, has_interval=True)
    gaps = mean([math.log(cost) - math.log(base) for cost, base in zip(costs, reference, strict=True)])
    value, low, high = (None if part is None else math.exp(part) for part in (gaps.value, gaps.low, gaps.high))
    return Measured(value, low, high, has_interval=True)


@dataclass(frozen=True)
class Priced:
    """What one value costs at equal success."""

    value: float
    by_seed: dict[int, dict[str, float | None]]
    """The numbers of every seed's calibration."""
    ratio: Measured
    """Workers asked, in multiples of the reference."""
    enough: bool
    """Whether the whole interval of the ratio is within what may be paid."""

    @property
    def costs(self) -> list[float]:
        """Workers asked per task, seed by seed; infinite where no target is enough."""
        return [_or_infinite(own["cost_at_success"]) for own in self.by_seed.values()]

    @property
    def missed(self) -> int:
        """On how many seeds no target reaches the success."""
        return sum(not math.isfinite(cost) for cost in self.costs)

    def average(self, key: str) -> Measured:
        """Return the mean of a number over the seeds that have it."""
        return mean([value for own in self.by_seed.values() if (value := own[key]) is not None])


@dataclass(frozen=True)
class Reference:
    """What exact counts cost at equal success."""

    what: str
    """The mechanism that releases them, in words."""
    priced: Priced


@dataclass
class PriceProgress:
    """How far the advice is."""

    total: int
    """Calibrations that it will take, about."""
    done: int = 0
    workers: int = 1
    finished: Priced | None = None
    """The value whose last seed has just been priced."""
    seconds: list[float] = field(default_factory=list)
    """How long each calibration took."""

    def seconds_left(self) -> float | None:
        """Estimate the time left from the calibrations made so far."""
        if not self.seconds:
            return None
        return max(0, self.total - self.done) * sum(self.seconds) / len(self.seconds) / self.workers


def _or_infinite(cost: float | None) -> float:
    return math.inf if cost is None else cost


class Prices:
    """Prices values, and remembers them: here, and in a folder where there is one."""

    def __init__(
        self,
        epsilon: VariedEpsilon,
        success: float,
        within: float,
        executor: LocalExecutor,
        seeds: list[int],
        folder: AdviceFolder | None,
        on_progress: Callable[[PriceProgress], None] | None,
    ) -> None:
        self.epsilon, self.success, self.within, self.seeds = epsilon, success, within, seeds
        self.executor, self.folder, self.on_progress = executor, folder, on_progress
        self.known: dict[float, Priced] = {}
        self.progress = PriceProgress(0, workers=executor.workers)
        self._stored = {} if folder is None else folder.outcomes()
        scenario, self.reference_name = epsilon.reference()
        self._reference_scenario = scenario
        self.reference: Priced | None = None

    def price_reference(self) -> Reference:
        """Price exact counts."""
        if self.reference is None:
            found = self._calibrate({math.inf: self._reference_scenario})[math.inf]
            self.reference = Priced(math.inf, found, Measured(1.0), enough=True)
            missed = [seed for seed, own in found.items() if own["cost_at_success"] is None]
            if missed:
                best = found[missed[0]]["expected_at_success"] or 0.0
                raise GeodpError(
                    f"exact counts ({self.reference_name}) do not reach an expected success of {self.success:g} on "
                    f"{len(missed)} of {len(self.seeds)} seeds (seed {missed[0]}: at most {best:.3f}), so nothing can "
                    "be held against them: ask for less with --success, or give the scenario more workers, more reward "
                    "or a longer way"
                )
        return Reference(self.reference_name, self.reference)

    def price(self, values: Sequence[float]) -> list[Priced]:
        """Price some values at once."""
        reference = self.price_reference().priced
        new = {value: self.epsilon.scenario(value) for value in values if value not in self.known}

        def finish(value: float, by_seed: dict[int, dict[str, float | None]]) -> Priced:
            costs = [_or_infinite(own["cost_at_success"]) for own in by_seed.values()]
            ratio = cost_ratio(costs, reference.costs)
            enough = ratio.high is not None and ratio.high <= 1 + self.within
            self.known[value] = Priced(value, by_seed, ratio, enough)
            return self.known[value]

        self._calibrate(new, finish)
        return [self.known[value] for value in values]

    def _calibrate(
        self,
        scenarios: dict[float, Scenario],
        finish: Callable[[float, dict[int, dict[str, float | None]]], Priced] | None = None,
    ) -> dict[float, dict[int, dict[str, float | None]]]:
        """Calibrate scenarios on all seeds; what the folder has is not made again."""
        found: dict[float, dict[int, dict[str, float | None]]] = {value: {} for value in scenarios}
        owners: dict[str, tuple[float, int]] = {}
        jobs = []
        for value, scenario in scenarios.items():
            for job in price_jobs(scenario, f"{self.epsilon.path}={value:g}", self.seeds, self.success):
                owners[job["run_id"]] = (value, job["seed"])
                jobs.append(job)
        stored = [self._stored[job["run_id"]] for job in jobs if self._is_stored(job["run_id"])]
        todo = [job for job in jobs if not self._is_stored(job["run_id"])]

        def note(outcome: dict[str, Any]) -> None:
            value, seed = owners[outcome["run_id"]]
            found[value][seed] = outcome["metrics"]
            self.progress.done += 1
            self.progress.finished = None
            if len(found[value]) == len(self.seeds):
                found[value] = {seed: found[value][seed] for seed in self.seeds}
                self.progress.finished = finish(value, found[value]) if finish is not None else None
            if self.on_progress is not None:
                self.on_progress(self.progress)

        for outcome in stored:
            note(outcome)
        with nullcontext() if self.folder is None else self.folder.open_results() as results:
            for outcome in self.executor.outcomes(todo, price_job):
                if outcome["status"] != "ok":
                    raise GeodpError(self._failure(outcome, owners[outcome["run_id"]][0]))
                if results is not None:
                    results.add(outcome)
                self.progress.seconds.append(outcome["seconds"])
                note(outcome)
        return found

    def _is_stored(self, run_id: str) -> bool:
        return run_id in self._stored and self._stored[run_id]["status"] == "ok"

    def _failure(self, outcome: dict[str, Any], value: float) -> str:
        setting = f" --set {self.epsilon.path}={value:g}" if math.isfinite(value) else ""
        return (
            f"a run failed: {outcome['error']}\n  repeat it:  geodp run {self.epsilon.file} --seed {outcome['seed']}"
            f"{setting} --debug"
        )
