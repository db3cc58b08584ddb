"""The epsilon that a price is asked for: which one it is, its budget, and the same scenario on exact counts."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geodp.errors import ScenarioError, UsageError
from geodp.scenario.file import build_scenario, set_path
from geodp.scenario.schema import Scenario
from geodp.sweeps.advise import VariedField

_CURATOR, _PHONE = "curator.mechanism.epsilon", "device.mechanism.epsilon_per_m"
_PHONE_LOCAL = "device.mechanism.epsilon"


@dataclass(frozen=True)
class SpentBudget:
    """What a value of epsilon comes to over a run."""

    releases: int
    total: float | None
    """Per person (or per metre), over `lasts`; None where nothing is charged."""
    lasts: str
    stated: float | None
    """What the scenario's budget has (None: exactly what is needed)."""
    place: str
    """Where the budget stands in a scenario."""


def find_epsilon(base: Scenario, vary: str | None) -> str:
    """Return the epsilon to vary, or say which there are."""
    known = []
    if base.curator is not None and "epsilon" in type(base.curator.mechanism).model_fields:
        known.append(_CURATOR)
    if "epsilon_per_m" in type(base.device.mechanism).model_fields:
        known.append(_PHONE)
    elif base.curator is None and "epsilon" in type(base.device.mechanism).model_fields:
        known.append(_PHONE_LOCAL)
    if vary is None and known:
        return known[0]
    if vary is None:
        kinds = [base.device.mechanism.kind] if base.curator is None else [base.curator.mechanism.kind]
        raise UsageError(
            f"--within: nothing in the scenario has an epsilon ({', '.join(kinds)} has none): choose a private "
            "mechanism, or name the number with --vary"
        )
    if not vary.rsplit(".", 1)[-1].startswith("epsilon") or vary.split(".")[0] not in ("curator", "device"):
        there = f" The scenario has {', '.join(known)}." if known else ""
        raise UsageError(
            f"--vary {vary}: --within asks for an epsilon of the curator or of the phones, because its price is held "
            f"against exact counts.{there} For other numbers use --target."
        )
    return vary


class VariedEpsilon(VariedField):
    """The epsilon that is varied. The budget follows it, or large values would be reused ones of the first minutes."""

    def __init__(self, raw: dict[str, Any], file: Path, path: str, base: Scenario) -> None:
        raw = copy.deepcopy(raw)
        self.stated: float | None = None
        self.budget_path = ""
        if path.startswith("device."):
            field = _phone_budget(base)
            self.stated, self.budget_path = getattr(base.device.budget, field), f"device.budget.{field}"
        elif base.curator is not None:
            budget = base.curator.budget
            if budget.split == "even" and path == _CURATOR:
                raise UsageError(
                    f"--vary {path}: has no effect, because curator.budget.split is even and shares out "
                    "curator.budget.epsilon: use --vary curator.budget.epsilon"
                )
            self.stated, self.budget_path = budget.epsilon, "curator.budget.epsilon"
        if self.budget_path == path:
            self.budget_path = ""
        elif self.budget_path and self.stated is not None:
            set_path(raw, self.budget_path, None)
        super().__init__(raw, file, path)

    def round_value(self, value: float) -> float:
        """Return a value with two significant figures, as a person would give it."""
        return float(f"{value:.2g}")

    def space_values(self, low: float, high: float) -> list[float]:
        """Return a few values over the range."""
        inner = super().space_values(low, high)
        return sorted({inner[0], inner[-1], *(self.round_value(value) for value in inner[1:-1])})

    def between(self, low: float, high: float) -> float:
        """Return the value half-way, rounded."""
        middle = self.round_value(super().between(low, high))
        return middle if low < middle < high else super().between(low, high)

    def reference(self) -> tuple[Scenario, str]:
        """Return the same scenario on exact counts (or exact reports), and how they are called."""
        raw = copy.deepcopy(self.raw)
        if self.path.startswith("device."):
            set_path(raw, "device.mechanism", {"kind": "none"})
            if raw.get("device", {}).get("memoise_m") is not None:
                set_path(raw, "device.memoise_m", None)
            return self._build(raw), "device.mechanism none: exact reports"
        given = build_scenario(raw, source=str(self.file), folder=self.file.resolve().parent, trust_plugins=True)
        cell_m = _cell_of(given)
        set_path(raw, "curator.mechanism", {"kind": "no_privacy"} | ({} if cell_m is None else {"cell_m": cell_m}))
        if value := (raw.get("curator") or {}).get("budget"):
            set_path(raw, "curator.budget", {key: own for key, own in value.items() if key == "when_spent"})
        made = self._build(raw)
        exact = made.resolve().curator
        return made, f"no_privacy, cell_m {getattr(exact.mechanism if exact else None, 'cell_m', math.nan):.4g}"

    def _build(self, raw: dict[str, Any]) -> Scenario:
        try:
            return build_scenario(raw, source=str(self.file), folder=self.file.resolve().parent, trust_plugins=True)
        except ScenarioError as error:
            where, what = error.problems[0]
            raise UsageError(f"the scenario cannot be run on exact counts, to compare with: {where}: {what}") from None

    def sum_spent(self, value: float) -> SpentBudget | None:
        """Return what a value comes to over a run."""
        made = self.scenario(value).resolve()
        releases = made.release_count()
        if self.path.startswith("device."):
            total = getattr(made.device.budget, _phone_budget(made))
            return SpentBudget(releases, total, "over the run", self.stated, self.budget_path)
        if made.curator is None:
            return None
        budget = made.curator.budget
        return SpentBudget(releases, budget.epsilon, budget.lasts(), self.stated, self.budget_path)


def _phone_budget(given: Scenario) -> str:
    """Return the field of the budget from which reports of the phones are paid."""
    return "epsilon" if given.device.mechanism.guarantee().account == "local" else "epsilon_per_m"


def _cell_of(given: Scenario) -> float | None:
    """Return the cell size that a scenario states (None: a guideline's, or no single one)."""
    mechanism = given.curator.mechanism if given.curator is not None else None
    size: float | None = getattr(getattr(mechanism, "cells", mechanism), "cell_m", None)
    return size
