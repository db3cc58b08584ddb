"""What `geodp check` says about a scenario that is fine: its promise, its budget, its noise and its size."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, replace
from typing import Any

from geodp.curator.count_noise import CountNoise
from geodp.curator.mechanisms import Mechanism
from geodp.device.cell_response import CellResponse
from geodp.device.planar import PlanarDevice
from geodp.errors import BudgetSpent
from geodp.privacy.data_days import describe_spent
from geodp.privacy.ledger import Account, Allowance, Ledger
from geodp.privacy.shuffling import amplify_by_shuffling
from geodp.privacy.spending import Period
from geodp.public.cell_laws import count_variance, is_direct_best
from geodp.public.guarantee import Guarantee, Unit, both_relations, plus, times
from geodp.public.zcdp import epsilon_of_rho, largest_rho
from geodp.scenario.checks import unwritten_curator
from geodp.scenario.costs import (
    Charges,
    adds_epsilon,
    charge_concentrated,
    costliest,
    counts_rho,
    find_delta,
    in_force,
    list_paid_periods,
    list_publication_charges,
    list_scheduled_charges,
    publication_cost,
)
from geodp.scenario.estimate import RunEstimate, estimate_run, look_at_files
from geodp.scenario.file import arms
from geodp.scenario.schema import Scenario

_CALIBRATIONS = 4
"""Runs that a price at equal success takes, usually."""
_LARGEST_EPSILON = 1e3
"""Beyond it no noise is worth comparing."""
_WINDOW_S = 7200.0
"""The window of which `check` speaks where nobody names one."""


@dataclass(frozen=True)
class ScenarioReport:
    """What can be said of a valid scenario before it is run."""

    remark: str
    """What its writer should know about the curator ('' where there is nothing)."""
    facts: dict[str, list[tuple[str, str]]]
    """Label and sentence of each fact, by arm ('' where nothing is compared)."""
    needs: list[tuple[str, str]]
    """What its data files are like, and what a run takes: all arms together."""
    estimate: RunEstimate

    def text(self, source: str) -> str:
        """Say it on the screen."""
        lines = [f"{source}: ok", *([f"  curator  {self.remark}"] if self.remark else [])]
        for name, facts in self.facts.items():
            lines += [f"\narm {name}"] if name else []
            lines += [f"  {label:<9} {text}" for label, text in facts]
        lines += [""] if "" not in self.facts else []
        return "\n".join([*lines, *(f"  {label:<9} {text}" for label, text in self.needs)])


def report(scenario: Scenario, source: str, *, trust_plugins: bool = False) -> str:
    """Say what a valid scenario is, before it is run; `trust_plugins` as it was read."""
    return describe_scenario(scenario, trust_plugins=trust_plugins).text(source)


def describe_scenario(scenario: Scenario, *, trust_plugins: bool = False) -> ScenarioReport:
    """Describe a valid scenario before it is run; `trust_plugins` as it was read."""
    resolved = {name: arm.resolve() for name, arm in arms(scenario, trust_plugins=trust_plugins).items()}
    files, _ = look_at_files(scenario)
    each = [estimate_run(arm, files) for arm in resolved.values()]
    runs = 1 if scenario.compare_at_success is None else 1 + _CALIBRATIONS
    estimate = RunEstimate(runs * sum(one.seconds for one in each), max(one.bytes for one in each))
    needs = [*(("data", file.sentence()) for file in files), ("needs", estimate.sentence())]
    facts = {name: _facts(arm) for name, arm in resolved.items()}
    return ScenarioReport(unwritten_curator(scenario) or "", facts, needs, estimate)


def describe_values(found: ScenarioReport, scenario: Scenario, source: str) -> dict[str, Any]:
    """Return a report as plain values: sentences by arm and label, and the numbers behind them."""
    sentences = {name: [{"fact": label, "text": text} for label, text in facts] for name, facts in found.facts.items()}
    resolved = scenario.resolve()
    spent = None if resolved.curator is None else resolved.curator.budget.epsilon
    return {
        "ok": True,
        "file": source,
        "name": scenario.name,
        "problems": [],
        "facts": sentences.get("", []),
        "arms": {name: facts for name, facts in sentences.items() if name},
        "data": [text for label, text in found.needs if label == "data"],
        "releases": scenario.release_count(),
        "budget_epsilon": spent,
        "expected_workers": scenario.expected_workers(),
        "expected_tasks": scenario.expected_tasks(),
        "seconds": found.estimate.seconds,
        "bytes": found.estimate.bytes,
    }


def _facts(scenario: Scenario) -> list[tuple[str, str]]:
    return [
        ("promise", _promise(scenario)),
        *_histories(scenario),
        *_describe_publications(scenario),
        *_budget(scenario),
        *_presence(scenario),
        *_describe_companions(scenario),
        *_groups(scenario),
        *_noise(scenario),
        *_compare_noise(scenario),
        *_describe_asking(scenario),
        ("size", _size(scenario)),
    ]


def _histories(scenario: Scenario) -> list[tuple[str, str]]:
    """Say what phones promise about histories, what their reports cost per item, and what people allow."""
    mechanism, reports = scenario.device.history_report, scenario.device.history_reports
    if mechanism is None:
        return []
    promise, budget = mechanism.guarantee(), scenario.device.budget.epsilon_per_item
    text = f"{mechanism.kind}, on the phone: {promise.sentence()}"
    if promise.unit is not Unit.NOTHING:
        text += f" {reports} reports cost ε {times(promise.epsilon, reports):g} per item"
        text += "." if budget is None else f", of a budget of ε {budget:g} per item."
    choices = mechanism.choices_text()
    return [("history", text)] + ([("consent", choices)] if choices else [])


def _describe_publications(scenario: Scenario) -> list[tuple[str, str]]:
    """Say what each publication promises, and what it costs each person."""
    lines = []
    for item in scenario.publish:
        promise, cost = item.guarantee(), publication_cost(item, scenario)
        text = f"{item.kind}, once at the end: {promise.sentence()}"
        if cost.holds and adds_epsilon(cost) and (cost.unit is not promise.unit or cost.epsilon != promise.epsilon):
            per = " per metre" if cost.unit is Unit.POINT else ""
            what = "trips" if promise.unit is Unit.TRAJECTORY else "visits"
            text += f" It costs each person ε {cost.epsilon:g}{per}: at most {item.most_contributions()} {what} each."
        elif promise.holds and not cost.holds:
            text += " " + item.together()
        lines.append(("publish", text))
    return lines


def _promise(scenario: Scenario) -> str:
    parts = []
    if scenario.device.mechanism.kind != "none" or scenario.phones_report:
        parts.append("On the phone: " + scenario.report_guarantee().sentence())
    if scenario.curator is None:
        return (
            " ".join(parts)
            or "No location is published: there is nothing to promise, and answering is all that workers disclose."
        )
    mechanism = scenario.curator.mechanism
    guarantee = mechanism.guarantee(scenario.curator.neighbours, scenario.curator.counts)
    releases = scenario.release_count()
    series = mechanism.window_releases() is not None or mechanism.series_guarantee(releases) is not None
    what = f"All {releases:,} releases: " if series else "Each release: "
    return " ".join([*parts, what + guarantee.sentence()])


def _budget(scenario: Scenario) -> list[tuple[str, str]]:
    curator = scenario.curator
    lines = _device_budget(scenario)
    if curator is None:
        return lines
    guarantee = curator.mechanism.guarantee(curator.neighbours, curator.counts)
    mechanism, published = curator.mechanism, list_publication_charges(scenario)
    paid = list_paid_periods(scenario, mechanism)
    scheduled = len(paid)
    if guarantee.unit is Unit.NOTHING and not counts_rho(scenario):
        return [*lines, ("budget", f"{scheduled} releases, none of them private: no budget applies")]
    if counts_rho(scenario):
        return [*lines, ("budget", _describe_rho(scenario, mechanism))]
    if mechanism.window_releases() is not None or mechanism.series_guarantee(scenario.release_count()) is not None:
        return [*lines, ("budget", _describe_series_budget(scenario, guarantee))]
    if curator.budget.people == "filter":
        return [*lines, ("budget", _describe_filter(scenario, guarantee, scheduled))]
    budget = curator.budget.epsilon or math.inf
    affordable = _count_accepted(curator.budget.allowance(scenario.start_s), guarantee, paid, published)
    total = plus(times(guarantee.epsilon, affordable) if affordable else 0.0, *(epsilon for _, epsilon in published))
    more = "".join(f" + ε {epsilon:g} published" for _, epsilon in published)
    text = (
        f"{affordable} releases × ε {guarantee.epsilon:g}{more} = ε {both_relations(total, guarantee.neighbours)} "
        "per person over the run"
    )
    text += f", of a budget of ε {budget:g}"
    text += "" if curator.budget.lasts() == "over the run" else f" {curator.budget.lasts()}"
    if affordable < scheduled:
        text += f"; the schedule has {scheduled} releases, afterwards: {curator.budget.when_spent}"
    if scheduled < len(scenario.release_times()):
        text += (
            f"; {len(scenario.release_times()) - scheduled} more releases are worked out from these and cost nothing"
        )
    return [*lines, ("budget", text)]


def _describe_rho(scenario: Scenario, mechanism: Mechanism) -> str:
    """Say what releases and publications cost a person's day, week, and altogether, where some of it is ρ."""
    curator = scenario.curator
    assert curator is not None  # noqa: S101 - for the type checker
    text = "costs " + describe_spent(charge_concentrated(scenario, mechanism).days, find_delta(scenario))
    budget = curator.budget.concentrated
    return text + ("" if budget is None else f"; the budget is {budget}, afterwards: {curator.budget.when_spent}")


def _describe_filter(scenario: Scenario, guarantee: Guarantee, scheduled: int) -> str:
    """Say how often each person is counted at most, where she pays out of a budget of her own."""
    curator = scenario.curator
    assert curator is not None  # noqa: S101 - for the type checker
    budget = curator.budget
    published = plus(0.0, *(epsilon for _, epsilon in list_publication_charges(scenario)))
    found = []
    for name, epsilon in guarantee.by_group or (("", guarantee.epsilon),):
        limit = budget.by_group.get(name, budget.epsilon or math.inf)
        alone = Ledger(limit)
        if published:
            alone.charge(replace(guarantee, epsilon=published, by_group=()), time_s=0.0, mechanism="")
        times_counted = _count_alone(alone, replace(guarantee, epsilon=epsilon, by_group=()), scheduled)
        whose = f"{name}: " if name else ""
        found.append(f"{whose}in at most {times_counted} of {scheduled} releases × ε {epsilon:g}, of ε {limit:g}")
    more = f"; ε {published:g} of it published" if published else ""
    return (
        f"each person's own{more}; counted {'; '.join(found)}. Releases never stop; who has spent hers is no longer "
        "counted (counts fall), and nobody learns who or how many"
    )


def _count_alone(ledger: Ledger, promise: Guarantee, scheduled: int) -> int:
    """Return how many releases a ledger can pay for."""
    accepted = 0
    with contextlib.suppress(BudgetSpent):
        for number in range(scheduled):
            ledger.charge(promise, time_s=float(number), mechanism="")
            accepted += 1
    return accepted


def _groups(scenario: Scenario) -> list[tuple[str, str]]:
    """Say what each group with a level of its own gets: in one release or report, and over the run."""
    phones, curator = scenario.device.mechanism, scenario.curator
    reports, releases = len(scenario.release_times()), scenario.release_count()
    lines = []
    if isinstance(phones, PlanarDevice) and phones.levels:
        own = dict(scenario.report_guarantee().by_group)
        for name, share in phones.group_shares.items():
            law = phones.for_group(name).channel()
            far = "" if law is None else f", reports {math.sqrt(2 * law.variance_m2):,.0f} m off (root mean square)"
            text = f"{name} ({share:.3g} of the phones): ε {own[name]:.4g} per metre and report, "
            lines.append(("group", text + f"ε {times(own[name], reports):.4g} per metre over {reports} reports{far}"))
    if curator is None or not releases:
        return lines
    promise, mechanism = curator.mechanism.guarantee(curator.neighbours), curator.mechanism
    shares, kept = getattr(mechanism, "group_shares", {}), getattr(mechanism, "kept_shares", {})
    for name, epsilon in promise.by_group:
        text = f"{name} ({shares.get(name, 0.0):.3g} of the people): ε {epsilon:.4g} in each release"
        if curator.budget.people != "filter":
            text += f", ε {times(epsilon, len(list_paid_periods(scenario, mechanism))):.4g} over the run"
        text += f"; each is counted with probability {kept[name]:.4g}, by a hidden coin" if name in kept else ""
        lines.append(("group", text))
    return lines


def _describe_series_budget(scenario: Scenario, guarantee: Guarantee) -> str:
    """Say what a series costs whose promise is about all of it, or about windows of it."""
    curator, releases = scenario.curator, scenario.release_count()
    assert curator is not None  # noqa: S101 - for the type checker
    published, mechanism = list_publication_charges(scenario), curator.mechanism
    charges = list_scheduled_charges(scenario, mechanism)
    whole = plus(*(epsilon for _, epsilon in charges + published))
    total = both_relations(whole, guarantee.neighbours)
    more = "".join(f" + ε {epsilon:g} published" for _, epsilon in published)
    window = mechanism.window_releases()
    if window is not None:
        text = (
            f"tests and counts of any {window} releases cost ε {guarantee.epsilon:g} at most{more}, charged as they "
            f"are made; at most ε {total} per person over the run of {releases}"
        )
    elif guarantee.unit is Unit.USER:
        text = (
            f"the series of {releases} releases{more} costs ε {total} per person over the run, charged before the first"
        )
    else:
        text = (
            f"up to {releases} stays × ε {guarantee.epsilon:g}{more} = ε {total} per person over the run, charged "
            "before the first release (a cap on stays bounds it)"
        )
    limit = curator.budget.epsilon or math.inf
    text += f", of a budget of ε {limit:g}"
    text += "" if curator.budget.lasts() == "over the run" else f" {curator.budget.lasts()}"
    most = costliest(curator.budget, charges + published, scenario.start_s) or 0.0
    if most > limit * (1 + 1e-9):
        text += f"; the budget may not last, afterwards: {curator.budget.when_spent}"
    return text


def _presence(scenario: Scenario) -> list[tuple[str, str]]:
    """Say what someone gets who is there in every release and may move: at one instant, in any window, over the run."""
    curator, releases = scenario.curator, scenario.release_count()
    if curator is None or releases < 2 or curator.mechanism.guarantee().unit is Unit.NOTHING:
        return []
    if not adds_epsilon(curator.mechanism.guarantee()):
        return []  # what it comes to stands in the budget
    if curator.budget.people == "filter":
        return []  # what she gets is what her budget says
    mechanism, every_s = curator.mechanism, curator.release_every_s
    window_s = curator.budget.window_s or _WINDOW_S
    window = mechanism.window_releases() or min(max(1, math.ceil(window_s / every_s)), releases)
    once, some, whole = (mechanism.presence_epsilon(span, releases) for span in (1, window, releases))
    text = (
        f"someone who is there all the time, and may move, gets ε {once:.4g} at one instant, ε {some:.4g} in any "
        f"{window} releases ({window * every_s / 3600:.3g} h), ε {whole:.4g} over the whole run"
    )
    promise = mechanism.series_guarantee(releases)
    if promise is not None and promise.unit is Unit.EVENT:
        still = mechanism.presence_epsilon(releases, releases, stays=1)
        text += f"; who stays in one cell, ε {still:.4g} over the whole run"
    return [("presence", text)]


def _describe_companions(scenario: Scenario) -> list[tuple[str, str]]:
    """Say what people who move together get, each of whom tells of the others."""
    curator, largest = scenario.curator, getattr(scenario.workers.mobility, "largest", 1)
    releases = scenario.release_count()
    if curator is None or largest == 1 or not releases or curator.mechanism.guarantee().unit is Unit.NOTHING:
        return []
    mechanism = curator.mechanism
    groups = -(-largest // mechanism.guarantee().people)
    once, whole = (times(mechanism.presence_epsilon(span, releases), groups) for span in (1, releases))
    text = f"{largest} people who move together get ε {once:.4g} at one instant, ε {whole:.4g} over the whole run"
    if groups > 1:
        text += f": noise hides {mechanism.guarantee().people} at a time (household: {largest} hides them all)"
    return [("together", text)]


def _count_accepted(allowance: Allowance, guarantee: Guarantee, periods: list[Period], published: Charges) -> int:
    """Return how many of the scheduled releases the ledger will accept, with what is published booked before."""
    ledger, accepted = Ledger(budgets={Account.CENTRAL: allowance}), 0
    for period, epsilon in published:
        ledger.charge(replace(guarantee, epsilon=epsilon), time_s=period[1], mechanism="", period=period)
    for begin_s, _ in periods:
        with contextlib.suppress(BudgetSpent):
            ledger.charge(guarantee, time_s=begin_s, mechanism="")
            accepted += 1
    return accepted


def _device_budget(scenario: Scenario) -> list[tuple[str, str]]:
    """Say what reports cost each person; this account is never added to a curator's."""
    guarantee = scenario.report_guarantee()
    scheduled = len(scenario.release_times())
    if guarantee.unit is Unit.NOTHING or not scheduled:
        return []
    if not guarantee.holds:
        return [("budget", f"nothing is charged or added up: the claim of ε {guarantee.epsilon:g} does not hold")]
    local = guarantee.account == "local"
    budget = (scenario.device.budget.epsilon if local else scenario.device.budget.epsilon_per_m) or math.inf
    per = "" if local else " per metre"
    affordable = min(scheduled, int(budget / guarantee.epsilon + 1e-9))
    text = (
        f"{affordable} reports × ε {guarantee.epsilon:g} = ε {times(guarantee.epsilon, affordable):g}"
        f"{' per' if local else per + ' and'} person over the run, of a budget of ε {budget:g}{per}"
    )
    if affordable < scheduled:
        text += f"; the schedule has {scheduled} reports, afterwards: {scenario.device.budget.when_spent}"
    together = guarantee.together(affordable, f"All {affordable:,} reports of one phone") if affordable else ""
    return [("budget", text), *([("together", together)] if together else []), *_describe_shuffler(scenario)]


def _describe_shuffler(scenario: Scenario) -> list[tuple[str, str]]:
    """State what a trusted shuffler would make of the reports of one round."""
    device, people = scenario.device.mechanism, scenario.expected_workers()
    if not isinstance(device, CellResponse) or device.shuffler_delta is None:
        return []
    delta = device.shuffler_delta
    if people is None:
        return [("shuffled", "no bound is stated: nothing public says how many phones report")]
    bound = amplify_by_shuffling(device.epsilon, reports=int(people), delta=delta)
    text = (
        f"if the shuffler is trusted and {people:,.0f} phones report once each at the same ε, a round has "
        f"ε {bound:.4g} at δ = {delta:g} (replace; the clone pair, computed exactly) instead of {device.epsilon:g}; "
        "ε and δ of rounds add up. It is stated, not charged: the ledger holds what needs nobody's word"
    )
    return [("shuffled", text)]


def _describe_asking(scenario: Scenario) -> list[tuple[str, str]]:
    """Say what asking the nearest people first gives away."""
    if getattr(scenario.server.assignment, "recipients", "random") != "nearest":
        return []
    return [
        (
            "asking",
            "the nearest people first: a winner proves that few others are nearer, about ln(N/K) nats about her place "
            "for K of N people asked, and what outcomes disclose about the others has no finite bound; "
            "recipients: random bounds it",
        )
    ]


def _noise(scenario: Scenario) -> list[tuple[str, str]]:
    curator = scenario.curator
    if curator is None:
        return _report_noise(scenario)
    noise = curator.mechanism.series_noise(scenario.release_count(), curator.neighbours)
    if noise is None:
        return [("noise", f"not stated by {curator.mechanism.kind}")]
    cell_m = getattr(curator.mechanism, "cell_m", None)
    if curator.mechanism.window_releases() is not None:
        text = f"±{noise:.3g} workers per count that is published once a window; more where counts change more often"
        return [("noise", text)]
    if (mean_kept := getattr(curator.mechanism, "mean_kept", None)) is not None:
        spread = math.sqrt((1 - mean_kept()) / mean_kept())
        text = (
            f"±{noise:.3g} workers per released count on average, and {spread:.3g}·√n more (standard deviation) in a "
        )
        return [("noise", text + "cell of n, since not everyone is counted")]
    if cell_m is None:  # counts that agree with others have less noise than those they are made from
        return [("noise", f"±{noise:.3g} workers per released count on average, or less")]
    area = scenario.area
    mean = (curator.expected_workers or 0.0) * cell_m**2 / area.area_m2
    text = (
        f"±{noise:.3g} workers per cell on average, where a cell ({cell_m:g} m) holds {mean:.3g} of the expected "
        f"{curator.expected_workers:g}"
    )
    if noise > mean:
        text += "; THE NOISE EXCEEDS THE COUNT: use larger cells or a larger epsilon"
    return [("noise", text)]


def _compare_noise(scenario: Scenario) -> list[tuple[str, str]]:
    """Say which noise is smaller at the same price: Laplace for the sum of ε, Gaussian for it at the stated δ."""
    curator = scenario.curator
    mechanism = None if curator is None else in_force(scenario)
    if curator is None or not isinstance(mechanism, CountNoise) or not scenario.release_count():
        return []
    mechanism = mechanism.resolve(scenario.public_facts())
    releases, budget = scenario.release_count(), curator.budget
    series = mechanism.series_guarantee(releases) is not None
    times_paid = 1 if series else max(len(list_paid_periods(scenario, mechanism)), 1)
    delta = budget.delta or mechanism.delta
    if mechanism.noise == "laplace":
        whole = times(mechanism.guarantee().epsilon, times_paid)
    else:
        whole = epsilon_of_rho(mechanism.rho * times_paid, delta)
    if not 0 < whole < _LARGEST_EPSILON:
        return []
    shares = {"laplace": whole / times_paid, "gaussian": epsilon_of_rho(largest_rho(whole, delta) / times_paid, delta)}
    found = {}
    for noise, epsilon in shares.items():
        made = mechanism.model_copy(update={"noise": noise, "delta": delta}).with_epsilon(epsilon)
        mean = made.series_noise(releases, curator.neighbours) or 0.0
        found[noise] = mean * (math.sqrt(2) if noise == "laplace" else math.sqrt(math.pi / 2))
    least = min(found, key=lambda noise: found[noise])
    text = (
        f"at ε {whole:.4g} for all {releases:,} releases and δ {delta:g} counts have a standard deviation of "
        f"{found['laplace']:.4g} with noise: laplace, {found['gaussian']:.4g} with noise: gaussian; {least} is smaller"
    )
    return [("law", text + ("" if least == mechanism.noise else f" (this is {mechanism.noise})"))]


def _report_noise(scenario: Scenario) -> list[tuple[str, str]]:
    device = scenario.device.mechanism
    if not scenario.phones_report or device.guarantee().unit is Unit.NOTHING:
        return []
    if isinstance(device, CellResponse):
        return [("noise", _describe_count_noise(device, scenario))]
    if isinstance(device, PlanarDevice) and device.levels:
        return []  # each group has its own
    channel = device.channel() or device.channel(scenario.area)  # before clamping, where there is such a law
    if channel is None:
        return [("noise", f"not stated by {device.kind}")]
    return [("noise", f"reports lie {math.sqrt(2 * channel.variance_m2):,.0f} m from the truth (root mean square)")]


def _describe_count_noise(device: CellResponse, scenario: Scenario) -> str:
    """Say how far off the server's counts are, and which protocol would have the least noise."""
    cells, people = device.law(scenario.area).cells.size, scenario.expected_workers()
    best = "grr" if is_direct_best(device.epsilon, cells) else "oue (olh nearly the same in few bits)"
    bound = 3 * math.exp(device.epsilon) + 2
    advice = f"least noise with {cells:,} cells and ε {device.epsilon:g} (3e^ε + 2 = {bound:,.4g}): {best}"
    if people is None:
        return advice
    sd = math.sqrt(float(count_variance(device.protocol, device.epsilon, cells, reports=people)))
    mean = people / cells
    more = "; THE NOISE EXCEEDS THE COUNT: use larger cells or a larger epsilon" if sd > mean else ""
    return (
        f"±{sd:.3g} workers per cell (standard deviation where nobody is), where a cell ({device.cell_m:g} m) holds "
        f"{mean:.3g} of the expected {people:,.0f}{more}; {advice}"
    )


def _size(scenario: Scenario) -> str:
    workers = scenario.expected_workers()
    tasks = scenario.expected_tasks()
    what = "rounds of reports" if scenario.phones_report else "releases"
    people = "an unstated number of" if workers is None else f"{workers:,.0f}"
    return (
        f"about {people} workers, {tasks:,.0f} tasks, {len(scenario.release_times())} {what}, "
        f"{math.ceil(scenario.duration_s / scenario.server.batch_s) - 1} batches of offers in "
        f"{scenario.duration_s / 3600:g} h"
    )
