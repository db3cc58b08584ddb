"""What a scenario will charge each person: its schedule of releases, and what is published at its end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from geodp.curator.publications import Publication
from geodp.curator.seen_people import day_of_moment
from geodp.curator.series import looks_at_people
from geodp.privacy.data_days import DAY_UNITS, DataDays, describe_spent, state_spent
from geodp.privacy.ledger import Account, Ledger, chargeable
from geodp.privacy.spending import Period, limit_units, touches, units
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit, plus
from geodp.public.zcdp import epsilon_of_rho

if TYPE_CHECKING:
    import pandas as pd

    from geodp.curator.mechanisms import Mechanism
    from geodp.scenario.schema import Scenario
    from geodp.scenario.sections import Budget

_USUAL_DELTA = 1e-6
Charges = list[tuple[Period, float]]
"""First and last moment of the data (seconds), and epsilons."""


def publication_cost(item: Publication, scenario: Scenario) -> Guarantee:
    """Return what a publication costs each person, in the neighbour relation that the curator counts in."""
    return _as_counted(item.cost(), scenario)


def publication_charge(item: Publication, scenario: Scenario) -> tuple[Guarantee, Account] | None:
    """Return what the ledger is asked for a publication: per person, or per visit or trip where that has no bound."""
    asked = chargeable(item.guarantee(), publication_cost(item, scenario))
    return None if asked is None else (_as_counted(asked[0], scenario), asked[1])


def list_publication_charges(scenario: Scenario, *, metric: bool = False) -> Charges:
    """Return what publications about the whole run charge: epsilon, or (metric) epsilon per metre."""
    costs = [publication_cost(item, scenario) for item in scenario.publish]
    costs = [cost for cost in costs if adds_epsilon(cost)]
    wanted = [cost for cost in costs if cost.unit is not Unit.NOTHING and (cost.unit is Unit.POINT) == metric]
    return [(whole_run(scenario), cost.epsilon) for cost in wanted]


def adds_epsilon(promise: Guarantee) -> bool:
    """Tell whether a promise adds up as ε: not one of ρ, nor one about days of the data."""
    return promise.rho is None and promise.unit not in DAY_UNITS


def counts_rho(scenario: Scenario) -> bool:
    """Tell whether a run is charged as ρ, by days of the data: its budget says so, or something promises ρ."""
    if scenario.curator is None:
        return False
    promises = [scenario.curator.mechanism.guarantee(), *(item.cost() for item in scenario.publish)]
    return scenario.curator.budget.counts_rho or not all(adds_epsilon(promise) for promise in promises)


def find_delta(scenario: Scenario) -> float:
    """Return the δ at which what a run costs is stated: that of its budget, or the largest that is promised."""
    if scenario.curator is not None and scenario.curator.budget.delta:
        return scenario.curator.budget.delta
    return max([item.cost().delta for item in scenario.publish], default=0.0) or _USUAL_DELTA


def charge_concentrated(scenario: Scenario, mechanism: Mechanism | None) -> Ledger:
    """Return a ledger with all charges of a run that is counted by ρ and days; its budget is not asked.

    Parameters
    ----------
    scenario, mechanism
        The scenario, and the curator's mechanism as it is in force (None: publications alone).
    """
    ledger = Ledger()
    for item in scenario.publish:
        asked = publication_charge(item, scenario)
        if asked is not None:
            days = item.data_days(scenario.start_s, scenario.duration_s)
            ledger.charge(asked[0], time_s=0.0, mechanism=item.kind, account=asked[1], days=days)
    if mechanism is None:
        return ledger
    promise = mechanism.guarantee(scenario.curator.neighbours) if scenario.curator else mechanism.guarantee()
    if promise.unit is not Unit.NOTHING:
        series = mechanism.series_guarantee(scenario.release_count())
        for time_s, _ in [(0.0, 0.0)] if series is not None else list_paid_periods(scenario, mechanism):
            day = day_of_moment(scenario.start_s, time_s)
            days = None if series is not None else (day, day)
            cost = promise if series is None else series.for_users(scenario.release_count())
            ledger.charge(cost, time_s=time_s, mechanism=mechanism.kind, days=days)
    return ledger


@dataclass(frozen=True, eq=False)
class SpentByDays:
    """What a run was charged, by days of its data.

    Parameters
    ----------
    days
        The charges.
    delta
        δ at which totals are stated.
    """

    days: DataDays
    delta: float

    def state(self) -> dict[str, float | None]:
        """Return ε of a person's day, week, and of a person."""
        return {unit: amounts["epsilon"] for unit, amounts in state_spent(self.days, self.delta).items()}

    def __str__(self) -> str:
        return describe_spent(self.days, self.delta)


def read_charges(scenario: Scenario, rows: pd.DataFrame) -> SpentByDays | None:
    """Return what rows of a ledger come to, where some of it is ρ or about days (None: ε adds up, as it stands).

    Parameters
    ----------
    scenario
        The run's scenario.
    rows
        Rows of its central account.
    """
    import pandas as pd

    if not counts_rho(scenario):
        return None
    days = DataDays()
    for row in rows.to_dict("records"):
        promise = Guarantee(
            float(row["epsilon"]),
            Unit(row["unit"]),
            Neighbours(row["neighbours"]),
            Trust.CENTRAL,
            delta=float(row["delta"]),
            rho=None if pd.isna(row["rho"]) else float(row["rho"]),
            delta_t=float(row["delta_t"]),
        )
        ends = (row["first_day"], row["last_day"])
        first, last = ((None if pd.isna(day) else pd.Timestamp(day).date()) for day in ends)
        days = days.with_charge(promise, None if first is None or last is None else (first, last))
    return SpentByDays(days, find_delta(scenario))


def whole_run(scenario: Scenario) -> Period:
    """Return the time that publications tell about: they count in every window and day of the run."""
    return (0.0, scenario.duration_s)


def list_scheduled_charges(scenario: Scenario, mechanism: Mechanism) -> Charges:
    """Return what the curator's releases charge ([] when nothing is promised, so nothing is charged)."""
    promise = mechanism.guarantee()
    epsilon = promise.epsilon if adds_epsilon(promise) else math.inf
    periods = list_paid_periods(scenario, mechanism) if math.isfinite(epsilon) else []
    return [(period, epsilon) for period in periods]


def list_paid_periods(scenario: Scenario, mechanism: Mechanism) -> list[Period]:
    """Return the periods for which the mechanism's ε is charged, as often as it is.

    Where the promise is about a series, that is the whole run: once, or once for every stay or position that a person
    may have. Where it is about windows of releases, each window counts once, at its beginning: ε is not exceeded in
    any. Otherwise a release is charged when it looks at people; those worked out from earlier ones cost nothing.
    """
    times_s = scenario.release_times()
    promise = mechanism.series_guarantee(len(times_s)) if times_s else None
    if promise is not None:
        return [whole_run(scenario)] * (1 if promise.unit is Unit.USER else len(times_s))
    window = mechanism.window_releases()
    if window is not None:
        return [(time_s, time_s) for time_s in times_s[::window]]
    return [(time_s, time_s) for number, time_s in enumerate(times_s) if looks_at_people(mechanism, number, ())]


def count_shares(scenario: Scenario, mechanism: Mechanism) -> int:
    """Return how often the mechanism's ε is charged in the run, day or window of the budget that is charged most."""
    if scenario.curator is None:
        return 0
    ones = [(period, 1.0) for period in list_paid_periods(scenario, mechanism)]
    return round(costliest(scenario.curator.budget, ones, scenario.start_s) or 0.0)


def in_force(scenario: Scenario) -> Mechanism | None:
    """Return the curator's mechanism with the ε that each of its releases has, after `budget.split`.

    An even split gives every release that looks at people the same share of what publications leave of the budget; a
    mechanism that promises ε for a window or for the whole series gets what that may cost.
    """
    curator = scenario.curator
    if curator is None:
        return None
    mechanism, budget = curator.mechanism, curator.budget
    if budget.split == "even" and budget.counts_rho and mechanism.guarantee().unit is not Unit.NOTHING:
        return _share_rho(scenario, mechanism, budget)
    if budget.split != "even" or budget.epsilon is None or mechanism.guarantee().unit is Unit.NOTHING:
        return mechanism
    published = [epsilon for _, epsilon in list_publication_charges(scenario)]
    left = budget.epsilon - plus(0.0, *published)
    releases = count_shares(scenario, mechanism)
    if left <= 0 or releases == 0:
        return mechanism
    share = left / releases
    paid = sum(units(epsilon) for epsilon in published)
    while paid + releases * units(share) > limit_units(budget.epsilon):  # the ledger's own sum
        share = math.nextafter(share, 0.0)
    return mechanism.with_epsilon(share)


def _share_rho(scenario: Scenario, mechanism: Mechanism, budget: Budget) -> Mechanism:
    """Give every release that looks at people the same share of what publications leave of a budget of ρ."""
    whole, published = budget.concentrated, charge_concentrated(scenario, None).days
    times_s = [time_s for time_s, _ in list_paid_periods(scenario, mechanism)]
    if whole is None or not times_s:
        return mechanism
    left = min(whole.find_rho(costs) for costs in published.sums(whole.unit))
    spans = {Unit.PERSON_DAY: 1, Unit.PERSON_WEEK: 7}
    numbers = sorted(day_of_moment(scenario.start_s, time_s).toordinal() for time_s in times_s)
    reach = spans.get(whole.unit, numbers[-1] - numbers[0] + 1)
    most = max(sum(first <= number < first + reach for number in numbers) for first in set(numbers))
    together = mechanism.series_guarantee(scenario.release_count()) is not None
    share = left / (1 if together else most) * (1 - 1e-9)
    if share <= 0:
        return mechanism
    delta = mechanism.guarantee().delta
    return mechanism.with_epsilon(epsilon_of_rho(share, delta) if delta else math.sqrt(2 * share))


def _as_counted(promise: Guarantee, scenario: Scenario) -> Guarantee:
    replaces = scenario.curator is not None and scenario.curator.neighbours is Neighbours.REPLACE
    return promise.for_replacement() if replaces and promise.neighbours is Neighbours.ADD_REMOVE else promise


def costliest(budget: Budget, charges: Charges, start_s: float) -> float | None:
    """Return the most that one run, day or window of these charges costs (None: there are none)."""
    window = budget.allowance(start_s).window
    spans = {span for (begin_s, _), _ in charges for span in window.spans((begin_s, begin_s), ())}
    sums = [plus(*(epsilon for period, epsilon in charges if touches(period, span))) for span in spans]
    return max(sums, default=None)
