"""A ledger that outlives a process: one real file, one writer at a time, written whole or not at all.

Rows are chained by hash and counted, with totals that must come out when they are added up again. The content (csv,
JSON or Parquet) is sealed: a cut or a changed bit is found before it is parsed. The seal is the SHA-256 of the whole
file with the seal's own digits as zeros. It stands among the settings, which every format keeps as JSON. It guards
against accidents, not against someone who computes it anew.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import json
import math
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any, Literal

from geodp.errors import BudgetSpent, DataError, OutputError, UsageError
from geodp.privacy.data_days import ConcentratedBudget
from geodp.privacy.ledger import COLUMNS, Account, Allowance, Charge, Ledger
from geodp.privacy.spending import as_float, units
from geodp.public.guarantee import Neighbours, Unit
from geodp.storage.files import lock_file, write_whole

_PRIVATE = 0o600
_UNKNOWN = "What was spent is unknown, so nothing is released."
FILE_COLUMNS = (*COLUMNS, "account", "chain")
_FORMAT = 3
_BEFORE = 2
"""The format of version 0.2: no rho, no days."""
_CHAINED = {2: ("format", "budgets", "budget_delta"), 3: ("format", "budgets", "budget_delta", "concentrated")}
_NEW_COLUMNS = {"rho", "delta_t", "first_day", "last_day"}
_OLD_SETTINGS = {"budget_epsilon", "per", "window_s", "budget_delta"}
_OLD_COLUMNS = {*COLUMNS, "account"} - {"begin_s", "end_s"} - _NEW_COLUMNS
_NO_DAYS: dict[str, Any] = {"rho": None, "delta_t": 0.0, "first_day": None, "last_day": None}
Budgets = dict[Account, Allowance]
Settings = dict[str, Any]
Row = dict[str, Any]
"""Texts, numbers, and None for what is not known."""
NUMBERS = ("time_s", "epsilon", "delta", "total", "begin_s", "end_s", "rho", "delta_t")
_DAYS = ("first_day", "last_day")
_MARK = "# geodp ledger "
_PARQUET_KEY = b"geodp ledger"
_NO_SEAL = "0" * 64
_SEAL = re.compile(rb'"seal": "([0-9a-f]{64})"')
SUFFIXES = (".csv", ".parquet", ".json")


@dataclass(frozen=True)
class LedgerFile:
    """A ledger in a csv, Parquet or JSON file, with the budget that one of its accounts is opened with.

    Links and `..` are resolved first, so that every way to the file meets the same lock; a file with a second name
    (a hard link) is refused. A file that cannot be read whole is an error, never a shorter ledger: it is sealed, its
    rows are chained and counted, and their totals are added up again. A budget once written is not raised silently.

    What the file cannot show by itself is that it is the newest: an older copy put back in its place reads as what was
    spent then, and no file at all as a new ledger. Keep it where only those who answer for it can write.
    """

    path: Path
    """Any way to the file; kept resolved."""
    budget_epsilon: float | None = None
    """Budget of the account; default: the one in the file (else none: charges are only recorded)."""
    per: Literal["run", "day"] | None = None
    """`run` (for ever) or `day`; default: as in the file, `run` for a new budget."""
    window_s: float | None = None
    """Length of the window in which the budget may be spent, seconds; default: as in the file."""
    account: Account = Account.CENTRAL
    """The account that the budget is for: an epsilon, and an epsilon per metre, are not one number."""
    concentrated: ConcentratedBudget | None = None
    """Instead, a budget of ρ (or of ε at a δ) for the central account; default: the one in the file."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(os.path.realpath(self.path)))
        if self.path.suffix not in SUFFIXES:
            raise UsageError(f"{self.path}: a ledger ends in {', '.join(SUFFIXES)}")

    @contextlib.contextmanager
    def open_ledger(self) -> Iterator[Ledger]:
        """Hold the lock, hand out the ledger, and write it back when all its charges were accepted.

        Charge inside the block and publish after it: when the block ends the charges are on the disk. If anything in it
        fails, the file stays as it was.
        """
        with self._hold_lock():
            ledger, stored = self._read_stored()
            budgets = self._settle_budgets(stored)
            concentrated = self._settle_concentrated(ledger, budgets)
            changed = concentrated != ledger.concentrated
            ledger = Ledger(
                charges=ledger.charges,
                budgets=dict(budgets),
                budget_delta=ledger.budget_delta,
                concentrated=concentrated,
            )
            before = len(ledger.charges)
            try:
                yield ledger
            except BudgetSpent as refused:
                rows = f"{before} row{'' if before == 1 else 's'}"
                refused.advice = f"{self.path} holds {rows} of earlier charges. Ask for less, or wait for a new budget."
                raise
            if len(ledger.charges) != before or budgets != stored or changed or not self.path.exists():
                self._write(ledger, budgets)

    def read(self) -> Ledger:
        """Return the ledger as it is on the disk (new when there is no file)."""
        ledger, stored = self._read_stored()
        budgets = self._settle_budgets(stored)
        return Ledger(
            charges=ledger.charges,
            budgets=dict(budgets),
            budget_delta=ledger.budget_delta,
            concentrated=self._settle_concentrated(ledger, budgets),
        )

    def adopt(self) -> Ledger:
        """Take over a ledger of version 0.1: write it anew with all checks, as it stands.

        Only whoever kept the file can know that it is complete, so this is never done unasked.
        """
        with self._hold_lock():
            content = self._content()
            if content is None:
                raise UsageError(f"{self.path}: there is no such ledger")
            try:
                ledger, budgets = from_old_rows(*parse(self.path.suffix, content))
            except Exception as error:
                raise UsageError(f"{self.path}: is not a ledger of version 0.1 ({error})") from error
            self._write(ledger, budgets)
            return ledger

    @contextlib.contextmanager
    def _hold_lock(self) -> Iterator[None]:
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(lock_file(self.path.with_name(self.path.name + ".lock")))
            except OSError as error:
                raise OutputError(
                    f"{self.path}: the ledger cannot be locked ({error}). Nothing was charged."
                ) from error
            yield

    def _read_stored(self) -> tuple[Ledger, Budgets]:
        content = self._content()
        if content is None:
            return Ledger(), {}
        try:
            return from_rows(*decode(self.path.suffix, content))
        except Exception as error:
            if isinstance(error, NotSealed):
                self._require_not_old(content)
            raise DataError(f"{self.path}: cannot be read as a ledger ({error}). {_UNKNOWN}") from error

    def _content(self) -> bytes | None:
        """Return what is in the file (None: there is none)."""
        try:
            facts = self.path.lstat()
            if not stat.S_ISREG(facts.st_mode):
                raise DataError(f"{self.path}: cannot be read as a ledger (it is not a file). {_UNKNOWN}")
            if facts.st_nlink > 1:
                raise DataError(
                    f"{self.path}: this ledger has {facts.st_nlink} names (hard links). Each would be charged apart, "
                    "and the budget be spent once per name: remove the other names, and use this one. "
                    "Nothing was charged, so nothing is released."
                )
            return self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise DataError(f"{self.path}: cannot be read as a ledger ({error}). {_UNKNOWN}") from error

    def _require_not_old(self, content: bytes) -> None:
        """Say what to do about a ledger of version 0.1: what is left of a damaged one could look just like it."""
        ledger = None
        with contextlib.suppress(Exception):  # then it is damaged, which is told by the caller
            ledger, _ = from_old_rows(*parse(self.path.suffix, content))
        if ledger is None:
            return
        raise DataError(
            f"{self.path}: is a ledger of version 0.1, which cannot show that it is complete. {_UNKNOWN}\n"
            f"It says that this was spent in {len(ledger.charges)} charges: {ledger.summary()}. If that is all, run "
            f"`geodp publish adopt-ledger {self.path}` once, and go on with it."
        )

    def _settle_budgets(self, stored: Budgets) -> Budgets:
        """Return the budgets in force; one that is written is not changed."""
        asked = {"epsilon": self.budget_epsilon, "per": self.per, "window_s": self.window_s}
        asked = {name: value for name, value in asked.items() if value is not None}
        kept = stored.get(self.account)
        if not asked:
            return stored
        if kept is None:
            if self.budget_epsilon is None:
                raise UsageError(f"{self.path}: the {self.account} account has no budget: give its epsilon, too")
            return {**stored, self.account: Allowance(self.budget_epsilon, self.per or "run", self.window_s)}
        for name, value in asked.items():
            if value != getattr(kept, name):
                raise UsageError(
                    f"{self.path}: the {self.account} account was begun with a budget of {name} {getattr(kept, name)}, "
                    f"and {value} was asked for. A budget is not changed under way: use the same one, or leave it out."
                )
        return stored

    def _settle_concentrated(self, ledger: Ledger, budgets: Budgets) -> ConcentratedBudget | None:
        """Return the concentrated budget in force; one that is written is not changed."""
        asked, kept = self.concentrated, ledger.concentrated
        if asked is None or asked == kept:
            held = kept
        elif kept is not None:
            raise UsageError(
                f"{self.path}: the central account was begun with a budget of {kept}, and {asked} was asked for. A "
                "budget is not changed under way: use the same one, or leave it out."
            )
        else:
            held = asked
        if held is not None and (Account.CENTRAL in budgets or ledger.budget_delta is not None):
            raise UsageError(
                f"{self.path}: the central account has a budget of pure epsilon, beside which none of rho can stand. "
                "Use another ledger for what is counted as rho; what both spent on the same people comes together."
            )
        return held

    def _write(self, ledger: Ledger, budgets: Budgets) -> None:
        if ledger.charged_people:
            raise UsageError(f"{self.path}: a ledger file holds charges to everyone, not to single people")
        try:
            content = encode(self.path.suffix, *to_rows(ledger, budgets), FILE_COLUMNS)
            write_whole(self.path, lambda partial: partial.write_bytes(content), mode=_PRIVATE)
        except (OSError, NotSealed) as error:
            raise OutputError(
                f"{self.path}: the ledger cannot be written ({error}). Nothing was charged, so nothing is released."
            ) from error


def to_rows(ledger: Ledger, budgets: Mapping[Account, Allowance]) -> tuple[Settings, list[Row]]:
    """Return settings and rows of a ledger with these budgets, ready to be written."""
    stated = {str(account): asdict(allowance) for account, allowance in budgets.items()}
    budget = ledger.concentrated
    settings: Settings = {
        "format": _FORMAT,
        "budgets": stated,
        "budget_delta": ledger.budget_delta,
        "concentrated": None if budget is None else {**asdict(budget), "unit": str(budget.unit)},
    }
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
    chained = _CHAINED.get(settings.get("format", _FORMAT))
    if chained is None:
        raise ValueError(f"it has format {settings['format']}, which this version does not know")
    _require_names("settings", set(settings), {*chained, "count", "head"})
    old = settings["format"] == _BEFORE
    for row in rows:
        _require_names("columns", set(row), set(FILE_COLUMNS) - (_NEW_COLUMNS if old else set()))
    bare = [{name: value for name, value in row.items() if name != "chain"} for row in rows]
    links = _chain({name: settings[name] for name in chained}, bare)
    if settings["count"] != len(rows):
        raise ValueError(f"it says that it has {settings['count']} rows, and has {len(rows)}")
    if [row["chain"] for row in rows] != links[1:] or settings["head"] != links[-1]:
        raise ValueError("its rows do not follow from one another")
    budgets = {Account(name): Allowance(**fields) for name, fields in settings["budgets"].items()}
    stated = settings.get("concentrated")
    concentrated = None if stated is None else ConcentratedBudget(**stated)
    return _ledger([_charge({**_NO_DAYS, **row}) for row in bare], budgets, settings["budget_delta"], concentrated)


def from_old_rows(settings: Settings, rows: Sequence[Row]) -> tuple[Ledger, Budgets]:
    """Return a ledger of version 0.1, which has neither chain nor count: rows missing at its end leave no trace.

    Its one budget held for each account by itself; it stays with the accounts that were charged. The data of its
    charges may be of any time, so they count in every window.
    """
    _require_names("settings", set(settings), _OLD_SETTINGS)
    for row in rows:
        _require_names("columns", set(row), _OLD_COLUMNS)
    charges = [_charge({**row, **_NO_DAYS, "begin_s": None, "end_s": None}) for row in rows]
    allowance = Allowance(settings["budget_epsilon"], settings["per"], settings["window_s"])
    charged = {charge.account for charge in charges} or {Account.CENTRAL}
    budgets = {account: allowance for account in Account if account in charged and allowance.epsilon is not None}
    return _ledger(charges, budgets, settings["budget_delta"])


def _ledger(
    charges: list[Charge],
    budgets: Budgets,
    budget_delta: float | None,
    concentrated: ConcentratedBudget | None = None,
) -> tuple[Ledger, Budgets]:
    sums = dict.fromkeys(Account, 0)
    for number, row in enumerate(charges, 1):
        sums[row.account] += units(row.epsilon) if row.adds_epsilon else 0
        if row.total != as_float(sums[row.account]):
            raise ValueError(
                f"its rows add up to {as_float(sums[row.account])} at row {number}, which says {row.total}"
            )
    ledger = Ledger(charges=charges, budgets=dict(budgets), budget_delta=budget_delta, concentrated=concentrated)
    return ledger, budgets


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
    values |= {"rho": None if charge.rho is None else float(charge.rho), "delta_t": float(charge.delta_t)}
    values |= {name: None if values[name] is None else values[name].isoformat() for name in _DAYS}
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
        rho=row["rho"],
        delta_t=row["delta_t"],
        first_day=None if row["first_day"] is None else date.fromisoformat(row["first_day"]),
        last_day=None if row["last_day"] is None else date.fromisoformat(row["last_day"]),
    )


class NotSealed(ValueError):
    """There is no seal, or more than one."""


def encode(suffix: str, settings: Settings, rows: Sequence[Row], columns: Sequence[str]) -> bytes:
    """Return the content of a ledger file, with its seal."""
    content = _ENCODERS[suffix]({**settings, "seal": _NO_SEAL}, rows, columns)
    begin, end = _place_of_seal(content)
    return content[:begin] + hashlib.sha256(content).hexdigest().encode() + content[end:]


def decode(suffix: str, content: bytes) -> tuple[Settings, list[Row]]:
    """Return settings and rows of a ledger file whose seal is whole.

    Raises
    ------
    ValueError
        If anything about it has changed since it was written (`NotSealed` where there is no seal to go by).
    """
    begin, end = _place_of_seal(content)
    unsealed = content[:begin] + _NO_SEAL.encode() + content[end:]
    if hashlib.sha256(unsealed).hexdigest().encode() != content[begin:end]:
        raise ValueError("its content does not match its seal: it was cut, damaged or edited")
    settings, rows = parse(suffix, content)
    del settings["seal"]
    return settings, rows


def parse(suffix: str, content: bytes) -> tuple[Settings, list[Row]]:
    """Return settings and rows as they stand there, whatever they are."""
    settings, rows = _PARSERS[suffix](content)
    return settings, [{name: _parse_field(name, value) for name, value in row.items()} for row in rows]


def _place_of_seal(content: bytes) -> tuple[int, int]:
    found = list(_SEAL.finditer(content))
    if len(found) != 1:
        raise NotSealed("it has no seal" if not found else "it has more than one seal")
    return found[0].span(1)


def _parse_field(name: str, value: Any) -> Any:
    if name in _DAYS:
        return None if value in ("", None) else str(value)
    if name not in NUMBERS:
        return str(value)
    return None if value in ("", None) else float(value)


def _encode_csv(settings: Settings, rows: Sequence[Row], columns: Sequence[str]) -> bytes:
    text = io.StringIO()
    text.write(_MARK + json.dumps(settings) + "\n")
    table = csv.writer(text, lineterminator="\n")
    table.writerow(columns)
    table.writerows([["" if row[name] is None else row[name] for name in columns] for row in rows])
    return text.getvalue().encode()


def _parse_csv(content: bytes) -> tuple[Settings, list[Row]]:
    first, _, rest = content.decode().partition("\n")
    if not first.startswith(_MARK):
        raise ValueError("its first line is not that of a ledger")
    header, *lines = csv.reader(io.StringIO(rest, newline=""), strict=True)
    return dict(json.loads(first.removeprefix(_MARK))), [dict(zip(header, line, strict=True)) for line in lines]


def _encode_json(settings: Settings, rows: Sequence[Row], columns: Sequence[str]) -> bytes:
    charges = [{name: row[name] for name in columns} for row in rows]
    return (json.dumps({**settings, "charges": charges}, indent=1, allow_nan=False) + "\n").encode()


def _parse_json(content: bytes) -> tuple[Settings, list[Row]]:
    held = dict(json.loads(content.decode()))
    return held, [dict(row) for row in held.pop("charges")]


def _encode_parquet(settings: Settings, rows: Sequence[Row], columns: Sequence[str]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = [(name, pa.float64() if name in NUMBERS else pa.string()) for name in columns]
    schema = pa.schema(kinds, metadata={_PARQUET_KEY: json.dumps(settings).encode()})
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), sink, compression="zstd")
    return bytes(sink.getvalue().to_pybytes())


def _parse_parquet(content: bytes) -> tuple[Settings, list[Row]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(pa.BufferReader(content))
    return dict(json.loads((table.schema.metadata or {})[_PARQUET_KEY])), table.to_pylist()


_ENCODERS = {".csv": _encode_csv, ".json": _encode_json, ".parquet": _encode_parquet}
_PARSERS = {".csv": _parse_csv, ".json": _parse_json, ".parquet": _parse_parquet}
