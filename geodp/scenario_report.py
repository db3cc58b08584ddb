"""What `geodp check` says about a scenario that is fine: its promise, its budget, its noise and its size."""

from __future__ import annotations

import math

from geodp.privacy.guarantee import Guarantee, Neighbours, Unit
from geodp.scenario import Scenario
from geodp.scenario_file import arms


def report(scenario: Scenario, source: str) -> str:
    """Describe a valid scenario before it is run."""
    lines = [f"{source}: ok"]
    for name, arm in arms(scenario).items():
        lines += [f"\narm {name}"] if name else []
        lines += [f"  {label:<9} {text}" for label, text in _facts(arm.resolved())]
    return "\n".join(lines)


def _facts(scenario: Scenario) -> list[tuple[str, str]]:
    return [("promise", _promise(scenario)), *_budget(scenario), *_noise(scenario), ("size", _size(scenario))]


def _promise(scenario: Scenario) -> str:
    parts = []
    if scenario.device.mechanism.kind != "none":
        parts.append("On the phone: " + scenario.device.mechanism.guarantee().sentence())
    if scenario.curator is None:
        return (
            " ".join(parts)
            or "No location is published: there is nothing to promise, and answering is all that workers disclose."
        )
    guarantee = scenario.curator.mechanism.guarantee(scenario.curator.neighbours, scenario.curator.counts)
    return " ".join([*parts, "Each release: " + guarantee.sentence()])


def _budget(scenario: Scenario) -> list[tuple[str, str]]:
    curator = scenario.curator
    if curator is None:
        return []
    guarantee = curator.mechanism.guarantee(curator.neighbours, curator.counts)
    scheduled = len(scenario.release_times())
    if guarantee.unit is Unit.NOTHING:
        return [("budget", f"{scheduled} releases, none of them private: no budget applies")]
    budget = curator.budget.epsilon or math.inf
    affordable = min(scheduled, int(budget / guarantee.epsilon + 1e-9))
    total = affordable * guarantee.epsilon
    text = (
        f"{affordable} releases × ε {guarantee.epsilon:g} = {both_relations(total, guarantee)} per person over the run"
    )
    text += f", of a budget of ε {budget:g}"
    if affordable < scheduled:
        text += f"; the schedule has {scheduled} releases, afterwards: {curator.budget.when_spent}"
    return [("budget", text)]


def both_relations(epsilon: float, guarantee: Guarantee) -> str:
    """Print a central epsilon for both neighbour relations: a known list of workers makes the second one honest."""
    if guarantee.neighbours is Neighbours.REPLACE:
        return f"ε {epsilon:g} (replace)"
    return f"ε {epsilon:g} (add/remove), {2 * epsilon:g} (replace)"


def _noise(scenario: Scenario) -> list[tuple[str, str]]:
    curator = scenario.curator
    if curator is None:
        return []
    noise = curator.mechanism.expected_noise(curator.neighbours)
    cell_m = getattr(curator.mechanism, "cell_m", None)
    if cell_m is None:
        return [("noise", f"±{noise:.3g} workers per released count on average")]
    area = scenario.area
    mean = (curator.expected_workers or 0.0) * cell_m**2 / area.area_m2
    text = (
        f"±{noise:.3g} workers per cell on average, where a cell ({cell_m:g} m) holds {mean:.3g} of the expected "
        f"{curator.expected_workers:g}"
    )
    if noise > mean:
        text += "; THE NOISE EXCEEDS THE COUNT: use larger cells or a larger epsilon"
    return [("noise", text)]


def _size(scenario: Scenario) -> str:
    workers = scenario.expected_workers()
    tasks = scenario.expected_tasks()
    people = "an unstated number of" if workers is None else f"{workers:,.0f}"
    return (
        f"about {people} workers, {tasks:,.0f} tasks, {len(scenario.release_times())} releases, "
        f"{math.ceil(scenario.duration_s / scenario.server.batch_s) - 1} batches of offers in "
        f"{scenario.duration_s / 3600:g} h"
    )
