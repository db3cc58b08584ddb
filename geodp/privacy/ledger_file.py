"""A ledger that outlives a process: one real file, one writer at a time, written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from geodp.errors import BudgetSpent, DataError, OutputError, UsageError
from geodp.privacy._ledger_formats import SUFFIXES, NotSealed, decoded, encoded, parsed
from geodp.privacy._ledger_rows import FILE_COLUMNS, Budgets, from_old_rows, from_rows, to_rows
from geodp.privacy.ledger import Account, Allowance, Ledger
from geodp.storage.files import locked, write_whole

_PRIVATE = 0o600
_UNKNOWN = "What was spent is unknown, so nothing is released."


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

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(os.path.realpath(self.path)))
        if self.path.suffix not in SUFFIXES:
            raise UsageError(f"{self.path}: a ledger ends in {', '.join(SUFFIXES)}")

    @contextlib.contextmanager
    def opened(self) -> Iterator[Ledger]:
        """Hold the lock, hand out the ledger, and write it back when all its charges were accepted.

        Charge inside the block and publish after it: when the block ends the charges are on the disk. If anything in it
        fails, the file stays as it was.
        """
        with self._locked():
            ledger, stored = self._stored()
            budgets = self._settled(stored)
            ledger = Ledger(charges=ledger.charges, budgets=dict(budgets), budget_delta=ledger.budget_delta)
            before = len(ledger.charges)
            try:
                yield ledger
            except BudgetSpent as refused:
                rows = f"{before} row{'' if before == 1 else 's'}"
                refused.advice = f"{self.path} holds {rows} of earlier charges. Ask for less, or wait for a new budget."
                raise
            if len(ledger.charges) != before or budgets != stored or not self.path.exists():
                self._write(ledger, budgets)

    def read(self) -> Ledger:
        """Return the ledger as it is on the disk (new when there is no file)."""
        ledger, stored = self._stored()
        return Ledger(charges=ledger.charges, budgets=dict(self._settled(stored)), budget_delta=ledger.budget_delta)

    def adopt(self) -> Ledger:
        """Take over a ledger of version 0.1: write it anew with all checks, as it stands.

        Only whoever kept the file can know that it is complete, so this is never done unasked.
        """
        with self._locked():
            content = self._content()
            if content is None:
                raise UsageError(f"{self.path}: there is no such ledger")
            try:
                ledger, budgets = from_old_rows(*parsed(self.path.suffix, content))
            except Exception as error:
                raise UsageError(f"{self.path}: is not a ledger of version 0.1 ({error})") from error
            self._write(ledger, budgets)
            return ledger

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(locked(self.path.with_name(self.path.name + ".lock")))
            except OSError as error:
                raise OutputError(
                    f"{self.path}: the ledger cannot be locked ({error}). Nothing was charged."
                ) from error
            yield

    def _stored(self) -> tuple[Ledger, Budgets]:
        content = self._content()
        if content is None:
            return Ledger(), {}
        try:
            return from_rows(*decoded(self.path.suffix, content))
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
            ledger, _ = from_old_rows(*parsed(self.path.suffix, content))
        if ledger is None:
            return
        raise DataError(
            f"{self.path}: is a ledger of version 0.1, which cannot show that it is complete. {_UNKNOWN}\n"
            f"It says that this was spent in {len(ledger.charges)} charges: {ledger.summary()}. If that is all, run "
            f"`geodp publish adopt-ledger {self.path}` once, and go on with it."
        )

    def _settled(self, stored: Budgets) -> Budgets:
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

    def _write(self, ledger: Ledger, budgets: Budgets) -> None:
        if ledger.charged_people:
            raise UsageError(f"{self.path}: a ledger file holds charges to everyone, not to single people")
        try:
            content = encoded(self.path.suffix, *to_rows(ledger, budgets), FILE_COLUMNS)
            write_whole(self.path, lambda partial: partial.write_bytes(content), mode=_PRIVATE)
        except (OSError, NotSealed) as error:
            raise OutputError(
                f"{self.path}: the ledger cannot be written ({error}). Nothing was charged, so nothing is released."
            ) from error
