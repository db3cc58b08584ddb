"""What must fit together in a scenario, and how large it may be: each check names the paths it looked at."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from geodp.device.history_reports import HistoryDevice
from geodp.errors import GeodpError
from geodp.geometry import region_problems
from geodp.model import did_you_mean
from geodp.public.guarantee import Unit
from geodp.registry import Slot, plugins
from geodp.scenario.costs import costliest, in_force, paid_times, publication_cost, published_charges, scheduled_charges
from geodp.scenario.estimate import estimated, looked_at_files, machine_bytes
from geodp.scenario.schema import Scenario
from geodp.storage.files import is_regular, same_content, why_not_regular
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
    named = [("workers.source.path", file) for file in scenario.workers.source.files()]
    named += [("workers.mobility.path", file) for file in scenario.workers.mobility.files()]
    named += [("tasks.demand.path", file) for file in scenario.tasks.demand.files()]
    if scenario.workers.visit_source is not None:
        named += [("workers.visit_source", file) for file in scenario.workers.visit_source.files()]
    for index, item in enumerate(scenario.publish):
        named += [(f"publish.{index}", file) for file in item.files()]
    for index, attack in enumerate(scenario.attacks):
        named += [(f"attacks.{index}.prior_file", file) for file in attack.files()]
    prior = getattr(scenario.device.mechanism, "prior_file", None)
    named += [("device.mechanism.prior_file", Path(prior))] if prior is not None else []
    if scenario.map.basemap not in ("none", "osm"):
        named.append(("map.basemap", Path(scenario.map.basemap)))
    for path, file in named:
        if not is_regular(file):
            yield (path,), path, f"{why_not_regular(file)}: {str(file)[:200]}"


def _data(scenario: Scenario) -> Iterator[Finding]:
    """Open the data files: they must be readable, and what they hold must fit into memory."""
    files, problems = looked_at_files(scenario)
    for path, message in problems:
        yield (path,), path, message
    here = machine_bytes()
    if problems or here is None:
        return
    needed = estimated(scenario, files)
    if needed.bytes > here:
        yield (
            ("workers", "tasks", "curator", "device", "duration_s"),
            "(size)",
            f"a run needs {needed.sentence()}, and this machine has {here / 1e9:.2g} GB: use fewer workers, a shorter "
            "run or larger cells",
        )


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


def _too_many_times(scenario: Scenario) -> Iterator[Finding]:
    if scenario.curator is not None:
        every_s, path = scenario.curator.release_every_s, "curator.release_every_s"
    else:
        every_s, path = scenario.device.report_every_s, "device.report_every_s"
    if (scenario.curator is not None or scenario.phones_report) and scenario.duration_s / every_s > MOST_RELEASES:
        yield (
            (path, "duration_s", "curator"),
            path,
            f"every {every_s:g} s in {scenario.duration_s:g} s makes {scenario.duration_s / every_s:,.0f} releases; at "
            f"most {MOST_RELEASES:,} are made, each of them a file: release less often, or shorten the run",
        )
    if scenario.duration_s / scenario.server.batch_s > MOST_BATCHES:
        yield (
            ("server.batch_s", "duration_s"),
            "server.batch_s",
            f"every {scenario.server.batch_s:g} s in {scenario.duration_s:g} s makes "
            f"{scenario.duration_s / scenario.server.batch_s:,.0f} batches of offers; at most {MOST_BATCHES:,} are "
            "planned: use longer batches, or shorten the run",
        )


def _too_many_tasks(scenario: Scenario) -> Iterator[Finding]:
    try:
        tasks = scenario.expected_tasks()
    except GeodpError as error:
        if all(is_regular(file) for file in scenario.tasks.demand.files()):  # others are reported by their path
            yield ("tasks.demand", "duration_s"), "tasks.demand", str(error)
        return
    if not tasks <= MOST_TASKS:
        yield (
            ("tasks.demand", "duration_s"),
            "tasks.demand",
            f"makes {tasks:,.0f} tasks; at most {MOST_TASKS:,} are simulated, one by one: ask for fewer, or shorten "
            "the run",
        )


def _too_many_cells(scenario: Scenario) -> Iterator[Finding]:
    """Refuse cells so small that counting them would take all memory."""
    mechanism = None if scenario.curator is None else scenario.curator.mechanism
    parts = {
        "curator.mechanism": mechanism,
        "curator.mechanism.cells": getattr(mechanism, "cells", None),
    }
    for path, part in parts.items():
        cell_m = getattr(part, "cell_m", None)
        area_m2 = scenario.area.width_m * scenario.area.height_m
        if cell_m is not None and not (cells := area_m2 / cell_m / cell_m) <= MOST_CELLS:
            least_m = math.sqrt(area_m2 / MOST_CELLS)
            yield (
                (path, "region"),
                f"{path}.cell_m",
                f"cells of {cell_m:g} m make {cells:,.0f} cells; at most {MOST_CELLS:,} fit into memory: use cells of "
                f"{least_m:.2g} m or more, or a smaller region",
            )


def _too_much_in_the_world(scenario: Scenario) -> Iterator[Finding]:
    source = scenario.workers.source
    block_m = getattr(source, "block_m", None)
    area = scenario.area
    if block_m is not None and not (corners := area.width_m / block_m * (area.height_m / block_m)) <= MOST_STREETS:
        yield (
            ("workers.source", "region"),
            "workers.source.block_m",
            f"streets {block_m:g} m apart cross at {corners:,.0f} corners; at most {MOST_STREETS:,} are laid out: use "
            "larger blocks, or a smaller region",
        )
    histories = scenario.workers.visit_source
    visits = (source.public_count() or 0) * getattr(histories, "mean_visits", 0.0)
    if not visits <= MOST_VISITS:
        yield (
            ("workers.visit_source", "workers.source"),
            "workers.visit_source.mean_visits",
            f"makes {visits:,.0f} visits; at most {MOST_VISITS:,} fit into memory: use fewer visits or workers",
        )


def _mobility_fits(scenario: Scenario) -> Iterator[Finding]:
    """Refuse movements that follow what the source does not have."""
    source, mobility = scenario.workers.source, scenario.workers.mobility
    touched = ("workers.source", "workers.mobility")
    if mobility.kind == "replay" and not mobility.files() and source.has_trips() is False:
        yield (
            touched,
            "workers.mobility",
            f"'replay' needs trips, and the source '{source.kind}' has none: name a file of trajectories in path, or "
            "use a source that has trips (kind: street_trips)",
        )
    if mobility.kind != "recorded":
        return
    if source.has_times() is False:
        yield (
            touched,
            "workers.mobility",
            f"'recorded' needs fixes over time, and the source '{source.kind}' has one place each: use a table with "
            "columns worker and time_s (and keep: all), or another mobility",
        )


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
    yield (
        ("server.assignment.kind", f"{path}.kind", "curator"),
        "server.assignment",
        f"'{assignment.kind}' reads {wants}, but '{publisher.kind}' releases {offered}. {use}"
        + unwritten_curator(scenario),
    )


def unwritten_curator(scenario: Scenario) -> str:
    """Say that a file without a section `curator` has one all the same ('' where it is written)."""
    if "curator" in scenario.model_fields_set or scenario.curator is None:
        return ""
    return (
        f" The file has no section 'curator', so a trusted curator publishes '{scenario.curator.mechanism.kind}' by "
        "default; for a world without one write 'curator: null'."
    )


def _solver_fits(scenario: Scenario) -> Iterator[Finding]:
    """Refuse the book's own solvers for other acceptance models: they are algebra for one."""
    solver = getattr(scenario.server.assignment, "solver", "exact")
    acceptance = scenario.server.assumed_acceptance or scenario.workers.acceptance
    if solver != "exact" and acceptance.kind != "tanh_reward":
        yield (
            ("server.assignment", "server.assumed_acceptance", "workers.acceptance"),
            "server.assignment.solver",
            f"'{solver}' is algebra for the acceptance 'tanh_reward', but the server assumes '{acceptance.kind}': "
            "use solver: exact",
        )


def _plans_for_several(scenario: Scenario) -> Iterator[Finding]:
    """Refuse tasks for several workers where nobody plans for them."""
    server, needed = scenario.server, scenario.tasks.workers_per_task
    if needed > 1 and (server.mode == "worker_selected" or not server.assignment.plans_regions):
        yield (
            ("tasks.workers_per_task", "server.assignment", "server.mode"),
            "tasks.workers_per_task",
            f"{needed} workers per task are planned for by the assignment 'geocast' only: use it with mode: "
            "server_assigned, or set workers_per_task: 1",
        )


def _reward(scenario: Scenario) -> Iterator[Finding]:
    reward = scenario.tasks.reward
    if reward.total is None or reward.minimum is None:
        return
    tasks = scenario.expected_tasks()
    if reward.total < reward.minimum * tasks:
        yield (
            ("tasks.reward", "tasks.demand", "duration_s"),
            "tasks.reward.total",
            f"{reward.total:g} cannot pay the minimum of {reward.minimum:g} to each of the {tasks:g} expected "
            f"tasks: raise total to at least {reward.minimum * tasks:g}, or lower minimum",
        )


def _public_count(scenario: Scenario) -> Iterator[Finding]:
    if scenario.curator is not None and scenario.expected_workers() is None:
        yield (
            ("workers.source", "curator.expected_workers"),
            "curator.expected_workers",
            f"is required with the source '{scenario.workers.source.kind}': how many workers a table holds is "
            "private, so give a public estimate",
        )


def _publications(scenario: Scenario) -> Iterator[Finding]:
    if scenario.publish and scenario.curator is None:
        yield (
            ("publish", "curator"),
            "publish",
            f"'{scenario.publish[0].kind}' is published by the trusted curator, who sees everyone's history, and this "
            "scenario has none: give one (curator: {}), or publish nothing",
        )
    if not any("visits" in item.reads for item in scenario.publish):
        return
    histories = scenario.workers.visit_source or Slot("visit_source").build("generated_visits")
    levels, venues = histories.public_levels(), histories.public_venues()
    for index, item in enumerate(scenario.publish):
        for field, text in item.public_problems(levels, venues) if "visits" in item.reads else ():
            yield (f"publish.{index}", "workers.visit_source"), f"publish.{index}.{field}", text


def _cells_fit(scenario: Scenario) -> Iterator[Finding]:
    """Refuse cells that are larger than the region: one count for everybody is no map."""
    mechanism = None if scenario.curator is None else scenario.curator.mechanism
    parts = {"curator.mechanism": mechanism, "curator.mechanism.cells": getattr(mechanism, "cells", None)}
    for path, part in parts.items():
        cell_m = getattr(part, "cell_m", None)
        if cell_m is None:
            continue
        area = scenario.area
        if cell_m > min(area.width_m, area.height_m):
            yield (
                (path, "region"),
                f"{path}.cell_m",
                f"{cell_m:g} m is more than the region has room for ({area.width_m:,.0f} m × {area.height_m:,.0f} m): "
                "use smaller cells, or a larger region",
            )


def _budget(scenario: Scenario) -> Iterator[Finding]:
    if scenario.curator is None or scenario.curator.budget.epsilon is None:
        return
    budget, limit = scenario.curator.budget, scenario.curator.budget.epsilon
    touched = ("curator.budget", "curator.mechanism", "curator.release_every_s", "duration_s", "publish")
    published = costliest(budget, published_charges(scenario), scenario.start_s) or 0.0
    mechanism = in_force(scenario) or scenario.curator.mechanism
    cost = mechanism.guarantee().epsilon
    if published > limit * (1 + 1e-9):
        yield (
            touched,
            "curator.budget.epsilon",
            f"{limit:g} is less than what is published at the end costs each person ({published:g}: "
            f"{_published_costs(scenario)}). Raise it to at least {published:g}, or lower epsilon or cap of the "
            "publications",
        )
    elif math.isfinite(cost) and limit < cost:
        yield (
            ("curator.budget", "curator.mechanism"),
            "curator.budget.epsilon",
            f"{limit:g} is less than one release costs ({cost:g}): nothing could ever be published",
        )
    charges = scheduled_charges(scenario, mechanism)
    together = costliest(budget, charges + published_charges(scenario), scenario.start_s) or 0.0
    if budget.when_spent == "fail" and published <= limit and together > limit * (1 + 1e-9):
        releases = budget.busiest(paid_times(scenario, mechanism), scenario.start_s)
        more = f" and the publications at the end {published:g}" if published else ""
        yield (
            touched,
            "curator.budget.epsilon",
            f"the schedule's {releases} releases {budget.lasts()} cost {releases * cost:g}{more} and the budget is "
            f"{limit:g}: with "
            "when_spent: fail the run could not finish. Raise it, release less often, or use reuse_last or stop",
        )


def _published_costs(scenario: Scenario) -> str:
    """Say what each publication costs; a promise about one visit costs its epsilon times the public cap."""
    told = []
    for item in scenario.publish:
        cost, promise = publication_cost(item, scenario), item.guarantee()
        if cost.unit not in (Unit.NOTHING, Unit.POINT):
            cap = item.most_contributions()
            product = f" = {promise.epsilon:g} × {cap} visits" if promise.unit is Unit.EVENT else ""
            told.append(f"{item.kind} {cost.epsilon:g}{product}")
    return ", ".join(told)


def _device_budget(scenario: Scenario) -> Iterator[Finding]:
    budget = scenario.device.budget
    if budget.epsilon_per_m is None:
        return
    cost = scenario.device.mechanism.guarantee(scenario.area).epsilon
    reports = len(scenario.release_times())
    touched = ("device", "curator", "duration_s")
    if math.isfinite(cost) and budget.epsilon_per_m < cost * (1 - 1e-9):
        yield (
            touched,
            "device.budget.epsilon_per_m",
            f"{budget.epsilon_per_m:g} is less than one report costs ({cost:g} per metre): nothing could ever be "
            "reported",
        )
    elif math.isfinite(cost) and budget.when_spent == "fail" and reports * cost > budget.epsilon_per_m * (1 + 1e-9):
        yield (
            touched,
            "device.budget.epsilon_per_m",
            f"the schedule's {reports} reports cost {reports * cost:g} per metre and the budget is "
            f"{budget.epsilon_per_m:g}: with when_spent: fail the run could not finish. Raise it, report less often, "
            "or use reuse_last or stop",
        )


def _history(scenario: Scenario) -> Iterator[Finding]:
    """Check what phones tell about histories: that categories exist, and that it can be paid for."""
    mechanism, section = scenario.device.history_report, scenario.device
    if mechanism is None:
        return
    yield from _categories(scenario, mechanism)
    cost, limit = mechanism.guarantee().epsilon, section.budget.epsilon_per_item
    if limit is None or not math.isfinite(cost):
        return
    if limit < cost * (1 - 1e-9):
        yield (
            ("device",),
            "device.budget.epsilon_per_item",
            f"{limit:g} is less than one report about histories costs ({cost:g} per item): nothing could ever be told",
        )
    elif section.budget.when_spent == "fail" and section.history_reports * cost > limit * (1 + 1e-9):
        yield (
            ("device",),
            "device.budget.epsilon_per_item",
            f"{section.history_reports} reports about histories cost {section.history_reports * cost:g} per item and "
            f"the budget is {limit:g}: with when_spent: fail the run could not finish",
        )


def _categories(scenario: Scenario, mechanism: HistoryDevice) -> Iterator[Finding]:
    histories = scenario.workers.visit_source or Slot("visit_source").build("generated_visits")
    known = histories.public_categories()
    if not known:
        yield (
            ("device.history_report", "workers.visit_source"),
            "device.history_report",
            f"'{mechanism.kind}' tells about categories, and the public list of venues has none: add a column category",
        )
    listed = ", ".join(known[:_MOST_LISTED]) + (", …" if len(known) > _MOST_LISTED else "")
    for number, name in enumerate(sorted(mechanism.named_categories() - set(known) if known else ())):
        near = did_you_mean(name, known) if number < _MOST_LISTED else ""
        text = f"no category called '{name}'.{near} Known: {listed}."
        yield ("device.history_report", "workers.visit_source"), "device.history_report", text


def _times(scenario: Scenario) -> Iterator[Finding]:
    server = scenario.server
    if server.batch_s > scenario.duration_s:
        yield (
            ("server.batch_s", "duration_s"),
            "server.batch_s",
            f"{server.batch_s:g} s is longer than the run ({scenario.duration_s:g} s): no offer would ever be made",
        )
    if scenario.tasks.patience_s <= server.answer_window_s:
        yield (
            ("tasks.patience_s", "server.answer_window_s"),
            "tasks.patience_s",
            f"{scenario.tasks.patience_s:g} s is not more than the answer window ({server.answer_window_s:g} s): "
            "every task would be given up before an answer",
        )


_FILE_CHECKS = (_files, _region_file, _public_files)
_SIZE_CHECKS = (_too_many_times, _too_many_tasks, _too_many_cells, _too_much_in_the_world)
_CHECKS = (
    *(_data, _mobility_fits, _assignment_can_read, _solver_fits, _plans_for_several, _reward, _public_count),
    *(_publications, _cells_fit, _budget, _device_budget, _history, _times),
)
