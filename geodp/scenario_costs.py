"""What a scenario will charge each person: its schedule of releases, and what is published at its end."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from geodp.curator.publications import Publication
from geodp.privacy.guarantee import Guarantee, Neighbours, Unit, plus

if TYPE_CHECKING:
    from geodp.curator.mechanisms import Mechanism
    from geodp.scenario import Budget, Scenario

Charges = list[tuple[float, float]]
"""Times (seconds) and epsilons."""


def publication_cost(item: Publication, scenario: Scenario) -> Guarantee:
    """Return what a publication costs each person, in the neighbour relation that the curator counts in."""
    cost = item.cost()
    replaces = scenario.curator is not None and scenario.curator.neighbours is Neighbours.REPLACE
    return cost.for_replacement() if replaces and cost.neighbours is Neighbours.ADD_REMOVE else cost


def published_charges(scenario: Scenario, *, metric: bool = False) -> Charges:
    """Return what publications charge at the end: epsilon, or (metric) epsilon per metre."""
    costs = [publication_cost(item, scenario) for item in scenario.publish]
    wanted = [cost for cost in costs if cost.unit is not Unit.NOTHING and (cost.unit is Unit.POINT) == metric]
    return [(scenario.duration_s, cost.epsilon) for cost in wanted]


def scheduled_charges(scenario: Scenario, mechanism: Mechanism) -> Charges:
    """Return what the curator's releases charge ([] when nothing is promised, so nothing is charged)."""
    epsilon = mechanism.guarantee().epsilon
    return [(time_s, epsilon) for time_s in scenario.release_times()] if math.isfinite(epsilon) else []


def costliest(budget: Budget, charges: Charges, start_s: float) -> float | None:
    """Return the most that one run, day or window of these charges costs (None: there are none)."""
    window = budget.allowance(start_s).window
    spans = {span for time_s, _ in charges for span in window.spans(time_s, ())}
    sums = [plus(*(epsilon for time_s, epsilon in charges if low < time_s <= high)) for low, high in spans]
    return max(sums, default=None)
