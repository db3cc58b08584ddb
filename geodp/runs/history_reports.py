"""What phones report about their owners' histories: asked of the ledger first, drawn phone by phone, written."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from geodp.curator.publications import Records
from geodp.device.history_reports import HistoryDevice
from geodp.errors import BudgetSpent
from geodp.geometry import Array
from geodp.privacy.ledger import Ledger
from geodp.privacy.noise import Noise, SimulatedNoise
from geodp.public.guarantee import Unit
from geodp.run_folder.history_reports import HistoryReport, write_history_report
from geodp.scenario.schema import Scenario
from geodp.streams import Streams
from geodp.tables.visits.catalogue import Catalogue, venue_catalogue

if TYPE_CHECKING:
    from geodp.tables.visits.histories import Histories

_ADVICE = (
    "Raise device.budget.epsilon_per_item, set fewer device.history_reports, or lower device.history_report.epsilon."
)


def write_history_reports(
    scenario: Scenario, records: Records, ledger: Ledger, streams: Streams, folder: Path
) -> Array:
    """Let every phone report what its owner allows, each time the schedule says; return what each person was charged.

    The public schedule alone decides whether a report is made. People who report nothing with noise pay nothing.
    """
    mechanism = scenario.device.history_report
    histories, venues = records.visits()
    charged = np.zeros(len(histories.people))
    if mechanism is not None:
        catalogue = venue_catalogue(venues, getattr(mechanism, "typical_items", 17.0))
        settled = mechanism.settled(catalogue, SimulatedNoise(streams.generator("device.history.budget")))
        lot = streams.uniform("device.history.groups", np.arange(len(histories.people)))
        phones = _ReportingPhones(*settled.choices(lot), catalogue)
        for index, time_s in enumerate(scenario.history_times()):
            if not _afford(settled, ledger, time_s, scenario.device.budget.when_spent):
                break
            noise = SimulatedNoise(streams.generator(f"device.history.{index}"))
            reported, counts = phones.report(histories.visited(venues.size, time_s), noise)
            charged += phones.cost()
            tables = _items(reported, histories, venues.name), phones.table(counts, histories)
            write_history_report(folder, HistoryReport(index, time_s, settled, settled.guarantee(), *tables))
    return charged


class _ReportingPhones:
    """All phones: a mechanism each, of a few that people choose among."""

    def __init__(self, devices: list[HistoryDevice], choice: np.ndarray[Any, Any], catalogue: Catalogue) -> None:
        self.devices, self.choice, self.catalogue = devices, choice, catalogue

    def report(self, owned: np.ndarray[Any, Any], noise: Noise) -> tuple[np.ndarray[Any, Any], Array]:
        """Return the items reported and the noisy counts, a row per person; no phone sees another's history."""
        reported = np.zeros(owned.shape, dtype=np.bool_)
        counts = np.full((len(owned), len(self.catalogue.categories)), np.nan)
        for person, flags in enumerate(owned):
            sent = self.devices[self.choice[person]].protect(flags, self.catalogue, rng=noise)
            reported[person], counts[person] = sent.items, sent.aggregates
        return reported, counts

    def cost(self) -> Array:
        """Return what one report costs each person per item: nothing for those who report nothing with noise."""
        each = []
        for device in self.devices:
            promise = device.guarantee()
            noisy = "perturbed" in device.levels(self.catalogue).values() and promise.unit is not Unit.NOTHING
            each.append(promise.epsilon if noisy else 0.0)
        return np.asarray(np.array(each)[self.choice], dtype=np.float64)

    def table(self, counts: Array, histories: Histories) -> pd.DataFrame:
        """Return what is reported about categories: user, category, level, count."""
        names = self.catalogue.categories
        levels = np.array([[device.levels(self.catalogue)[name] for name in names] for device in self.devices])
        return pd.DataFrame(
            {
                "user": np.repeat(histories.people.astype(str), len(names)),
                "category": np.tile(np.array(names), len(histories.people)),
                "level": levels[self.choice].reshape(-1),
                "count": counts.reshape(-1),
            }
        )


def _afford(mechanism: HistoryDevice, ledger: Ledger, time_s: float, when_spent: str) -> bool:
    promise = mechanism.guarantee()
    if promise.unit is Unit.NOTHING:
        return True
    try:
        ledger.charge(promise, time_s=time_s, mechanism=mechanism.kind, period=(-math.inf, time_s))  # all visits so far
    except BudgetSpent as short:
        if when_spent == "fail":
            raise BudgetSpent(short.requested, short.remaining, time_s, what="ε per item", advice=_ADVICE) from None
        return False
    return True


def _items(reported: np.ndarray[Any, Any], histories: Histories, names: np.ndarray[Any, Any]) -> pd.DataFrame:
    person, item = np.nonzero(reported)
    return pd.DataFrame({"user": histories.people[person].astype(str), "venue": names[item].astype(str)})
