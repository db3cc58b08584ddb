"""How large a scenario may be: public bounds with their reasons, judged before anything is counted out."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from geodp.errors import GeodpError
from geodp.storage.files import is_regular
from geodp.world.bounds import MOST_BATCHES, MOST_CELLS, MOST_RELEASES, MOST_STREETS, MOST_TASKS, MOST_VISITS

if TYPE_CHECKING:
    from geodp.scenario.schema import Scenario

Finding = tuple[tuple[str, ...], str, str]
"""Paths a check depends on, the path to report, and the message."""


def too_large(scenario: Scenario) -> Iterator[Finding]:
    """Yield everything of which there would be too much to compute, to hold or to look at."""
    yield from _too_many_times(scenario)
    yield from _too_many_tasks(scenario)
    yield from _too_many_cells(scenario)
    yield from _too_much_in_the_world(scenario)


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
        try:
            area_m2 = scenario.area.width_m * scenario.area.height_m
        except GeodpError:
            return  # an unreadable region is reported as a file problem
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
    try:
        area = scenario.area
    except GeodpError:
        return  # an unreadable region is reported as a file problem
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
