"""The rows of a ledger file: chained by hash, counted, with totals that must come out when they are added up again."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from geodp.privacy._exact_sums import as_float, units
from geodp.privacy._ledger_formats import Row, Settings
from geodp.privacy.ledger import COLUMNS, Account, Allowance, Charge, Ledger
from geodp.public.guarantee import Neighbours, Unit

FILE_COLUMNS = (*COLUMNS, "account", "chain")
_FORMAT = 2
_SETTINGS = {"format", "budgets", "budget_delta", "count", "head"}
_OLD_SETTINGS = {"budget_epsilon", "per", "window_s", "budget_delta"}
_OLD_COLUMNS = {*COLUMNS, "account"} - {"begin_s", "end_s"}

Budgets = dict[Account, Allowance]


def to_rows(ledger: Ledger, budgets: Mapping[Account, Allowance]) -> tuple[Settings, list[Row]]:
    """Return settings and rows of a ledger with these budgets, ready to be written."""
    stated = {str(account): asdict(allowance) for account, allowance in budgets.items()}
    settings: Settings = {"format": _FORMAT, "budgets": stated, "budget_delta": ledger.budget_delta}
    rows = [_row(charge) for charge in ledger.charges]
    links = _chain(settings, rows)
    for row, link in zip(rows, links[1:], strict=True):
        row["chain"] = link
    return {**settings, "count": len(rows), "head": links[-1]}, rows


def from_rows(settings: Settings, rows: Sequence[Row]) -> tuple[Ledger, Budgets]:
    """Return the ledger and its budgets, or refuse what is not whole.

    Raises
    ------
    ValueError
        If a setting or a row is missing, moved, repeated or changed.
    """
    _require_names("settings", set(settings), _SETTINGS)
    if settings["format"] != _FORMAT:
        raise ValueError(f"it has format {settings['format']}, which this version does not know")
    for row in rows:
        _require_names("columns", set(row), set(FILE_COLUMNS))
    bare = [{name: value for name, value in row.items() if name != "chain"} for row in rows]
    links = _chain({name: settings[name] for name in ("format", "budgets", "budget_delta")}, bare)
    if settings["count"] != len(rows):
        raise ValueError(f"it says that it has {settings['count']} rows, and has {len(rows)}")
    if [row["chain"] for row in rows] != links[1:] or settings["head"] != links[-1]:
        raise ValueError("its rows do not follow from one another")
    budgets = {Account(name): Allowance(**fields) for name, fields in settings["budgets"].items()}
    return _ledger([_charge(row) for row in bare], budgets, settings["budget_delta"])


def from_old_rows(settings: Settings, rows: Sequence[Row]) -> tuple[Ledger, Budgets]:
    """Return a ledger of version 0.1, which has neither chain nor count: rows missing at its end leave no trace.

    Its one budget held for each account by itself; it stays with the accounts that were charged. The data of its
    charges may be of any time, so they count in every window.
    """
    _require_names("settings", set(settings), _OLD_SETTINGS)
    for row in rows:
        _require_names("columns", set(row), _OLD_COLUMNS)
    charges = [_charge({**row, "begin_s": None, "end_s": None}) for row in rows]
    allowance = Allowance(settings["budget_epsilon"], settings["per"], settings["window_s"])
    charged = {charge.account for charge in charges} or {Account.CENTRAL}
    budgets = {account: allowance for account in Account if account in charged and allowance.epsilon is not None}
    return _ledger(charges, budgets, settings["budget_delta"])


def _ledger(charges: list[Charge], budgets: Budgets, budget_delta: float | None) -> tuple[Ledger, Budgets]:
    sums = dict.fromkeys(Account, 0)
    for number, row in enumerate(charges, 1):
        sums[row.account] += units(row.epsilon)
        if row.total != as_float(sums[row.account]):
            raise ValueError(
                f"its rows add up to {as_float(sums[row.account])} at row {number}, which says {row.total}"
            )
    return Ledger(charges=charges, budgets=dict(budgets), budget_delta=budget_delta), budgets


def _require_names(what: str, found: set[str], wanted: set[str]) -> None:
    missing, unknown = sorted(wanted - found), sorted(found - wanted)
    if missing:
        raise ValueError(f"it lacks the {what} {', '.join(missing)}")
    if unknown:
        raise ValueError(f"it has unknown {what}: {', '.join(unknown)}")


def _chain(settings: Settings, rows: Sequence[Row]) -> list[str]:
    """Return the hash of the settings, and for every row that of the row and all before it."""
    links = [_hash(settings)]
    for row in rows:
        links.append(_hash([links[-1], row]))
    return links


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, allow_nan=False).encode()).hexdigest()


def _row(charge: Charge) -> Row:
    values: Row = {name: getattr(charge, name) for name in (*COLUMNS, "account")}
    values |= {name: str(values[name]) for name in ("unit", "neighbours", "account")}
    values |= {name: float(values[name]) for name in ("time_s", "epsilon", "delta", "total")}
    return values | {name: _finite(values[name]) for name in ("begin_s", "end_s")}


def _finite(time_s: float) -> float | None:
    return float(time_s) if math.isfinite(time_s) else None


def _charge(row: Row) -> Charge:
    epsilon, delta, time_s = row["epsilon"], row["delta"], row["time_s"]
    if not (epsilon >= 0 and math.isfinite(epsilon) and 0 <= delta < 1 and math.isfinite(time_s)):
        raise ValueError(f"impossible charge of {epsilon} at {time_s}")
    return Charge(
        time_s=time_s,
        scope=row["scope"],
        unit=Unit(row["unit"]),
        neighbours=str(Neighbours(row["neighbours"])),
        mechanism=row["mechanism"],
        epsilon=epsilon,
        delta=delta,
        total=row["total"],
        account=Account(row["account"]),
        begin_s=-math.inf if row["begin_s"] is None else row["begin_s"],
        end_s=math.inf if row["end_s"] is None else row["end_s"],
    )
