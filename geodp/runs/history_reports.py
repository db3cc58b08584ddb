"""What phones tell about their owners' histories: asked of the ledger first, drawn phone by phone, written."""

from __future__ import annotations

import math
from dataclasses import dataclass
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
from geodp.public.guarantee import Guarantee, Unit
from geodp.run_folder.folder import read_json, write_json
from geodp.scenario.schema import Scenario
from geodp.storage.stamp import SIMULATED, write_simulated
from geodp.streams import Streams
from geodp.tables.visits.catalogue import Catalogue, venue_catalogue

if TYPE_CHECKING:
    from geodp.tables.visits.histories import Histories

_ADVICE = (
    "Raise device.budget.epsilon_per_item, set fewer device.history_reports, or lower device.history_report.epsilon."
)


@dataclass(frozen=True, eq=False)
class HistoryReport:
    """One time at which all phones told about histories, read back."""

    index: int
    time_s: float
    device: HistoryDevice
    """The mechanism, with its budget settled."""
    guarantee: Guarantee
    items: pd.DataFrame
    """user, venue: the places told."""
    counts: pd.DataFrame
    """user, category, level, count: noisy numbers of places; missing where nothing is told."""


def write_history_reports(
    scenario: Scenario, records: Records, ledger: Ledger, streams: Streams, folder: Path
) -> pd.DataFrame:
    """Let every phone tell what its owner allows, each time the schedule says; return what each person was charged.

    The public schedule alone decides whether a report is made. People who tell nothing with noise pay nothing.
    """
    mechanism = scenario.device.history_report
    histories, venues = records.visits()
    charged = np.zeros(len(histories.people))
    if mechanism is not None:
        catalogue = venue_catalogue(venues, getattr(mechanism, "typical_items", 17.0))
        settled = mechanism.settled(catalogue, SimulatedNoise(streams.generator("device.history.budget")))
        lot = streams.uniform("device.history.groups", np.arange(len(histories.people)))
        phones = Phones(*settled.choices(lot), catalogue)
        for index, time_s in enumerate(scenario.history_times()):
            if not _afford(settled, ledger, time_s, scenario.device.budget.when_spent):
                break
            noise = SimulatedNoise(streams.generator(f"device.history.{index}"))
            owned = _flags(histories, venues.size, time_s)
            told, counts = phones.tell(owned, noise)
            charged += phones.cost()
            items = _items(told, histories, venues.name)
            _write(folder / "releases" / "histories", index, time_s, settled, items, phones.table(counts, histories))
    people = np.flatnonzero(charged > 0)
    return pd.DataFrame({"worker": people, "epsilon": charged[people]}).assign(time_s=scenario.duration_s, unit="item")


class Phones:
    """All phones: a mechanism each, of a few that people choose among."""

    def __init__(self, devices: list[HistoryDevice], choice: np.ndarray[Any, Any], catalogue: Catalogue) -> None:
        self.devices, self.choice, self.catalogue = devices, choice, catalogue

    def tell(self, owned: np.ndarray[Any, Any], noise: Noise) -> tuple[np.ndarray[Any, Any], Array]:
        """Return the items told and the noisy counts, a row per person; no phone sees another's history."""
        told = np.zeros(owned.shape, dtype=np.bool_)
        counts = np.full((len(owned), len(self.catalogue.categories)), np.nan)
        for person, flags in enumerate(owned):
            sent = self.devices[self.choice[person]].protect(flags, self.catalogue, rng=noise)
            told[person], counts[person] = sent.items, sent.aggregates
        return told, counts

    def cost(self) -> Array:
        """Return what one report costs each person per item: nothing for those who tell nothing with noise."""
        each = []
        for device in self.devices:
            promise = device.guarantee()
            noisy = "perturbed" in device.levels(self.catalogue).values() and promise.unit is not Unit.NOTHING
            each.append(promise.epsilon if noisy else 0.0)
        return np.asarray(np.array(each)[self.choice], dtype=np.float64)

    def table(self, counts: Array, histories: Histories) -> pd.DataFrame:
        """Return what was told about categories: user, category, level, count."""
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


def _flags(histories: Histories, venues: int, time_s: float) -> np.ndarray[Any, Any]:
    """Return which venues each person had been to by a time."""
    owned = np.zeros((len(histories.people), venues), dtype=np.bool_)
    known = np.ones(histories.size, dtype=np.bool_) if histories.time_s is None else histories.time_s <= time_s
    owned[histories.person[known], histories.venue[known]] = True
    return owned


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


def _items(told: np.ndarray[Any, Any], histories: Histories, names: np.ndarray[Any, Any]) -> pd.DataFrame:
    person, item = np.nonzero(told)
    return pd.DataFrame({"user": histories.people[person].astype(str), "venue": names[item].astype(str)})


def _write(
    folder: Path, index: int, time_s: float, mechanism: HistoryDevice, items: pd.DataFrame, counts: pd.DataFrame
) -> None:
    folder.mkdir(exist_ok=True)
    write_simulated(items, folder / f"{index:04d}-items.parquet", index=False)
    write_simulated(counts, folder / f"{index:04d}-counts.parquet", index=False)
    promise = mechanism.guarantee()
    facts = {
        **SIMULATED,
        "index": index,
        "time_s": time_s,
        "mechanism": mechanism.model_dump(mode="json"),
        "guarantee": promise.as_dict(),
        "sentence": promise.sentence(),
    }
    write_json(folder / f"{index:04d}.json", facts)


def read_history_reports(files: list[Path], plugins_left_out: tuple[str, ...] = ()) -> list[HistoryReport]:
    """Return what phones told, in order of time, from the JSON files of their reports."""
    from geodp.registry import Slot
    from geodp.scenario.stand_ins import StandIns

    stand_ins = StandIns(plugins_left_out) if plugins_left_out else None
    found = []
    for path in sorted(files):
        facts = read_json(path)
        device = Slot("history_report").build(facts["mechanism"], stand_ins)
        tables = [pd.read_parquet(path.with_name(f"{path.stem}-{name}.parquet")) for name in ("items", "counts")]
        promise = Guarantee.from_dict(facts["guarantee"])
        found.append(HistoryReport(facts["index"], facts["time_s"], device, promise, *tables))
    return found
