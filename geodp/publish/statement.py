"""What is said about a publication: in its guarantee file, inside the output, and on the screen."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodp._version import __version__
from geodp.privacy.ledger import Account
from geodp.public.guarantee import Guarantee
from geodp.storage.files import digest

if TYPE_CHECKING:
    from geodp.publish.pipeline import Product, PublishPlan
    from geodp.publish.request import PublicInputs, Request

SIMULATED = "SIMULATED, not releasable: its noise follows from the seed. Publish real data with --mode release."
UNPROTECTED = "SIMULATED, not releasable and NOT PRIVATE: no guarantee holds for it."


_SPENT = {"person_day": "a person's day", "person_week": "week", "user": "a person altogether"}
_PER = {Account.EVENT: "per visit", Account.TRAJECTORY: "per trip", Account.ITEM: "per item"}


@dataclass(frozen=True)
class Accuracy:
    """The error to expect, known without the data."""

    text: str
    values: dict[str, float]


@dataclass(frozen=True)
class Spent:
    """What the ledger recorded."""

    path: Path
    account: Account
    charged: float
    total: float
    remaining: float
    by_days: str | None = None
    """What the ledger says where it counts ρ, by days of the data."""


@dataclass(frozen=True, eq=False)
class Statement:
    """Everything that may be told about one publication."""

    request: Request
    plan: PublishPlan
    inputs: PublicInputs
    guarantee: Guarantee
    per_person: Guarantee
    product: Product
    spent: Spent | None

    @property
    def releasable(self) -> bool:
        """Whether the output may leave the house."""
        return self.request.releasing and self.product.releasable and self.guarantee.holds

    @property
    def verdict(self) -> str:
        """Say in one line whether the output may leave the house."""
        if self.releasable:
            return "RELEASABLE under the guarantee below."
        return SIMULATED if self.guarantee.holds else UNPROTECTED

    @property
    def sentences(self) -> list[str]:
        """The promise about one unit, and that about all rows of one person where it differs."""
        return [self.guarantee.sentence(), *([self.plan.together] if self.plan.together else [])]

    def stamp(self) -> dict[str, Any]:
        """Return what is written into the output itself."""
        return {
            "mode": self.request.mode,
            "releasable": self.releasable,
            "mechanism": self.plan.mechanism,
            "guarantee": self.guarantee.as_dict(),
            "sentence": " ".join(self.sentences),
            "geodp": __version__,
        }

    def write(self, path: Path, output: Path) -> None:
        """Write the guarantee file for an output that is written already."""
        spent = self.spent
        values = {
            **self.stamp(),
            "settings": self.plan.fields,
            "per_person": self.per_person.as_dict(),
            "charged": None if spent is None else {"account": str(spent.account), "epsilon": spent.charged},
            "ledger": None if spent is None else spent.path.name,
            "not_hidden": list(self.plan.not_hidden),
            "accuracy": {"text": self.product.accuracy.text, **self.product.accuracy.values},
            "public_inputs": self.inputs.values,
            "derived_from_private_data": self.inputs.derived,
            "columns": list(self.product.table.columns),
            "file": self.request.out.name,
            "sha256": digest(output),
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        path.write_text(json.dumps(values, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")

    def text(self, written: Iterable[Path], remarks: Iterable[str]) -> str:
        """Say it on the screen; `remarks` are facts about the private data."""
        lines = [
            self.verdict,
            *self.sentences,
            *(f"Not hidden: {what}." for what in self.plan.not_hidden),
            f"Accuracy: {self.product.accuracy.text}",
            self._ledger_line(),
            *remarks,
            *(f"wrote {path}" for path in written),
        ]
        return "\n".join(line for line in lines if line)

    def _ledger_line(self) -> str:
        spent = self.spent
        if spent is None:
            return "Nothing was charged: nothing is promised."
        if spent.by_days is not None:
            price = "" if self.guarantee.rho is None else f", ρ = {self.guarantee.rho:.6g}"
            return f"Ledger {spent.path}: ε = {spent.charged:.6g}{price} charged; {spent.by_days}"
        left = f"{spent.remaining:.6g} left" if math.isfinite(spent.remaining) else "no budget was set (--budget)"
        return f"Ledger {spent.path}: {self._cost(spent)} charged, {spent.total:.6g} spent so far, {left}."

    def _cost(self, spent: Spent) -> str:
        epsilon = spent.charged
        if spent.account is Account.METRIC:
            return f"ε = {epsilon:.6g} per metre"
        if spent.account in _PER:
            return f"ε = {epsilon:.6g} {_PER[spent.account]}"
        # Replacing a record is removing one and adding one.
        return f"ε = {epsilon:.6g} (add/remove), {2 * epsilon:.6g} (replace),"


def say_spent(spent: dict[str, dict[str, Any]], left: float, delta: float) -> str:
    """Say what a ledger holds about a person's day, week, and altogether.

    Parameters
    ----------
    spent
        What was spent, by unit.
    left
        ρ that is left (infinite: no budget).
    delta
        δ at which ε is stated.
    """
    parts = []
    for unit, amount in spent.items():
        epsilon = "more than this δ can state" if amount["epsilon"] is None else f"ε = {amount['epsilon']:.4g}"
        parts.append(f"{_SPENT[unit]} {epsilon}")
    rest = f"ρ = {left:.6g} left" if math.isfinite(left) else "no budget was set (--budget-rho)"
    return f"spent so far, at δ = {delta:g}: {', '.join(parts)}; {rest}."
