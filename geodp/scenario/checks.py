"""What must fit together in a scenario, and how large it may be: each check names the paths it looked at."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from geodp.device import DecoyDevice
from geodp.device.cell_response import CellResponse
from geodp.device.dewri import Dewri
from geodp.device.dummies import Dummies
from geodp.errors import GeodpError, UsageError
from geodp.geometry import region_problems
from geodp.model import did_you_mean
from geodp.privacy.shuffling import amplify_by_formula
from geodp.public.guarantee import Neighbours, Unit
from geodp.registry import Slot, plugins
from geodp.scenario.costs import (
    charge_concentrated,
    costliest,
    count_shares,
    counts_rho,
    in_force,
    list_publication_charges,
    list_scheduled_charges,
    publication_cost,
)
from geodp.scenario.estimate import estimate_run, look_at_files, machine_bytes
from geodp.scenario.schema import Scenario
from geodp.scenario.sections import BASEMAPS
from geodp.storage.files import is_regular, same_content, why_not_regular
from geodp.tables.towers import read_towers
from geodp.world.bounds import MOST_BATCHES, MOST_CELLS, MOST_RELEASES, MOST_STREETS, MOST_TASKS, MOST_VISITS

Finding = tuple[tuple[str, ...], str, str]
"""Paths a check depends on, the path to report, and the message."""
_MOST_LISTED = 50


def cross_check(scenario: Scenario) -> list[Finding]:
    """Return everything that is wrong although each field by itself is fine."""
    found: list[Finding] = []
    unread: list[GeodpError] = []
    for checks in (_FILE_CHECKS, _SIZE_CHECKS, _CHECKS):
        before = len(found)
        for check in checks:
            try:
                found += check(scenario)
            except GeodpError as error:  # a file that cannot be read is a finding of the first checks
                unread.append(error)
        if checks is _SIZE_CHECKS and len(found) > before:
            break  # what follows counts things out
    return found or [((), "(file)", str(error)) for error in unread[:1]]


def _files(scenario: Scenario) -> Iterator[Finding]:
    shown = {"map.basemap": scenario.map.basemap, "map.places": scenario.map.places}
    named = [(key, Path(name)) for key, name in shown.items() if name is not None and name not in BASEMAPS]
    for path, part in scenario.file_plugins():
        fields = {Path(str(getattr(part, field))): f"{path}.{field}" for field in part.file_fields}
        named += [(fields.get(file, path), file) for file in part.files()]
    for path, file in named:
        if not is_regular(file):
            yield (path,), path, f"{why_not_regular(file)}: {str(file)[:200]}"


def _data(scenario: Scenario) -> Iterator[Finding]:
    """Open the data files: they must be readable, and what they hold must fit into memory."""
    files, problems = look_at_files(scenario)
    for path, message in problems:
        yield (path,), path, message
    here = machine_bytes()
    if problems or here is None:
        return
    needed = estimate_run(scenario, files)
    if needed.bytes > here:
        text = (
            f"a run needs {needed.sentence()}, and this machine has {here / 1e9:.2g} GB: use fewer workers, a shorter "
            "run or larger cells"
        )
        yield ("workers", "tasks", "curator", "device", "duration_s"), "(size)", text


def _public_files(scenario: Scenario) -> Iterator[Finding]:
    """Refuse public inputs that are the private data: everything made with them would tell the data for nothing."""
    private = [*scenario.workers.source.files(), *scenario.workers.mobility.files()]
    public = [("region.file", scenario.region.file)]
    public.append(("device.mechanism.prior_file", getattr(scenario.device.mechanism, "prior_file", None)))
    histories = scenario.workers.visit_source
    public.append(("workers.visit_source.venues", getattr(histories, "venues", None)))
    private += [Path(visits)] if (visits := getattr(histories, "path", "")) else []
    for path, file in public:
        if isinstance(file, str) and file and any(same_content(Path(file), each) for each in private):
            yield (path,), path, f"must be public, and {file} is the private data of the people (or a copy of them)"


def _refusal_fits(scenario: Scenario) -> Iterator[Finding]:
    """Refuse what would let a muted phone change who else is asked: then the stated bound is none."""
    if scenario.protocol.refusal is None:
        return
    touched = ("protocol", "server")
    if scenario.server.mode == "worker_selected":
        yield touched, "protocol.refusal", "phones mute offers; with server.mode worker_selected none are made"
    elif getattr(scenario.server.assignment, "max_recipients", None) is not None:
        text = "goes with everybody in the circle being asked only: set server.assignment.max_recipients to null"
        yield touched, "protocol.refusal", text


def _rules_fit(scenario: Scenario) -> Iterator[Finding]:
    """Refuse rules about circles, and about names, where there are none of either."""
    rules, assignment = scenario.protocol, scenario.server.assignment
    touched = ("protocol", "server", "curator")
    posted = scenario.server.mode == "worker_selected"
    if rules.least_people is not None and (posted or scenario.curator is None or not assignment.plans_circles):
        text = f"is about circles that are planned from a curator's map; '{assignment.kind}' plans none here"
        yield touched, "protocol.least_people", text
    if rules.per_km2_hour is not None and posted:
        yield touched, "protocol.per_km2_hour", "limits offers; with server.mode worker_selected none are made"
    if rules.new_names and scenario.curator is None:
        text = "needs a curator: where phones report by themselves, the server asks them by the names that it knows"
        yield touched, "protocol.new_names", text


def _region_file(scenario: Scenario) -> Iterator[Finding]:
    if scenario.region.file is None:
        return
    try:
        area = scenario.area
    except GeodpError as error:
        yield ("region",), "region.file", str(error)
        return
    for problem in region_problems(area.west, area.south, area.east, area.north):
        yield ("region",), "region.file", problem


def _too_large(scenario: Scenario) -> Iterator[Finding]:
    """Refuse what would be too much to compute, to hold or to look at."""
    for touched, path, number, most, what, advice in _sizes(scenario):
        if not number <= most:
            yield touched, path, f"makes {number:,.0f} {what.format(most=f'at most {most:,}')}: {advice}"


def _sizes(scenario: Scenario) -> Iterator[tuple[tuple[str, ...], str, float, int, str, str]]:
    """Yield what is counted out: paths, the path to report, how many there are, the bound, words and advice."""
    shorter, source = "or shorten the run", scenario.workers.source
    path = "device.report_every_s" if scenario.curator is None else "curator.release_every_s"
    what = "releases; {most} are made, each of them a file"
    count = scenario.release_count()
    yield (path, "duration_s", "curator"), path, count, MOST_RELEASES, what, f"release less often, {shorter}"
    path, what = "server.batch_s", "batches of offers; {most} are planned"
    count = math.ceil(scenario.duration_s / scenario.server.batch_s)
    yield (path, "duration_s"), path, count, MOST_BATCHES, what, f"use longer batches, {shorter}"
    path, what = "workers.visit_source.mean_visits", "visits; {most} fit into memory"
    visits = (source.public_count() or 0) * getattr(scenario.workers.visit_source, "mean_visits", 0.0)
    yield ("workers.visit_source", "workers.source"), path, visits, MOST_VISITS, what, "use fewer visits or workers"
    area_m2, smaller = scenario.area.width_m * scenario.area.height_m, "or a smaller region"
    for path, cell_m in _cell_sizes(scenario):
        what, least_m = "cells; {most} fit into memory", math.sqrt(area_m2 / MOST_CELLS)
        advice = f"use cells of {least_m:.2g} m or more, {smaller}"
        yield (path, "region"), f"{path}.cell_m", area_m2 / cell_m / cell_m, MOST_CELLS, what, advice
    if block_m := getattr(source, "block_m", None):
        path, what = "workers.source.block_m", "corners; {most} are laid out"
        corners = area_m2 / block_m / block_m
        yield ("workers.source", "region"), path, corners, MOST_STREETS, what, f"use larger blocks, {smaller}"


def _cell_sizes(scenario: Scenario) -> Iterator[tuple[str, float]]:
    """Yield where the sides of cells stand, and how long they are."""
    mechanism = None if scenario.curator is None else scenario.curator.mechanism
    for path, part in (("", mechanism), (".cells", getattr(mechanism, "cells", None))):
        if (cell_m := getattr(part, "cell_m", None)) is not None:
            yield f"curator.mechanism{path}", cell_m
    if isinstance(phone := scenario.device.mechanism, CellResponse):
        yield "device.mechanism", phone.cell_m


def _too_many_tasks(scenario: Scenario) -> Iterator[Finding]:
    try:
        tasks = scenario.expected_tasks()
    except GeodpError as error:
        text = str(error) if all(is_regular(file) for file in scenario.tasks.demand.files()) else ""
    else:
        many = f"makes {tasks:,.0f} tasks; at most {MOST_TASKS:,} are simulated, one by one: ask for fewer, or shorten"
        text = "" if tasks <= MOST_TASKS else f"{many} the run"
    if text:  # files that are not there are reported by their path
        yield ("tasks.demand", "duration_s"), "tasks.demand", text


def _mobility_fits(scenario: Scenario) -> Iterator[Finding]:
    """Refuse movements that follow what the source does not have."""
    source, mobility = scenario.workers.source, scenario.workers.mobility
    mobility = getattr(mobility, "mobility", mobility)  # companions move as others do
    touched = ("workers.source", "workers.mobility")
    if mobility.kind == "replay" and not mobility.files() and source.has_trips() is False:
        text = (
            f"'replay' needs trips, and the source '{source.kind}' has none: name a file of trajectories in path, or "
            "use a source that has trips (kind: street_trips)"
        )
        yield touched, "workers.mobility", text
    if mobility.kind != "recorded":
        return
    if source.has_times() is False:
        text = (
            f"'recorded' needs fixes over time, and the source '{source.kind}' has one place each: use a table with "
            "columns worker and time_s (and keep: all), or another mobility"
        )
        yield touched, "workers.mobility", text


def _households_fit(scenario: Scenario) -> Iterator[Finding]:
    """Refuse noise for households that are smaller than those who move together."""
    largest = getattr(scenario.workers.mobility, "largest", 1)
    hidden = 1 if scenario.curator is None else getattr(scenario.curator.mechanism, "household", 1)
    if 1 < hidden < largest:
        text = (
            f"hides at most {hidden} people together, and the largest households of workers.mobility.sizes have "
            f"{largest}: set household: {largest}, or household: 1 to hide single people only"
        )
        yield ("curator.mechanism", "workers.mobility"), "curator.mechanism.household", text


def _assignment_can_read(scenario: Scenario) -> Iterator[Finding]:
    assignment = scenario.server.assignment
    publisher = scenario.device.mechanism if scenario.curator is None else scenario.curator.mechanism
    if scenario.server.mode == "worker_selected" or assignment.reads & publisher.releases:
        return
    able = [kind for kind, cls in plugins("assignment").items() if cls.reads & publisher.releases]
    offered = " or ".join(sorted(publisher.releases)) or "nothing"
    use = (
        f"Use an assignment that reads {offered}: {', '.join(able)}."
        if able
        else f"No assignment of this version reads {offered}: choose another mechanism."
    )
    wants = " or ".join(sorted(assignment.reads))
    path = "device.mechanism" if scenario.curator is None else "curator.mechanism"
    text = f"'{assignment.kind}' reads {wants}, but '{publisher.kind}' releases {offered}. {use}" + unwritten_curator(
        scenario
    )
    yield ("server.assignment.kind", f"{path}.kind", "curator"), "server.assignment", text


def unwritten_curator(scenario: Scenario) -> str:
    """Say that a file without a section `curator` has one all the same ('' where it is written)."""
    if "curator" in scenario.model_fields_set or scenario.curator is None:
        return ""
    return (
        f" The file has no section 'curator', so a trusted curator publishes '{scenario.curator.mechanism.kind}' by "
        "default; for a world without one write 'curator: null'."
    )


def _place_sets(scenario: Scenario) -> Iterator[Finding]:
    """Refuse sets of places that cannot be: more people than there are, more places than cells."""
    device, curator = scenario.device.mechanism, scenario.curator
    if curator is not None and "cloaks" in curator.mechanism.releases:
        k, people = getattr(curator.mechanism, "k", 1), scenario.expected_workers()
        if people is not None and k > people:
            text = f"{k:,} is more people than there are (about {people:,.0f}): no rectangle holds so many"
            yield ("curator", "workers.source"), "curator.mechanism.k", text
    if isinstance(device, DecoyDevice) and curator is not None:
        text = (
            f"'{device.kind}' sends several places of each phone straight to the server, and a curator counts one of "
            "each: write 'curator: null'"
        )
        yield ("device.mechanism", "curator"), "device.mechanism", text
    if isinstance(device, DecoyDevice) and scenario.device.memoise_m is not None:
        text = f"has no effect on '{device.kind}', which repeats no answer: leave it out"
        yield ("device.mechanism", "device.memoise_m"), "device.memoise_m", text
    if isinstance(device, Dummies | Dewri):
        try:
            device.require_room(scenario.area)
        except UsageError as error:
            yield ("device.mechanism", "region"), "device.mechanism.k", str(error)


def _solver_fits(scenario: Scenario) -> Iterator[Finding]:
    """Refuse the book's own solvers for other acceptance models: they are algebra for one."""
    solver = getattr(scenario.server.assignment, "solver", "exact")
    acceptance = scenario.server.assumed_acceptance or scenario.workers.acceptance
    if solver != "exact" and acceptance.kind != "tanh_reward":
        text = (
            f"'{solver}' is algebra for the acceptance 'tanh_reward', but the server assumes '{acceptance.kind}': "
            "use solver: exact"
        )
        yield ("server.assignment", "server.assumed_acceptance", "workers.acceptance"), "server.assignment.solver", text


def _plans_for_several(scenario: Scenario) -> Iterator[Finding]:
    """Refuse tasks for several workers where nobody plans for them."""
    server, needed = scenario.server, scenario.tasks.workers_per_task
    if needed > 1 and (server.mode == "worker_selected" or not server.assignment.plans_regions):
        text = (
            f"{needed} workers per task are planned for by the assignment 'geocast' only: use it with mode: "
            "server_assigned, or set workers_per_task: 1"
        )
        yield ("tasks.workers_per_task", "server.assignment", "server.mode"), "tasks.workers_per_task", text


def _places_told(scenario: Scenario) -> Iterator[Finding]:
    """Refuse blurred places of tasks where offers go to places: those are drawn about the true one."""
    server = scenario.server
    by_name = server.mode == "server_assigned" and not (
        server.assignment.plans_circles or server.assignment.plans_regions
    )
    if scenario.tasks.place_epsilon_per_m is not None and not by_name:
        text = (
            "the places of tasks can be blurred only where the server asks workers by name: use the assignment "
            "'reachability', 'nearest_report' or 'tree_matching', or leave it out"
        )
        yield ("tasks.place_epsilon_per_m", "server.assignment", "server.mode"), "tasks.place_epsilon_per_m", text


def _reward(scenario: Scenario) -> Iterator[Finding]:
    reward = scenario.tasks.reward
    if reward.total is None or reward.minimum is None:
        return
    tasks = scenario.expected_tasks()
    if reward.total < reward.minimum * tasks:
        text = (
            f"{reward.total:g} cannot pay the minimum of {reward.minimum:g} to each of the {tasks:g} expected "
            f"tasks: raise total to at least {reward.minimum * tasks:g}, or lower minimum"
        )
        yield ("tasks.reward", "tasks.demand", "duration_s"), "tasks.reward.total", text


def _public_count(scenario: Scenario) -> Iterator[Finding]:
    if scenario.curator is not None and scenario.expected_workers() is None:
        text = (
            f"is required with the source '{scenario.workers.source.kind}': how many workers a table holds is "
            "private, so give a public estimate"
        )
        yield ("workers.source", "curator.expected_workers"), "curator.expected_workers", text


def _publications(scenario: Scenario) -> Iterator[Finding]:
    if scenario.publish and scenario.curator is None:
        text = (
            f"'{scenario.publish[0].kind}' is published by the trusted curator, who sees everyone's history, and this "
            "scenario has none: give one (curator: {}), or publish nothing"
        )
        yield ("publish", "curator"), "publish", text
    once = [index for index, item in enumerate(scenario.publish) if item.one_off]
    for index in once[1:]:
        text = (
            f"'{scenario.publish[index].kind}' promises something about one count and adds up with no other: two of "
            "the same people may tell more than both promise. Publish one, or counts that add up (laplace_counts)"
        )
        yield ("publish",), f"publish.{index}", text
    if not any("visits" in item.reads for item in scenario.publish):
        return
    histories = scenario.workers.visit_source or Slot("visit_source").build("generated_visits")
    levels, venues = histories.public_levels(), histories.public_venues()
    for index, item in enumerate(scenario.publish):
        for field, text in item.public_problems(levels, venues) if "visits" in item.reads else ():
            yield (f"publish.{index}", "workers.visit_source"), f"publish.{index}.{field}", text


def _cells_fit(scenario: Scenario) -> Iterator[Finding]:
    """Refuse cells that are larger than the region: one count for everybody is no map."""
    area = scenario.area
    for path, cell_m in _cell_sizes(scenario):
        if cell_m > min(area.width_m, area.height_m):
            text = (
                f"{cell_m:g} m is more than the region has room for ({area.width_m:,.0f} m × {area.height_m:,.0f} m): "
                "use smaller cells, or a larger region"
            )
            yield (path, "region"), f"{path}.cell_m", text


def _check_rho(scenario: Scenario) -> Iterator[Finding]:
    """Refuse a budget of pure epsilon where ρ is spent, one that is too small, and groups that pay apart."""
    curator = scenario.curator
    if curator is None or not counts_rho(scenario):
        return
    touched = ("curator", "publish", "duration_s")
    budget = curator.budget.concentrated
    if curator.budget.epsilon is not None and budget is None:
        text = (
            "what is promised as ρ, or about days, does not add up to a budget of pure epsilon: say at which delta it "
            "is meant (curator.budget.delta: 1e-6), or give curator.budget.rho instead"
        )
        yield touched, "curator.budget", text
        return
    if curator.mechanism.guarantee().by_group or curator.budget.people == "filter":
        text = "ρ and days are counted for everyone alike: leave groups with levels and people: filter out"
        yield touched, "curator.mechanism", text
        return
    if budget is None:
        return
    days = charge_concentrated(scenario, None).days
    if (published := days.measure(budget)) > budget.amount * (1 + 1e-9):
        text = f"what is published at the end costs {budget.currency} {published:.6g}, and the budget is {budget}"
        yield touched, "curator.budget", text


def _check_towers(scenario: Scenario) -> Iterator[Finding]:
    """Refuse phones that report with noise to a curator who sees which tower serves them anyway, and bad sites."""
    curator, phone = scenario.curator, "device.mechanism"
    if curator is None or curator.towers is None:
        return
    if scenario.device.mechanism.kind != "none":
        text = (
            "with curator.towers the operator sees which tower serves a phone, whatever "
            f"'{scenario.device.mechanism.kind}' reports: leave the phone's mechanism out, or the towers"
        )
        yield (phone, "curator.towers"), phone, text
    path = curator.towers.path
    if path and not is_regular(Path(path)):
        yield ("curator.towers",), "curator.towers.path", f"{why_not_regular(Path(path))}: {path[:200]}"
    elif path:
        try:
            read_towers(Path(path), scenario.area)
        except GeodpError as error:
            yield ("curator.towers", "region"), "curator.towers.path", str(error)


def _budget(scenario: Scenario) -> Iterator[Finding]:
    if scenario.curator is None or scenario.curator.budget.epsilon is None or counts_rho(scenario):
        return
    budget, limit = scenario.curator.budget, scenario.curator.budget.epsilon
    touched = ("curator.budget", "curator.mechanism", "curator.release_every_s", "duration_s", "publish")
    published = costliest(budget, list_publication_charges(scenario), scenario.start_s) or 0.0
    mechanism = in_force(scenario) or scenario.curator.mechanism
    cost = mechanism.guarantee().epsilon
    if published > limit * (1 + 1e-9):
        text = (
            f"{limit:g} is less than what is published at the end costs each person ({published:g}: "
            f"{_describe_publication_costs(scenario)}). Raise it to at least {published:g}, or lower epsilon or cap of "
            "the publications"
        )
        yield touched, "curator.budget.epsilon", text
    charges = list_scheduled_charges(scenario, mechanism)
    together = costliest(budget, charges + list_publication_charges(scenario), scenario.start_s) or 0.0
    series = mechanism.series_guarantee(scenario.release_count()) is not None
    least = together if series else cost  # a series is charged whole, before its first release
    if published <= limit and math.isfinite(least) and limit * (1 + 1e-9) < least:
        each = "one release" if mechanism.window_releases() is None else "a window"
        what = "the series of releases" if series else each
        text = f"{limit:g} is less than {what} costs ({least:g}"
        if series and len(charges) > 1:
            text += f": up to {len(charges)} stays × ε {cost:g}; a cap on stays bounds it"
        if series and published:
            text += f", with {published:g} for what is published at the end"
        yield touched, "curator.budget.epsilon", f"{text}): nothing could ever be published"
    if budget.people == "filter":
        return  # nothing is ever refused
    if budget.when_spent == "fail" and published <= limit and together > limit * (1 + 1e-9):
        releases = count_shares(scenario, mechanism)
        more = f" and the publications at the end {published:g}" if published else ""
        text = (
            f"the schedule's releases {budget.lasts()} cost {releases} × {cost:g} = {releases * cost:g}{more} and the "
            f"budget is {limit:g}: with "
            "when_spent: fail the run could not finish. Raise it, release less often, or use reuse_last or stop"
        )
        yield touched, "curator.budget.epsilon", text


def _series(scenario: Scenario) -> Iterator[Finding]:
    """Refuse what a series of so many releases cannot have: a longer window, more samples or stays than releases."""
    if scenario.curator is None or not scenario.release_count():
        return
    try:
        scenario.curator.mechanism.begin_series(scenario.release_count())
    except UsageError as error:
        yield ("curator.mechanism", "curator.release_every_s", "duration_s"), "curator.mechanism", str(error)


def _cell_answers(scenario: Scenario) -> Iterator[Finding]:
    """Refuse answers about cells that nobody can count from: one cell, too large an ε, too few to shuffle."""
    device, phone = scenario.device.mechanism, "device.mechanism"
    if not isinstance(device, CellResponse):
        return
    if scenario.curator is not None:
        text = (
            "answers about cells are no places that a curator could count; they go to the server, which works counts "
            "out of them: write 'curator: null'"
        )
        yield (phone, "curator"), phone, text + unwritten_curator(scenario)
    if scenario.device.memoise_m is not None:
        text = "answers about cells are drawn anew every time: leave it out, or use a mechanism that reports places"
        yield (phone, "device.memoise_m"), "device.memoise_m", text
    try:
        device.law(scenario.area)
        people = scenario.expected_workers()
        if device.shuffler_delta is not None and people:
            amplify_by_formula(device.epsilon, reports=int(people), delta=device.shuffler_delta)
    except UsageError as error:
        yield (phone, "region"), phone, str(error)


def _people_filter(scenario: Scenario) -> Iterator[Finding]:
    """Refuse budgets of single people where their use is not each person's own, and those of groups that are none."""
    if scenario.curator is None or scenario.curator.budget.people != "filter":
        return
    curator = scenario.curator
    mechanism, promise, touched = curator.mechanism, curator.mechanism.guarantee(), ("curator",)
    path, releases = "curator.budget.people", scenario.release_count()
    if curator.neighbours is not Neighbours.ADD_REMOVE:
        text = "'filter' holds where people are added or removed: set curator.neighbours: add_remove"
        yield touched, path, text
    series = mechanism.window_releases() is not None or (releases and mechanism.series_guarantee(releases) is not None)
    if promise.unit is Unit.NOTHING or series:
        text = (
            f"'filter' charges each release to those whom it counts, and '{mechanism.kind}' "
            + ("promises nothing" if promise.unit is Unit.NOTHING else "is charged for whole series or windows")
            + ": use a mechanism whose releases are charged one by one"
        )
        yield touched, path, text
    groups = [name for name, _ in promise.by_group]
    for name in curator.budget.by_group:
        if name not in groups:
            known = f"its groups are {', '.join(groups)}" if groups else f"'{mechanism.kind}' has no groups"
            near = did_you_mean(name, groups)
            yield touched, f"curator.budget.by_group.{name}", f"nobody is in a group called '{name}'.{near} ({known})"
    costs = dict(promise.by_group)
    for name, epsilon in curator.budget.by_group.items():
        if name in costs and epsilon < costs[name]:
            text = f"{epsilon:g} is less than one release costs ({costs[name]:g}): nobody of them would ever be counted"
            yield touched, f"curator.budget.by_group.{name}", text


def _describe_publication_costs(scenario: Scenario) -> str:
    """Say what each publication costs; a promise about one visit costs its epsilon times the public cap."""
    costs = []
    for item in scenario.publish:
        cost, promise = publication_cost(item, scenario), item.guarantee()
        if cost.unit not in (Unit.NOTHING, Unit.POINT):
            cap = item.most_contributions()
            product = f" = {promise.epsilon:g} × {cap} visits" if promise.unit is Unit.EVENT else ""
            costs.append(f"{item.kind} {cost.epsilon:g}{product}")
    return ", ".join(costs)


def _device_promises(scenario: Scenario) -> Iterator[Finding]:
    """Refuse what a phone cannot promise in this region: a policy graph with isolated places."""
    try:
        scenario.device.mechanism.guarantee(scenario.area)
    except UsageError as error:
        yield ("device.mechanism", "region"), "device.mechanism", str(error)


def _phone_budgets(scenario: Scenario) -> Iterator[Finding]:
    """Refuse budgets of phones too small for one report, or for all of them where the run must not go without."""
    section, report = scenario.device, scenario.device.history_report
    metric, item = section.budget.epsilon_per_m, section.budget.epsilon_per_item
    sums: list[tuple[str, float, float, int, str]] = []
    promise, rounds = section.mechanism.guarantee(scenario.area), len(scenario.release_times())
    if metric is not None and promise.account != "local":
        sums.append(("epsilon_per_m", metric, promise.epsilon, rounds, "per metre"))
    if section.budget.epsilon is not None and promise.account == "local" and promise.holds:
        sums.append(("epsilon", section.budget.epsilon, promise.epsilon, rounds, "per person"))
    elif section.budget.epsilon is not None:
        text = f"'{section.mechanism.kind}' spends no ε per person: give epsilon_per_m, or leave it out"
        if not promise.holds and promise.account == "local":
            text = f"what '{section.mechanism.kind}' claims does not hold, and is not charged: leave it out"
        yield ("device",), "device.budget.epsilon", text
    if report is not None and item is not None:
        sums.append(("epsilon_per_item", item, report.guarantee().epsilon, section.history_reports, "per item"))
    for name, limit, cost, reports, per in sums:
        if math.isfinite(cost) and limit < cost * (1 - 1e-9):
            text = f"{limit:g} is less than one report costs ({cost:g} {per}): nothing could ever be told"
        elif math.isfinite(cost) and section.budget.when_spent == "fail" and reports * cost > limit * (1 + 1e-9):
            text = (
                f"the schedule's {reports} reports cost {reports * cost:g} {per} and the budget is {limit:g}: with "
                "when_spent: fail the run could not finish. Raise it, report less often, or use reuse_last or stop"
            )
        else:
            continue
        yield ("device", "curator", "duration_s"), f"device.budget.{name}", text


def _categories(scenario: Scenario) -> Iterator[Finding]:
    """Refuse categories of places that phones would tell about and that do not exist."""
    mechanism = scenario.device.history_report
    if mechanism is None:
        return
    histories = scenario.workers.visit_source or Slot("visit_source").build("generated_visits")
    known = histories.public_categories()
    if not known:
        text = (
            f"'{mechanism.kind}' tells about categories, and the public list of venues has none: add a column category"
        )
        yield ("device.history_report", "workers.visit_source"), "device.history_report", text
    listed = ", ".join(known[:_MOST_LISTED]) + (", …" if len(known) > _MOST_LISTED else "")
    for number, name in enumerate(sorted(mechanism.list_categories() - set(known) if known else ())):
        near = did_you_mean(name, known) if number < _MOST_LISTED else ""
        text = f"no category called '{name}'.{near} Known: {listed}."
        yield ("device.history_report", "workers.visit_source"), "device.history_report", text


def _times(scenario: Scenario) -> Iterator[Finding]:
    server = scenario.server
    if server.batch_s > scenario.duration_s:
        text = f"{server.batch_s:g} s is longer than the run ({scenario.duration_s:g} s): no offer would ever be made"
        yield ("server.batch_s", "duration_s"), "server.batch_s", text
    if scenario.tasks.patience_s <= server.answer_window_s:
        text = (
            f"{scenario.tasks.patience_s:g} s is not more than the answer window ({server.answer_window_s:g} s): "
            "every task would be given up before an answer"
        )
        yield ("tasks.patience_s", "server.answer_window_s"), "tasks.patience_s", text


_FILE_CHECKS = (_files, _region_file, _public_files)
_SIZE_CHECKS = (_too_many_tasks, _too_large)
_CHECKS = (
    *(
        _data,
        _mobility_fits,
        _households_fit,
        _assignment_can_read,
        _place_sets,
        _solver_fits,
        _plans_for_several,
        _places_told,
        _refusal_fits,
        _rules_fit,
        _reward,
        _public_count,
    ),
    *(
        _publications,
        _cells_fit,
        _series,
        _people_filter,
        _check_rho,
        _budget,
        _check_towers,
        _cell_answers,
        _device_promises,
        _phone_budgets,
        _categories,
        _times,
    ),
)
