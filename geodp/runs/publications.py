"""What a run publishes beside its releases: publications at its end, and what phones report about histories.

Publications are booked in the ledger before anything is released, and drawn and written after; reports are asked of the
ledger first, and drawn phone by phone.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from geodp.curator.publications import Records
from geodp.device.history_reports import HistoryDevice
from geodp.errors import BudgetSpent, DataError, UsageError
from geodp.geometry import Array
from geodp.privacy.ledger import Ledger
from geodp.privacy.noise import SimulatedNoise
from geodp.public.guarantee import Unit
from geodp.run_folder.published import (
    HistoryReport,
    write_history_report,
    write_publication,
    write_venues,
    write_visits,
)
from geodp.scenario.costs import publication_charge, whole_run
from geodp.scenario.schema import Scenario
from geodp.storage.stamp import write_simulated
from geodp.streams import Streams
from geodp.tables.visits.catalogue import venue_catalogue
from geodp.world.visit_sources.from_mobility import FromMobility

if TYPE_CHECKING:
    from geodp.public.streets import StreetNetwork
    from geodp.simulation.engine import World
    from geodp.tables.visits.histories import Histories, Venues

_ADVICE = "Raise curator.budget.epsilon, publish less, or lower the epsilon or the cap of what is published."
_ITEM_ADVICE = (
    "Raise device.budget.epsilon_per_item, set fewer device.history_reports, or lower device.history_report.epsilon."
)


def records_of(scenario: Scenario, world: World, streams: Streams) -> Records:
    """Return what the curator holds about everyone; visits are drawn when first asked for, alike for all arms."""

    def visits() -> tuple[Histories, Venues]:
        from geodp.registry import plugin

        histories = scenario.workers.visit_source or plugin("generated_visits", "visit_source")
        rng = streams.generator("world.histories")
        if isinstance(histories, FromMobility):
            return histories.observe(world.motion, rng)
        found: tuple[Histories, Venues] = histories.visits(
            world.population, scenario.area, duration_s=scenario.duration_s, rng=rng
        )
        return found

    def streets() -> StreetNetwork:
        from geodp.tables.trajectories.generated_trips import network_of_streets, street_network

        block_m = float(scenario.workers.source.model_dump()["block_m"])
        return network_of_streets(street_network(scenario.area, streams.generator("world.source"), block_m))

    on_streets = scenario.workers.source.kind == "street_trips"
    return Records(
        scenario.area,
        scenario.duration_s,
        world.motion,
        visits,
        streets if on_streets else None,
        start_s=scenario.start_s,
        draw=streams.generator,
    )


def book_publications(scenario: Scenario, records: Records, ledger: Ledger) -> None:
    """Check every publication and charge it, for the end of the run, before the run releases anything.

    What will be published is a public setting. Booked first, it is paid for whatever the releases before it cost; they
    make do with the rest, and a publication that cannot be paid for stops the run before it starts. It tells about the
    whole run, so it counts in every day and every window of a budget that comes back.
    """
    for index, item in enumerate(scenario.publish):
        try:
            item.check_records(records)
            asked = publication_charge(item, scenario)
            if asked is not None:
                promise, account = asked
                period = whole_run(scenario)
                ledger.charge(
                    promise,
                    time_s=period[1],
                    mechanism=item.kind,
                    account=account,
                    parts=item.parts(),
                    period=period,
                    days=item.data_days(scenario.start_s, scenario.duration_s),
                )
        except BudgetSpent as short:
            raise BudgetSpent(short.requested, short.remaining, short.time_s, advice=_ADVICE) from None
        except (DataError, UsageError) as error:
            raise type(error)(f"publish.{index} ({item.kind}): {error}") from error


def write_publications(scenario: Scenario, records: Records, streams: Streams, folder: Path) -> None:
    """Draw every publication in order, and write what is public apart from the truth."""
    if scenario.needs_visits:
        histories, venues = records.visits()
        write_venues(folder / "releases" / "venues.parquet", venues)
        write_visits(folder / "truth" / "visits.parquet", histories)
    if scenario.needs_trajectories:
        frame = records.trajectories().frame(records.region)
        write_simulated(frame, folder / "truth" / "trajectories.parquet", index=False)
    for index, item in enumerate(scenario.publish):
        noise = SimulatedNoise(streams.generator(f"publish.noise.{index}"))
        write_publication(folder, index, item, item.publish(records, noise))


def write_history_reports(
    scenario: Scenario, records: Records, ledger: Ledger, streams: Streams, folder: Path
) -> Array:
    """Let every phone report what its owner allows, each time the schedule says; return what each person was charged.

    The public schedule alone decides whether a report is made. People who report nothing with noise pay nothing.
    """
    mechanism = scenario.device.history_report
    histories, venues = records.visits()
    charged = np.zeros(len(histories.people))
    if mechanism is None:
        return charged
    catalogue = venue_catalogue(venues, getattr(mechanism, "typical_items", 17.0))
    settled = mechanism.settle(catalogue, SimulatedNoise(streams.generator("device.history.budget")))
    lot = streams.uniform("device.history.groups", np.arange(len(histories.people)))
    devices, choice = settled.choices(lot)
    names, promises = catalogue.categories, [device.guarantee() for device in devices]
    levels = np.array([[device.levels(catalogue)[name] for name in names] for device in devices])
    noisy = (levels == "perturbed").any(axis=1) & [promise.unit is not Unit.NOTHING for promise in promises]
    cost = np.where(noisy, [promise.epsilon for promise in promises], 0.0)[choice]
    for index, time_s in enumerate(scenario.history_times()):
        if not _afford(settled, ledger, time_s, scenario.device.budget.when_spent):
            break
        noise = SimulatedNoise(streams.generator(f"device.history.{index}"))
        owned = histories.find_visited(venues.size, time_s)  # no phone sees another's history
        sent = [devices[choice[who]].protect(flags, catalogue, rng=noise) for who, flags in enumerate(owned)]
        charged += cost
        person, item = np.nonzero(np.array([each.items for each in sent], dtype=np.bool_).reshape(owned.shape))
        items = {"user": histories.people[person].astype(str), "venue": venues.name[item].astype(str)}
        counts = {
            "user": np.repeat(histories.people.astype(str), len(names)),
            "category": np.tile(np.array(names), len(histories.people)),
            "level": levels[choice].reshape(-1),
            "count": np.array([each.aggregates for each in sent], dtype=np.float64).reshape(-1),
        }
        tables = pd.DataFrame(items), pd.DataFrame(counts)
        write_history_report(folder, HistoryReport(index, time_s, settled, settled.guarantee(), *tables))
    return charged


def _afford(mechanism: HistoryDevice, ledger: Ledger, time_s: float, when_spent: str) -> bool:
    promise = mechanism.guarantee()
    if promise.unit is Unit.NOTHING:
        return True
    try:
        ledger.charge(promise, time_s=time_s, mechanism=mechanism.kind, period=(-math.inf, time_s))  # all visits so far
    except BudgetSpent as short:
        if when_spent == "fail":
            raise BudgetSpent(
                short.requested, short.remaining, time_s, what="ε per item", advice=_ITEM_ADVICE
            ) from None
        return False
    return True
