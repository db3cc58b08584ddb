"""What a success costs: the target is calibrated until a run's expected success is what is wanted, and then priced.

A fixed target rewards noise: a server that knows less asks more people, and succeeds more often. Methods are therefore
compared at equal success: the target on which the server plans is moved until the truth about the people it asked (the
mean of `expected_success`) is the success that is wanted. The price is how many workers are asked per task then.

Both are means over all tasks decided before the run ends; a task without an offer counts with success 0 and nobody
asked, so that refusing hard tasks makes nothing cheaper. Priced are first offers with all their rounds: tasks are not
offered again, since what is expected is known of first offers alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from geodp.errors import GeodpError, UsageError
from geodp.pages.labels import AT_SUCCESS

if TYPE_CHECKING:
    import pandas as pd

    from geodp.run_folder.folder import RunFolder
    from geodp.scenario.schema import Scenario
    from geodp.simulation.engine import World

LOWEST, HIGHEST = 0.05, 0.9999
"""The targets that are tried."""
WITHIN = 0.002
"""How near the mean expected success has to come."""
MOST_SUCCESS = 1 - 5 * WITHIN
"""The highest success that can be priced: above it the tolerance would be all there is."""
MOST_RUNS = 16
"""Runs of one calibration; three or four are usual."""
_NARROW = 0.01  # of ln(-ln(1 - target)): 0.0023 of success at 0.9, so what lies between is a jump
_SLOPES = (0.25, 2.0)  # of success on target, both on that scale; 1 where the server is right about people

COLUMNS = {key: unit for key, (_, unit, _) in AT_SUCCESS.items()}
"""What a calibration adds to the numbers of a run, with units."""


@dataclass(frozen=True)
class Planned:
    """What a run that plans on one target comes to; means over all tasks decided before it ended."""

    target: float
    """The target on which the server plans."""
    success: float
    """Chance that one of the people asked says yes, from the truth; 0 for a task without an offer."""
    asked: float
    """Workers asked per task, 0 for a task without an offer."""
    taken: float
    """Share of tasks that somebody took."""
    travel_m: float | None = None
    """Metres travelled to a task that was taken."""
    reward: float | None = None
    """Reward of a completed task."""
    tasks: int = 0
    """How many tasks were decided."""


@dataclass(frozen=True)
class Calibrated:
    """The price of a success on one world."""

    success: float
    """The mean expected success that was wanted."""
    found: Planned | None
    """The run that has it, or the mixture of two that has it (None: no target reaches it)."""
    first: Planned
    """The run whose target is the success that was wanted."""
    last: Planned
    """The run that was tried last: where no target is enough, that of the highest."""
    runs: int
    """How many runs it took."""
    mixed: bool = False
    """Whether success jumps over what is wanted, so that two targets are mixed: some tasks get one, some the other."""

    @property
    def cost(self) -> float:
        """Workers asked per task; infinite where no target reaches the success."""
        return math.inf if self.found is None else self.found.asked

    def columns(self) -> dict[str, float | None]:
        """Return the numbers by the names of `COLUMNS`; cost and target are None where no target is enough."""
        found = self.found
        return {
            "cost_at_success": None if found is None else found.asked,
            "target_at_success": None if found is None else found.target,
            "expected_at_success": (found or self.last).success,
            "taken_at_success": None if found is None else found.taken,
            "travel_at_success_m": None if found is None else found.travel_m,
            "reward_at_success": None if found is None else found.reward,
        }


def calibrate(plan: Callable[[float], Planned], success: float) -> Calibrated:
    """Find the target whose run has a mean expected success of `success` ± 0.002, between 0.05 and 0.9999.

    Regula falsi on the scale ln(-ln(1 - target)), on which success is nearly a straight line of the target. Where it
    jumps over what is wanted (people are asked in whole numbers), both sides are mixed in the proportion that meets it:
    what a server would come to that draws one of two targets for every task. Where even the lowest target succeeds more
    often than wanted, that one is priced.

    Parameters
    ----------
    plan
        Makes the run of a target.
    success
        The mean expected success that is wanted.
    """
    bracket = _Bracket(success)
    first: Planned | None = None
    at = _scale(min(max(success, LOWEST), HIGHEST))
    for runs in range(1, MOST_RUNS + 1):
        made = plan(_target(at))
        first = first or made
        if abs(made.success - success) <= WITHIN:
            return Calibrated(success, made, first, made, runs)
        bracket.add(at, made)
        if made.success < success and at >= _scale(HIGHEST):
            return Calibrated(success, None, first, made, runs)
        if made.success > success and at <= _scale(LOWEST):
            return Calibrated(success, made, first, made, runs)
        if bracket.narrow:
            break
        at = bracket.choose_next()
    return Calibrated(success, bracket.mixture(), first or made, made, runs, mixed=True)


def _scale(share: float) -> float:
    """Return ln(-ln(1 - share)): the logarithm of how many willing people are expected."""
    return math.log(-math.log1p(-min(max(share, 1e-9), 1 - 1e-12)))


def _target(place: float) -> float:
    return min(max(-math.expm1(-math.exp(place)), LOWEST), HIGHEST)


class _Bracket:
    """The last runs below and above the success that is wanted."""

    def __init__(self, success: float) -> None:
        self.goal, self.success = _scale(success), success
        self.below: tuple[float, Planned] | None = None
        self.above: tuple[float, Planned] | None = None
        self._steps: list[tuple[float, float]] = []  # place and how far off, in order
        self._weights = [1.0, 1.0]

    def add(self, at: float, made: Planned) -> None:
        under = made.success < self.success
        both = self.below is not None and self.above is not None
        if under:
            self.below = (at, made)
        else:
            self.above = (at, made)
        kept, moved = (1, 0) if under else (0, 1)
        # Illinois: an end that stays twice in a row counts half, or the other would creep.
        stayed = both and len(self._steps) > 0 and (self._steps[-1][1] < 0) == under
        self._weights[kept] = self._weights[kept] / 2 if stayed else 1.0
        self._weights[moved] = 1.0
        self._steps.append((at, _scale(made.success) - self.goal))

    @property
    def narrow(self) -> bool:
        """Whether nothing but a jump can lie between."""
        return self.below is not None and self.above is not None and self.above[0] - self.below[0] < _NARROW

    def mixture(self) -> Planned | None:
        """Return what a draw between both sides comes to that meets what is wanted (None: one side is not there)."""
        if self.below is None or self.above is None:
            return None
        low, high = self.below[1], self.above[1]
        share = (self.success - low.success) / (high.success - low.success)

        def mix(one: float | None, other: float | None) -> float | None:
            return None if one is None or other is None else one + share * (other - one)

        return Planned(
            target=low.target + share * (high.target - low.target),
            success=self.success,
            asked=low.asked + share * (high.asked - low.asked),
            taken=low.taken + share * (high.taken - low.taken),
            travel_m=mix(low.travel_m, high.travel_m),
            reward=mix(low.reward, high.reward),
            tasks=high.tasks,
        )

    def choose_next(self) -> float:
        """Return the next place to try."""
        if self.below is None or self.above is None:
            return self._outwards()
        (left, low), (right, high) = self.below, self.above
        under = (self.goal - _scale(low.success)) * self._weights[0]
        over = (_scale(high.success) - self.goal) * self._weights[1]
        share = under / (under + over) if under + over > 0 else 0.5
        if len(self._steps) > MOST_RUNS // 2:
            share = 0.5  # it is not as straight as it should be
        return left + (right - left) * min(max(share, 0.05), 0.95)

    def _outwards(self) -> float:
        """Go on in the direction of what is wanted, from the third step on at least twice as far each time."""
        (at, off), earlier = self._steps[-1], self._steps[:-1]
        slope, least = 1.0, 0.0
        if earlier:
            gap = at - earlier[-1][0]
            slope = (off - earlier[-1][1]) / gap if gap else 1.0
            least = 2 * abs(gap) if len(earlier) > 1 else 0.0
        step = max(abs(off) / min(max(slope, _SLOPES[0]), _SLOPES[1]), least)
        return min(max(at - math.copysign(step, off), _scale(LOWEST)), _scale(HIGHEST))


def calibrate_scenario(scenario: Scenario, seed: int, success: float) -> Calibrated:
    """Calibrate a scenario with one seed: its world is built once, for all targets."""
    from geodp.simulation.engine import build_world
    from geodp.streams import Streams

    require_target(scenario)
    seeded = scenario.model_copy(update={"seed": seed})
    return calibrate_on_world(seeded, build_world(seeded.resolve(), Streams(seed)), success)


def calibrate_on_world(scenario: Scenario, world: World, success: float) -> Calibrated:
    """Calibrate a scenario on a world that was built before."""
    from geodp.runs.run import run_on_world
    from geodp.storage.folders import scratch_folder

    once = scenario.server.model_copy(update={"reoffers": 0})
    plain = scenario.model_copy(update={"attacks": (), "server": once})

    def plan(target: float) -> Planned:
        with scratch_folder() as folder:
            return measure_plan(run_on_world(folder, with_target(plain, target).resolve(), world), target)

    return calibrate(plan, success)


def measure_plan(run: RunFolder, target: float) -> Planned:
    """Measure a run, and of it only what a price needs."""
    from geodp.metrics.effort import NotifiedWorkers, RewardPerCompleted, TravelDistance
    from geodp.metrics.intervals import mean
    from geodp.metrics.protocol import find_decided_tasks

    fate = find_decided_tasks(run)
    if fate.empty:
        raise GeodpError(
            "no task was decided before the run ended, so a success has no price: raise duration_s or the demand"
        )
    asked = NotifiedWorkers().per_task(run).reindex(fate.index, fill_value=0.0)
    expected = run.offer_truth["expected_success"].reindex(fate.index, fill_value=0.0)
    return Planned(
        target=target,
        success=float(expected.mean()),
        asked=float(asked.mean()),
        taken=float((fate["outcome"] == "success").mean()),
        travel_m=mean(TravelDistance().per_task(run)).value,
        reward=mean(RewardPerCompleted().per_task(run)).value,
        tasks=len(fate),
    )


def require_target(scenario: Scenario) -> None:
    """Refuse a scenario whose server plans on no target: nothing could be moved until successes are equal."""
    server = scenario.server
    if server.mode != "server_assigned":
        raise UsageError(
            f"server.mode '{server.mode}' plans no offers: there is no target to move until successes are equal"
        )
    if "target_success" not in type(server.assignment).model_fields:
        raise UsageError(
            f"server.assignment '{server.assignment.kind}' has no target_success: there is nothing to move until "
            "successes are equal. Use an assignment that has one, such as geocast or reward_radius."
        )


def with_target(scenario: Scenario, target: float) -> Scenario:
    """Return the scenario with another target."""
    assignment = scenario.server.assignment.model_copy(update={"target_success": target})
    return scenario.model_copy(update={"server": scenario.server.model_copy(update={"assignment": assignment})})


def require_success(success: float) -> None:
    """Refuse a success that no calibration could reach."""
    if not LOWEST <= success <= MOST_SUCCESS:
        raise UsageError(f"a success between {LOWEST:g} and {MOST_SUCCESS:g} can be priced, not {success:g}")


_PRICES = ("target", "expected_success", "taken", "asked", "against_first", "travel_m", "reward", "note")
_UNPLANNED = ("asked_as_it_stands", "first_asks_for_as_much")
PRICE_COLUMNS = ("arm", *_PRICES, *_UNPLANNED)
"""Columns of `equal_success.csv`; the last two are of arms without a target, which succeed as they stand."""


def price_arms(
    arms: Mapping[str, Scenario],
    world: World,
    success: float,
    say: Callable[[str, float], None],
    runs: Mapping[str, RunFolder] | None = None,
) -> pd.DataFrame:
    """Price the arms of a comparison at equal success, on its own world.

    An arm without a target succeeds as it stands (`runs` has how often): the first arm with a target is then priced at
    that success, so that these two can be compared.
    """
    import pandas as pd

    rows: list[dict[str, Any]] = []
    first: tuple[str, Scenario] | None = None
    for number, (name, arm) in enumerate(arms.items()):
        say(f"{name}: at equal success", number / len(arms))
        try:
            require_target(arm)
        except UsageError as why:
            rows.append({"arm": name, "note": str(why)})
            continue
        first = first or (name, arm)
        rows.append({"arm": name} | _price_of(arm, world, success))
    for row in rows:
        if first is not None and "expected_success" not in row and runs is not None:
            row.update(_price_unplanned(measure_plan(runs[row["arm"]], math.nan), first, world, row["note"]))
    table = pd.DataFrame(rows, columns=list(PRICE_COLUMNS))
    asked = table["asked"].dropna()
    table["against_first"] = table["asked"] / asked.iloc[0] if len(asked) else math.nan
    return table


def _price_of(arm: Scenario, world: World, success: float) -> dict[str, Any]:
    found = calibrate_on_world(arm, world, success)
    if found.found is None:
        most = f"the highest comes to {found.last.success:.3g} and asks {found.last.asked:.3g}"
        return {"expected_success": found.last.success, "note": f"no target reaches {success:g}: {most}"}
    made = found.found
    return {
        "target": made.target,
        "expected_success": made.success,
        "taken": made.taken,
        "asked": made.asked,
        "travel_m": made.travel_m,
        "reward": made.reward,
        "note": "",
    }


def _price_unplanned(made: Planned, first: tuple[str, Scenario], world: World, why: str) -> dict[str, Any]:
    """Say what an arm without a target comes to, and what the first arm with one asks for as much."""
    name, arm = first
    row: dict[str, Any] = {"taken": made.taken, "asked_as_it_stands": made.asked}
    row |= {"travel_m": made.travel_m, "reward": made.reward}
    share, asked = f"{made.taken:.1%}", f"{made.asked:.3g}"
    stands = f"{why.rstrip('.')}. As it stands {share} of tasks are taken and {asked} people asked per task"
    if not LOWEST <= made.taken <= MOST_SUCCESS:
        return row | {"note": stands}
    found = calibrate_on_world(arm, world, made.taken).found
    if found is None:
        return row | {"note": f"{stands}; no target of {name} reaches as much"}
    note = f"{stands}; for an expected success of as much {name} asks {found.asked:.3g}"
    return row | {"first_asks_for_as_much": found.asked, "note": note}
