"""What advice may take from a private file: a number of people that is paid for, or (stamped) the true counts."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from geodp.errors import DataError, UsageError
from geodp.flows.contributions import FlowRules, FlowTables
from geodp.flows.pings import count_pings, hash_names, open_pings
from geodp.geometry import Array
from geodp.privacy.ledger import ANY_TIME
from geodp.privacy.ledger_file import LedgerFile
from geodp.privacy.noise import noise_source
from geodp.privacy.primitives import positive, with_geometric
from geodp.public.guarantee import Guarantee, Neighbours, Trust, Unit
from geodp.publish.advice import BudgetQuestion, PublicationAdvice, choose_on_counts
from geodp.publish.flows_request import FlowsRequest
from geodp.tables.reader import is_missing

_PLAIN = ("error", "above", "table", "days", "unit", "delta", "people", "area_km2")


def pay_for_people(
    path: Path,
    epsilon: float,
    *,
    mode: str = "simulate",
    ledger: Path | None = None,
    seed: int | None = None,
    columns: dict[str, str] | None = None,
) -> float:
    """Return a noisy number of the people in a file of pings, which everyone in it pays for.

    Parameters
    ----------
    path
        The private pings.
    epsilon
        ε of the number, for a person's whole record.
    mode
        `simulate`, or `release`: OpenDP's noise and a ledger.
    ledger
        Ledger to charge; a release needs one.
    seed
        Seed of simulated noise.
    columns
        What columns are called.
    """
    positive("--count-epsilon", epsilon)
    releasing = mode == "release"
    if releasing and ledger is None:
        raise UsageError("--mode release needs --ledger FILE: the ledger of everyone in the data.")
    if not path.exists():
        raise DataError(f"{path}: no such file or folder.")
    noise = noise_source(mode, seed=seed)
    known: set[int] = set()
    for table in open_pings(path, columns, releasing=releasing, parts=("user", "time_s")):
        for batch in table.batches(total=releasing):
            words = hash_names(batch["user"])[~is_missing(batch["user"])]
            known.update(np.unique(words).tolist())
    if ledger is not None:
        promise = Guarantee(epsilon, Unit.USER, Neighbours.ADD_REMOVE, Trust.CENTRAL)
        with LedgerFile(ledger).open_ledger() as book:
            scope = "everyone" if releasing else "everyone, simulated"
            book.charge(promise, time_s=time.time(), mechanism="people", scope=scope, period=ANY_TIME)
    return float(max(with_geometric(np.array([len(known)]), 1 / epsilon, noise)[0], 1))


_OF_COUNTS = ("error", "above", "cap", "people", "data", "count_epsilon", "ledger")
_OF_DATA = ("data", "zones", "first", "last")


def ask(kind: str, stated: Mapping[str, Any], *, mode: str = "simulate") -> BudgetQuestion:
    """Return the question of a command, with a number of people that is paid for where that is asked.

    Parameters
    ----------
    kind
        `flows` or `counts`.
    stated
        What was said, by the name of the option.
    mode
        Of what is paid for.
    """
    if kind == "counts" and (odd := [name for name in stated if name not in _OF_COUNTS]):
        raise UsageError(f"--{odd[0].replace('_', '-')} is about flows: counts take --error, --above and --cap.")
    if missing := [name for name in ("error", "above") if name not in stated]:
        raise UsageError(f"say --{missing[0]}: geodp advise {kind} --error 0.1 --above 500")
    asked: dict[str, Any] = {name: stated[name] for name in _PLAIN if name in stated}
    if kind == "counts":
        asked |= {"publication": "counts", "unit": "person"}
    if "cap" in stated:
        asked["cap" if kind == "counts" else "trips"] = stated["cap"]
    if stated.get("delta") == 0:
        asked |= {"pure": True}
        asked.pop("delta", None)
    if "zones" in stated and not stated.get("on_data"):
        try:
            asked["zones"] = int(stated["zones"])
        except ValueError:
            raise UsageError(f"--zones {stated['zones']}: a number; files are read with --on-data only.") from None
        asked["districts"] = max(asked["zones"] // 10, 1)
    needs_data = "count_epsilon" in stated or stated.get("on_data")
    if ("data" in stated) != bool(needs_data):
        raise UsageError("--data goes with --count-epsilon E (paid for) or --on-data (not releasable): say one.")
    if "count_epsilon" in stated:
        if "people" in stated or stated.get("on_data"):
            raise UsageError("--count-epsilon pays for the number of people: leave --people and --on-data out.")
        path, epsilon = Path(stated["data"]), float(stated["count_epsilon"])
        question = BudgetQuestion(**asked)  # refuse a wrong question before anything is paid
        people = pay_for_people(path, epsilon, mode=mode, ledger=stated.get("ledger"))
        return replace(question, people=people, paid=epsilon)
    if mode != "simulate" or "ledger" in stated:
        raise UsageError("--mode and --ledger go with --count-epsilon: nothing else is paid for.")
    return BudgetQuestion(**asked)


def make_request(stated: Mapping[str, Any]) -> FlowsRequest:
    """Return what is read of a private file, where that is chosen on.

    Parameters
    ----------
    stated
        What was said, by the name of the option.
    """
    if missing := [name for name in _OF_DATA if name not in stated]:
        option = {"first": "from", "last": "to"}.get(missing[0], missing[0])
        raise UsageError(f"--on-data needs --{option}: --data PINGS --zones FILE:COLUMN --from DAY --to DAY")
    source = Path(stated["data"])
    if not source.exists():
        raise DataError(f"{source}: no such file or folder.")
    return FlowsRequest(source=source, zones=stated["zones"], out=Path("advice"), first=stated["first"],
                        last=stated["last"])  # fmt: skip


def choose_on_file(question: BudgetQuestion, request: FlowsRequest) -> PublicationAdvice:
    """Return what would fit the private file best: stamped, because it tells of the data.

    Parameters
    ----------
    question
        What is asked; zones, districts and days are those of the request.
    request
        The file, zones and days.
    """
    days, zones = request.make_days(), request.read_zones()
    asked = replace(question, zones=zones.size, districts=len(zones.all_districts), days=days.count)
    rules = FlowRules(days, zones.size, zones.centres_m, trips=asked.trips, stays=request.stays)
    tables = open_pings(request.source, request.columns, parts=request.parts)
    counted, _ = count_pings(tables, zones, rules, sites=request.sites)
    return choose_on_counts(asked, _list_numbers(asked, counted, rules.zones))


def _list_numbers(question: BudgetQuestion, counted: FlowTables, zones: int) -> Array:
    """Return the true numbers that are asked about."""
    hours, cell, count = counted.footfall, counted.od.cell, counted.od.count
    if question.table == "zone-hour":
        return hours.ravel().astype(np.float64)
    if question.table.startswith("zone"):
        axes = 1 if question.table == "zone-day" else (0, 1)
        return np.asarray(hours.sum(axis=axes).ravel(), dtype=np.float64)
    if question.table == "od-all":
        _, place = np.unique(cell % (zones * zones), return_inverse=True)
        return np.bincount(place, weights=count).astype(np.float64)
    return count.astype(np.float64)
